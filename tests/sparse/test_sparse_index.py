"""Exact ranked search, held against plain dictionaries."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.sparse import SparseOracle, add_up

from sicetnon.errors import IndexDamaged, InputError
from sicetnon.sparse import Bm25, ScoredDocument, SparseIndex, SparseIndexBuilder, SparseIndexWriter
from sicetnon.storage import DirectoryWriter, StoredDirectory

Build = Callable[..., SparseIndex]

SEGMENT = "segment-000001"

FOUR = [("d3", ["x", "y"]), ("d1", ["x"]), ("d2", ["x"]), ("d0", ["z"])]


def pairs(found: list[ScoredDocument]) -> list[tuple[str, float]]:
    """Return (ID, score) of each."""
    return [(document.doc_id, document.score) for document in found]


def test_by_hand(build: Build) -> None:
    """Three of four documents share a term; equal scores come by ascending ID."""
    index = build(FOUR)
    found = index.search(["y", "x", "unknown"])
    assert [(f.doc_id, f.ordinal) for f in found] == [("d3", 0), ("d1", 1), ("d2", 2)]
    x, y = math.log1p(4 / 3), math.log1p(4)
    assert [f.score for f in found] == pytest.approx([x + y, x, x])
    assert (len(index), index.document_count, index.term_count, index.posting_count) == (4, 4, 3, 5)
    assert index.read_doc_ids(range(len(index))) == ["d3", "d1", "d2", "d0"]


def test_bm25_by_hand(build: Build) -> None:
    """One term, twice in a document of four tokens where three is the average."""
    index = build([("a", {"x": 2, "y": 2}), ("b", {"y": 2})])
    norm = 0.9 * (1 - 0.4 + 0.4 * 4 / 3)
    (found,) = index.search(["x"], scoring=Bm25())
    assert found.score == pytest.approx(math.log(1 + 1.5 / 1.5) * 2 / (2 + norm))


def test_bm25_query_terms_add_up(build: Build) -> None:
    """A repeated query term counts as often as it occurs, as a weighted one does; in a set it counts once."""
    index = build(FOUR)
    once, twice = (index.search(query, scoring=Bm25()) for query in (["x"], ["x", "x"]))
    assert [t.score for t in twice] == [2 * o.score for o in once]
    assert index.search({"x": 2}, scoring=Bm25()) == twice
    assert index.search({"x": 0.5}, scoring=Bm25())[0].score == 0.5 * once[0].score
    assert index.search(["x", "x"]) == index.search({"x": 2}) == index.search(["x"])


@pytest.mark.parametrize("query", [[], ["unknown"], {}, iter(())])
def test_nothing_to_find(build: Build, query: list[str]) -> None:
    """A query without a known term finds nothing."""
    index = build(FOUR)
    assert index.search(query) == []
    assert index.scores(query).tolist() == [0, 0, 0, 0]


def test_cutoffs(build: Build) -> None:
    """A cutoff of 0 gives nothing, one above the collection all that match."""
    index = build(FOUR)
    assert index.search(["x"], top_k=0) == []
    assert len(index.search(["x"], top_k=10**9)) == 3
    for ask in (index.search, index.rank, lambda query, top_k: index.explain(query, "d1", top_k=top_k)):
        with pytest.raises(InputError, match="top_k of -1"):
            ask(["x"], top_k=-1)


REFUSED_WEIGHTS = [
    *(0, -1.0, math.nan, math.inf, 1.1e100, 10**400, True, "1", None, 1j, Fraction(1, 10**400)),
    *(np.float32(0), np.float64(-1), np.float32(math.nan), np.float32(math.inf), np.True_),
]


@pytest.mark.parametrize("query", ["x", [1], ["x", None], *({"x": weight} for weight in REFUSED_WEIGHTS)], ids=repr)
def test_refused_queries(build: Build, query: list[str]) -> None:
    """Terms that are no strings, and weights that are no positive numbers, are refused."""
    with pytest.raises(InputError, match="query"):
        build(FOUR).search(query)


@pytest.mark.parametrize("weight", [2, np.float64(2), np.float32(2), np.float16(2), np.int64(2), Fraction(2)])
@pytest.mark.parametrize("scoring", [None, Bm25()])
def test_weights_of_any_type(build: Build, weight: float, scoring: Bm25 | None) -> None:
    """A weight counts as the float that it is, whatever its type."""
    index = build(FOUR)
    assert index.search({"x": weight, "y": 1e100}, scoring=scoring) == index.search(
        {"x": 2.0, "y": 1e100}, scoring=scoring
    )


@pytest.mark.parametrize("scoring", [None, Bm25()])
def test_index_without_postings(build: Build, scoring: Bm25 | None) -> None:
    """An index of empty documents opens and finds nothing."""
    assert build([("a", []), ("b", [])]).search(["x"], scoring=scoring) == []


TERMS = st.sampled_from([*"abcdefgh", "", "é", "\U0001d518", "\ud800"])
SETS = st.lists(st.lists(TERMS), min_size=1, max_size=30)
BAGS = st.lists(st.dictionaries(TERMS, st.integers(1, 9)), min_size=1, max_size=30)
DEGENERATE = st.sampled_from([[["a"]], [[]], [["a"]] * 30, [["a", "b"]] * 30, [list("abcdefgh")] * 7 + [["a"]] * 9])


@settings(max_examples=120)
@given(SETS | DEGENERATE, st.lists(TERMS | st.just("unknown")), st.sampled_from([0, 1, 2, 5, 100]), st.randoms())
def test_sets_against_oracle(documents: list[list[str]], query: list[str], top_k: int, random: object) -> None:
    """Rankings and scores equal the oracle's to the last bit, whatever the order of the query."""
    ids = [f"d{n}" for n in range(len(documents))]
    random.shuffle(ids)  # type: ignore[attr-defined]
    rows = list(zip(ids, documents, strict=True))
    oracle = SparseOracle(rows)
    with tempfile.TemporaryDirectory() as folder:
        index = build_at(folder, rows)
        expected = oracle.score_overlap(query)
        assert index.scores(query).tolist() == list(expected.values())
        assert pairs(index.search(query, top_k=top_k)) == oracle.rank(expected, top_k)
        assert index.search(query[::-1], top_k=top_k) == index.search(query, top_k=top_k)


