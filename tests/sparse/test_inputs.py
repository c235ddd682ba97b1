"""The ways into the engine: pairs, matrices, token lists and rows give the same index, and what is none is refused."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from sicetnon.errors import IndexForeign, InputError, MalformedRow
from sicetnon.sparse import (
    SparseIndex,
    build_from_csr,
    build_from_pairs,
    build_from_tokens,
    build_index,
    inputs,
)
from sicetnon.storage import Manifest, StoredDirectory

WriteRows = Callable[[str, list[Mapping[str, object]]], Path]


class Tokenized(NamedTuple):
    """The shape of what bm25s.tokenize returns."""

    ids: list[list[int]]
    vocab: dict[str, int]


def read_bags(path: Path) -> dict[str, dict[str, float]]:
    """Return each document of an index with its terms, in the order of their rows, and frequencies."""
    stored = StoredDirectory.open(path, kind="sparse")
    index = SparseIndex.open(path)
    postings, offsets = stored.array("segment-000001/postings.npy"), stored.array("segment-000001/offsets.npy")
    has_frequencies = stored.has("segment-000001/frequencies.npy")
    frequencies = stored.array("segment-000001/frequencies.npy") if has_frequencies else np.ones(len(postings), int)
    bags: dict[str, dict[str, float]] = {doc_id: {} for doc_id in index.read_doc_ids(np.arange(index.ordinal_count))}
    doc_ids = list(bags)
    for row, (start, end) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        for place in range(start, end):
            bags[doc_ids[postings[place]]][index.segments[0].terms[row]] = frequencies[place].item()
    return bags


# One set of documents, each way


def test_pairs_by_hand(tmp_path: Path) -> None:
    """Pairs come from any iterator, as tuples or lists; terms are any iterable or a mapping."""
    pairs = iter([("a", iter(["x", "y", "x"])), ["b", {"y": 3}], ("c", ()), ("d", frozenset({"z"}))])
    manifest = build_from_pairs(pairs, tmp_path)
    assert read_bags(tmp_path) == {"a": {"x": 1, "y": 1}, "b": {"y": 3}, "c": {}, "d": {"z": 1}}
    assert manifest == StoredDirectory.open(tmp_path, kind="sparse").manifest
    assert manifest.counts["documents"] == 4


def test_pairs_are_added_one_by_one(tmp_path: Path) -> None:
    """The documents before one that is refused were asked for, those after it were not."""
    pairs = iter([("a", ["x"]), ("a", []), ("c", [])])
    with pytest.raises(InputError, match="'a' a second time"):
        build_from_pairs(pairs, tmp_path)
    assert next(pairs) == ("c", [])


def test_csr_by_hand(tmp_path: Path) -> None:
    """Rows are documents and columns terms, named by their places; a column without entries leaves no trace."""
    build_from_csr(scipy.sparse.csr_array(np.array([[0, 2, 0, 1], [0, 0, 0, 0], [3, 1, 0, 0]])), tmp_path)
    assert read_bags(tmp_path) == {"0": {"1": 2, "3": 1}, "1": {}, "2": {"1": 1, "0": 3}}
    assert [SparseIndex.open(tmp_path).segments[0].terms[row] for row in range(3)] == ["1", "3", "0"]


def test_csr_with_names(tmp_path: Path) -> None:
    """Documents and terms are named by any collections of strings, NumPy's too."""
    matrix = scipy.sparse.csr_matrix([[1, 0], [1, 2]])
    build_from_csr(matrix, tmp_path, doc_ids=np.array(["d", "e"]), terms=(name for name in ["x", "y"]))
    assert read_bags(tmp_path) == {"d": {"x": 1}, "e": {"x": 1, "y": 2}}


@pytest.mark.parametrize("tokens", [[["b", "a", "b"], [], ["a"]], iter([iter("bab"), (), ("a",)])])
def test_token_strings_by_hand(tmp_path: Path, tokens: Any) -> None:
    """Repeated tokens become frequencies."""
    build_from_tokens(tokens, tmp_path)
    assert read_bags(tmp_path) == {"0": {"b": 2, "a": 1}, "1": {}, "2": {"a": 1}}


IDS, VOCABULARY = [[7, 2, 7], [], [2]], {"a": 2, "b": 7, "unused": 0}


