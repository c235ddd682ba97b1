"""Postings in document order -> the same, and postings in term order, with bounded memory.

Each bufferful of postings is sorted by term row and spilled as a run. Once all are in, windows of term rows are
filled from the runs: each run's share of a window is contiguous, and every posting's place is known from the counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray


@dataclass(frozen=True, slots=True)
class Run:
    """Where one run lies in the spill file, counted in its 4-byte items.

    Layout: term rows (ascending, distinct), the number of postings of each, document ordinals by term row then
    ascending, and, unless all are 1, the frequencies in the same order, which are uint32 or, as weights, float32.
    """

    start: int
    row_count: int
    posting_count: int
    frequency_dtype: np.dtype[Any] | None


class NumberSpill:
    """Numbers of 4 bytes (uint32 or float32) one after another in a temporary file, read back in another type."""

    def __init__(self, path: Path) -> None:
        """Create the file."""
        self._path = path
        self._file = path.open("w+b")
        self._parts: list[tuple[np.dtype[Any], int]] = []  # how many numbers of a type follow

    def append(self, numbers: NDArray[np.uint32] | NDArray[np.float32]) -> None:
        """Write some more numbers."""
        self._file.write(np.ascontiguousarray(numbers).data)
        self._parts.append((numbers.dtype, len(numbers)))

    def read(self, dtype: DTypeLike, at_once: int) -> Iterator[NDArray[Any]]:
        """Yield all numbers, at most so many at a time."""
        self._file.seek(0)
        for stored, count in self._parts:
            for start in range(0, count, at_once):
                content = self._file.read(4 * min(at_once, count - start))
                yield np.frombuffer(content, stored).astype(dtype)

    def remove(self) -> None:
        """Close and remove the file."""
        _remove(self._path, self._file)


class PostingSpill:
    """Sorted runs of postings in one temporary file."""

    def __init__(self, path: Path) -> None:
        """Create the file."""
        self._path = path
        self._file = path.open("w+b")
        self._runs: list[Run] = []
        self._items = 0
        self._document_frequencies = np.zeros(0, np.int64)

    @property
    def document_frequencies(self) -> NDArray[np.int64]:
        """The number of postings of each term row so far: int64, as long as the highest row needs."""
        return self._document_frequencies

    def append(
        self,
        rows: NDArray[np.int64],
        documents: NDArray[np.int64],
        frequencies: NDArray[np.uint32] | NDArray[np.float32] | None,
    ) -> NDArray[np.intp] | None:
        """Sort and spill one run, counting a repeated posting once (the first); return which were kept, None for all.

        rows, documents: of each posting, by ascending document; no document is in two runs. No frequencies: all 1.
        """
        keys = (rows << 32) | documents
        order = None if frequencies is None else np.argsort(keys, kind="stable")
        sorted_keys = np.sort(keys) if order is None else keys[order]
        is_new = np.ones(len(keys), np.bool_)
        np.not_equal(sorted_keys[1:], sorted_keys[:-1], out=is_new[1:])
        kept = None
        if not is_new.all():
            order = np.argsort(keys, kind="stable") if order is None else order
            order, sorted_keys = order[is_new], sorted_keys[is_new]
            kept = np.sort(order)
        if frequencies is not None:
            frequencies = frequencies[order]
        sorted_rows, sorted_documents = sorted_keys >> 32, sorted_keys & 0xFFFFFFFF
        counts = np.bincount(sorted_rows)
        if len(counts) > len(self._document_frequencies):
            grown = np.zeros(len(counts), np.int64)
            grown[: len(self._document_frequencies)] = self._document_frequencies
            self._document_frequencies = grown
        self._document_frequencies[: len(counts)] += counts
        present = np.flatnonzero(counts)
        frequency_dtype = None if frequencies is None else frequencies.dtype
        self._runs.append(Run(self._items, len(present), len(sorted_rows), frequency_dtype))
        for part in (present, counts[present], sorted_documents):
            self._write(part.astype(np.int32))
        if frequencies is not None:
            self._write(frequencies.view(np.int32))
        return kept

    def merge_documents(self, window_postings: int) -> Iterator[NDArray[np.int32]]:
        """Yield the document ordinals of all postings by term row, then ascending, a window at a time."""
        yield from self._merge(window_postings, np.int32, frequencies=False)

    def merge_frequencies(self, window_postings: int, dtype: DTypeLike) -> Iterator[NDArray[Any]]:
        """Yield the frequencies of all postings, in the order of `merge_documents`."""
        yield from self._merge(window_postings, dtype, frequencies=True)

    def remove(self) -> None:
        """Close and remove the file."""
        _remove(self._path, self._file)

    def _write(self, part: NDArray[Any]) -> None:
        self._file.write(np.ascontiguousarray(part).data)
        self._items += len(part)

    def _merge(self, window_postings: int, dtype: DTypeLike, *, frequencies: bool) -> Iterator[NDArray[Any]]:
        if not self._runs:
            return
        self._file.flush()
        spilled = np.memmap(self._path, np.int32, mode="r")
        offsets = np.zeros(len(self._document_frequencies) + 1, np.int64)
        np.cumsum(self._document_frequencies, out=offsets[1:])
        at = [(0, 0) for _ in self._runs]  # the first term row and posting of each run that are still to come
        first = 0
        while first < len(offsets) - 1:
            reach = int(np.searchsorted(offsets, offsets[first] + window_postings, side="right")) - 1
            last = max(first + 1, reach)
            window = np.empty(offsets[last] - offsets[first], dtype)
            ends = offsets[first:last] - offsets[first]  # where the next posting of each row goes
            for number, run in enumerate(self._runs):
                row_at, posting_at = at[number]
                rows = spilled[run.start + row_at : run.start + run.row_count]
                rows = rows[: np.searchsorted(rows, last)] - first
                counts = spilled[run.start + run.row_count + row_at :][: len(rows)].astype(np.int64)
                total = int(counts.sum())
                begins = ends[rows]
                places = np.repeat(begins - (np.cumsum(counts) - counts), counts) + np.arange(total)
                stored = run.frequency_dtype if frequencies else np.dtype(np.int32)
                if stored is None:
                    window[places] = 1
                else:
                    column = run.start + 2 * run.row_count + (run.posting_count if frequencies else 0)
                    window[places] = spilled[column + posting_at :][:total].view(stored)
                ends[rows] = begins + counts
                at[number] = (row_at + len(rows), posting_at + total)
            yield window
            first = last


def _remove(path: Path, file: BinaryIO) -> None:
    """Close and remove a file; what is still buffered for it need not reach a disk that may be full."""
    with suppress(OSError):
        path.unlink()
    with suppress(OSError):
        file.close()
