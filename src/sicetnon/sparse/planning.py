"""A query's terms -> what each segment is asked: the rows it has of them and their weights, in the order of adding up.

Weights and order depend on all segments, so that scores do not depend on how the documents are spread over them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sicetnon.errors import InputError
from sicetnon.sparse.budget import Budget, Chosen
from sicetnon.sparse.pruning import Pruned
from sicetnon.sparse.scoring import CollectionStatistics, Scoring
from sicetnon.sparse.segment import Segment
from sicetnon.sparse.terms import are_strings
from sicetnon.sparse.topk import select_top

MOST_WEIGHT = 1e100  # of a query's term: sums of such stay finite

Ranked = tuple[NDArray[np.intp], NDArray[np.float64]]  # ordinals in the index, and scores, best first


class SegmentQuery(NamedTuple):
    """A segment with the query's terms that it has: rows (intp) and weights (float64), in the order of adding up.

    first: the ordinal of its first document. allowed: bool by ordinal in the segment, None for all.
    """

    segment: Segment
    first: int
    rows: NDArray[np.intp]
    weights: NDArray[np.float64]
    allowed: NDArray[np.bool_] | None
    scoring: Scoring
    statistics: CollectionStatistics

    def find(self, *, k: int, budget: Budget | None) -> Pruned | Chosen | None:
        """Return some documents with the best among them; None where the plain sum is as quick."""
        return self.segment.find(
            self.rows, self.weights, self.scoring, self.statistics, k=k, budget=budget, allowed=self.allowed
        )

    def rank(self, *, k: int, budget: Budget | None) -> Ranked:
        """Return the best documents, or the best of those that the budget lets it look at."""
        found = self.find(k=k, budget=budget)
        if found is None:
            return self._select(self.add_up(), k)
        best = select_top(found.scores, self.segment.tie_rank[found.ordinals], k)
        return found.ordinals[best] + self.first, found.scores[best]

    def rank_rest(self, ranked: NDArray[np.intp], *, k: int) -> Ranked:
        """Return the best documents that are not ranked yet, by ordinals in the index."""
        scores = self.add_up()
        scores[ranked[(ranked >= self.first) & (ranked < self.first + len(scores))] - self.first] = 0
        return self._select(scores, k)

    def add_up(self) -> NDArray[np.float64]:
        """Return the score of every document of the segment, 0 for one that is not allowed."""
        return self.segment.add_up(self.rows, self.weights, self.scoring, self.statistics, allowed=self.allowed)

    def _select(self, scores: NDArray[np.float64], k: int) -> Ranked:
        best = select_top(scores, self.segment.tie_rank, k)
        return best + self.first, scores[best]


def check_cutoff(top_k: int) -> None:
    """Refuse a number of documents below 0."""
    if top_k < 0:
        raise InputError(f"top_k of {top_k}", expected="at least 0", remedy="correct it")


def plan_query(
    terms: Iterable[str] | Mapping[str, float],
    segments: Sequence[Segment],
    firsts: Sequence[int],
    statistics: CollectionStatistics,
    *,
    scoring: Scoring,
    allowed: NDArray[np.bool_] | None,
) -> list[SegmentQuery]:
    """Return each segment with the terms it has, weighed by all documents and ordered by their first appearance.

    firsts: the ordinal of each segment's first document, and the number of all. allowed: bool by ordinal, None for all.
    """
    counts = _count_terms(terms)
    if scoring.needs_counts and any(segment.has_weights for segment in segments):
        raise InputError(
            f"{scoring} over an index of weights that are no counts",
            expected="a scoring that does not need the lengths of documents",
            remedy="use DotProduct or IdfOverlap",
        )
    if allowed is not None and (allowed.shape != (firsts[-1],) or allowed.dtype != np.bool_):
        raise InputError(
            f"a filter of {allowed.dtype}{list(allowed.shape)}",
            expected=f"bool[{firsts[-1]}], one for each ordinal",
            remedy="make it with select()",
        )
    found = [np.array(segment.terms.find_rows(counts), np.intp) for segment in segments]
    order, frequencies = _order_terms(segments, found)
    weights = scoring.weigh(frequencies, statistics)
    if not scoring.is_set_based:
        weights = weights * np.array(list(counts.values()), np.float64)[order]
    parts = []
    for segment, first, all_rows in zip(segments, firsts, found, strict=False):
        rows, here_weights = all_rows[order], weights
        if len(segments) > 1:
            is_here = rows >= 0
            rows, here_weights = rows[is_here], weights[is_here]
        here_allowed = None if allowed is None else allowed[first : first + segment.document_count]
        if segment.deleted is not None:
            here_allowed = segment.is_live if here_allowed is None else here_allowed & segment.is_live
        parts.append(SegmentQuery(segment, first, rows, here_weights, here_allowed, scoring, statistics))
    return parts


def _count_terms(terms: Iterable[str] | Mapping[str, float]) -> Mapping[str, float]:
    """Return how often each term occurs in a query, or how much it weighs."""
    names = list(terms)
    if isinstance(terms, str) or not are_strings(names):
        raise InputError("a query with terms that are no strings", expected="strings", remedy="correct the query")
    if not isinstance(terms, Mapping):
        return Counter(names)
    return {term: _read_weight(term, weight) for term, weight in terms.items()}


def _read_weight(term: str, weight: object) -> float:
    if isinstance(weight, Real) and not isinstance(weight, bool):
        try:
            read = float(weight)
        except OverflowError:
            read = inf
        if 0 < read <= MOST_WEIGHT:
            return read
    raise InputError(
        f"the term {term!r} with a weight that is no positive number",
        expected=f"numbers above 0, at most {MOST_WEIGHT}",
        remedy="correct the query",
    )


def _order_terms(
    segments: Sequence[Segment], found: Sequence[NDArray[np.intp]]
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return the places of the known terms in the order of first appearance, and their document frequencies.

    found: each segment's rows of the query's terms, -1 for those that it does not have.
    """
    if len(found) == 1 and segments[0].deleted is None:  # the usual case: rows are in that order
        rows = found[0]
        order = np.argsort(rows)[np.count_nonzero(rows < 0) :]
        return order, segments[0].count_documents(rows[order])
    frequencies = np.zeros(len(found[0]), np.int64)
    keys = np.zeros(len(found[0]), np.int64)  # of the order within the segment that a term appears in first
    firsts = np.full(len(found[0]), len(found))
    for number, (segment, rows) in enumerate(zip(segments, found, strict=True)):
        known = np.flatnonzero(rows >= 0)
        here = segment.count_documents(rows[known])
        known, here = known[here > 0], here[here > 0]
        frequencies[known] += here
        new = known[firsts[known] > number]
        firsts[new] = number
        keys[new] = segment.order_terms(rows[new])
    order = np.lexsort((keys, firsts))
    order = order[frequencies[order] > 0]
    return order, frequencies[order]
