"""Document frequencies, frequencies and lengths -> what each posting adds to its document's score.

Statistics are passed in; a scoring knows no index. Every scoring here gives positive impacts only.

The variants of BM25 differ in the idf, and in how far the length of a document counts against it. N is the number of
documents, df that of those that have the term, qf and tf are the term's frequencies in query and document, dl is the
document's length in tokens and avgdl its mean over the collection; a query is scored by the sum over its terms. The
formulas are as Kamphuis, de Vries, Boytsov and Lin compare them, "Which BM25 Do You Mean?" (ECIR 2020), table 1, times
qf. Lengths are exact in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sicetnon.errors import InputError

_LEAST_IDF = 1e-6


@dataclass(frozen=True, slots=True)
class CollectionStatistics:
    """What a scoring may know of the whole collection; the average length is in tokens (sum of frequencies)."""

    document_count: int
    average_length: float


class Scoring(Protocol):
    """How a query's terms score documents: a sum of impacts over the matching postings.

    Equal scorings (==) score alike.
    """

    @property
    def is_set_based(self) -> bool:
        """True where a term counts once however often it occurs: then its weight is the impact of each posting."""
        ...

    @property
    def needs_counts(self) -> bool:
        """True where an index must hold frequencies, not weights of any other kind."""
        ...

    def weigh(self, document_frequencies: NDArray[np.int64], statistics: CollectionStatistics) -> NDArray[np.float64]:
        """Return the weight of each term, in the order given."""
        ...

    def score_postings(
        self,
        weight: float | NDArray[np.float64],
        frequencies: NDArray[Any],
        lengths: NDArray[np.uint32],
        statistics: CollectionStatistics,
    ) -> NDArray[np.float64]:
        """Return the impacts of some postings: of one term by its weight, or each by a weight of its own.

        frequencies: what the index holds of each posting (its weight where that is no count). An impact is above 0,
        proportional to the weight, and depends on nothing but what is given of its posting.
        """
        ...


@dataclass(frozen=True, slots=True)
class IdfOverlap:
    """Sum of ln(1 + N / df) over the terms that query and document share, both taken as sets."""

    @property
    def is_set_based(self) -> bool:
        """True: frequencies do not matter."""
        return True

    @property
    def needs_counts(self) -> bool:
        """False: a term that has any weight is there."""
        return False

    def weigh(self, document_frequencies: NDArray[np.int64], statistics: CollectionStatistics) -> NDArray[np.float64]:
        """Return ln(1 + N / df) for each term."""
        weights: NDArray[np.float64] = np.log1p(statistics.document_count / document_frequencies)
        return weights

    def score_postings(
        self,
        weight: float | NDArray[np.float64],
        frequencies: NDArray[Any],
        lengths: NDArray[np.uint32],  # noqa: ARG002  the protocol's; sets have no lengths
        statistics: CollectionStatistics,  # noqa: ARG002  the protocol's; the weight says all
    ) -> NDArray[np.float64]:
        """Return the weight for every posting."""
        return np.full(len(frequencies), weight)


@dataclass(frozen=True, slots=True)
class DotProduct:
    """Sum of the query's weight of a term times the document's: the inner product of two sparse vectors.

    For weights that a model learned, as those of SPLADE are: Formal, Piwowarski and Clinchant, "SPLADE: Sparse Lexical
    and Expansion Model for First Stage Ranking" (SIGIR 2021), formula 1. Nothing depends on the collection.
    """

    @property
    def is_set_based(self) -> bool:
        """False: weights in query and document both matter."""
        return False

    @property
    def needs_counts(self) -> bool:
        """False: any weights will do."""
        return False

    def weigh(
        self,
        document_frequencies: NDArray[np.int64],
        statistics: CollectionStatistics,  # noqa: ARG002  the protocol's
    ) -> NDArray[np.float64]:
        """Return 1 for each term."""
        return np.ones(len(document_frequencies))

    def score_postings(
        self,
        weight: float | NDArray[np.float64],
        frequencies: NDArray[Any],
        lengths: NDArray[np.uint32],  # noqa: ARG002  the protocol's
        statistics: CollectionStatistics,  # noqa: ARG002  the protocol's
    ) -> NDArray[np.float64]:
        """Return the products of both weights."""
        impacts: NDArray[np.float64] = np.multiply(weight, frequencies, dtype=np.float64)
        return impacts


@dataclass(frozen=True, slots=True)
class Bm25:
    """BM25 as Lucene has it: qf * idf * tf / (tf + k1 * (1 - b + b * dl / avgdl)).

    idf = ln(1 + (N - df + 0.5) / (df + 0.5)). Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
    Beyond" (2009), with the idf of Lucene's BM25Similarity, which also leaves out the constant factor k1 + 1. Lengths
    are exact here; Lucene rounds them to one byte.
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

    @property
    def needs_counts(self) -> bool:
        """True: lengths are sums of frequencies."""
        return True

    def weigh(self, document_frequencies: NDArray[np.int64], statistics: CollectionStatistics) -> NDArray[np.float64]:
        """Return the idf of each term."""
        absent = statistics.document_count - document_frequencies
        weights: NDArray[np.float64] = np.log1p((absent + 0.5) / (document_frequencies + 0.5))
        return weights

    def score_postings(
        self,
        weight: float | NDArray[np.float64],
        frequencies: NDArray[Any],
        lengths: NDArray[np.uint32],
        statistics: CollectionStatistics,
    ) -> NDArray[np.float64]:
        """Return weight * tf / (tf + k1 * (1 - b + b * dl / avgdl)) for each posting."""
        tf = frequencies.astype(np.float64)
        norms = self.k1 * self._norm(lengths, statistics)
        impacts: NDArray[np.float64] = weight * tf / (tf + norms)
        return impacts

    def _norm(self, lengths: NDArray[np.uint32], statistics: CollectionStatistics) -> NDArray[np.float64]:
        norms: NDArray[np.float64] = 1 - self.b + self.b * lengths.astype(np.float64) / statistics.average_length
        return norms


