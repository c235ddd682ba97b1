"""What is in memory -> an index directory: pairs, a SciPy matrix, token lists.

Each function builds a whole index, commits it and returns its manifest; after an error what stood at the path stands as
it was. The same documents give the same bytes each way, as long as their terms come in the same order. Rows of a file
come in by `contract.build_index`; what an index is made of is the builder's to know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from reprlib import repr as shorten
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sicetnon.errors import InputError
from sicetnon.sparse.builder import SparseIndexBuilder
from sicetnon.sparse.terms import are_strings
from sicetnon.storage import Manifest

Terms = Iterable[str] | Mapping[str, float]

_ENTRIES = 1_000_000  # of a matrix that are looked at together; and so many rows


class CsrMatrix(Protocol):
    """What is asked of a matrix of compressed sparse rows, such as SciPy's csr_array and csr_matrix.

    shape: (n, m). indptr: integers[n + 1], where each row's entries start, and their end. indices: integers, the
    columns of the entries; data: booleans, integers or floats, their values; both at least as long as that end.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def indptr(self) -> Any: ...
    @property
    def indices(self) -> Any: ...
    @property
    def data(self) -> Any: ...


class Tokenized(Protocol):
    """Documents as lists of token IDs, and the ID of each token, as bm25s.tokenize returns them."""

    @property
    def ids(self) -> Iterable[Iterable[int]]: ...
    @property
    def vocab(self) -> Mapping[str, int]: ...


def build_from_pairs(documents: Iterable[tuple[str, Terms]], index_dir: str | Path) -> Manifest:
    """Build an index of documents given one after another as pairs of an ID and its terms.

    Terms are an iterable of strings, where repeated ones count once, or a mapping from term to frequency or weight; see
    `SparseIndexBuilder.add`. Documents are held no longer than it takes to add them.

    Raises:
        InputError: an element is no pair, its terms are neither, an ID comes again, or there is no document.
        IndexDirectoryError: nothing can be written at `index_dir`, or something else stands there.
    """
    with SparseIndexBuilder(index_dir) as builder:
        for number, pair in enumerate(documents, 1):
            match pair:  # and do not unpack: a string of two letters would do as well
                case (doc_id, Iterable() as terms):
                    builder.add(doc_id, terms)
                case _:
                    raise InputError(
                        f"document {number} as {shorten(pair)}",
                        expected="a pair of a document ID and its terms",
                        remedy="correct the document; a mapping gives pairs by items()",
                    )
        return builder.commit(tunes=True)  # as `contract.build_index` does


def build_from_csr(
    matrix: CsrMatrix,
    index_dir: str | Path,
    *,
    doc_ids: Iterable[str] | None = None,
    terms: Iterable[str] | None = None,
) -> Manifest:
    """Build an index of a matrix of compressed sparse rows, documents x terms; SciPy is not needed.

    The values are frequencies or weights, as in a mapping that is added: whole numbers are counts, whatever their type.
    What counts is the matrix and not how it is stored: a document's terms come by ascending column, entries of the same
    row and column are summed as SciPy does (integers in int64, floats in float64, booleans to one), and an entry of
    zero is none. Term rows are numbered by first appearance, as always; a column without entries leaves no trace.

    doc_ids: n strings by row; terms: m distinct strings by column. Without them a document or term is named by its
    place, a decimal number from 0.

    Raises:
        InputError: the attributes are no such matrix, names are too few or many or not distinct, a value is below 0 or
            one that the builder refuses, or there is no row.
        IndexDirectoryError: nothing can be written at `index_dir`, or something else stands there.
    """
    rows = _read_csr(matrix)
    named = _list_names(doc_ids, rows.row_count, what="document IDs", of="rows")
    columns: Mapping[int, str] | Sequence[str] = _DecimalNames()
    if terms is not None:
        columns = _list_names(terms, rows.column_count, what="terms", of="columns")
        if len(set(columns)) < len(columns):
            repeated = next(term for term, count in Counter(columns).items() if count > 1)
            raise InputError(
                f"the term {repeated!r} for two columns", expected="a term for each", remedy="rename one of the two"
            )
    return build_from_pairs(zip(named, _read_bags(rows, columns), strict=True), index_dir)


