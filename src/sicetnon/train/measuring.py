"""Measures of labelled queries, and how far chance may have moved them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sicetnon.train.labelled import LabelledQuery
from sicetnon.train.ranker import Described

CUTOFF = 10
RESAMPLES = 1_000
LEVEL = 0.95
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Candidates(NamedTuple):
    """The documents that may answer labelled propositions.

    ``documents``: int64 [candidates] for each proposition, by ordinal. ``tie_rank`` int32 [documents of the corpus]:
    the place of a document's ID in ascending order, by which a search orders equal scores.
    """

    documents: Sequence[Ints]
    tie_rank: npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean, and the interval that holds it with a chance of ``LEVEL``, by resampling propositions."""

    mean: float
    low: float
    high: float

    def __format__(self, spec: str) -> str:
        """The mean and its interval, each number by ``spec``."""
        return f"{self.mean:{spec}} ({self.low:{spec}} to {self.high:{spec}})"


def rank_candidates(described: Described, candidates: Candidates, scores: Floats, count: int) -> list[list[int]]:
    """The best documents of each proposition by the scores of its candidates."""
    starts = np.cumsum(described.counts) - described.counts
    ordered = order_cells(described, candidates, scores)
    return [
        documents[cells[:count] - start].tolist()
        for documents, cells, start in zip(candidates.documents, ordered, starts, strict=True)
    ]


def order_cells(described: Described, candidates: Candidates, scores: Floats) -> list[Ints]:
    """The places of each proposition's candidates among all, best score first, equal ones as a search orders them."""
    ends = np.cumsum(described.counts)
    ordered = []
    for documents, end, count in zip(candidates.documents, ends.tolist(), described.counts.tolist(), strict=True):
        own = scores[end - count : end]
        ordered.append(end - count + np.lexsort((candidates.tie_rank[documents], -own)))
    return ordered


def measure_queries(
    queries: Sequence[LabelledQuery], described: Described, candidates: Candidates, scores: Floats
) -> Floats:
    """nDCG@10 of each query with binary gains (Jaervelin and Kekaelaeinen 2002, section 2.2; over log2(rank + 1))."""
    discounts = 1 / np.log2(np.arange(2, CUTOFF + 2))
    best = rank_candidates(described, candidates, scores, CUTOFF)
    values = []
    for query in queries:
        hits = [document in query.relevant for document in best[query.proposition]]
        values.append(float(discounts[: len(hits)][hits].sum() / discounts[: len(query.relevant)].sum()))
    return np.array(values)


def estimate(values: Floats, owners: Ints) -> Estimate:
    """The mean of values, of which those of one owner stand or fall together."""
    _, owner = np.unique(owners, return_inverse=True)
    sums, counts = np.bincount(owner, values), np.bincount(owner)
    chance = np.random.default_rng(0)
    means = []
    for _ in range(RESAMPLES):
        drawn = chance.integers(len(sums), size=len(sums))
        means.append(sums[drawn].sum() / counts[drawn].sum())
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return Estimate(float(values.mean()), low, high)
