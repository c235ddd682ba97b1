"""The best documents of a query over weighted postings, exactly, or good ones within a budget.

The same two ways as over sets (see `pruning` and `budget`), from impacts of a byte that are never too low. A document's
sum bounds its score from above; the exact scores of a few good documents bound the k-th best from below; whatever
stays under that is dropped, and the rest are scored exactly, in the order of the plain sum. Sums leave one whole number
for the rounding of floats, which is far less.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sicetnon.sparse.budget import FEWEST_DOCUMENTS, Budget, Chosen
from sicetnon.sparse.impacts import Impacts
from sicetnon.sparse.pruning import Pruned
from sicetnon.sparse.sums import bar, list_at_least, list_highest
from sicetnon.sparse.topk import bound_kth

_LARGEST_SUM = 58_000  # of a document's whole numbers: within uint16, with all that `Impacts.add_up` may add
_MOST_TERMS = 4_000
_POSTINGS_A_SCORE = 100  # cost as much in the plain sum as scoring a document anew
_LEFT_SHARE = 0.1  # of the query's largest impacts, that the terms left to the bitmaps may have together
_TERMS_AT_ONCE = 4


def find_heaviest(
    impacts: Impacts,
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
    source = impacts.sets
    if not _is_large(impacts, rows, weights):
        return None
    factor, units = _scale(impacts, rows, weights)
    if factor == 0:
        return None
    frequencies = source.count_documents(rows)
    most = int(frequencies.sum()) // _POSTINGS_A_SCORE
    added, left = _split(frequencies, units)
    sums, below = impacts.add_up(rows[added], units[added])
    bar(sums, allowed)
    while True:
        good = list_at_least(sums, max(int(bound_kth(sums, k, 0)), 1))
        bound = _score_kth(impacts, good, rows, weights, k=k) if k <= len(good) <= most else 0.0
        least = int(bound * factor - units[left].sum()) - below - 1
        if least > 0 and np.count_nonzero(sums >= least) <= most:
            break
        if not len(left):
            return None
        more, below_more = impacts.add_up(rows[left], units[left])
        sums += more
        bar(sums, allowed)
        added, left, below = np.concatenate([added, left]), left[:0], below + below_more
    candidates = list_at_least(sums, least)
    if len(left):
        totals = sums[candidates] + impacts.look_up(rows[left], units[left], candidates)
        candidates = candidates[totals >= bound * factor - below - 1]
    scores = impacts.score(candidates, rows, weights)
    return Pruned(candidates, scores, rows[np.sort(added)], rows[np.sort(left)], bound)


def find_heavy(
    impacts: Impacts,
    rows: NDArray[np.intp],
    weights: NDArray[np.float64],
    budget: Budget,
    *,
    k: int,
    allowed: NDArray[np.bool_] | None = None,
) -> Chosen | None:
    """Return the k best of the documents that the budget chooses, with ties at the k-th score; all, where fewer.

    rows: intp[m], distinct; weights: float64[m], above 0; allowed: bool by ordinal, None for all. Scores are sums in
    the order of the rows. None where the plain sum is as quick, which does not depend on k either.
    """
    source = impacts.sets
    if not _is_large(impacts, rows, weights):
        return None
    order, count = budget.split(source.count_documents(rows), weights, source.document_count)
    factor, units = _scale(impacts, rows, weights)
    if factor == 0:
        return None
    while True:
        added, left = order[:count], order[count:]
        sums, below = impacts.add_up(rows[added], units[added])
        bar(sums, allowed)
        candidates = list_highest(sums, budget.candidates)
        if budget.allows(candidates):
            break
        if not len(left):
            return None
        count = min(2 * count, len(rows))  # by so few terms, too many documents look the same
    best = candidates
    if len(best) > k:
        totals = sums[best] + impacts.look_up(rows[left], units[left], best)
        good = best[totals >= np.partition(totals, len(totals) - k)[len(totals) - k]]
        bound = _score_kth(impacts, good, rows, weights, k=k)
        best = best[totals >= bound * factor - below - 1]
    scores = impacts.score(best, rows, weights)
    return Chosen(best, scores, rows[np.sort(added)], rows[np.sort(left)], candidates)


def _is_large(impacts: Impacts, rows: NDArray[np.intp], weights: NDArray[np.float64]) -> bool:
    """Tell whether a query is one that the plain sum is slow for, and within what whole numbers can tell apart."""
    is_small = impacts.sets.document_count < FEWEST_DOCUMENTS or len(rows) > _MOST_TERMS
    return not is_small and bool(weights.min() > 0)


def _scale(impacts: Impacts, rows: NDArray[np.intp], weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the factor from scores to whole numbers, and each term's largest impact in these; 0 where there is none.

    There is none where the sum of the impacts is infinite, or too near to 0.
    """
    with np.errstate(over="ignore", divide="ignore"):
        largest = impacts.bound(rows, weights)
        factor = np.divide(_LARGEST_SUM, largest.sum())
        units = largest * factor
    return (float(factor) if np.isfinite(factor) else 0.0), units


def _split(frequencies: NDArray[np.int64], units: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which terms to add up, and which to look up: the most frequent."""
    order = np.argsort(-frequencies, kind="stable")
    count = int(np.searchsorted(np.cumsum(units[order]), _LEFT_SHARE * units.sum(), side="right"))
    return order[count:], order[:count]


def _score_kth(
    impacts: Impacts, ordinals: NDArray[np.intp], rows: NDArray[np.intp], weights: NDArray[np.float64], *, k: int
) -> float:
    """Return the k-th best score of some documents."""
    scores = impacts.score(ordinals, rows, weights)
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])
