"""What each posting adds to a score, roughly and from above, in a byte: enough to tell which documents to score.

The impacts of a term are kept as levels: 255 stands for its largest, and what lies between two levels counts as the
higher one. They are made when a term is first asked for, and stay: no query after that looks at frequencies or lengths
until it scores the few documents that matter. Rare terms have a level a posting, frequent ones a level a document, so
that they are added to all sums at once without a look at the postings.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sicetnon.sparse.scoring import CollectionStatistics, Scoring
from sicetnon.sparse.sums import SetPostings

_HIGHEST_LEVEL = 255
# Adding a level for every document costs as much as adding one for every posting of a term that so many have.
_DENSE_SHARE = 1 / 8
_MOST_PRODUCT = 2**16 - 1


class Impacts:
    """The impacts of a segment's postings under one scoring; safe from many threads.

    In memory they take a byte a posting for each rare term that was asked for, and a byte a document for each frequent
    one, which is less than 8 a posting.
    """

    __slots__ = (
        "_dense",
        "_forward_frequencies",
        "_frequencies",
        "_largest",
        "_lengths",
        "_levels",
        "scoring",
        "sets",
        "statistics",
    )

    def __init__(
        self,
        sets: SetPostings,
        *,
        frequencies: NDArray[Any] | None,
        forward_frequencies: NDArray[Any] | None,
        lengths: NDArray[np.uint32],
        scoring: Scoring,
        statistics: CollectionStatistics,
    ) -> None:
        """Take the arrays of a segment: frequencies by posting, and by place in the forward index; None: all 1."""
        self.sets = sets
        self.scoring = scoring
        self.statistics = statistics
        self._frequencies = frequencies
        self._forward_frequencies = forward_frequencies
        self._lengths = lengths
        self._levels = np.empty(len(sets.postings), np.uint8)  # by posting; what is never written takes no memory
        self._dense: dict[int, NDArray[np.uint8]] = {}  # by row, then by document
        self._largest = np.full(len(sets.offsets) - 1, np.nan)  # by row; not a number where nothing is made yet

    def bound(self, rows: NDArray[np.intp], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest impact of each term: float64, in the order given."""
        largest = self._largest[rows]
        if np.isnan(largest).any():
            for row in rows[np.isnan(largest)].tolist():
                self._make(row)
            largest = self._largest[rows]
        impacts: NDArray[np.float64] = weights * largest
        return impacts

    def is_dense(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Tell which terms are frequent, with a level for every document."""
        return self.sets.count_documents(rows) > _DENSE_SHARE * self.sets.document_count

    def add_up(self, rows: NDArray[np.intp], units: NDArray[np.float64]) -> tuple[NDArray[np.uint16], int]:
        """Return every document's sum in whole numbers, too high, and by how much one may yet be too low.

        rows: intp[m], which `bound` was asked for before. units: float64[m], what the largest impact of each counts
        for; a sum is at most 1/128 and m above what they give, and must fit its type.
        """
        is_dense = self.is_dense(rows)
        sums = self._add_postings(rows[~is_dense], units[~is_dense])
        for row, unit in zip(rows[is_dense].tolist(), units[is_dense].tolist(), strict=True):
            factor, shift = _approximate(unit / _HIGHEST_LEVEL)
            products = np.multiply(self._dense[row], factor, dtype=np.uint16)
            products >>= shift
            sums += products
        return sums, int(np.count_nonzero(is_dense))

    def look_up(
        self, rows: NDArray[np.intp], units: NDArray[np.float64], ordinals: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return what frequent terms add to the sums of some documents: float64, too high."""
        sums = np.zeros(len(ordinals))
        for row, unit in zip(rows.tolist(), units.tolist(), strict=True):
            sums += self._dense[row].take(ordinals) * (unit / _HIGHEST_LEVEL)
        return sums

    def score(
        self, ordinals: NDArray[np.intp], rows: NDArray[np.intp], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the exact score of each document, summed in the order of the rows."""
        return self.sets.forward.score(ordinals, rows, weights, weigh=self._weigh)

    def _weigh(
        self, cells: NDArray[np.intp], ordinals: NDArray[np.intp], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        frequencies = _take(self._forward_frequencies, cells)
        return self.scoring.score_postings(weights, frequencies, self._lengths[ordinals], self.statistics)

    def _add_postings(self, rows: NDArray[np.intp], units: NDArray[np.float64]) -> NDArray[np.uint16]:
        sums = np.zeros(self.sets.document_count, np.uint16)
        if not len(rows):
            return sums
        ordinals = np.concatenate([self.sets.span(row) for row in rows.tolist()], dtype=np.intp)
        numbers = np.empty(len(ordinals), np.uint16)
        scratch = np.empty(int(self.sets.count_documents(rows).max()), np.float32)
        end = 0
        for row, unit in zip(rows.tolist(), (units / _HIGHEST_LEVEL).astype(np.float32), strict=True):
            levels = self._levels[self.sets.offsets.item(row) : self.sets.offsets.item(row + 1)]
            start, end = end, end + len(levels)
            part = scratch[: len(levels)]
            np.multiply(levels, unit, out=part)
            part += 1
            numbers[start:end] = part  # cut off, after 1 was added: never less than it should be
        np.add.at(sums, ordinals, numbers)
        return sums

    def _make(self, row: int) -> None:
        """Make the levels of a term. Threads may do this twice: they come to the same."""
        span = slice(self.sets.offsets.item(row), self.sets.offsets.item(row + 1))
        ordinals = self.sets.postings[span]
        frequencies = _take(self._frequencies, span, count=len(ordinals))
        impacts = self.scoring.score_postings(1.0, frequencies, self._lengths[ordinals], self.statistics)
        largest = impacts.max().item()
        # Rounding may leave a level a hair's breadth too low: users of the sums allow for more.
        levels = np.ceil(impacts / largest * _HIGHEST_LEVEL).astype(np.uint8)
        if self.is_dense(np.array([row]))[0]:
            dense = np.zeros(self.sets.document_count, np.uint8)
            dense[ordinals] = levels
            self._dense[row] = dense
        else:
            self._levels[span] = levels
        self._largest[row] = largest  # last: it says that the rest is there


def _take(frequencies: NDArray[Any] | None, places: Any, *, count: int | None = None) -> NDArray[Any]:
    """Return the frequencies at some places, 1 for all where none are stored."""
    found: NDArray[Any]
    found = np.ones(len(places) if count is None else count, np.uint8) if frequencies is None else frequencies[places]
    return found


def _approximate(ratio: float) -> tuple[np.uint16, np.uint16]:
    """Return a factor and a shift: multiplying a level by one and shifting it by the other is as good as the ratio.

    No less, but for what the shift cuts off, and 1/128 more at most; the product fits 16 bits.
    """
    largest = _MOST_PRODUCT // _HIGHEST_LEVEL
    shift = int(np.clip(np.floor(np.log2(largest / max(ratio, 1e-9))), 0, 15))
    return np.uint16(min(np.ceil(ratio * 2**shift), largest)), np.uint16(shift)