@pytest.mark.parametrize(
    "tokens",
    [
        Tokenized(IDS, VOCABULARY),
        (IDS, VOCABULARY),
        SimpleNamespace(ids=IDS, vocab=VOCABULARY),
        ([np.array(ids, np.int32) for ids in IDS], VOCABULARY),
    ],
)
def test_token_ids_by_hand(tmp_path: Path, tokens: Any) -> None:
    """IDs are spelled by their vocabulary, whichever numbers it gives; documents may be named."""
    build_from_tokens(tokens, tmp_path, doc_ids=["x", "y", "z"])
    assert read_bags(tmp_path) == {"x": {"b": 2, "a": 1}, "y": {}, "z": {"a": 1}}


@pytest.mark.parametrize("tokens", [[["b", "a", "b"]], ([[1, 0, 1]], {"a": 0, "b": 1})])
def test_tokens_as_sets(tmp_path: Path, tokens: Any) -> None:
    """As sets, a token counts once."""
    build_from_tokens(tokens, tmp_path, as_sets=True)
    assert read_bags(tmp_path) == {"0": {"b": 1, "a": 1}}


def test_two_token_lists_are_no_vocabulary(tmp_path: Path) -> None:
    """A tuple of two documents is one of two documents."""
    build_from_tokens((["a"], ["b"]), tmp_path)
    assert read_bags(tmp_path) == {"0": {"a": 1}, "1": {"b": 1}}


def test_rows_by_hand(tmp_path: Path, write_jsonl: WriteRows) -> None:
    """The terms of a row are a list, or an object of frequencies."""
    corpus = write_jsonl("c.jsonl", [{"doc_id": "a", "terms": ["x", "x"]}, {"doc_id": "b", "terms": {"x": 2, "y": 1}}])
    build_index(corpus, tmp_path / "index")
    assert read_bags(tmp_path / "index") == {"a": {"x": 1}, "b": {"x": 2, "y": 1}}


def build_each_way(bags: list[dict[int, float]], folder: Path, width: int) -> Iterator[tuple[str, Manifest]]:
    """Build an index of the same documents each way and give the manifests, which tell every byte by its checksum."""
    named = [(str(number), {str(column): bag[column] for column in sorted(bag)}) for number, bag in enumerate(bags)]
    yield "pairs", build_from_pairs(iter(named), folder / "pairs")
    rows = [json.dumps({"doc_id": doc_id, "terms": terms}) + "\n" for doc_id, terms in named]
    (folder / "corpus.jsonl").write_text("".join(rows))
    yield "rows", build_index(folder / "corpus.jsonl", folder / "rows")
    matrix = scipy.sparse.lil_array((len(bags), width))
    for number, bag in enumerate(bags):
        for column, frequency in bag.items():
            matrix[number, column] = frequency
    yield "csr", build_from_csr(matrix.tocsr(), folder / "csr")
    if any(type(frequency) is float for bag in bags for frequency in bag.values()):
        return
    yield "whole csr", build_from_csr(matrix.tocsr().astype(np.int32), folder / "whole")
    tokens = [[term for term, frequency in bag.items() for _ in range(int(frequency))] for _, bag in named]
    yield "tokens", build_from_tokens(tokens, folder / "tokens")
    vocabulary = {str(column): column for column in range(width)}
    ids = [[vocabulary[token] for token in document] for document in tokens]
    yield "token IDs", build_from_tokens((ids, vocabulary), folder / "ids")


WIDTH = 6
COLUMNS = st.integers(0, WIDTH - 1)
WEIGHTS = st.floats(0.0078125, 1000, width=32)


@settings(max_examples=40)
@given(
    st.lists(st.dictionaries(COLUMNS, st.integers(1, 300) | st.just(1)), min_size=1)
    | st.lists(st.dictionaries(COLUMNS, st.just(1)), min_size=1)
    | st.lists(st.dictionaries(COLUMNS, WEIGHTS), min_size=1)
)
def test_same_bytes_each_way(bags: list[dict[int, float]]) -> None:
    """The same documents give the same files, manifest included, whichever way they come in."""
    with tempfile.TemporaryDirectory() as folder:
        manifests = dict(build_each_way(bags, Path(folder), WIDTH))
        assert [name for name, manifest in manifests.items() if manifest != manifests["pairs"]] == []


