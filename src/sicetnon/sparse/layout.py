"""What the writer and the reader of a sparse index agree on beside its files."""

from __future__ import annotations

import numpy as np

KIND = "sparse"
MAX_COUNT = 2**31 - 1  # documents, and terms: their ordinals and rows are int32
MAX_LENGTH = 2**32 - 1  # tokens in a document: lengths are uint32

_UINT16_ROWS = 2**16
_LANE = 8


def choose_row_dtype(term_count: int) -> type[np.uint16 | np.int32]:
    """Return the type that term rows are stored as in the forward index."""
    return np.uint16 if term_count <= _UINT16_ROWS else np.int32


def pad_width(longest: int) -> int:
    """Return the width of a table for documents of at most so many terms: a multiple of what is added at once."""
    return max(-(-longest // _LANE), 1) * _LANE
