"""The forward index: the terms of a document, for scoring a few documents without a look at any postings.

Rows lie end to end in document order, each document's in the order it was added with, and are padded so that as many as
the longest document has can be read from any start: then many documents are read as one table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sicetnon.sparse.layout import choose_row_dtype, pad_width
from sicetnon.storage import StoredDirectory

Rows = NDArray[np.uint16] | NDArray[np.int32]
Weigh = Callable[[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]], NDArray[np.float64]]

_CELLS_AT_ONCE = 2**20
_WIDEST_KEPT = 1_024
_SPARE_CELLS = 4_096  # read in vain at most, beside one for each that is needed


class ForwardIndex:
    """Term rows by document; read-only.

    rows: uint16 or int32, padded. starts: int64[documents + 1], where each document's rows start.
    """

    __slots__ = ("_starts", "_term_count", "rows")

    def __init__(self, rows: Rows, starts: NDArray[np.int64], *, term_count: int) -> None:
        """Take the arrays."""
        self.rows = rows
        self._starts = starts
        self._term_count = term_count

    @classmethod
    def open(cls, stored: StoredDirectory, folder: str, *, document_count: int, term_count: int) -> Self:
        """Map forward.npy and forward-starts.npy of a folder."""
        starts = stored.array(f"{folder}/forward-starts.npy", dtype=np.int64, length=document_count + 1)
        posting_count, longest = (stored.count(f"{folder}/{name}") for name in ("postings", "longest"))
        dtype = choose_row_dtype(term_count)
        rows = stored.array(f"{folder}/forward.npy", dtype=dtype, length=posting_count + pad_width(longest))
        lengths = np.diff(starts)
        if (starts[0], starts[-1]) != (0, posting_count) or lengths.min() < 0 or lengths.max() > longest:
            raise stored.damage(
                f"{stored.path(f'{folder}/forward-starts.npy')} does not rise from 0 to {posting_count:,}",
                expected="where each document's terms start",
            )
        return cls(rows, starts, term_count=term_count)

    def read(self, ordinal: int) -> Rows:
        """Return the term rows of one document."""
        return self.rows[self._starts.item(ordinal) : self._starts.item(ordinal + 1)]

    def count_terms(self, ordinals: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the number of distinct terms of each document."""
        return self._starts[ordinals + 1] - self._starts[ordinals]

    def list_cells(self, ordinals: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return where in `rows` the documents' terms are, one document's after another's."""
        starts, counts = self._starts[ordinals], self.count_terms(ordinals)
        return np.repeat(starts - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())

    def sum_whole(
        self, ordinals: NDArray[np.intp], rows: NDArray[np.intp], whole: NDArray[np.uint16]
    ) -> NDArray[np.int64]:
        """Return each document's sum of the whole numbers of the terms it has.

        rows: intp[m], distinct; whole: uint16[m], 65,535 together at most.
        """
        table = np.zeros(self._term_count, np.uint16)
        table[rows] = whole
        sums = np.empty(len(ordinals), np.int64)
        for places, numbers in self._read_tables(ordinals, table, at_once=_CELLS_AT_ONCE):
            # Four sums side by side in each 8-byte word: no carry reaches the next, as none outgrows its 16 bits.
            lanes = np.add.reduce(numbers.view(np.uint64), axis=1)
            sums[places] = lanes.view(np.uint16).reshape(-1, 4).sum(axis=1, dtype=np.int64)
        return sums

    def score(
        self,
        ordinals: NDArray[np.intp],
        rows: NDArray[np.intp],
        weights: NDArray[np.float64],
        *,
        weigh: Weigh | None = None,
    ) -> NDArray[np.float64]:
        """Return each document's sum of the weights of the terms it has, added in the order of `rows`.

        rows: intp[m], distinct, at most 65,535; weights: float64[m]. Returns float64, one a document. weigh: what a
        term adds to a document where that is not its weight alone: from where in `rows` of this index the posting is,
        the document's ordinal and the term's weight, arrays of one length.
        """
        table = np.zeros(self._term_count, np.uint16)
        table[rows] = np.arange(1, len(rows) + 1)
        scores = np.empty(len(ordinals))
        for places, numbers in self._read_tables(ordinals, table, at_once=_CELLS_AT_ONCE // max(len(rows), 1)):
            found = np.flatnonzero(numbers != 0)
            terms = numbers.ravel()[found].astype(np.intp) - 1
            documents = found // numbers.shape[1]
            added = weights[terms]
            if weigh is not None:
                chosen = ordinals[places]
                first_cells = self._starts[chosen] - np.arange(len(chosen)) * numbers.shape[1]
                added = weigh(first_cells[documents] + found, chosen[documents], added)
            # Along the first axis NumPy adds whole rows one after another: the order of the plain sum. A single column
            # it would add in pairs, hence a second one.
            impacts = np.zeros((len(rows), max(len(numbers), 2)))
            impacts[terms, documents] = added
            scores[places] = np.add.reduce(impacts, axis=0)[: len(numbers)]
        return scores

    def _read_tables(
        self, ordinals: NDArray[np.intp], table: NDArray[np.uint16], *, at_once: int
    ) -> Iterator[tuple[slice | NDArray[np.intp], NDArray[np.uint16]]]:
        """Yield what the table, by term row, says of the documents' terms: places in `ordinals`, and a row for each.

        A row is as wide as the longest document among them needs, with 0 in what is too much; at most `at_once` rows.
        """
        starts = self._starts[ordinals]
        lengths = self._starts[ordinals + 1] - starts
        if not len(lengths):
            return
        longest = int(lengths.max())
        most = min(2 * int(lengths.sum()) + _SPARE_CELLS, _CELLS_AT_ONCE)
        if len(lengths) * longest <= most and len(lengths) <= at_once:
            yield slice(None), self._read_table(starts, lengths, longest, table)
            return
        order = np.argsort(lengths, kind="stable")  # so that a table holds documents of about one length
        widths = lengths[order]
        first = 0
        while first < len(order):
            width = max(2 * int(widths[first]), 1)
            most = max(min(_CELLS_AT_ONCE // width, at_once), 1)
            last = min(int(np.searchsorted(widths, width, side="right")), first + most)
            places = order[first:last]
            yield places, self._read_table(starts[places], widths[first:last], int(widths[last - 1]), table)
            first = last

    def _read_table(
        self, starts: NDArray[np.int64], lengths: NDArray[np.int64], longest: int, table: NDArray[np.uint16]
    ) -> NDArray[np.uint16]:
        width = pad_width(longest)
        rows = self.rows
        step = rows.itemsize
        # Every document's first `width` cells, by one copy of each, from a view whose rows start one cell apart; what
        # is beyond a document's length belongs to those that follow it.
        windows = np.ndarray((len(rows) - width + 1, width), rows.dtype, rows, strides=(step, step))
        numbers = table.take(windows[starts])
        if width <= _WIDEST_KEPT:
            numbers &= _mark_lengths(width)[lengths]
        else:
            numbers *= np.arange(width) < lengths[:, None]
        return numbers


@lru_cache(maxsize=64)
def _mark_lengths(width: int) -> NDArray[np.uint16]:
    """Return, for each length from 0 to the width, a row with all bits set in so many cells and none in the rest."""
    return np.tri(width + 1, width, -1, dtype=np.uint16) * np.uint16(0xFFFF)
