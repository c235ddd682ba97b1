"""Documents one after another -> the files of one segment; memory stays bounded but for the strings.

Term rows are numbered by first appearance, documents in the order they are added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sicetnon.errors import InputError
from sicetnon.sparse.bitmaps import write_bitmaps
from sicetnon.sparse.layout import MAX_COUNT, MAX_LENGTH, choose_row_dtype, pad_width
from sicetnon.sparse.spill import NumberSpill, PostingSpill
from sicetnon.sparse.terms import are_strings, check_doc_id, write_terms
from sicetnon.storage import DirectoryWriter, write_strings


class SegmentBuilder:
    """Builds one segment in a folder of a generation that is being written."""

    def __init__(self, writer: DirectoryWriter, folder: str, *, buffered_postings: int) -> None:
        """Begin; about `buffered_postings` postings are held in memory at a time."""
        self._writer = writer
        self.folder = folder
        self._buffered_postings = buffered_postings
        self._documents: list[str] = []  # all IDs, by ordinal
        self._left: set[str] = set()  # those of documents that were not deleted since
        self._rows: defaultdict[str, int] = defaultdict()
        self._rows.default_factory = self._rows.__len__
        self._find_row = self._rows.__getitem__
        self._buffer: list[int] = []
        self._frequencies: list[float] | None = None  # of the buffer's postings, once one differs from 1
        self._buffers_weights = False
        self._has_weights = False  # some frequency is no count: then all are stored as weights
        self._postings_by_document: list[int] = []
        self._lengths: list[NDArray[np.uint32]] = []
        self._row_counts: list[NDArray[np.int64]] = []  # distinct terms by document
        self._highest_frequency = 1
        (writer.folder / folder).mkdir()
        with ExitStack() as opened:  # closed again if a later one cannot be created
            self._postings = PostingSpill(writer.folder / folder / "postings.spill")
            opened.callback(self._postings.remove)
            self._forward = NumberSpill(writer.folder / folder / "forward.spill")
            opened.callback(self._forward.remove)
            self._forward_frequencies = NumberSpill(writer.folder / folder / "forward-frequencies.spill")
            opened.pop_all()

    def __len__(self) -> int:
        """Return the number of documents so far, deleted ones included."""
        return len(self._documents)

    def __contains__(self, doc_id: str) -> bool:
        """Tell whether a document of that ID was added and not deleted since."""
        return doc_id in self._left

    def close(self) -> None:
        """Remove what is temporary."""
        for spill in (self._postings, self._forward, self._forward_frequencies):
            spill.remove()

    def add(self, doc_id: str, terms: Iterable[str] | Mapping[str, float]) -> None:
        """Add a document; see `SparseIndexBuilder.add`."""
        check_doc_id(doc_id)
        if doc_id in self._left:
            raise InputError(
                f"document ID {doc_id!r} a second time", expected="each document once", remedy="remove one of the two"
            )
        if len(self._documents) == MAX_COUNT:
            raise InputError(
                f"more than {MAX_COUNT:,} documents", expected="at most that many", remedy="split the corpus"
            )
        names, frequencies = read_terms(doc_id, terms)
        self._documents.append(doc_id)
        self._left.add(doc_id)
        held = len(self._buffer)
        self._buffer.extend(map(self._find_row, names))
        self._postings_by_document.append(len(names))
        if frequencies is not None and self._frequencies is None:
            self._frequencies = [1] * held
        if self._frequencies is not None:
            self._frequencies.extend(frequencies or [1] * len(names))
        if frequencies and type(frequencies[0]) is float:
            self._buffers_weights = True
        if len(self._buffer) >= self._buffered_postings:
            self._flush_buffer()

    def delete(self, doc_id: str) -> None:
        """Let a document count as deleted (see `list_deleted`); its ID may be added again."""
        self._left.remove(doc_id)

    def list_deleted(self) -> list[int]:
        """Return the ordinals of deleted documents, ascending: of those of one ID only the last can be left."""
        if len(self._left) == len(self._documents):
            return []
        last = {doc_id: ordinal for ordinal, doc_id in enumerate(self._documents)}
        left = {last[doc_id] for doc_id in self._left}
        return [ordinal for ordinal in range(len(self._documents)) if ordinal not in left]

    def add_rows(
        self,
        doc_ids: Iterable[str],
        row_counts: NDArray[np.int64],
        rows: NDArray[np.int64],
        frequencies: NDArray[Any] | None,
    ) -> None:
        """Add documents by the rows of their terms, distinct in each document, which `name_terms` has named.

        doc_ids: new ones. row_counts: int64, the terms of each. rows and frequencies (as a segment stores them; None:
        all 1): one document's after another's.
        """
        assert not self._buffer
        first = len(self._documents)
        self._documents.extend(doc_ids)
        self._left.update(self._documents[first:])
        self._postings_by_document.extend(row_counts.tolist())
        if frequencies is not None and (frequencies.dtype != np.float32 or _are_counts(frequencies, row_counts)):
            frequencies = frequencies.astype(np.uint32)
        self._flush(rows, frequencies)

    def name_terms(self, terms: Sequence[str]) -> None:
        """Give the terms rows from 0, in that order, before any document is added."""
        assert not self._rows
        self._rows.update(zip(terms, range(len(terms)), strict=True))

    def finish(self) -> dict[str, int]:
        """Write the segment's files and return its counts: documents, terms, postings, tokens, longest."""
        self._flush_buffer()
        document_frequencies = self._postings.document_frequencies
        posting_count = int(document_frequencies.sum())
        dtype = np.dtype(np.float32) if self._has_weights else np.min_scalar_type(self._highest_frequency)
        self._save_chunks("postings", self._postings.merge_documents(self._buffered_postings), np.int32, posting_count)
        if self._has_frequencies:
            frequencies = self._postings.merge_frequencies(self._buffered_postings, dtype)
            self._save_chunks("frequencies", frequencies, dtype, posting_count)
        offsets = np.zeros(len(document_frequencies) + 1, np.int64)
        np.cumsum(document_frequencies, out=offsets[1:])
        self._save("offsets", offsets)
        written = np.load(self._writer.folder / self.folder / "postings.npy", mmap_mode="r")
        write_bitmaps(self._writer, self.folder, written, offsets, len(self._documents))
        longest = self._write_forward(dtype)
        lengths = np.concatenate(self._row_counts if self._has_weights else self._lengths).astype(np.uint32)
        self._save("document-lengths", lengths)
        write_terms(self._writer, self.folder, list(self._rows))
        write_strings(self._writer, f"{self.folder}/documents", self._documents)
        self._save("tie-rank", _rank(self._documents))
        self.close()
        return {
            "documents": len(self._documents),
            "terms": len(self._rows),
            "postings": posting_count,
            "tokens": int(lengths.sum(dtype=np.int64)),
            "longest": longest,
        }

    @property
    def _has_frequencies(self) -> bool:
        return self._has_weights or self._highest_frequency > 1

    def _write_forward(self, frequency_dtype: DTypeLike) -> int:
        """Write the forward index; return the number of distinct terms of the document that has most."""
        row_counts = np.concatenate(self._row_counts)
        starts = np.zeros(len(row_counts) + 1, np.int64)
        np.cumsum(row_counts, out=starts[1:])
        self._save("forward-starts", starts)
        longest = int(row_counts.max())
        dtype = choose_row_dtype(len(self._rows))
        padding = pad_width(longest)
        rows = chain(self._forward.read(dtype, self._buffered_postings), [np.zeros(padding, dtype)])
        self._save_chunks("forward", rows, dtype, int(starts[-1]) + padding)
        if self._has_frequencies:
            frequencies = self._forward_frequencies.read(frequency_dtype, self._buffered_postings)
            self._save_chunks("forward-frequencies", frequencies, frequency_dtype, int(starts[-1]))
        return longest

    def _flush_buffer(self) -> None:
        dtype = np.float32 if self._buffers_weights else np.uint32
        frequencies = None if self._frequencies is None else np.array(self._frequencies, dtype)
        self._flush(np.array(self._buffer, np.int64), frequencies)

    def _flush(self, rows: NDArray[np.int64], frequencies: NDArray[Any] | None) -> None:
        """Spill some postings; frequencies: uint32, or float32 where they may be weights."""
        if len(self._rows) > MAX_COUNT:
            raise InputError(
                f"more than {MAX_COUNT:,} distinct terms", expected="at most that many", remedy="split the corpus"
            )
        by_document = np.array(self._postings_by_document, np.int64)
        row_counts, lengths = by_document, by_document.astype(np.uint32)
        if len(rows):
            places = np.repeat(np.arange(len(by_document)), by_document)
            first = len(self._documents) - len(by_document)
            kept = self._postings.append(rows, places + first, frequencies)
            if kept is not None:
                rows, places = rows[kept], places[kept]
                frequencies = None if frequencies is None else frequencies[kept]
            row_counts = np.bincount(places, minlength=len(by_document))
            self._forward.append(rows.astype(np.uint32))
            self._forward_frequencies.append(np.ones(len(rows), np.uint32) if frequencies is None else frequencies)
            if frequencies is not None and frequencies.dtype == np.float32:
                self._has_weights = True
            else:
                lengths = np.bincount(places, weights=frequencies, minlength=len(by_document)).astype(np.uint32)
            if frequencies is not None and not self._has_weights:
                self._highest_frequency = max(self._highest_frequency, int(frequencies.max()))
        self._row_counts.append(row_counts)
        self._lengths.append(lengths)
        self._buffer.clear()
        self._frequencies = None
        self._buffers_weights = False
        self._postings_by_document.clear()

    def _save(self, name: str, array: NDArray[Any]) -> None:
        self._writer.save(f"{self.folder}/{name}.npy", array)

    def _save_chunks(self, name: str, chunks: Iterable[NDArray[Any]], dtype: DTypeLike, length: int) -> None:
        self._writer.save_array(f"{self.folder}/{name}.npy", chunks, dtype=dtype, shape=(length,))


