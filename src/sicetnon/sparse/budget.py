"""Good documents of a query over sets, fast: how much is looked at is bounded by a budget, and scores are exact.

The rarest terms, which tell most at the fewest postings, are added up for all documents; the documents that are best so
far are scored in full. What a document would have gained by the other terms does not count unless it is among those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sicetnon.errors import InputError
from sicetnon.sparse.sums import SetPostings, bar, list_highest
from sicetnon.sparse.topk import find_kth

_MOST_BYTE_TERMS = 64
_LARGEST_SUM = 60_000
_MOST_TERMS = 4_000
_LEAST_WORK = 150_000  # postings, and documents: with less, the plain sum is quicker
_FEWEST_POSTINGS = 1 / 32  # of the documents: so many are always added, costing less than all the rest
_MOST_OVER = 4  # candidates for one that the budget names: ties at the edge are taken in, up to this


BUDGET = "budget"  # the setting that holds the tuned one


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of a query is looked at.

    weight: the share of the query's weight (the sum of its terms' weights) that is added up for all documents, rarest
    terms first; above 0, at most 1. Where postings have weights, all rare terms are added, then the heaviest of the
    frequent ones. candidates: how many of the documents that are then best are scored in full, in each segment. Where
    fewer documents have any of the terms added, or too many look the same by them, more terms are added.
    """

    weight: float = 0.8
    candidates: int = 2_000

    def __post_init__(self) -> None:
        """Refuse what bounds nothing."""
        if not 0 < self.weight <= 1 or not isinstance(self.candidates, int) or self.candidates < 1:
            raise InputError(
                f"a budget with {self}",
                expected="a weight above 0 and at most 1, and at least 1 candidate",
                remedy="correct it",
            )

    def to_json(self) -> dict[str, float | int]:
        """Return the fields as JSON values."""
        return {"weight": self.weight, "candidates": self.candidates}

    def count_added(self, frequencies: NDArray[np.int64], weights: NDArray[np.float64], document_count: int) -> int:
        """Return how many of a query's terms, in the order given, are added up for all documents."""
        cumulated = np.cumsum(weights)
        by_weight = np.searchsorted(cumulated, self.weight * cumulated[-1], side="right")
        by_postings = np.searchsorted(np.cumsum(frequencies), _FEWEST_POSTINGS * document_count)
        return min(max(int(by_weight), int(by_postings) + 1), len(weights))

    def is_met(self, candidates: NDArray[np.intp], left: NDArray[np.intp]) -> bool:
        """Tell whether these are as many as are to be scored, some more for ties, or all there are.

        By too few terms, too many documents look the same, or too few have any.
        """
        is_enough = len(candidates) >= self.candidates or not len(left)
        return is_enough and len(candidates) <= _MOST_OVER * self.candidates

    def reckon(
        self, source: SetPostings, rows: NDArray[np.intp], weights: NDArray[np.float64]
    ) -> tuple[int, int, bool]:
        """Return how many postings a query adds up, how many terms are left, and whether bitmaps tell those."""
        frequencies = source.count_documents(rows)
        order = np.argsort(frequencies, kind="stable")
        frequencies = frequencies[order]
        count = self.count_added(frequencies, weights[order], source.document_count)
        left = rows[order[count:]]
        return int(frequencies[:count].sum()), len(left), bool((source.bitmaps.find(left) >= 0).all())

    @classmethod
    def from_json(cls, fields: Any) -> Self:
        """Return the budget that `to_json` gave the fields of; any other value is an InputError."""
        weight, candidates = (
            (fields.get("weight"), fields.get("candidates")) if isinstance(fields, Mapping) else (None, None)
        )
        if not isinstance(weight, int | float) or not isinstance(candidates, int):
            raise InputError(
                f"the setting {BUDGET!r} of {fields!r}",
                expected='an object of "weight" and "candidates"',
                remedy="keep your own settings under another name, or tune the index",
            )
        return cls(weight, candidates)


class Chosen(NamedTuple):
    """The best of the documents that were scored in full, which are as the budget has it, whatever k is.

    ordinals: intp[c], ascending. scores: float64[c]. Term rows are told apart as added, for all documents, and left,
    looked up for the candidates alone (intp, ascending): of these, those that are not here score less than k that are.
    """

    ordinals: NDArray[np.intp]
    scores: NDArray[np.float64]
    added: NDArray[np.intp]
    left: NDArray[np.intp]
    candidates: NDArray[np.intp]


def is_bounded(frequencies: NDArray[np.int64], weights: NDArray[np.float64], document_count: int) -> bool:
    """Tell whether a budget bounds a query, by its terms' document frequencies: not where the plain sum is as quick."""
    work = int(frequencies.sum()) + document_count
    return work >= _LEAST_WORK and 0 < len(weights) <= _MOST_TERMS and bool(weights.min() > 0)


def find_good(
    source: SetPostings,
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
    frequencies = source.count_documents(rows)
    if not is_bounded(frequencies, weights, source.document_count):
        return None
    order = np.argsort(frequencies, kind="stable")
    count = budget.count_added(frequencies[order], weights[order], source.document_count)
    while True:
        added, left = order[:count], order[count:]
        places = source.bitmaps.find(rows[left])
        # Where bitmaps tell all the rest, the sums have to tell candidates apart finely; else the forward index does.
        looks_up = bool((places >= 0).all())
        is_fine = looks_up or len(added) > _MOST_BYTE_TERMS
        factor = _LARGEST_SUM / weights.sum() if is_fine else (255 - len(added) / 2) / weights[added].sum()
        whole = np.rint(weights * factor)
        sums = source.add_postings(rows[added], whole[added].astype(np.uint16 if is_fine else np.uint8))
        bar(sums, allowed)
        candidates = list_highest(sums, budget.candidates)
        if budget.is_met(candidates, left):
            break
        if not len(left):
            return None
        count = min(2 * count, len(rows))
    best = candidates
    if len(best) > k:
        # Which are the k best is seen by whole numbers, each off by half a unit a term, before those few are scored.
        if looks_up:
            totals = sums[best] + source.bitmaps.weigh(places, whole[left].astype(np.int64), best)
        else:
            fine = np.rint(weights * (_LARGEST_SUM / weights.sum())).astype(np.uint16)
            totals = source.forward.sum_whole(best, rows, fine)
        best = best[totals >= find_kth(totals, k) - len(rows) - 1]
    scores = source.forward.score(best, rows, weights)
    return Chosen(best, scores, rows[np.sort(added)], rows[np.sort(left)], candidates)
