"""The best documents of a query over sets, exactly, without looking at most postings of its frequent terms.

MaxScore (Turtle and Flood 1995, "Query evaluation: strategies and optimizations", section 4) without a heap: the rarer
terms are added up for all documents in whole numbers; a few good documents, scored in full, give a bound of the k-th
best score; a document that could not reach it with every frequent term is dropped; the rest are tested for the frequent
terms by bitmap, and those that may be among the best are scored anew, in the order of the plain sum.

Scores are scaled to whole numbers by one factor and rounded, so each of m terms is off by at most 1/2: a sum is off by
at most m/2, and two sums that are compared by at most m. Every comparison leaves m + 1, one more for the rounding of
the factor and of the plain sum itself, which are far smaller. Frequent terms that are added up for all documents are
rounded further, to steps of several units, so that bytes hold their sums; by how much each is off is known and allowed
for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sicetnon.sparse.bitmaps import TermBitmaps
from sicetnon.sparse.sums import SetPostings, bar, list_at_least, list_good
from sicetnon.sparse.topk import find_kth

_LARGEST_SUM = 58_000  # of a document's whole numbers: within uint16, with what all the rounding may add
_LARGEST_STEPS = 240  # of a document's unpacked bitmaps: within uint8, with half a step more a term
_MOST_UNPACKED = 28
_MOST_TERMS = 4_000
_LEAST_WORK = 300_000  # postings, and documents: with less, the plain sum is quicker
_LEFT_SHARE = 0.12  # of the query's weight, that the terms left to the bitmaps may have together
_TERMS_AT_ONCE = 4
_SAMPLED = 8_192
_GOOD_PER_RESULT = 10  # listed for a bound: often that is all who can be among the best
_PRIMED_PER_RESULT = 2
_NEVER = 2**16
# Scoring a document anew costs as much as adding so many postings: where that is more than the plain sum, it is taken.
_POSTINGS_A_SCORE = 400
_MOST_CANDIDATES = 1 / 128  # of the documents: with more, some of the terms left are added up as well


class Pruned(NamedTuple):
    """Documents among which the k best are, with their exact scores, and why no other can be.

    ordinals: intp[c], ascending. scores: float64[c]. Term rows are told apart as added, for all documents, and left,
    looked up for the few that could still be among the best. Any document that is not here scores less than `bound`,
    and k of these score at least that.
    """

    ordinals: NDArray[np.intp]
    scores: NDArray[np.float64]
    added: NDArray[np.intp]
    left: NDArray[np.intp]
    bound: float


def find_best(
    source: SetPostings,
    rows: NDArray[np.intp],
    weights: NDArray[np.float64],
    *,
    k: int,
    allowed: NDArray[np.bool_] | None = None,
) -> Pruned | None:
    """Return documents among which the k best are; None where the plain sum is as quick.

    rows: intp[m], distinct; weights: float64[m], above 0; allowed: bool by ordinal, None for all. Scores are sums in
    the order of the rows. Ties at the k-th score are all there.
    """
    count = source.document_count
    frequencies = source.count_documents(rows)
    if frequencies.sum() + count < _LEAST_WORK or len(rows) > _MOST_TERMS or weights.min() <= 0:
        return None
    factor = _LARGEST_SUM / weights.sum()
    whole = np.rint(weights * factor).astype(np.int64)
    slack = len(rows) + 1
    places = source.bitmaps.find(rows)
    added, left = _split(frequencies, whole, places)
    sums, below, above = _add_up(source, rows[added], whole[added], places[added])
    bar(sums, allowed)
    weights_left = whole[left]
    most = int(frequencies.sum()) // _POSTINGS_A_SCORE
    good, floor = list_good(sums, _GOOD_PER_RESULT * k)
    if len(good) < k:
        return None
    bound = _bound_full(source.bitmaps, good, sums[good], places[left], weights_left, k=k) - above
    while True:
        missing = int(weights_left.sum())
        least = bound - missing - slack - below
        if least > 0 and (not len(left) or np.count_nonzero(sums >= least) <= _MOST_CANDIDATES * count):
            break
        if not len(left):
            return None
        number = _count_more(sums, least, weights_left, frequencies[left])
        more, left = left[:number], left[number:]
        floor = _NEVER  # of sums that have changed, nothing is listed
        below_more, above_more = _unpack(source, sums, whole[more], places[more])
        bar(sums, allowed)
        below, above = below + below_more, above + above_more
        added, weights_left = np.concatenate([added, more]), whole[left]
    candidates = good[sums[good] >= least] if least >= floor else list_at_least(sums, least)
    totals = sums[candidates].astype(np.int64)
    for start in range(0, len(left), _TERMS_AT_ONCE):
        part = slice(start, start + _TERMS_AT_ONCE)
        totals += source.bitmaps.weigh(places[left[part]], weights_left[part], candidates)
        missing -= int(weights_left[part].sum())
        kept = totals >= bound - missing - slack - below
        candidates, totals = candidates[kept], totals[kept]
    if len(totals) > k:  # now that all are summed in full, they give a better bound themselves
        bound = max(bound, int(find_kth(totals, k)) - above)
        candidates = candidates[totals >= bound - slack - below]
    if len(candidates) > most:
        return None
    scores = source.forward.score(candidates, rows, weights)
    # What was dropped had a whole sum below bound - slack, and k have one of at least the bound; each is off by m/2.
    bound_score = (bound - len(rows) / 2 - 1) / factor
    return Pruned(candidates, scores, rows[np.sort(added)], rows[np.sort(left)], bound_score)


def _split(
    frequencies: NDArray[np.int64], whole: NDArray[np.int64], places: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which terms to add up, and which to leave to their bitmaps: the most frequent, rarest first."""
    order = np.argsort(-frequencies, kind="stable")
    count = int(np.searchsorted(np.cumsum(whole[order]), _LEFT_SHARE * whole.sum(), side="right"))
    has_none = places[order[:count]] < 0
    if has_none.any():
        count = int(has_none.argmax())
    return order[count:], order[:count][::-1]