def test_same_bytes_of_sets(tmp_path: Path, write_jsonl: WriteRows) -> None:
    """Sets give the same files as lists of pairs, as tokens, as rows, and as a matrix of booleans."""
    sets = [["c", "a", "c"], [], ["a", "b"]]
    named = [(str(number), terms) for number, terms in enumerate(sets)]
    corpus = write_jsonl("c.jsonl", [{"doc_id": doc_id, "terms": terms} for doc_id, terms in named])
    manifests = [
        build_from_pairs(named, tmp_path / "pairs"),
        build_index(corpus, tmp_path / "rows"),
        build_from_tokens(sets, tmp_path / "tokens", as_sets=True),
        build_from_csr(
            scipy.sparse.csr_array(np.array([[1, 1, 0], [0, 0, 0], [0, 1, 1]], bool)),
            tmp_path / "csr",
            terms=["c", "a", "b"],
        ),
    ]
    assert manifests == [manifests[0]] * 4


# Matrices as they may be stored


@st.composite
def stored_matrices(draw: st.DrawFn) -> Any:
    """Draw a matrix with explicit zeros, columns in any order, some of them repeated."""
    dtype = draw(st.sampled_from([np.float64, np.float32, np.int64, np.uint8, np.bool_]))
    entry = st.tuples(COLUMNS, st.integers(0, 3))
    rows = draw(st.lists(st.lists(entry, max_size=8), min_size=1, max_size=6))
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.array([column for row in rows for column, _ in row], draw(st.sampled_from([np.int32, np.int64])))
    data = np.array([value for row in rows for _, value in row], dtype) * dtype(draw(st.sampled_from([1, 2])))
    return scipy.sparse.csr_matrix((data, indices, indptr), shape=(len(rows), WIDTH))


@settings(max_examples=80)
@given(stored_matrices(), st.integers(1, 9))
def test_as_scipy_reads_it(matrix: Any, at_once: int) -> None:
    """An index is of what SciPy says that the matrix is, and the same whichever way its entries are stored."""
    dense = matrix.toarray()
    tidy = matrix.copy()
    tidy.sum_duplicates()
    tidy.eliminate_zeros()
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "_ENTRIES", at_once)
        manifest = build_from_csr(matrix, Path(folder, "a"))
        assert manifest == build_from_csr(tidy, Path(folder, "b"))
        expected = {
            str(number): {str(column): row[column].item() for column in np.flatnonzero(row).tolist()}
            for number, row in enumerate(dense)
        }
        assert read_bags(Path(folder, "a")) == expected


def test_matrix_is_left_as_it_is(tmp_path: Path) -> None:
    """What is stored in the matrix is not tidied in place, and a read-only one will do."""
    data, indices, indptr = np.array([1, 0, 2]), np.array([1, 0, 1]), np.array([0, 3])
    for array in (data, indices, indptr):
        array.flags.writeable = False
    build_from_csr(SimpleNamespace(shape=(1, 2), data=data, indices=indices, indptr=indptr), tmp_path)
    assert read_bags(tmp_path) == {"0": {"1": 3}}


def test_entries_that_cancel(tmp_path: Path) -> None:
    """Entries that come to zero are none."""
    matrix = SimpleNamespace(shape=(1, 2), data=[2, 1, -2], indices=[0, 1, 0], indptr=[0, 3])
    build_from_csr(matrix, tmp_path)
    assert read_bags(tmp_path) == {"0": {"1": 1}}


def test_room_past_the_end(tmp_path: Path) -> None:
    """Entries past where the last row ends are none, as in SciPy before prune()."""
    matrix = SimpleNamespace(shape=(1, 2), data=[1, 9, 9], indices=[0, 77, 77], indptr=[0, 1])
    build_from_csr(matrix, tmp_path)
    assert read_bags(tmp_path) == {"0": {"0": 1}}


def test_whole_floats_are_counts(tmp_path: Path) -> None:
    """A matrix of floats without fractions gives the files of one of integers."""
    matrix = scipy.sparse.csr_array(np.array([[1.0, 2.0], [0.0, 300.0]]))
    assert build_from_csr(matrix, tmp_path / "a") == build_from_csr(matrix.astype(np.int16), tmp_path / "b")