def read_terms(
    doc_id: str, terms: Iterable[str] | Mapping[str, float]
) -> tuple[list[str], list[int] | list[float] | None]:
    """Return a document's terms and, unless all are 1, their frequencies: all integers, or all floats."""
    names = terms if isinstance(terms, list) else list(terms)
    if isinstance(terms, str) or not are_strings(names):
        raise InputError(
            f"document {doc_id!r} with terms that are no strings",
            expected="a collection of strings",
            remedy="correct the document",
        )
    if not isinstance(terms, Mapping):
        return names, None
    given = list(terms.values())
    frequencies: list[int] | list[float] = given
    if any(type(f) is not int or f < 1 for f in given):
        names, frequencies = _read_weights(doc_id, names, given)
    if frequencies is given and sum(frequencies) > MAX_LENGTH:
        raise InputError(
            f"document {doc_id!r} with a frequency that is no count",
            expected=f"integers, {MAX_LENGTH:,} in all, or floats for weights",
            remedy="correct the document",
        )
    return names, None if all(f == 1 for f in frequencies) else frequencies


def _read_weights(doc_id: str, names: list[str], given: list[Any]) -> tuple[list[str], list[int] | list[float]]:
    """Return the terms of weights other than 0, and these: integers where they are counts, else floats of float32."""
    weights = _hold_weights(given)
    if weights is None:
        raise InputError(
            f"document {doc_id!r} with a frequency or weight that is no number, or none that float32 holds",
            expected="integers, or floats for weights; 0 or more, below infinity",
            remedy="correct the document",
        )
    names = [name for name, (weight, _) in zip(names, weights, strict=True) if weight]
    # A float that float32 has no fraction for is as whole as one without a fraction.
    counts = [int(weight if weight.is_integer() else held) for weight, held in weights if weight and held.is_integer()]
    if len(counts) == len(names) and sum(counts) <= MAX_LENGTH:
        return names, counts
    return names, [held for weight, held in weights if weight]


