"""Propositions -> the candidates of a query, each with its probability of being on point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sicetnon.collection import Collection
from sicetnon.dense import Encoder, encode_asked
from sicetnon.dense.encoder import Vectors
from sicetnon.relevance import Ranker, Relevance, Reranker, find_nearest, join_texts, measure_relevance
from sicetnon.relevance.reranker import NONE_KNOWN, RERANKED
from sicetnon.relevance.signals import Sources
from sicetnon.stance import Claim, negate, read_statement
from sicetnon.types import Query, SideProbabilities, Stance

CANDIDATES = 50  # documents whose side is judged for a query, at least; the side of the rest cannot lift them enough
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Found(NamedTuple):
    """The candidates of a query, the likeliest to be on point first.

    ``ordinals`` int64 [n], ``probabilities`` float64 [n]; ``sides`` of each, None where they are not told; ``signals``
    of each, by name, float64 [n], empty where the query does not ask to explain. ``vector`` float32 [d] is that of the
    proposition, for all stances.
    """

    query: Query
    vector: Vectors
    ordinals: Ints
    probabilities: Floats
    sides: Sequence[SideProbabilities] | None = None
    signals: Mapping[str, Floats] = MappingProxyType({})

    def take(self, chosen: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Found:
        """Some of the candidates, by position, before their sides are told."""
        return self._replace(
            ordinals=self.ordinals[chosen],
            probabilities=self.probabilities[chosen],
            signals={name: values[chosen] for name, values in self.signals.items()},
        )


class Finder:
    """Finds the candidates of queries over one index."""

    def __init__(
        self, collection: Collection, encoder: Encoder, ranker: Ranker | None, reranker: Reranker | None
    ) -> None:
        self._collection = collection
        self._encoder = encoder
        self._ranker = ranker
        self._reranker = reranker

    @property
    def reranks(self) -> bool:
        """Whether there is a cross-encoder that reads the first candidates."""
        return self._reranker is not None

    def asked_of(self, query: Query) -> tuple[str, Stance]:
        """The proposition and the stance that the encoder is told; queries with both in common are measured once."""
        return query.proposition, query.stance if self._encoder.instructs_by_stance else Stance.ALL

    def measure(self, asked: Sequence[tuple[str, Stance]]) -> list[tuple[Vectors, Relevance]]:
        """The vectors of at most ``QUERIES_AT_ONCE`` propositions, each with how much every document is on point.

        These vectors, with which known propositions are compared, are for all stances, as in training.
        """
        propositions = [proposition for proposition, _ in asked]
        plain = [(proposition, Stance.ALL) for proposition in propositions]
        distinct = list(dict.fromkeys([*asked, *plain]))
        vectors = dict(zip(distinct, encode_asked(self._encoder, distinct), strict=True))
        own, unsided = (np.stack([vectors[each] for each in some]) for some in (asked, plain))
        relevance = measure_relevance(self._collection, self._ranker, propositions, own, recalling=unsided)
        return list(zip(unsided, relevance, strict=True))

    def read_claims(self, propositions: Sequence[str], vectors: Sequence[Vectors]) -> list[Claim]:
        """Propositions with their ``vectors`` as the stance model is given them."""
        denials = self._encoder.encode_queries([negate(proposition) for proposition in propositions])
        return list(map(Claim, map(read_statement, propositions), vectors, denials, propositions))

    def pick(self, query: Query, vector: Vectors, relevance: Relevance) -> Found:
        """The likeliest documents that pass the query's filters, as the ranker has them."""
        allowed = self._collection.documents.allowed(query.filters, query.as_of)
        return self.describe(query, vector, relevance, relevance.pick(allowed, max(CANDIDATES, query.top_k)))

    def describe(self, query: Query, vector: Vectors, relevance: Relevance, ordinals: Ints) -> Found:
        """These documents as candidates of the query."""
        signals = relevance.explain(ordinals) if query.explain else {}
        return Found(query, vector, ordinals, relevance.probability(ordinals), signals=signals)

    def rerank(self, found: Found, *, count: int = RERANKED) -> Found:
        """The same after the cross-encoder has read the first ``count``; as it was where there is none."""
        if self._reranker is None or not len(found.ordinals):
            return found
        texts = self._show(found.vector, found.ordinals[:count])
        read = self._reranker.probability(found.probabilities[: len(texts)], found.query.proposition, texts)
        probabilities = np.concatenate([read, found.probabilities[len(texts) :]])
        order = np.lexsort((self._collection.lexical.tie_rank[found.ordinals], -probabilities))
        return found._replace(probabilities=probabilities).take(order)

    def _show(self, vector: Vectors, ordinals: Ints) -> list[str]:
        """What the cross-encoder reads of each document: what is nearest to the proposition."""
        collection = self._collection
        nearest = find_nearest(Sources.of(collection), vector, ordinals)
        documents = collection.documents.read(ordinals.tolist())
        passages = [
            collection.passages.span(row).of(document.text)
            for document, row in zip(documents, nearest.passages.tolist(), strict=True)
        ]
        return [
            join_texts(None if row == NONE_KNOWN else collection.read_known(row), passage)
            for row, passage in zip(nearest.propositions.tolist(), passages, strict=True)
        ]