@dataclass(frozen=True, slots=True)
class Bm25Robertson(Bm25):
    """BM25 with the idf it came with: qf * idf * tf / (tf + k1 * (1 - b + b * dl / avgdl)).

    idf = ln((N - df + 0.5) / (df + 0.5)), raised to 0.000001 where it is less, as it is for a term of half of all
    documents (PISA does so too): such a term tells documents apart that are equal in all else, and a match never counts
    against a document. Robertson, Walker, Jones, Hancock-Beaulieu and Gatford, "Okapi at TREC-3" (1994), without the
    constant factor k1 + 1.
    """

    def weigh(self, document_frequencies: NDArray[np.int64], statistics: CollectionStatistics) -> NDArray[np.float64]:
        """Return the idf of each term."""
        absent = statistics.document_count - document_frequencies
        return np.maximum(np.log((absent + 0.5) / (document_frequencies + 0.5)), _LEAST_IDF)


@dataclass(frozen=True, slots=True)
class Bm25L(Bm25):
    """BM25L, which is fairer to long documents: qf * idf * (k1 + 1) * (c + delta) / (k1 + c + delta).

    c = tf / (1 - b + b * dl / avgdl); idf = ln((N + 1) / (df + 0.5)). Lv and Zhai, "When Documents Are Very Long, BM25
    Fails!" (SIGIR 2011).
    """

    delta: float = 0.5

    def __post_init__(self) -> None:
        """Refuse parameters outside their range."""
        _check(self, self.delta)

    def weigh(self, document_frequencies: NDArray[np.int64], statistics: CollectionStatistics) -> NDArray[np.float64]:
        """Return the idf of each term."""
        weights: NDArray[np.float64] = np.log((statistics.document_count + 1) / (document_frequencies + 0.5))
        return weights

    def score_postings(
        self,
        weight: float | NDArray[np.float64],
        frequencies: NDArray[Any],
        lengths: NDArray[np.uint32],
        statistics: CollectionStatistics,
    ) -> NDArray[np.float64]:
        """Return weight * (k1 + 1) * (c + delta) / (k1 + c + delta) for each posting."""
        shifted = frequencies.astype(np.float64) / self._norm(lengths, statistics) + self.delta
        impacts: NDArray[np.float64] = weight * (self.k1 + 1) * shifted / (self.k1 + shifted)
        return impacts


@dataclass(frozen=True, slots=True)
class Bm25Plus(Bm25):
    """BM25+, where any match counts for something: qf * idf * ((k1 + 1) * tf / (tf + k1 * n) + delta).

    n = 1 - b + b * dl / avgdl; idf = ln((N + 1) / df). Lv and Zhai, "Lower-Bounding Term Frequency Normalization"
    (CIKM 2011).
    """

    delta: float = 1.0

    def __post_init__(self) -> None:
        """Refuse parameters outside their range."""
        _check(self, self.delta)

    def weigh(self, document_frequencies: NDArray[np.int64], statistics: CollectionStatistics) -> NDArray[np.float64]:
        """Return the idf of each term."""
        weights: NDArray[np.float64] = np.log((statistics.document_count + 1) / document_frequencies)
        return weights

    def score_postings(
        self,
        weight: float | NDArray[np.float64],
        frequencies: NDArray[Any],
        lengths: NDArray[np.uint32],
        statistics: CollectionStatistics,
    ) -> NDArray[np.float64]:
        """Return weight * ((k1 + 1) * tf / (tf + k1 * (1 - b + b * dl / avgdl)) + delta) for each posting."""
        tf = frequencies.astype(np.float64)
        norms = self.k1 * self._norm(lengths, statistics)
        impacts: NDArray[np.float64] = weight * ((self.k1 + 1) * tf / (tf + norms) + self.delta)
        return impacts


def _check(scoring: Bm25, delta: float) -> None:
    """Refuse parameters outside their range."""
    Bm25.__post_init__(scoring)
    if not (isfinite(delta) and delta >= 0):
        raise InputError(f"BM25 with {scoring}", expected="delta >= 0", remedy="correct the parameters")