def build_from_tokens(
    tokens: Iterable[Iterable[str]] | Tokenized | tuple[Iterable[Iterable[int]], Mapping[str, int]],
    index_dir: str | Path,
    *,
    doc_ids: Iterable[str] | None = None,
    as_sets: bool = False,
) -> Manifest:
    """Build an index of tokenized documents: a list of lists of strings, or token IDs with a vocabulary.

    The latter is what bm25s.tokenize returns: an object with `ids` (a list of lists of integers) and `vocab` (token to
    ID), or a tuple of the two. A token that a document repeats counts as often, or once with `as_sets`. The empty
    token, which bm25s gives to a document without words, is a term like any other.

    doc_ids: a string for each document; without them they are named by their place, a decimal number from 0.

    Raises:
        InputError: a document is no list of strings (or of IDs of the vocabulary), two tokens have one ID, document IDs
            are too few or many or not distinct, or there is no document.
        IndexDirectoryError: nothing can be written at `index_dir`, or something else stands there.
    """
    documents, vocabulary = _tell_apart(tokens)
    named = _list_names(doc_ids, len(documents), what="document IDs", of="documents")
    read = _read_strings if vocabulary is None else _Speller(vocabulary)
    lists = (read(doc_id, document) for doc_id, document in zip(named, documents, strict=True))
    return build_from_pairs(zip(named, lists if as_sets else map(Counter, lists), strict=True), index_dir)


class _Rows(NamedTuple):
    """A checked matrix: starts int64[n + 1], columns integers[e], values booleans, integers or floats [e]."""

    row_count: int
    column_count: int
    starts: NDArray[np.int64]
    columns: NDArray[Any]
    values: NDArray[Any]


class _DecimalNames(dict[int, str]):
    """The decimal name of a number, kept when it was asked for."""

    def __missing__(self, number: int) -> str:
        name = self[number] = str(number)
        return name


def _read_csr(matrix: CsrMatrix) -> _Rows:
    """Check the attributes of a matrix as far as reading it needs."""
    try:
        row_count, column_count = map(int, matrix.shape)
        starts, columns, values = np.asarray(matrix.indptr), np.asarray(matrix.indices), np.asarray(matrix.data)
    except (AttributeError, TypeError, ValueError) as error:
        raise _fault(f"a {type(matrix).__name__} as matrix ({error})") from error
    form = getattr(matrix, "format", "csr")  # SciPy's by columns and by blocks have the same attributes
    if form != "csr":
        raise _fault(f"a matrix of format {form!r}", remedy="convert it with tocsr()")
    if starts.shape != (row_count + 1,) or starts.dtype.kind not in "iu":
        raise _fault(f"indptr of {_describe(starts)}", f"integers[{row_count + 1}]")
    starts = starts.astype(np.int64)
    end = int(starts[-1])
    if starts[0] != 0 or (np.diff(starts) < 0).any():
        raise _fault("indptr that falls or does not start at 0", "where each row's entries start")
    if columns.ndim != 1 or len(columns) < end or (columns.dtype.kind not in "iu" and end):
        raise _fault(f"indices of {_describe(columns)}", f"integers[{end}]")
    if values.ndim != 1 or len(values) < end or values.dtype.kind not in "biuf":
        raise _fault(f"data of {_describe(values)}", f"booleans, integers or floats [{end}]")
    columns, values = columns[:end], values[:end]
    if end and not 0 <= int(columns.min()) <= int(columns.max()) < column_count:
        raise _fault(f"an entry in a column outside the {column_count:,}", "indices from 0 to below the columns")
    if values.dtype.kind == "u" and end and int(values.max()) > np.iinfo(np.int64).max:
        raise _fault(f"the value {values.max()}", "frequencies that int64 holds")
    return _Rows(row_count, column_count, starts, columns, values)


def _fault(found: str, expected: str = "compressed sparse rows", *, remedy: str = "correct the matrix") -> InputError:
    return InputError(found, expected=expected, remedy=remedy)


def _describe(array: NDArray[Any]) -> str:
    return f"{array.dtype}{list(array.shape)}"


def _read_bags(rows: _Rows, names: Mapping[int, str] | Sequence[str]) -> Iterator[Terms]:
    """Yield the terms of each document with their values."""
    for counts, columns, values in _read_entries(rows):
        terms, frequencies = list(map(names.__getitem__, columns.tolist())), values.tolist()
        is_set = bool((values == 1).all())  # then lists say the same, and are quicker to add; booleans always are
        start = 0
        for end in np.cumsum(counts).tolist():
            found = terms[start:end]
            yield found if is_set else dict(zip(found, frequencies[start:end], strict=True))
            start = end