@settings(max_examples=80)
@given(
    BAGS,
    st.lists(TERMS) | st.dictionaries(TERMS, st.integers(1, 3)),
    st.sampled_from([(0.9, 0.4), (1.2, 0.75), (0, 0), (2, 1)]),
)
def test_bags_against_oracle(
    documents: list[dict[str, int]], query: list[str], parameters: tuple[float, float]
) -> None:
    """BM25 rankings and scores agree with the oracle's."""
    rows = [(f"d{n:02}", bag) for n, bag in enumerate(documents)]
    oracle = SparseOracle(rows)
    k1, b = parameters
    with tempfile.TemporaryDirectory() as folder:
        index = build_at(folder, rows)
        expected = oracle.score_bm25(query, k1, b)
        scores = index.scores(query, scoring=Bm25(k1, b))
        assert scores.tolist() == pytest.approx(list(expected.values()), rel=1e-12)
        exact = dict(zip(index.read_doc_ids(range(len(index))), scores.tolist(), strict=True))
        assert pairs(index.search(query, top_k=7, scoring=Bm25(k1, b))) == oracle.rank(exact, 7)


def build_at(folder: str, rows: Sequence[tuple[str, list[str] | Mapping[str, int]]]) -> SparseIndex:
    """Build an index in a folder and open it."""
    with SparseIndexBuilder(folder) as builder:
        for doc_id, terms in rows:
            builder.add(doc_id, terms)
        builder.commit()
    return SparseIndex.open(folder)


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> tuple[SparseIndex, SparseOracle, list[list[str]]]:
    """Build an index of 3,000 documents with Zipf-like terms, its oracle, and queries."""
    generator = np.random.default_rng(7)
    ranks = np.minimum(generator.zipf(1.3, (3_000, 30)), 2_000)
    ids = generator.permutation(3_000)
    rows = [(f"d{i:04}", [f"t{r}" for r in row]) for i, row in zip(ids.tolist(), ranks.tolist(), strict=True)]
    queries = [[f"t{r}" for r in np.minimum(generator.zipf(1.3, 20), 2_000)] for _ in range(40)]
    return build_at(str(tmp_path_factory.mktemp("larger")), rows), SparseOracle(rows), queries


