"""Exact vector search: the best of each group's vectors for each query."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sicetnon.dense.encoder import Vectors

QUERIES_AT_ONCE = 16  # bounds the block of similarities: 16 x 1 million vectors are 64 MB
DECIMALS = 5  # where float32 dot products begin to differ with the machine's matrix kernel


def similarities(queries: Vectors, vectors: Vectors) -> Vectors:
    """Cosines of at most ``QUERIES_AT_ONCE`` queries with every vector.

    ``queries`` float32 [q, d] and ``vectors`` float32 [n, d] have rows of length 1. Returns float32 [n, q], rounded to
    ``DECIMALS``. The product always has ``QUERIES_AT_ONCE`` columns, so a query's cosines do not depend on its company.
    """
    columns = np.zeros((vectors.shape[1], QUERIES_AT_ONCE), np.float32)
    columns[:, : len(queries)] = queries.T
    block: Vectors = np.round(vectors @ columns, DECIMALS)
    return block[:, : len(queries)]


def max_similarity(queries: Vectors, vectors: Vectors, starts: npt.NDArray[np.int64]) -> Vectors:
    """The highest cosine of each query with any vector of each group.

    ``starts`` int64 [g] holds the row of ``vectors`` at which each group begins, strictly rising from 0 (no group is
    empty); the rest is as in ``similarities``. Returns float32 [g, q].
    """
    best: Vectors = np.maximum.reduceat(similarities(queries, vectors), starts, axis=0)
    return best
