"""Vector search one pair at a time, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def find_max_similarity(queries: np.ndarray, vectors: np.ndarray, starts: Sequence[int]) -> list[list[float]]:
    """Return the highest dot product of each query (column) with a vector of each group (row), by float64 sums."""
    ends = [*starts[1:], len(vectors)]
    return [
        [
            max(sum(float(a) * float(b) for a, b in zip(query, vectors[row], strict=True)) for row in range(start, end))
            for query in queries
        ]
        for start, end in zip(starts, ends, strict=True)
    ]
