"""Retrieval by weighted postings with plain dictionaries and Python floats.

Every product and quotient is taken in the order of the formulas, and sums run in the order of the terms' first
appearance, so that scores can be compared for equality; logarithms are NumPy's, as in the oracle of sets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

VARIANTS = ("lucene", "robertson", "bm25l", "bm25+")


class WeightedOracle:
    """Scores documents given as (ID, mapping from term to weight); weights are as float32 has them."""

    def __init__(self, documents: Iterable[tuple[str, Mapping[str, float]]]) -> None:
        """Read all documents."""
        self.bags: dict[str, dict[str, float]] = {}
        self.rows: dict[str, int] = {}
        for doc_id, weights in documents:
            bag = {term: float(np.float32(weight)) for term, weight in weights.items() if weight}
            for term in bag:
                self.rows.setdefault(term, len(self.rows))
            self.bags[doc_id] = bag
        self.df = Counter(term for bag in self.bags.values() for term in bag)
        self.lengths = {doc_id: sum(bag.values()) for doc_id, bag in self.bags.items()}
        self.average_length = sum(self.lengths.values()) / len(self.bags)

    def score_products(self, query: Mapping[str, float]) -> dict[str, float]:
        """Return the inner product with every document."""
        return self._sum(query, lambda _: 1.0, lambda weight, tf, _: weight * tf)

    def score_bm25(
        self, query: Mapping[str, float], variant: str, *, k1: float, b: float, delta: float = 0.0
    ) -> dict[str, float]:
        """Return the score of every document by a variant of BM25."""
        count = len(self.bags)

        def weigh(df: int) -> float:
            if variant == "lucene":
                return float(np.log1p((count - df + 0.5) / (df + 0.5)))
            if variant == "robertson":
                return max(float(np.log((count - df + 0.5) / (df + 0.5))), 1e-6)
            return float(np.log((count + 1) / (df + 0.5 if variant == "bm25l" else df)))

        def score(weight: float, tf: float, doc_id: str) -> float:
            norm = 1 - b + b * self.lengths[doc_id] / self.average_length
            if variant == "bm25l":
                shifted = tf / norm + delta
                return weight * (k1 + 1) * shifted / (k1 + shifted)
            if variant == "bm25+":
                return weight * ((k1 + 1) * tf / (tf + k1 * norm) + delta)
            return weight * tf / (tf + k1 * norm)

        return self._sum(query, weigh, score)

    def _sum(self, query, weigh, score) -> dict[str, float]:
        terms = sorted((term for term in query if term in self.rows), key=self.rows.__getitem__)
        scores = dict.fromkeys(self.bags, 0.0)
        for term in terms:
            weight = weigh(self.df[term]) * query[term]
            for doc_id, bag in self.bags.items():
                if term in bag:
                    scores[doc_id] += score(weight, bag[term], doc_id)
        return scores