def test_larger_collection_against_oracle(larger: tuple[SparseIndex, SparseOracle, list[list[str]]]) -> None:
    """With frequent terms and many ties, every ranking equals the oracle's."""
    index, oracle, queries = larger
    for query in queries:
        expected = oracle.score_overlap(query)
        for top_k in (1, 10, 100, 5_000):
            assert pairs(index.search(query, top_k=top_k)) == oracle.rank(expected, top_k)


def test_threads_and_batches_change_nothing(larger: tuple[SparseIndex, SparseOracle, list[list[str]]]) -> None:
    """Eight threads at once, or a batch, give what one query at a time gives."""
    index, _, queries = larger
    one_by_one = [index.search(query) for query in queries]
    assert index.search_batch(queries) == one_by_one
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(index.search, queries * 5)) == one_by_one * 5


@pytest.mark.parametrize("scoring", [None, Bm25()])
def test_explanations_add_up(larger: tuple[SparseIndex, SparseOracle, list[list[str]]], scoring: Bm25 | None) -> None:
    """The contributions name the shared terms and add up to the score, to the last bit."""
    index, oracle, queries = larger
    for found in index.search(queries[0], top_k=5, scoring=scoring):
        explanation = index.explain(queries[0], found.doc_id, scoring=scoring)
        shared = {term for term in queries[0] if term in oracle.bags[found.doc_id]}
        assert {c.term for c in explanation.contributions} == shared
        assert add_up(c.impact for c in explanation.contributions) == explanation.score == found.score
        assert all(c.document_frequency == oracle.df[c.term] and c.frequency == 1 for c in explanation.contributions)


def test_explaining_what_does_not_match(build: Build) -> None:
    """A document that shares no term has no contribution; an unknown one is refused."""
    index = build(FOUR)
    assert index.explain(["x"], "d0").contributions == ()
    assert index.explain(["x"], "d0").score == 0
    with pytest.raises(InputError, match="'d9'"):
        index.explain(["x"], "d9")


def test_finding_ordinals(build: Build) -> None:
    """Every document is found by its ID."""
    index = build(FOUR)
    assert [index.find_ordinal(doc_id) for doc_id, _ in FOUR] == [0, 1, 2, 3]


FILES = [
    "bitmap-rows.npy",
    "bitmaps.npy",
    "document-lengths.npy",
    "documents-offsets.npy",
    "documents.bin",
    "forward-frequencies.npy",
    "forward-starts.npy",
    "forward.npy",
    "frequencies.npy",
    "offsets.npy",
    "postings.npy",
    "term-hashes.npy",
    "term-rows.npy",
    "terms-offsets.npy",
    "terms.bin",
    "tie-rank.npy",
]


@pytest.mark.parametrize("segments", [1, 2])
@pytest.mark.parametrize("ordinal", [-1, 4, 99])
def test_ordinals_of_no_document(build: Build, tmp_path: Path, segments: int, ordinal: int) -> None:
    """An ordinal that is none is refused as such, and no file is blamed."""
    index = build(FOUR[: 5 - segments])
    if segments == 2:
        with SparseIndexWriter(tmp_path / "index") as writer:
            for doc_id, terms in FOUR[3:]:
                writer.add(doc_id, terms)
            writer.commit()
        index = SparseIndex.open(tmp_path / "index")
    assert (index.segment_count, index.ordinal_count) == (segments, 4)
    for read in (index.read_terms, lambda ordinal: index.read_doc_ids([0, ordinal, 1])):
        with pytest.raises(InputError, match=f"the ordinal {ordinal}; expected one of the index, from 0 to below 4"):
            read(ordinal)
    assert index.read_doc_ids([]) == []
    assert index.read_doc_ids([3, 0]) == ["d0", "d3"]
    assert [index.read_terms(ordinal) for ordinal in range(4)] == [terms for _, terms in FOUR]


