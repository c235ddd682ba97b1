"""Sparse retrieval with plain dictionaries and Python floats.

Logarithms are NumPy's, since another library's may differ in the last bit; sums run by ascending term row, which is
the order of first appearance, so that scores can be compared for equality.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np


def add_up(values: Iterable[float]) -> float:
    """Add one after another, rounding each time: `sum` does not from Python 3.12 on."""
    return reduce(float.__add__, values, 0.0)


@dataclass(frozen=True)
class GivenWeights:
    """A scoring over sets that takes each query term's weight from a list, in the order of first appearance."""

    weights: Sequence[float]

    is_set_based = True
    needs_counts = False

    def weigh(self, document_frequencies: np.ndarray, statistics: Any) -> np.ndarray:
        """Return the first so many weights."""
        del statistics
        return np.array(self.weights[: len(document_frequencies)], np.float64)

    def score_postings(self, weight: float, frequencies: np.ndarray, lengths: np.ndarray, _: Any) -> np.ndarray:
        """Return the weight for every posting."""
        del lengths
        return np.full(len(frequencies), weight)


class SparseOracle:
    """Ranks documents given as (ID, terms), the terms a list (a set) or a mapping (a bag)."""

    def __init__(self, documents: Iterable[tuple[str, list[str] | Mapping[str, int]]]) -> None:
        """Read all documents."""
        self.bags: dict[str, dict[str, int]] = {}
        self.rows: dict[str, int] = {}
        for doc_id, terms in documents:
            for term in terms:
                self.rows.setdefault(term, len(self.rows))
            self.bags[doc_id] = dict(terms) if isinstance(terms, Mapping) else dict.fromkeys(terms, 1)
        self.df = Counter(term for bag in self.bags.values() for term in bag)
        self.average_length = sum(sum(bag.values()) for bag in self.bags.values()) / len(self.bags)

    def score_overlap(self, query: Iterable[str]) -> dict[str, float]:
        """Return the sum of ln(1 + N / df) for every document."""
        terms = sorted({term for term in query if term in self.rows}, key=self.rows.__getitem__)
        weights = {term: float(np.log1p(len(self.bags) / self.df[term])) for term in terms}
        return {doc_id: add_up(weights[t] for t in terms if t in bag) for doc_id, bag in self.bags.items()}

    def score_given(self, query: Iterable[str], weights: Sequence[float]) -> dict[str, float]:
        """Return the score of every document as `GivenWeights` has it."""
        terms = sorted({term for term in query if term in self.rows}, key=self.rows.__getitem__)
        by_term = dict(zip(terms, weights, strict=False))
        return {doc_id: add_up(by_term[t] for t in terms if t in bag) for doc_id, bag in self.bags.items()}

    def score_bm25(self, query: Iterable[str] | Mapping[str, float], k1: float, b: float) -> dict[str, float]:
        """Return the BM25 score of every document."""
        counts = dict(query) if isinstance(query, Mapping) else Counter(query)
        terms = sorted((term for term in counts if term in self.rows), key=self.rows.__getitem__)
        scores = {}
        for doc_id, bag in self.bags.items():
            score = 0.0
            for term in terms:
                if term in bag:
                    df, tf = self.df[term], bag[term]
                    idf = float(np.log1p((len(self.bags) - df + 0.5) / (df + 0.5)))
                    norm = k1 * (1 - b + b * sum(bag.values()) / self.average_length)
                    score += idf * counts[term] * tf / (tf + norm)
            scores[doc_id] = score
        return scores

    @staticmethod
    def rank(scores: Mapping[str, float], top_k: int) -> list[tuple[str, float]]:
        """Return the best (ID, score) above 0: by descending score, then by ascending ID."""
        found = sorted((-score, doc_id) for doc_id, score in scores.items() if score > 0)
        return [(doc_id, -negative) for negative, doc_id in found[:top_k]]