def _read_entries(rows: _Rows) -> Iterator[tuple[NDArray[np.intp], NDArray[Any], NDArray[Any]]]:
    """Yield the entries of some rows after another: how many each row has, then columns and values row by row.

    Columns ascend within a row and are distinct; no value is zero. Values are bool, int64 or float64.
    """
    dtype: DTypeLike = {"b": np.bool_, "f": np.float64}.get(rows.values.dtype.kind, np.int64)
    first = 0
    while first < rows.row_count:
        reach = int(np.searchsorted(rows.starts, rows.starts[first] + _ENTRIES, side="right")) - 1
        last = max(first + 1, min(reach, first + _ENTRIES))
        span = slice(rows.starts.item(first), rows.starts.item(last))
        places = np.repeat(np.arange(last - first), np.diff(rows.starts[first : last + 1]))
        columns, values = rows.columns[span], rows.values[span].astype(dtype)
        is_next = (places[1:] != places[:-1]) | (columns[1:] > columns[:-1])
        if not is_next.all():
            order = np.lexsort((columns, places))
            places, columns, values = places[order], columns[order], values[order]
            is_new = np.ones(len(places), np.bool_)
            is_new[1:] = (places[1:] != places[:-1]) | (columns[1:] != columns[:-1])
            groups = np.flatnonzero(is_new)
            with np.errstate(all="ignore"):  # what is not finite is refused when it is added
                values = np.add.reduceat(values, groups, dtype=dtype)
            places, columns = places[groups], columns[groups]
        kept = values != 0
        if not kept.all():
            places, columns, values = places[kept], columns[kept], values[kept]
        yield np.bincount(places, minlength=last - first), columns, values
        first = last


def _tell_apart(tokens: Any) -> tuple[list[Any], Mapping[str, int] | None]:
    """Return the documents, and the vocabulary if they are token IDs."""
    vocabulary = None
    if hasattr(tokens, "ids") and hasattr(tokens, "vocab"):
        tokens = (tokens.ids, tokens.vocab)
    match tokens:
        case tuple((ids, Mapping() as names)):
            tokens, vocabulary = ids, names
    if isinstance(tokens, str | Mapping) or not isinstance(tokens, Iterable):
        raise InputError(
            f"token lists that are {shorten(tokens)}",
            expected="a list for each document, or token IDs and a vocabulary",
            remedy="correct it; of frequencies an index is built from pairs",
        )
    return list(tokens), vocabulary


def _read_strings(doc_id: str, document: Any) -> list[str]:
    """Return the tokens of a document."""
    tokens = list(document) if isinstance(document, Iterable) else [document]
    if isinstance(document, str | Mapping) or not are_strings(tokens):
        raise InputError(
            f"document {doc_id!r} as {shorten(document)}", expected="a list of strings", remedy="correct the document"
        )
    return tokens


class _Speller:
    """Token IDs -> tokens, by a vocabulary from token to ID."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._tokens = {number: token for token, number in vocabulary.items()}
        if len(self._tokens) < len(vocabulary):
            repeated = next(number for number, count in Counter(vocabulary.values()).items() if count > 1)
            raise InputError(
                f"the token ID {repeated!r} for two tokens", expected="an ID for each", remedy="correct the vocabulary"
            )

    def __call__(self, doc_id: str, document: Iterable[int]) -> list[str]:
        try:
            return [self._tokens[number] for number in document]
        except (KeyError, TypeError) as error:
            found = f"the token ID {error}" if isinstance(error, KeyError) else shorten(document)
            raise InputError(
                f"document {doc_id!r} with {found}", expected="IDs of the vocabulary", remedy="correct the document"
            ) from error


def _list_names(names: Iterable[str] | None, count: int, *, what: str, of: str) -> list[str]:
    """Return so many names, decimal numbers from 0 if none are given."""
    if names is None:
        return list(map(str, range(count)))
    if isinstance(names, str) or not isinstance(names, Iterable) or not are_strings(listed := list(names)):
        raise InputError(f"{what} that are no strings", expected="a collection of strings", remedy="correct them")
    if len(listed) != count:
        raise InputError(f"{len(listed):,} {what} for {count:,} {of}", expected="one for each", remedy="correct them")
    return listed
