"""Dense scores -> the best documents, exactly, without partitioning all scores.

Splitting the scores into groups, the k-th highest of the groups' maxima cannot exceed the k-th highest score: k
groups have a document at least as good. What is below that bound is dropped before anything is sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# More groups give a tighter bound, fewer are cheaper to partition: with 16 a result few results share a group.
_GROUPS_PER_RESULT = 16
_FEWEST_GROUPS = 1024  # long enough rows for NumPy to take the maxima at memory speed


def select_top(
    scores: NDArray[np.float64], tie_rank: NDArray[np.int32], k: int, *, floor: float = 0.0
) -> NDArray[np.intp]:
    """Return the ordinals of the k best documents with a score above `floor`, best first (fewer where there are fewer).

    scores: float64[n], by document ordinal. tie_rank: int32[n], a permutation; among equal scores the lower is better.
    """
    if k == 0:
        return np.empty(0, np.intp)
    bound = bound_kth(scores, k, floor)
    candidates = np.flatnonzero(scores >= bound if bound > floor else scores > floor)
    if len(candidates) > k:
        candidates = _drop_beyond(candidates, scores, tie_rank, k)
    order = np.lexsort((tie_rank[candidates], -scores[candidates]))
    return candidates[order]


def find_kth(values: NDArray[Any], k: int) -> Any:
    """Return the k-th highest of some values (any real dtype), k from 1 to their number."""
    return np.partition(values, len(values) - k)[len(values) - k]


def bound_kth(scores: NDArray[Any], k: int, floor: float) -> float:
    """Return a lower bound of the k-th highest score (any real dtype), `floor` where none is cheap."""
    groups = max(_GROUPS_PER_RESULT * k, _FEWEST_GROUPS)
    width = len(scores) // groups
    if width <= 1:  # fewer than two documents a group: the scores themselves are as quick to sift
        return floor
    # Group g holds the documents g, g + groups, ...: strided groups let NumPy compare whole rows at a time.
    maxima = scores[: width * groups].reshape(width, groups).max(axis=0)
    if maxima.dtype == np.uint8:
        maxima = maxima.astype(np.uint16)  # the smallest that NumPy partitions at full speed
    return float(find_kth(maxima, k))


def _drop_beyond(
    candidates: NDArray[np.intp], scores: NDArray[np.float64], tie_rank: NDArray[np.int32], k: int
) -> NDArray[np.intp]:
    """Return the k best candidates, in any order."""
    values = scores[candidates]
    kth = find_kth(values, k)
    above, tied = candidates[values > kth], candidates[values == kth]
    missing = k - len(above)
    if missing < len(tied):
        tied = tied[np.argpartition(tie_rank[tied], missing - 1)[:missing]]
    return np.concatenate([above, tied])
