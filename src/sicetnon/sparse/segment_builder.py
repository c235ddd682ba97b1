"""Documents one after another -> the files of one segment; memory stays bounded but for the strings.

Term rows are numbered by first appearance, documents in the order they are added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sicetnon.errors import InputError
from sicetnon.sparse.bitmaps import write_bitmaps
from sicetnon.sparse.layout import MAX_COUNT, MAX_LENGTH, choose_row_dtype, pad_width
from sicetnon.sparse.spill import NumberSpill, PostingSpill
from sicetnon.sparse.terms import are_strings, write_terms
from sicetnon.storage import DirectoryWriter, write_strings


class SegmentBuilder:
    """Builds one segment in a folder of a generation that is being written."""

    def __init__(self, writer: DirectoryWriter, folder: str, *, buffered_postings: int) -> None:
        """Begin; about `buffered_postings` postings are held in memory at a time."""
        self._writer = writer
        self.folder = folder
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
        (writer.folder / folder).mkdir()
        self._postings = PostingSpill(writer.folder / folder / "postings.spill")
        self._forward = NumberSpill(writer.folder / folder / "forward.spill")
        self._forward_frequencies = NumberSpill(writer.folder / folder / "forward-frequencies.spill")

    def __len__(self) -> int:
        """Return the number of documents so far."""
        return len(self._documents)

    def __contains__(self, doc_id: str) -> bool:
        """Tell whether a document of that ID was added."""
        return doc_id in self._documents

    def close(self) -> None:
        """Remove what is temporary."""
        for spill in (self._postings, self._forward, self._forward_frequencies):
            spill.remove()

    def add(self, doc_id: str, terms: Iterable[str] | Mapping[str, int]) -> None:
        """Add a document; see `SparseIndexBuilder.add`."""
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
        names, frequencies = read_terms(doc_id, terms)
        self._documents[doc_id] = None
        held = len(self._buffer)
        self._buffer.extend(map(self._find_row, names))
        self._postings_by_document.append(len(names))
        if frequencies is not None and self._frequencies is None:
            self._frequencies = [1] * held
        if self._frequencies is not None:
            self._frequencies.extend(frequencies or [1] * len(names))
        if len(self._buffer) >= self._buffered_postings:
            rows = np.array(self._buffer, np.int64)
            self._flush(rows, None if self._frequencies is None else np.array(self._frequencies, np.uint32))

    def add_rows(
        self,
        doc_ids: Iterable[str],
        row_counts: NDArray[np.int64],
        rows: NDArray[np.int64],
        frequencies: NDArray[np.uint32] | None,
    ) -> None:
        """Add documents by the rows of their terms, distinct in each document, which `name_terms` has named.

        doc_ids: new ones. row_counts: int64, the terms of each. rows and frequencies (None: all 1): one document's
        after another's.
        """
        assert not self._buffer
        self._documents.update(dict.fromkeys(doc_ids))
        self._postings_by_document.extend(row_counts.tolist())
        self._flush(rows, frequencies)

    def name_terms(self, terms: Sequence[str]) -> None:
        """Give the terms rows from 0, in that order, before any document is added."""
        assert not self._rows
        self._rows.update(zip(terms, range(len(terms)), strict=True))

    def finish(self) -> dict[str, int]:
        """Write the segment's files and return its counts: documents, terms, postings, tokens, longest."""
        rows = np.array(self._buffer, np.int64)
        self._flush(rows, None if self._frequencies is None else np.array(self._frequencies, np.uint32))
        document_frequencies = self._postings.document_frequencies
        posting_count = int(document_frequencies.sum())
        dtype = np.min_scalar_type(self._highest_frequency)
        self._save_chunks("postings", self._postings.merge_documents(self._buffered_postings), np.int32, posting_count)
        if self._highest_frequency > 1:
            frequencies = self._postings.merge_frequencies(self._buffered_postings, dtype)
            self._save_chunks("frequencies", frequencies, dtype, posting_count)
        offsets = np.zeros(len(document_frequencies) + 1, np.int64)
        np.cumsum(document_frequencies, out=offsets[1:])
        self._save("offsets", offsets)
        written = np.load(self._writer.folder / self.folder / "postings.npy", mmap_mode="r")
        write_bitmaps(self._writer, self.folder, written, offsets, len(self._documents))
        longest = self._write_forward(dtype)
        lengths = np.concatenate(self._lengths)
        self._save("document-lengths", lengths)
        write_terms(self._writer, self.folder, list(self._rows))
        write_strings(self._writer, f"{self.folder}/documents", self._documents)
        self._save("tie-rank", _rank(list(self._documents)))
        self.close()
        return {
            "documents": len(self._documents),
            "terms": len(self._rows),
            "postings": posting_count,
            "tokens": int(lengths.sum(dtype=np.int64)),
            "longest": longest,
        }

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
        if self._highest_frequency > 1:
            frequencies = self._forward_frequencies.read(frequency_dtype, self._buffered_postings)
            self._save_chunks("forward-frequencies", frequencies, frequency_dtype, int(starts[-1]))
        return longest

    def _flush(self, rows: NDArray[np.int64], frequencies: NDArray[np.uint32] | None) -> None:
        """Spill what is buffered."""
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
            lengths = np.bincount(places, weights=frequencies, minlength=len(by_document)).astype(np.uint32)
            self._forward.append(rows)
            self._forward_frequencies.append(np.ones(len(rows), np.uint32) if frequencies is None else frequencies)
            if frequencies is not None:
                self._highest_frequency = max(self._highest_frequency, int(frequencies.max()))
        self._row_counts.append(row_counts)
        self._lengths.append(lengths)
        self._buffer.clear()
        self._frequencies = None
        self._postings_by_document.clear()

    def _save(self, name: str, array: NDArray[Any]) -> None:
        self._writer.save(f"{self.folder}/{name}.npy", array)

    def _save_chunks(self, name: str, chunks: Iterable[NDArray[Any]], dtype: DTypeLike, length: int) -> None:
        self._writer.save_array(f"{self.folder}/{name}.npy", chunks, dtype=dtype, shape=(length,))


def read_terms(doc_id: str, terms: Iterable[str] | Mapping[str, int]) -> tuple[list[str], list[int] | None]:
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
