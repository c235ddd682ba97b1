"""Items of known sizes -> runs of them that are handled together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def split_runs(counts: NDArray[np.int64], most: int) -> Iterator[slice]:
    """Yield runs of items one after another, each of at most so much together, or of one item that has more."""
    ends = np.cumsum(counts)
    first = 0
    while first < len(counts):
        held = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, held + most, side="right")), first + 1)
        yield slice(first, last)
        first = last