def _count_more(sums: NDArray[np.uint16], least: int, whole: NDArray[np.int64], frequencies: NDArray[np.int64]) -> int:
    """Return how many of the terms left to add up so that few enough documents are candidates, by a sample's sums.

    Adding a term raises the least sum of a candidate by its weight, and sums, on average, by its share of that.
    """
    sample = np.sort(sums[:: len(sums) // _SAMPLED + 1])
    raised = least + np.cumsum(whole - whole * frequencies // len(sums))
    counts = len(sample) - np.searchsorted(sample, raised)
    # A third of what may be, as the sums near the top rise more than the average.
    enough = np.flatnonzero((raised > 0) & (counts <= _MOST_CANDIDATES / 3 * len(sample)))
    return int(enough[0]) + 1 if len(enough) else len(whole)


def _add_up(
    source: SetPostings, rows: NDArray[np.intp], whole: NDArray[np.int64], places: NDArray[np.intp]
) -> tuple[NDArray[np.uint16], int, int]:
    """Return every document's sum, and by how much one may be too low, and too high."""
    is_unpacked = source.is_unpacked(source.count_documents(rows), places)
    sums = source.add_postings(rows[~is_unpacked], whole[~is_unpacked].astype(np.uint16))
    return sums, *_unpack(source, sums, whole[is_unpacked], places[is_unpacked])


def _unpack(
    source: SetPostings, sums: NDArray[np.uint16], whole: NDArray[np.int64], places: NDArray[np.intp]
) -> tuple[int, int]:
    """Add terms to all sums by their bitmaps; return by how much one may then be too low, and too high."""
    below = above = 0
    for start in range(0, len(places), _MOST_UNPACKED):
        part = slice(start, start + _MOST_UNPACKED)
        step = max(-(-int(whole[part].sum()) // _LARGEST_STEPS), 1)
        steps = np.rint(whole[part] / step).astype(np.uint8)
        errors = whole[part] - step * steps.astype(np.int64)
        below += int(errors[errors > 0].sum())
        above -= int(errors[errors < 0].sum())
        sums += np.multiply(source.bitmaps.sum_up(places[part], steps), step, dtype=np.uint16)
    return below, above


def _bound_full(
    bitmaps: TermBitmaps,
    good: NDArray[np.intp],
    values: NDArray[np.uint16],
    places: NDArray[np.intp],
    whole: NDArray[np.int64],
    *,
    k: int,
) -> int:
    """Return the k-th best full sum of the best of some good documents (k or more), by their sums so far."""
    if len(good) > _PRIMED_PER_RESULT * k:
        least = find_kth(values, _PRIMED_PER_RESULT * k)
        good, values = good[values >= least], values[values >= least]
    totals = values + bitmaps.weigh(places, whole, good)
    return int(find_kth(totals, k))
