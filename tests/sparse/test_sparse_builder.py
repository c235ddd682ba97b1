"""What a sparse index directory holds, and which documents are refused."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sicetnon.errors import IndexDirectoryError, InputError
from sicetnon.sparse import SparseIndex, SparseIndexBuilder, segment_builder
from sicetnon.sparse.spill import PostingSpill
from sicetnon.storage import StoredDirectory

Terms = list[str] | Mapping[str, int]

SEGMENT = "segment-000001"


def build(path: Path, documents: list[tuple[str, Terms]], buffered_postings: int = 4_000_000) -> StoredDirectory:
    """Build an index and open its files."""
    with SparseIndexBuilder(path, buffered_postings=buffered_postings) as writing:
        for doc_id, terms in documents:
            writing.add(doc_id, terms)
        writing.commit({"purpose": "test"})
    return StoredDirectory.open(path, kind="sparse")


def test_by_hand(tmp_path: Path) -> None:
    """Two sets: rows by first appearance, postings by row then document, lengths, ranks of the IDs."""
    stored = build(tmp_path, [("d2", ["b", "a"]), ("d1", ["c", "b"]), ("d3", [])])
    assert stored.path(f"{SEGMENT}/terms.bin").read_bytes() == b"bac"
    assert stored.array(f"{SEGMENT}/offsets.npy").tolist() == [0, 2, 3, 4]
    assert stored.array(f"{SEGMENT}/postings.npy").tolist() == [0, 1, 0, 1]
    assert stored.array(f"{SEGMENT}/document-lengths.npy").tolist() == [2, 2, 0]
    assert stored.array(f"{SEGMENT}/tie-rank.npy").tolist() == [1, 0, 2]
    own = {"documents": 3, "terms": 3, "postings": 4, "tokens": 4}
    assert stored.counts == own | {f"{SEGMENT}/{name}": n for name, n in (own | {"longest": 2}).items()}
    assert stored.settings == {"purpose": "test"}
    assert not stored.has(f"{SEGMENT}/frequencies.npy")
    assert not list(stored.folder.rglob("*spill*"))


def test_repeated_terms_of_a_set_count_once(tmp_path: Path) -> None:
    """A term that a list repeats has one posting and adds 1 to the length."""
    stored = build(tmp_path, [("d", ["a", "b", "a", "a"])])
    assert stored.array(f"{SEGMENT}/postings.npy").tolist() == [0, 0]
    assert stored.array(f"{SEGMENT}/document-lengths.npy").tolist() == [2]


@pytest.mark.parametrize(
    ("highest", "dtype"),
    [(2, np.uint8), (255, np.uint8), (256, np.uint16), (70_000, np.uint32), (2**32 - 3, np.uint32)],
)
def test_frequencies_of_bags(tmp_path: Path, highest: int, dtype: type) -> None:
    """Frequencies are stored in the smallest type that holds them, beside sets that have none."""
    stored = build(tmp_path, [("set", ["b", "b"]), ("bag", {"a": highest, "b": 2}), ("more", ["b"])])
    assert stored.array(f"{SEGMENT}/postings.npy").tolist() == [0, 1, 2, 1]
    assert stored.array(f"{SEGMENT}/frequencies.npy").dtype == dtype
    assert stored.array(f"{SEGMENT}/frequencies.npy").tolist() == [1, 2, 1, highest]
    assert stored.array(f"{SEGMENT}/document-lengths.npy").tolist() == [1, highest + 2, 1]


def test_bag_of_ones_is_a_set(tmp_path: Path) -> None:
    """A mapping whose frequencies are all 1 gives the same files as a list."""
    as_bag = build(tmp_path / "bag", [("d", {"a": 1, "b": 1})])
    assert as_bag.manifest == build(tmp_path / "set", [("d", ["a", "b"])]).manifest


def test_no_postings_at_all(tmp_path: Path) -> None:
    """A collection of documents without terms is an index."""
    stored = build(tmp_path, [("a", []), ("b", [])])
    assert stored.array(f"{SEGMENT}/postings.npy").tolist() == []
    assert len(SparseIndex.open(tmp_path)) == 2


TERMS = st.sampled_from(["", "a", "b", "c", "ß", "\U0001d518", "\ud800", "line\nbreak"])
DOCUMENTS = st.lists(st.lists(TERMS) | st.dictionaries(TERMS, st.integers(1, 300)), min_size=1)


@settings(max_examples=60)
@given(DOCUMENTS, st.integers(1, 9))
def test_every_posting_is_there(documents: list[Terms], buffered: int) -> None:
    """However the postings are spilled, each document comes back with its terms and frequencies."""
    with tempfile.TemporaryDirectory() as folder:
        stored = build(Path(folder), [(str(n), terms) for n, terms in enumerate(documents)], buffered)
        index = SparseIndex.open(folder)
        postings, offsets = stored.array(f"{SEGMENT}/postings.npy"), stored.array(f"{SEGMENT}/offsets.npy")
        ones = np.ones(len(postings), np.uint8)
        frequencies = stored.array(f"{SEGMENT}/frequencies.npy") if stored.has(f"{SEGMENT}/frequencies.npy") else ones
        found: list[Counter[str]] = [Counter() for _ in documents]
        terms = index.segments[0].terms
        for row in range(index.term_count):
            span = slice(offsets[row], offsets[row + 1])
            assert (np.diff(postings[span]) > 0).all()
            for ordinal, frequency in zip(postings[span].tolist(), frequencies[span].tolist(), strict=True):
                found[ordinal][terms[row]] += frequency
        assert found == [Counter(dict(t) if isinstance(t, dict) else set(t)) for t in documents]
        assert stored.array(f"{SEGMENT}/document-lengths.npy").tolist() == [c.total() for c in found]


@settings(max_examples=20)
@given(DOCUMENTS, st.integers(1, 9))
def test_same_bytes_however_buffered(documents: list[Terms], buffered: int) -> None:
    """The size of the buffer leaves no trace in the files."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [(str(n), terms) for n, terms in enumerate(documents)]
        assert build(Path(folder, "a"), rows).manifest == build(Path(folder, "b"), rows, buffered).manifest