def _hold_weights(given: list[Any]) -> list[tuple[float, float]] | None:
    """Return each weight and what float32 makes of it; None if one is refused."""
    if not all(isinstance(weight, Real) and not isinstance(weight, bool) for weight in given):
        return None
    try:
        weights = np.array([float(weight) for weight in given])
    except OverflowError:
        return None
    with np.errstate(all="ignore"):
        held = weights.astype(np.float32)
    if not (np.isfinite(held).all() and (weights >= 0).all() and ((held > 0) == (weights > 0)).all()):
        return None
    return list(zip(weights.tolist(), held.tolist(), strict=True))


def _are_counts(weights: NDArray[np.float32], row_counts: NDArray[np.int64]) -> bool:
    """Tell whether no document needs float32 for its weights: such as did may have been deleted since."""
    sums = np.bincount(np.repeat(np.arange(len(row_counts)), row_counts), weights=weights)
    return bool((weights == np.rint(weights)).all()) and sums.max(initial=0) <= MAX_LENGTH


def _rank(doc_ids: list[str]) -> NDArray[np.int32]:
    """Return the place of each document among all IDs in code point order, equal ones in the order of adding."""
    order = sorted(range(len(doc_ids)), key=doc_ids.__getitem__)
    rank = np.empty(len(doc_ids), np.int32)
    rank[order] = np.arange(len(doc_ids), dtype=np.int32)
    return rank