def test_files_of_a_segment(build: Build, tmp_path: Path) -> None:
    """All files lie in the folder of the one segment; sets have no frequencies."""
    build([("a", {"x": 2})])
    stored = StoredDirectory.open(tmp_path / "index", kind="sparse")
    assert sorted(stored.manifest.files) == [f"{SEGMENT}/{name}" for name in FILES]
    build(FOUR)
    stored = StoredDirectory.open(tmp_path / "index", kind="sparse")
    assert sorted(stored.manifest.files) == [f"{SEGMENT}/{name}" for name in FILES if "frequencies" not in name]


@pytest.mark.parametrize("name", FILES)
def test_truncated_file_is_named(build: Build, tmp_path: Path, name: str) -> None:
    """A file that lost its end, or is gone, is named at opening."""
    build([(doc_id, dict.fromkeys(terms, 2)) for doc_id, terms in FOUR])
    file = tmp_path / "index" / "generation-000001" / SEGMENT / name
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(IndexDamaged, match=f"{SEGMENT}/{name}"):
        SparseIndex.open(tmp_path / "index")
    file.unlink()
    with pytest.raises(IndexDamaged, match=f"{SEGMENT}/{name}"):
        SparseIndex.open(tmp_path / "index")


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("postings.npy", np.zeros(5, np.int64)),
        ("postings.npy", np.zeros(4, np.int32)),
        ("offsets.npy", np.array([0, 3, 4, 6])),
        ("tie-rank.npy", np.zeros(5, np.int32)),
        ("frequencies.npy", np.ones(4, np.uint8)),
        ("offsets.npy", np.array([0, 3, 3, 5])),
        ("document-lengths.npy", np.ones(4, np.int32)),
        ("bitmap-rows.npy", np.array([0, 2, 1], np.int32)),
        ("bitmaps.npy", np.zeros((3, 2), np.uint8)),
        ("bitmaps.npy", np.zeros((2, 1), np.uint8)),
        ("forward.npy", np.zeros(12, np.uint16)),
        ("forward.npy", np.zeros(13, np.int32)),
        ("forward-starts.npy", np.array([0, 2, 3, 4])),
        ("forward-starts.npy", np.array([0, 2, 3, 4, 6])),
        ("forward-starts.npy", np.array([1, 2, 3, 4, 5])),
        ("forward-starts.npy", np.array([0, 2, 1, 4, 5])),
        ("forward-starts.npy", np.array([0, 3, 3, 4, 5])),
    ],
)
def test_files_that_disagree(build: Build, tmp_path: Path, name: str, array: np.ndarray) -> None:
    """A file whose type or length does not fit the counts is named at opening."""
    build(FOUR)
    whole = StoredDirectory.open(tmp_path / "index", kind="sparse")
    with DirectoryWriter(tmp_path / "other", kind="sparse") as writer:
        for file in whole.manifest.files:
            writer.save_bytes(file, [whole.path(file).read_bytes()])
        writer.save(f"{SEGMENT}/{name}", array)
        writer.commit(whole.settings, whole.counts)
    with pytest.raises(IndexDamaged, match=name):
        SparseIndex.open(tmp_path / "other")


def test_settings_come_back(tmp_path: Path) -> None:
    """What was committed beside the index is there when it is opened."""
    with SparseIndexBuilder(tmp_path) as builder:
        builder.add("d", ["a"])
        builder.commit({"fields": ["title"]})
    assert SparseIndex.open(tmp_path).settings == {"fields": ["title"]}
