"""The best documents of a query over weighted postings, exactly, or good ones within a budget.

All impacts are added up in whole numbers that are never too low (see `impacts`), which takes a fraction of the time of
the plain sum. The exact scores of the few documents with the highest sums bound the k-th best score from below; what
has a lower sum than that is dropped, and the rest are scored exactly, in the order of the plain sum. Every comparison
leaves one whole number for the rounding of floats, which is far less.

Within a budget it is much the same as over sets (see `budget`): some terms are added up, and the rest looked up for the
documents that are then best. What is left to be looked up are frequent terms, and of these the ones of least weight,
since weights need not fall with the frequency here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sicetnon.sparse.budget import Budget, Chosen
from sicetnon.sparse.impacts import Impacts
from sicetnon.sparse.pruning import Pruned
from sicetnon.sparse.sums import bar, list_at_least, list_good, list_highest
from sicetnon.sparse.topk import find_kth

_LARGEST_SUM = 58_000  # of a document's whole numbers: within uint16, with all that `Impacts.add_up` may add
_MOST_TERMS = 4_000
_POSTINGS_A_SCORE = 200  # cost as much in the plain sum as scoring a document anew
_FEWEST_DOCUMENTS = 4_096  # with fewer, the plain sum is quicker


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
    if not _is_large(impacts, rows, weights):
        return None
    factor, units = _scale(impacts, rows, weights)
    if factor == 0:
        return None
    most = int(impacts.sets.count_documents(rows).sum()) // _POSTINGS_A_SCORE
    if most < k:
        return None
    sums, below = impacts.add_up(rows, units)
    bar(sums, allowed)
    good, _ = list_good(sums, k)
    if not k <= len(good) <= most:
        return None
    bound = _score_kth(impacts, good, rows, weights, k=k)
    least = int(bound * factor) - below - 1
    candidates = list_at_least(sums, max(least, 1))
    if least < 1 or len(candidates) > most:
        return None
    scores = impacts.score(candidates, rows, weights)
    return Pruned(candidates, scores, np.sort(rows), rows[:0], bound)


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
    if not _is_large(impacts, rows, weights):
        return None
    is_dense = impacts.is_dense(rows)
    # The rare terms come first and are all added; then the frequent ones, which cost the same, by descending weight.
    order = np.lexsort((-weights, is_dense))
    frequencies = impacts.sets.count_documents(rows[order])
    count = budget.count_added(frequencies, weights[order], impacts.sets.document_count)
    count = max(count, int(np.count_nonzero(~is_dense)))
    factor, units = _scale(impacts, rows, weights)
    if factor == 0:
        return None
    while True:
        added, left = order[:count], order[count:]
        sums, below = impacts.add_up(rows[added], units[added])
        bar(sums, allowed)
        candidates = list_highest(sums, budget.candidates)
        if budget.is_met(candidates, left):
            break
        if not len(left):
            return None
        count = min(2 * count, len(rows))
    best = candidates
    if len(best) > k:
        totals = sums[best] + impacts.look_up(rows[left], units[left], best)
        good = best[totals >= find_kth(totals, k)]
        bound = _score_kth(impacts, good, rows, weights, k=k)
        best = best[totals >= bound * factor - below - 1]
    scores = impacts.score(best, rows, weights)
    return Chosen(best, scores, rows[np.sort(added)], rows[np.sort(left)], candidates)


def _is_large(impacts: Impacts, rows: NDArray[np.intp], weights: NDArray[np.float64]) -> bool:
    """Tell whether the documents are many, and a query within what whole numbers can tell apart."""
    is_small = impacts.sets.document_count < _FEWEST_DOCUMENTS or len(rows) > _MOST_TERMS
    return not is_small and bool(weights.min() > 0)


def _scale(impacts: Impacts, rows: NDArray[np.intp], weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the factor from scores to whole numbers, and each term's largest impact in these; 0 where there is none.

    There is none where the sum of the impacts is infinite, or too near to 0.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        largest = impacts.bound(rows, weights)
        factor = np.divide(_LARGEST_SUM, largest.sum())
        units = largest * factor
    return (float(factor) if np.isfinite(factor) else 0.0), units


def _score_kth(
    impacts: Impacts, ordinals: NDArray[np.intp], rows: NDArray[np.intp], weights: NDArray[np.float64], *, k: int
) -> float:
    """Return the k-th best score of some documents."""
    scores = impacts.score(ordinals, rows, weights)
    return float(find_kth(scores, k))