@pytest.mark.parametrize(
    "terms",
    [
        "abc",
        ["a", 1],
        ["a", None],
        [["a"]],
        {"a": -1},
        {"a": -0.5},
        {"a": True},
        {"a": "1"},
        {"a": None},
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": 10**400},
        {"a": 1e39},
        {"a": 1e-60},
        {1: 1},
    ],
)
def test_refused_terms_leave_the_builder_as_it_was(tmp_path: Path, terms: Terms) -> None:
    """Terms that are no strings, or frequencies that are no counts nor weights, are refused before any is taken."""
    with SparseIndexBuilder(tmp_path) as writing:
        with pytest.raises(InputError, match="'bad'"):
            writing.add("bad", terms)
        writing.add("good", ["a"])
        counts = writing.commit().counts
    assert [counts[name] for name in ("documents", "terms", "postings", "tokens")] == [1, 1, 1, 1]


def test_weights_by_hand(tmp_path: Path) -> None:
    """Weights are kept as float32, by term and by document; a weight of 0 is no term; terms count as tokens."""
    stored = build(tmp_path, [("d0", {"b": 1.5, "a": 0.0, "c": 2}), ("d1", ["c", "b", "c"]), ("d2", {"a": 0.1})])
    assert stored.array(f"{SEGMENT}/postings.npy").tolist() == [0, 1, 0, 1, 2]
    by_term, by_document = (stored.array(f"{SEGMENT}/{name}.npy") for name in ("frequencies", "forward-frequencies"))
    assert by_term.dtype == by_document.dtype == np.float32
    assert by_term.tolist() == [1.5, 1, 2, 1, np.float32(0.1)]
    assert by_document.tolist() == [1.5, 2, 1, 1, np.float32(0.1)]
    assert stored.array(f"{SEGMENT}/document-lengths.npy").tolist() == [2, 2, 1]


def test_weights_of_0_alone(tmp_path: Path) -> None:
    """A frequency of 0 is as good as no such term."""
    as_zero = build(tmp_path / "zero", [("d", {"a": 2, "b": 0, "c": 0.0}), ("e", {"b": 0})])
    assert as_zero.manifest == build(tmp_path / "none", [("d", {"a": 2}), ("e", [])]).manifest


def test_too_long_a_document(tmp_path: Path) -> None:
    """A bag whose length does not fit is refused."""
    with SparseIndexBuilder(tmp_path) as writing, pytest.raises(InputError, match="no count"):
        writing.add("d", {"a": 2**32 - 1, "b": 1})


def test_repeated_document_id(tmp_path: Path) -> None:
    """A document ID that comes again is refused."""
    with SparseIndexBuilder(tmp_path) as writing:
        writing.add("d", ["a"])
        with pytest.raises(InputError, match="'d' a second time"):
            writing.add("d", ["b"])


def test_document_id_that_is_no_string(tmp_path: Path) -> None:
    """A document ID must be a string."""
    with SparseIndexBuilder(tmp_path) as writing, pytest.raises(InputError, match="document ID 7"):
        writing.add(7, ["a"])  # type: ignore[arg-type]


def test_no_document(tmp_path: Path) -> None:
    """An index of nothing is refused, and leaves nothing."""
    with pytest.raises(InputError, match="no document"), SparseIndexBuilder(tmp_path / "index") as writing:
        writing.commit()
    assert list(tmp_path.iterdir()) == []


def test_more_than_ordinals_can_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents or terms past the range of their ordinals are refused."""
    monkeypatch.setattr(segment_builder, "MAX_COUNT", 2)
    with SparseIndexBuilder(tmp_path / "a") as writing:
        writing.add("1", [])
        writing.add("2", [])
        with pytest.raises(InputError, match="more than 2 documents"):
            writing.add("3", [])
    with SparseIndexBuilder(tmp_path / "b") as writing:
        writing.add("1", ["a", "b", "c"])
        with pytest.raises(InputError, match="more than 2 distinct terms"):
            writing.commit()


def test_without_commit_nothing_remains(tmp_path: Path) -> None:
    """A builder that is left without commit leaves nothing, spilled postings neither."""
    with SparseIndexBuilder(tmp_path / "index", buffered_postings=1) as writing:
        writing.add("d", ["a"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("spill", [PostingSpill])
def test_unwritable_spill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spill: type) -> None:
    """A spill file that cannot be made is one clear error and leaves nothing."""
    monkeypatch.setattr(segment_builder, spill.__name__, lambda path: spill(path / "no" / "such" / "folder"))
    with pytest.raises(IndexDirectoryError), SparseIndexBuilder(tmp_path / "index"):
        pass
    assert list(tmp_path.iterdir()) == []
