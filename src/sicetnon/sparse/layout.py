"""What the writer and the reader of a sparse index agree on beside its files."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

KIND = "sparse"
MAX_COUNT = 2**31 - 1  # documents, and terms: their ordinals and rows are int32
MAX_LENGTH = 2**32 - 1  # tokens in a document: lengths are uint32
SEGMENT_COUNTS = ("documents", "terms", "postings", "tokens", "longest")

_UINT16_ROWS = 2**16
_LANE = 8


def name_segment(number: int) -> str:
    """Return the folder name of a segment, counted from 1."""
    return f"segment-{number:06d}"


def list_segments(counts: Mapping[str, int]) -> list[str]:
    """Return the folder names of the segments that a manifest counts the documents of, in order."""
    return sorted(name.removesuffix("/documents") for name in counts if name.endswith("/documents"))


def count_all(segments: Mapping[str, Mapping[str, int]], *, terms: int) -> dict[str, int]:
    """Return the counts of an index without deleted documents: its own, and each segment's under its folder's name."""
    totals = {name: sum(counts[name] for counts in segments.values()) for name in ("documents", "postings", "tokens")}
    parts = {f"{name}/{key}": count for name, counts in segments.items() for key, count in counts.items()}
    return {"terms": terms} | totals | parts


def choose_row_dtype(term_count: int) -> type[np.uint16 | np.int32]:
    """Return the type that term rows are stored as in the forward index."""
    return np.uint16 if term_count <= _UINT16_ROWS else np.int32


def pad_width(longest: int) -> int:
    """Return the width of a table for documents of at most so many terms: a multiple of what is added at once."""
    return max(-(-longest // _LANE), 1) * _LANE
