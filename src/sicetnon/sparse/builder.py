"""Documents one after another -> a sparse index directory; memory stays bounded but for the strings.

Term rows are numbered by first appearance, documents in the order they are added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sicetnon.errors import InputError
from sicetnon.sparse.bitmaps import write_bitmaps
from sicetnon.sparse.layout import KIND, MAX_COUNT, MAX_LENGTH, choose_row_dtype, pad_width
from sicetnon.sparse.spill import PostingSpill, RowSpill
from sicetnon.sparse.terms import are_strings, write_terms
from sicetnon.storage import DirectoryWriter, Manifest, write_strings

_SPILL_NAME = "postings.spill"
_FORWARD_SPILL_NAME = "forward.spill"


class SparseIndexBuilder:
    """Builds one sparse index, as a context manager; without `commit` nothing is left behind."""

    def __init__(self, path: str | Path, *, buffered_postings: int = 4_000_000) -> None:
        """Name the index directory; about `buffered_postings` postings are held in memory at a time."""
        self._writer = DirectoryWriter(path, kind=KIND)
        self._buffered_postings = buffered_postings
        self._documents: dict[str, None] = {}
        self._rows: defaultdict[str, int] = defaultdict()
        self._rows.default_factory = self._rows.__len__
        self._find_row = self._rows.__getitem__
        self._buffer: list[int] = []
        self._frequencies: list[int] | None = None  # of the buffer's postings, once one differs from 1
        self._postings_by_document: list[int] = []
        self._lengths: list[NDArray[np.uint32]] = []
        self._row_counts: list[NDArray[np.int64]] = []  # distinct terms by document
        self._highest_frequency = 1

    def __enter__(self) -> Self:
        """Take the directory; see `DirectoryWriter`."""
        self._writer.__enter__()
        try:
            self._spill = PostingSpill(self._writer.folder / _SPILL_NAME)
            self._forward = RowSpill(self._writer.folder / _FORWARD_SPILL_NAME)
        except BaseException as error:
            self._writer.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave the index as it was unless it was committed."""
        self._spill.remove()
        self._forward.remove()
        self._writer.__exit__(kind, error, traceback)

    def add(self, doc_id: str, terms: Iterable[str] | Mapping[str, int]) -> None:
        """Add a document: a set of terms (repeated ones count once), or a bag as a mapping from term to frequency.

        A document that is refused with InputError leaves the builder as it was.
        """
        if not isinstance(doc_id, str):
            raise InputError(f"document ID {doc_id!r}", expected="a string", remedy="correct the document")
        if doc_id in self._documents:
            raise InputError(
                f"document ID {doc_id!r} a second time", expected="each document once", remedy="remove one of the two"
            )
        if len(self._documents) == MAX_COUNT:
            raise InputError(
                f"more than {MAX_COUNT:,} documents", expected="at most that many", remedy="split the corpus"
            )
        names, frequencies = _read_terms(doc_id, terms)
        self._documents[doc_id] = None
        held = len(self._buffer)
        self._buffer.extend(map(self._find_row, names))
        self._postings_by_document.append(len(names))
        if frequencies is not None and self._frequencies is None:
            self._frequencies = [1] * held
        if self._frequencies is not None:
            self._frequencies.extend(frequencies or [1] * len(names))
        if len(self._buffer) >= self._buffered_postings:
            self._flush()

    def commit(self, settings: Mapping[str, Any] | None = None) -> Manifest:
        """Write the index and make it the current one; settings are any JSON values worth keeping beside it."""
        if not self._documents:
            raise InputError("no document at all", expected="at least one", remedy="check the corpus")
        self._flush()
        writer, spill = self._writer, self._spill
        document_frequencies = spill.document_frequencies
        posting_count = int(document_frequencies.sum())
        documents = spill.merge_documents(self._buffered_postings)
        writer.save_array("postings.npy", documents, dtype=np.int32, shape=(posting_count,))
        if self._highest_frequency > 1:
            dtype = np.min_scalar_type(self._highest_frequency)
            frequencies = spill.merge_frequencies(self._buffered_postings, dtype)
            writer.save_array("frequencies.npy", frequencies, dtype=dtype, shape=(posting_count,))
        spill.remove()
        offsets = np.zeros(len(document_frequencies) + 1, np.int64)
        np.cumsum(document_frequencies, out=offsets[1:])
        writer.save("offsets.npy", offsets)
        written = np.load(writer.folder / "postings.npy", mmap_mode="r")
        write_bitmaps(writer, written, offsets, len(self._documents))
        lengths = np.concatenate(self._lengths)
        writer.save("document-lengths.npy", lengths)
        longest = self._write_forward()
        write_terms(writer, list(self._rows))
        write_strings(writer, "documents", self._documents)
        writer.save("tie-rank.npy", _rank(list(self._documents)))
        counts = {
            "documents": len(self._documents),
            "terms": len(self._rows),
            "postings": posting_count,
            "tokens": int(lengths.sum(dtype=np.int64)),
            "longest": longest,
        }
        return writer.commit(dict(settings or {}), counts)

    def _write_forward(self) -> int:
        """Write the forward index; return the number of distinct terms of the document that has most."""
        row_counts = np.concatenate(self._row_counts)
        starts = np.zeros(len(row_counts) + 1, np.int64)
        np.cumsum(row_counts, out=starts[1:])
        self._writer.save("forward-starts.npy", starts)
        longest = int(row_counts.max())
        dtype = choose_row_dtype(len(self._rows))
        padding = pad_width(longest)
        rows = chain(self._forward.read(dtype, self._buffered_postings), [np.zeros(padding, dtype)])
        self._writer.save_array("forward.npy", rows, dtype=dtype, shape=(int(starts[-1]) + padding,))
        self._forward.remove()
        return longest

    def _flush(self) -> None:
        """Spill what is buffered."""
        if len(self._rows) > MAX_COUNT:
            raise InputError(
                f"more than {MAX_COUNT:,} distinct terms", expected="at most that many", remedy="split the corpus"
            )
        by_document = np.array(self._postings_by_document, np.int64)
        row_counts, lengths = by_document, by_document.astype(np.uint32)
        if self._buffer:
            places = np.repeat(np.arange(len(by_document)), by_document)
            first = len(self._documents) - len(by_document)
            rows = np.array(self._buffer, np.int64)
            frequencies = None if self._frequencies is None else np.array(self._frequencies, np.uint32)
            kept = self._spill.append(rows, places + first, frequencies)
            if kept is not None:
                rows, places = rows[kept], places[kept]
                frequencies = None if frequencies is None else frequencies[kept]
            row_counts = np.bincount(places, minlength=len(by_document))
            lengths = np.bincount(places, weights=frequencies, minlength=len(by_document)).astype(np.uint32)
            self._forward.append(rows)
            if frequencies is not None:
                self._highest_frequency = max(self._highest_frequency, int(frequencies.max()))
        self._row_counts.append(row_counts)
        self._lengths.append(lengths)
        self._buffer.clear()
        self._frequencies = None
        self._postings_by_document.clear()


def _read_terms(doc_id: str, terms: Iterable[str] | Mapping[str, int]) -> tuple[list[str], list[int] | None]:
    """Return a document's terms and, unless all are 1, their frequencies."""
    names = terms if isinstance(terms, list) else list(terms)
    if isinstance(terms, str) or not are_strings(names):
        raise InputError(
            f"document {doc_id!r} with terms that are no strings",
            expected="a collection of strings",
            remedy="correct the document",
        )
    if not isinstance(terms, Mapping):
        return names, None
    frequencies = list(terms.values())
    if any(type(f) is not int or f < 1 for f in frequencies) or sum(frequencies) > MAX_LENGTH:
        raise InputError(
            f"document {doc_id!r} with a frequency that is no count",
            expected=f"integers of at least 1, {MAX_LENGTH:,} in all",
            remedy="correct the document",
        )
    return names, None if all(f == 1 for f in frequencies) else frequencies


def _rank(doc_ids: list[str]) -> NDArray[np.int32]:
    """Return the place of each document among all IDs in code point order."""
    order = sorted(range(len(doc_ids)), key=doc_ids.__getitem__)
    rank = np.empty(len(doc_ids), np.int32)
    rank[order] = np.arange(len(doc_ids), dtype=np.int32)
    return rank
