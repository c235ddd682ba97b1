"""Sample queries and a wanted overlap with the exact answers -> the cheapest budget that reaches it.

More weight and more candidates both find more, so for each share of weight, from the least, the fewest candidates that
reach the wanted overlap are sought in one walk along the edge between what reaches it and what does not. Of the budgets
on the edge, that of least cost is taken, by the cost of a posting and of a candidate as once measured: the budget does
not depend on the clock or on what else the machine does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from sicetnon.errors import InputError
from sicetnon.sparse.budget import BUDGET, Budget, is_bounded
from sicetnon.sparse.index import Query, SparseIndex
from sicetnon.sparse.planning import SegmentQuery

Plan = Sequence[SegmentQuery]
Sample = tuple[Plan, NDArray[np.intp]]  # a query, and its exact best documents

_SHARES = (0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
_CANDIDATES = (100, 150, 200, 250, 300, 400, 500, 700, 1_000, 1_400, 2_000, 2_800, 4_000)
_MOST_QUERIES = 256
_TOP = 10
_POSTING_COST, _CANDIDATE_COST, _LOOK_UP_COST = 1.3, 500.0, 3.0  # nanoseconds; looking up is a term of a candidate
_SAMPLES = 64
_EVERY_OTHER = 2
_OWN_OVERLAP, _OWN_OVERLAP_TOP = 0.97, 1.0


@dataclass(frozen=True, slots=True)
class Tuned:
    """A budget, and the mean share of the exact best documents (`top_k` and ten) that it finds for sample queries."""

    budget: Budget
    top_k: int
    queries: int
    overlap: float
    overlap_top: float


def tune(
    index: SparseIndex,
    queries: Iterable[Query],
    *,
    top_k: int = 100,
    overlap: float = 0.88,
    overlap_top: float = 0.995,
) -> Tuned:
    """Return the cheapest budget that reaches the wanted overlaps with the exact answers, for sets of terms.

    overlap, overlap_top: mean shares, above 0 and at most 1, of the `top_k` best and of the ten best. At most 256
    queries are looked at, the first ones; those that any budget answers exactly do not count, and where that is all of
    them, the budget is the one for any index. Where no budget reaches what is wanted, the widest is returned.
    """
    if not 0 < overlap <= 1 or not 0 < overlap_top <= 1 or top_k < 1:
        raise InputError(
            f"a wanted overlap of {overlap} and {overlap_top} at {top_k}",
            expected="shares above 0 and at most 1, and at least 1 document",
            remedy="correct them",
        )
    plans = [index.plan(terms) for terms in islice(queries, _MOST_QUERIES)]
    if not any(len(part.rows) for plan in plans for part in plan):
        raise InputError("no query that matches a document", expected="sample queries", remedy="check the queries")
    samples = [(plan, index.rank_planned(plan, top_k=top_k)[0]) for plan in plans if _is_bounded(plan)]
    if not samples:
        return Tuned(Budget(), top_k, len(plans), 1.0, 1.0)
    sizes = [size for size in _CANDIDATES if size >= top_k] or [top_k]
    reached: list[tuple[float, Tuned]] = []
    share, size = 0, len(sizes) - 1
    while share < len(_SHARES) and size >= 0:
        tuned = _measure(index, samples, Budget(_SHARES[share], sizes[size]), top_k)
        if tuned.overlap >= overlap and tuned.overlap_top >= overlap_top:
            reached.append((_reckon(samples, tuned.budget), tuned))
            size -= 1
        else:
            share += 1
    return min(reached, key=lambda option: option[0])[1] if reached else tuned


def tune_by_documents(index: SparseIndex) -> dict[str, dict[str, float | int]]:
    """Return the setting "budget", found by queries made of the index's own documents; none for a small index.

    The queries are every other term of some documents, spread evenly. Real ones are harder, so somewhat more is wanted.
    """
    ordinals = np.unique(np.linspace(0, index.ordinal_count - 1, _SAMPLES).astype(np.intp))
    queries = [terms[::_EVERY_OTHER] for terms in map(index.read_terms, ordinals.tolist())]
    if not any(_is_bounded(index.plan(terms)) for terms in queries):
        return {}
    return {BUDGET: tune(index, queries, overlap=_OWN_OVERLAP, overlap_top=_OWN_OVERLAP_TOP).budget.to_json()}


def _is_bounded(plan: Plan) -> bool:
    """Tell whether a budget bounds what a search looks at."""
    for part in plan:
        sets = part.segment.sets
        if is_bounded(sets.count_documents(part.rows), part.weights, sets.document_count):
            return True
    return False


def _measure(index: SparseIndex, samples: Sequence[Sample], budget: Budget, top_k: int) -> Tuned:
    shares, shares_top = [], []
    for plan, best in samples:
        found, _ = index.rank_planned(plan, top_k=top_k, budget=budget)
        shares.append(np.isin(best, found).mean())
        shares_top.append(np.isin(best[:_TOP], found[:_TOP]).mean())
    return Tuned(budget, top_k, len(samples), float(np.mean(shares)), float(np.mean(shares_top)))


def _reckon(samples: Sequence[Sample], budget: Budget) -> float:
    """Return what the queries cost within a budget, in nanoseconds."""
    cost = 0.0
    for plan, _ in samples:
        for part in plan:
            if not len(part.rows):
                continue
            postings, left, looks_up = budget.reckon(part.segment.sets, part.rows, part.weights)
            each = left * _LOOK_UP_COST if looks_up else _CANDIDATE_COST
            cost += postings * _POSTING_COST + budget.candidates * each
    return cost
