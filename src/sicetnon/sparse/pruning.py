"""The best documents of a query over sets, exactly, without looking at most postings of its frequent terms.

MaxScore (Turtle and Flood 1995, "Query evaluation: strategies and optimizations", section 4) without a heap: the rarer
terms are added up for all documents in whole numbers; a few good documents, scored in full, give a bound of the k-th
best score; a document that could not reach it with every frequent term is dropped; the rest are tested for the frequent
terms by bitmap, and those that may be among the best are scored anew, in the order of the plain sum.

Scores are scaled to whole numbers by one factor and rounded, so each of m terms is off by at most 1/2: a sum is off by
at most m/2, and two sums that are compared by at most m. Every comparison leaves m + 1, one more for the rounding of
the factor and of the plain sum itself, which are far smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sicetnon.sparse.bitmaps import TermBitmaps
from sicetnon.sparse.topk import bound_kth

_LARGEST_SUM = 60_000  # of a document's whole numbers: within uint16, with half a unit more a term
_MOST_TERMS = 4_000
_LEFT_SHARE = 0.1  # of the query's weight, that the terms left to the bitmaps may have together
_FEWEST_DOCUMENTS = 4_096  # with fewer, the plain sum is quicker
_LEAST_SAVED = 0.7  # of the query's postings, that the terms left to the bitmaps must have for all this to pay
_MOST_CANDIDATES = 1 / 8  # of the documents: with more, the plain sum is quicker
_TERMS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class SetPostings:
    """What the search needs of an index: postings int32 by term row, offsets int64, and the frequent terms' bitmaps."""

    postings: NDArray[np.int32]
    offsets: NDArray[np.int64]
    bitmaps: TermBitmaps

    def span(self, row: int) -> NDArray[np.int32]:
        """Return the documents of a term, ascending."""
        return self.postings[self.offsets.item(row) : self.offsets.item(row + 1)]


def find_best(
    source: SetPostings, rows: NDArray[np.intp], weights: NDArray[np.float64], *, document_count: int, k: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]] | None:
    """Return documents among which the k best are, with their exact scores; None where that would not pay.

    rows: intp[m], ascending; weights: float64[m], above 0. Returns ordinals intp[c], ascending, and scores float64[c],
    each the sum of its matching weights in ascending row. Ties at the k-th score are all there.
    """
    if document_count < _FEWEST_DOCUMENTS or len(rows) > _MOST_TERMS or weights.min() <= 0:
        return None
    frequencies = source.offsets[rows + 1] - source.offsets[rows]
    factor = _LARGEST_SUM / weights.sum()
    whole = np.rint(weights * factor).astype(np.int64)
    slack = len(rows) + 1
    added, left = _split(frequencies, whole)
    saved = frequencies[left].sum()
    if not len(added) or saved < _LEAST_SAVED * frequencies.sum():
        return None
    places = source.bitmaps.find(rows[left])
    if (places < 0).any():
        return None
    sums = np.zeros(document_count, np.uint16)
    ordinals = np.concatenate([source.span(row) for row in rows[added].tolist()]).astype(np.intp)
    np.add.at(sums, ordinals, np.repeat(whole[added].astype(np.uint16), frequencies[added]))

    weights_left = whole[left]
    missing = int(weights_left.sum())
    bound = _bound_full(sums, source.bitmaps, places, weights_left, k)
    least = bound - missing - slack
    if least <= 0:
        return None
    candidates = np.flatnonzero(sums >= least)
    if len(candidates) > _MOST_CANDIDATES * document_count:
        return None
    totals = sums[candidates].astype(np.int64)
    for start in range(0, len(left), _TERMS_AT_ONCE):
        part = slice(start, start + _TERMS_AT_ONCE)
        totals += weights_left[part] @ source.bitmaps.test(places[part], candidates).astype(np.int64)
        missing -= int(weights_left[part].sum())
        kept = totals + missing >= bound - slack
        candidates, totals = candidates[kept], totals[kept]
    return candidates, _add_up(source, rows, weights, candidates)


def _split(frequencies: NDArray[np.int64], whole: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which terms to add up, and which to leave to their bitmaps: the most frequent, rarest first."""
    order = np.argsort(-frequencies, kind="stable")
    count = int(np.searchsorted(np.cumsum(whole[order]), _LEFT_SHARE * whole.sum(), side="right"))
    return np.sort(order[count:]), order[:count][::-1]


def _bound_full(
    sums: NDArray[np.uint16], bitmaps: TermBitmaps, places: NDArray[np.intp], whole: NDArray[np.int64], k: int
) -> int:
    """Return the k-th best full sum of some good documents, no more than the k-th best of all; 0 if none is cheap."""
    good = np.flatnonzero(sums >= max(bound_kth(sums, k, 0), 1))
    if not k <= len(good) <= 64 * k:
        return 0
    totals = sums[good] + whole @ bitmaps.test(places, good).astype(np.int64)
    return int(np.partition(totals, len(totals) - k)[len(totals) - k])


def _add_up(
    source: SetPostings, rows: NDArray[np.intp], weights: NDArray[np.float64], ordinals: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the exact scores of a few documents, adding in ascending row as the plain sum does."""
    scores = np.zeros(len(ordinals))
    places = source.bitmaps.find(rows)
    for row, weight, place in zip(rows.tolist(), weights.tolist(), places.tolist(), strict=True):
        if place >= 0:
            has = source.bitmaps.test(np.array([place]), ordinals)[0] != 0
        else:
            documents = source.span(row)
            at = np.searchsorted(documents, ordinals)
            has = documents[np.minimum(at, len(documents) - 1)] == ordinals
        scores[has] += weight
    return scores
