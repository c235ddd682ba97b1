"""Document frequencies, frequencies and lengths -> what each posting adds to its document's score.

Statistics are passed in; a scoring knows no index. Every scoring here gives positive impacts only.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sicetnon.errors import InputError


@dataclass(frozen=True, slots=True)
class CollectionStatistics:
    """What a scoring may know of the whole collection; the average length is in tokens (sum of frequencies)."""

    document_count: int
    average_length: float


class Scoring(Protocol):
    """How a query's terms score documents: a sum of impacts over the matching postings."""

    @property
    def is_set_based(self) -> bool:
        """True where a term counts once however often it occurs: then its weight is the impact of each posting."""
        ...

    def weigh(self, document_frequencies: NDArray[np.int64], statistics: CollectionStatistics) -> NDArray[np.float64]:
        """Return the weight of each term, in the order given."""
        ...

    def score_postings(
        self,
        weight: float,
        frequencies: NDArray[Any],
        lengths: NDArray[np.uint32],
        statistics: CollectionStatistics,
    ) -> NDArray[np.float64]:
        """Return the impacts of one term's postings: its weight, and each posting's frequency and document length."""
        ...


@dataclass(frozen=True, slots=True)
class IdfOverlap:
    """Sum of ln(1 + N / df) over the terms that query and document share, both taken as sets."""

    @property
    def is_set_based(self) -> bool:
        """True: frequencies do not matter."""
        return True

    def weigh(self, document_frequencies: NDArray[np.int64], statistics: CollectionStatistics) -> NDArray[np.float64]:
        """Return ln(1 + N / df) for each term."""
        weights: NDArray[np.float64] = np.log1p(statistics.document_count / document_frequencies)
        return weights

    def score_postings(
        self,
        weight: float,
        frequencies: NDArray[Any],
        lengths: NDArray[np.uint32],  # noqa: ARG002  the protocol's; sets have no lengths
        statistics: CollectionStatistics,  # noqa: ARG002  the protocol's; the weight says all
    ) -> NDArray[np.float64]:
        """Return the weight for every posting."""
        return np.full(len(frequencies), weight)


@dataclass(frozen=True, slots=True)
class Bm25:
    """Sum over query terms of qf * idf * tf / (tf + k1 * (1 - b + b * dl / avgdl)).

    idf = ln(1 + (N - df + 0.5) / (df + 0.5)); qf and tf are the term's frequencies in query and document, dl the
    document's length in tokens and avgdl its mean over the collection. Robertson and Zaragoza, "The Probabilistic
    Relevance Framework: BM25 and Beyond" (2009), with the idf of Lucene's BM25Similarity, which also leaves out the
    constant factor k1 + 1. Lengths are exact here; Lucene rounds them to one byte.
    """

    k1: float = 0.9
    b: float = 0.4

    def __post_init__(self) -> None:
        """Refuse parameters outside their range."""
        if not (isfinite(self.k1) and self.k1 >= 0 and 0 <= self.b <= 1):
            raise InputError(f"BM25 with {self}", expected="k1 >= 0 and 0 <= b <= 1", remedy="correct the parameters")

    @property
    def is_set_based(self) -> bool:
        """False: frequencies in query and document both matter."""
        return False

    def weigh(self, document_frequencies: NDArray[np.int64], statistics: CollectionStatistics) -> NDArray[np.float64]:
        """Return the idf of each term."""
        absent = statistics.document_count - document_frequencies
        weights: NDArray[np.float64] = np.log1p((absent + 0.5) / (document_frequencies + 0.5))
        return weights

    def score_postings(
        self,
        weight: float,
        frequencies: NDArray[Any],
        lengths: NDArray[np.uint32],
        statistics: CollectionStatistics,
    ) -> NDArray[np.float64]:
        """Return weight * tf / (tf + k1 * (1 - b + b * dl / avgdl)) for each posting."""
        tf = frequencies.astype(np.float64)
        norms = self.k1 * (1 - self.b + self.b * lengths / statistics.average_length)
        impacts: NDArray[np.float64] = weight * tf / (tf + norms)
        return impacts
