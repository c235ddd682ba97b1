"""Propositions -> how much each document is on point, and which are most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sicetnon.collection import Collection
from sicetnon.dense.encoder import Vectors
from sicetnon.relevance.features import describe, join_signals, pick_scores, standardise
from sicetnon.relevance.fusion import Scores, relevance_probability, standard_signals, sum_signals
from sicetnon.relevance.ranker import Ranker
from sicetnon.relevance.signals import Signals, Sources, measure_signals
from sicetnon.sparse import select_top

Ordinals = npt.NDArray[np.int64]
Allowed = npt.NDArray[np.bool_] | None
EXPLAINED = ("words", "expanded words", "passage", "document", "nearest")
RANKED = 150  # candidates that the ranker looks at, at least


class Relevance(Protocol):
    """How much the documents are on point for one proposition."""

    def pick(self, allowed: Allowed, count: int) -> Ordinals:
        """The documents most on point, so many, best first; of those that are allowed (None: all)."""

    def probability(self, ordinals: Ordinals) -> Scores:
        """The probability of each of these documents to be on point."""

    def explain(self, ordinals: Ordinals) -> dict[str, Scores]:
        """The standard score of each signal over all documents, for these ones."""


class SummedRelevance:
    """By the sum of signals: what serves without labelled examples."""

    def __init__(self, signals: dict[str, Scores], tie_rank: npt.NDArray[np.int32]) -> None:
        """``signals``: the standard scores of all documents, float64 [documents] each."""
        self._signals = signals
        self._fused = sum_signals(signals)
        self._tie_rank = tie_rank

    def pick(self, allowed: Allowed, count: int) -> Ordinals:
        return _select(self._fused, self._tie_rank, allowed, count)

    def probability(self, ordinals: Ordinals) -> Scores:
        return relevance_probability(self._fused[ordinals])

    def explain(self, ordinals: Ordinals) -> dict[str, Scores]:
        return {name: signal[ordinals] for name, signal in self._signals.items()}


class RankedRelevance:
    """By a ranker, of the candidates that a sum of signals picks; row ``query`` of a block's joined signals."""

    def __init__(
        self, ranker: Ranker, joined: Signals, picked: Scores, query: int, tie_rank: npt.NDArray[np.int32]
    ) -> None:
        self._ranker = ranker
        self._joined = {name: signal[query : query + 1] for name, signal in joined.items()}
        self._picked = picked[query]
        self._tie_rank = tie_rank

    def pick(self, allowed: Allowed, count: int) -> Ordinals:
        candidates = _select(self._picked, self._tie_rank, allowed, max(count, RANKED))
        order = np.lexsort((self._tie_rank[candidates], -self._score(candidates)))
        return candidates[order[:count]]

    def probability(self, ordinals: Ordinals) -> Scores:
        return self._ranker.probability(self._score(ordinals))

    def explain(self, ordinals: Ordinals) -> dict[str, Scores]:
        return {name: standardise(self._joined[name])[0, ordinals] for name in EXPLAINED}

    def _score(self, ordinals: Ordinals) -> Scores:
        return self._ranker.score(describe(self._joined, 0, self._picked, ordinals))


def measure_relevance(
    collection: Collection,
    ranker: Ranker | None,
    propositions: Sequence[str],
    vectors: Vectors,
    *,
    recalling: Vectors | None = None,
) -> list[Relevance]:
    """How much every document is on point for each of at most ``QUERIES_AT_ONCE`` propositions.

    ``vectors`` float32 [len(propositions), d] are theirs, and ``recalling`` those that known propositions are compared
    with, if not the same. ``ranker``: None for an index without labelled examples.
    """
    tie_rank = collection.lexical.tie_rank
    if ranker is None:
        standard = standard_signals(collection, propositions, vectors)
        return [
            SummedRelevance({name: signal[query] for name, signal in standard.items()}, tie_rank)
            for query in range(len(propositions))
        ]
    joined = join_signals(measure_signals(Sources.of(collection), propositions, vectors, recalling=recalling))
    picked = pick_scores(joined)
    return [RankedRelevance(ranker, joined, picked, query, tie_rank) for query in range(len(propositions))]


def _select(scores: Scores, tie_rank: npt.NDArray[np.int32], allowed: Allowed, count: int) -> Ordinals:
    eligible = scores if allowed is None else np.where(allowed, scores, -np.inf)
    return select_top(eligible, tie_rank, count, floor=-np.inf)
