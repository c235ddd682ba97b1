"""A batch of queries, answered by IDs and scores alone: cheap steps for all first, then the rest as time allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sicetnon.errors import EndpointError
from sicetnon.relevance.reranker import RERANKED
from sicetnon.search.finding import Found
from sicetnon.search.scoring import score_candidate
from sicetnon.types import Query, SideProbabilities


class Ranked(NamedTuple):
    """The documents of one query, best first, by ID; ``scores`` never rise."""

    query: Query
    doc_ids: tuple[str, ...]
    scores: tuple[float, ...]


class BatchAnswer(NamedTuple):
    """The ranking of each query in order, and how many lists of candidates a deadline left time to refine.

    A list is ``refinable`` where there is a cross-encoder to read it or a side is asked for, and ``refined`` once that
    was done. Queries that have their candidates in common share a list. ``fault``: why no more were refined, where a
    judge at an endpoint failed before a deadline.
    """

    rankings: list[Ranked]
    refined: int
    refinable: int
    fault: EndpointError | None = None


def measure_doubt(found: Found) -> float:
    """How much reading the first candidates may change: the sum of the variances of their being on point."""
    first = found.probabilities[:RERANKED]
    return float((first * (1 - first)).sum())


def rank_candidates(query: Query, found: Found, doc_ids: Sequence[str], weight: float) -> Ranked:
    """The best of the candidates, whose IDs are ``doc_ids``; ``weight`` is the exponent of the asked side."""
    probabilities = found.probabilities.tolist()
    sides: Sequence[SideProbabilities | None] = found.sides or [None] * len(probabilities)
    scored = [
        (-score_candidate(probability, side, query.stance, weight), doc_id)
        for doc_id, probability, side in zip(doc_ids, probabilities, sides, strict=True)
        if probability >= query.min_relevance
    ]
    best = sorted(scored)[: query.top_k]
    return Ranked(query, tuple(doc_id for _, doc_id in best), tuple(-score for score, _ in best))
