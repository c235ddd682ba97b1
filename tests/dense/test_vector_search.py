"""The best of each group's vectors for each query."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.dense import find_max_similarity

from sicetnon.dense import QUERIES_AT_ONCE, max_similarity, similarities
from sicetnon.dense.search import DECIMALS


def make_units(seed: int, count: int, dimensions: int) -> np.ndarray:
    """Make random vectors of length 1."""
    vectors = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    units: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return units


def test_by_hand() -> None:
    """Two groups of two and one vectors: the higher cosine of each, for each of two queries."""
    queries = np.array([[1, 0], [0.6, 0.8]], np.float32)
    vectors = np.array([[0, 1], [1, 0], [-1, 0]], np.float32)
    assert similarities(queries, vectors).tolist() == pytest.approx(np.array([[0, 0.8], [1, 0.6], [-1, -0.6]]))
    best = max_similarity(queries, vectors, np.array([0, 2]))
    assert best.dtype == np.float32
    assert best.tolist() == pytest.approx(np.array([[1, 0.8], [-1, -0.6]]))


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, QUERIES_AT_ONCE), st.lists(st.integers(1, 4), min_size=1, max_size=6))
def test_against_oracle(seed: int, query_count: int, sizes: list[int]) -> None:
    """Any groups give what comparing one pair at a time gives, to within the rounding."""
    queries, vectors = make_units(seed, query_count, 7), make_units(seed + 1, sum(sizes), 7)
    counts = np.array(sizes, np.int64)
    starts = np.cumsum(counts) - counts
    expected = np.array(find_max_similarity(queries, vectors, starts.tolist()))
    found = max_similarity(queries, vectors, starts)
    assert found.shape == (len(sizes), query_count)
    assert np.abs(found - expected).max() <= 10.0**-DECIMALS


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, QUERIES_AT_ONCE), st.integers(1, 300))
def test_queries_do_not_depend_on_their_company(seed: int, query_count: int, vector_count: int) -> None:
    """A query's cosines are the same bits alone, in a block, and in another place of it."""
    queries, vectors = make_units(seed, query_count, 48), make_units(seed + 1, vector_count, 48)
    together = similarities(queries, vectors)
    alone = np.hstack([similarities(query[None], vectors) for query in queries])
    assert together.tobytes() == np.ascontiguousarray(alone).tobytes()
    assert similarities(queries[::-1], vectors)[:, ::-1].tobytes() == together.tobytes()


def test_rounded() -> None:
    """Cosines that differ by less than the rounding are equal."""
    vectors = np.array([[1, 0], [1, 0]], np.float32)
    assert len(set(similarities(np.array([[0.1234567, 0]], np.float32), vectors).ravel().tolist())) == 1