def test_fractions_are_weights(tmp_path: Path) -> None:
    """Fractions are handed on as they are."""
    build_from_csr(scipy.sparse.csr_array(np.array([[1.0, 0.5]])), tmp_path)
    assert read_bags(tmp_path) == {"0": {"0": 1.0, "1": 0.5}}


def change(**attributes: Any) -> SimpleNamespace:
    """Give a good matrix of two rows and three columns, but for these attributes."""
    good = {"shape": (2, 3), "indptr": np.array([0, 1, 3]), "indices": np.array([0, 1, 2]), "data": np.array([1, 2, 3])}
    return SimpleNamespace(**good | attributes)


@pytest.mark.parametrize(
    ("matrix", "found"),
    [
        (np.eye(3), r"a ndarray as matrix \(.*indptr"),
        ("matrix", "a str as matrix"),
        (scipy.sparse.csc_array(np.eye(3)), "format 'csc'.*tocsr"),
        (scipy.sparse.bsr_array(np.eye(4)), "format 'bsr'"),
        (change(shape=(3,)), "a SimpleNamespace as matrix"),
        (change(shape=(3, 3)), r"indptr of int64\[3\]; expected integers\[4\]"),
        (change(indptr=[0.0, 1.0, 3.0]), r"indptr of float64\[3\]"),
        (change(indptr=[1, 1, 3]), "does not start at 0"),
        (change(indptr=[0, 3, 1]), "falls"),
        (change(indices=[0, 1]), r"indices of int64\[2\]; expected integers\[3\]"),
        (change(indices=[0.0, 1.0, 2.0]), "indices of float64"),
        (change(indices=[[0, 1, 2]]), "indices of int64"),
        (change(indices=[0, 1, 3]), "a column outside the 3"),
        (change(indices=[0, -1, 2]), "a column outside the 3"),
        (change(data=[1, 2]), r"data of int64\[2\]"),
        (change(data=["a", "b", "c"]), "data of <U1"),
        (change(data=[1j, 1, 1]), "data of complex128"),
        (change(data=np.array([1, 2, 2**64 - 1], np.uint64)), "the value 18446744073709551615"),
        (change(data=[1, 2, -3]), "document '1'"),
        (change(data=[1, 2, 2**40]), "document '1'"),
        (change(data=[1, np.nan, 3]), "document '1'"),
        (change(data=[np.inf, 1, 3]), "document '0'"),
        (change(data=[1, np.inf, -np.inf], indices=[0, 1, 1]), "document '1'"),
        (change(shape=(0, 3), indptr=[0]), "no document at all"),
    ],
)
def test_matrices_that_are_refused(tmp_path: Path, matrix: Any, found: str) -> None:
    """What is no matrix of compressed sparse rows is refused and leaves nothing."""
    with pytest.raises(InputError, match=found):
        build_from_csr(matrix, tmp_path / "index")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ({"doc_ids": ["a"]}, "1 document IDs for 2 rows"),
        ({"doc_ids": "ab"}, "document IDs that are no strings"),
        ({"doc_ids": [1, 2]}, "document IDs that are no strings"),
        ({"doc_ids": 2}, "document IDs that are no strings"),
        ({"doc_ids": ["a", "a"]}, "document ID 'a' a second time"),
        ({"terms": ["x", "y"]}, "2 terms for 3 columns"),
        ({"terms": ["x", "y", None]}, "terms that are no strings"),
        ({"terms": ["x", "y", "x"]}, "the term 'x' for two columns"),
    ],
)
def test_names_that_are_refused(tmp_path: Path, names: dict[str, Any], found: str) -> None:
    """Names must be strings, one for each row or column, and distinct."""
    with pytest.raises(InputError, match=found):
        build_from_csr(change(), tmp_path / "index", **names)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        ({"d1": ["x"]}, r"document 1 as 'd1'; expected a pair .* items\(\)"),
        ([("a", ["x"]), ("b",)], r"document 2 as \('b',\)"),
        ([("a", ["x"], 1)], "document 1 as"),
        ([("a", None)], r"document 1 as \('a', None\)"),
        ([("a", "xyz")], "'a' with terms that are no strings"),
        ([("a", ["x", 1])], "'a' with terms that are no strings"),
        ([("a", {"x": -1})], "document 'a'"),
        ([(1, ["x"])], "document ID 1"),
        ([("a", ["x"]), ("a", [])], "'a' a second time"),
        ([], "no document at all"),
    ],
)
def test_pairs_that_are_refused(tmp_path: Path, pairs: Any, found: str) -> None:
    """What is no pair of an ID and terms is named by its place or ID, and leaves nothing."""
    with pytest.raises(InputError, match=found):
        build_from_pairs(pairs, tmp_path / "index")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("tokens", "found"),
    [
        ("a text", "token lists that are 'a text'"),
        (None, "token lists that are None"),
        ({"a": ["x"]}, "token lists that are {'a': "),
        (["a text"], "document '0' as 'a text'; expected a list of strings"),
        ([["a"], None], "document '1' as None"),
        ([{"a": 2}], "document '0' as {'a': 2}"),
        ([["a", 1]], "document '0' as"),
        ([[["a"]]], "document '0' as"),
        ([[1, 2]], "document '0' as"),
        (([[0], [2]], {"a": 0, "b": 1}), "document '1' with the token ID 2; expected IDs of the vocabulary"),
        (([[[0]]], {"a": 0}), r"document '0' with \[\[0\]\]"),
        (([0], {"a": 0}), "document '0' with 0"),
        (([[0]], {"a": 0, "b": 0}), "the token ID 0 for two tokens"),
        (([[0]], {1: 0}), "document '0' with terms that are no strings"),
        ([], "no document at all"),
    ],
)
def test_tokens_that_are_refused(tmp_path: Path, tokens: Any, found: str) -> None:
    """What is no token list is named, and leaves nothing."""
    with pytest.raises(InputError, match=found):
        build_from_tokens(tokens, tmp_path / "index")
    assert list(tmp_path.iterdir()) == []


def test_too_few_names_of_token_lists(tmp_path: Path) -> None:
    """There is a name for each document."""
    with pytest.raises(InputError, match="1 document IDs for 2 documents"):
        build_from_tokens([["a"], ["b"]], tmp_path / "index", doc_ids=["x"])


@pytest.mark.parametrize(
    ("terms", "found"),
    [
        ('{"x": "2"}', "document 'b'"),
        ('{"x": -1}', "document 'b'"),
        ('{"x": null}', "document 'b'"),
        ('{"x": true}', "document 'b'"),
        ('{"x": [1]}', "document 'b'"),
        ("[1]", "document 'b'"),
        ('"x"', '"terms" is a string; expected a list of strings, or an object'),
        ("null", '"terms" is null'),
    ],
)
def test_rows_that_are_refused(tmp_path: Path, terms: str, found: str) -> None:
    """A row's terms that are none are named with file and line, and leave nothing."""
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(f'{{"doc_id": "a", "terms": {{"x": 1}}}}\n{{"doc_id": "b", "terms": {terms}}}\n')
    with pytest.raises(MalformedRow, match=f"corpus.jsonl, line 2: {found}"):
        build_index(corpus, tmp_path / "index")
    assert list(tmp_path.iterdir()) == [corpus]


def test_failure_leaves_the_old_index(tmp_path: Path) -> None:
    """Where an index stood, it stands after an error, one of the caller's iterator too."""
    before = build_from_pairs([("a", ["x"])], tmp_path)

    def yield_documents() -> Iterator[tuple[str, list[str]]]:
        yield "b", ["y"]
        raise RuntimeError("of the caller's")

    with pytest.raises(RuntimeError, match="of the caller's"):
        build_from_pairs(yield_documents(), tmp_path)
    with pytest.raises(InputError):
        build_from_tokens([["a"], ["b", 1]], tmp_path)
    assert StoredDirectory.open(tmp_path, kind="sparse").manifest == before
    assert build_from_csr(scipy.sparse.csr_array(np.eye(2)), tmp_path).generation == 2


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    """A directory of something else is refused."""
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(IndexForeign):
        build_from_tokens([["a"]], tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_frequencies_are_searched(tmp_path: Path) -> None:
    """What comes in by tokens comes out of a search."""
    build_from_tokens([["a", "b"], ["a", "c"], ["d"]], tmp_path, doc_ids=["x", "y", "z"])
    assert [found.doc_id for found in SparseIndex.open(tmp_path).search(["a", "c"])] == ["y", "x"]
