"""The selection of the best, held against sorting everything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sicetnon.sparse.topk import select_top


def sort_all(scores: np.ndarray, tie_rank: np.ndarray, k: int, floor: float = 0.0) -> list[int]:
    """Return the k best above the floor by sorting all of them."""
    best = sorted((o for o in range(len(scores)) if scores[o] > floor), key=lambda o: (-scores[o], tie_rank[o]))
    return best[:k]


def test_by_hand() -> None:
    """Descending scores, ties by rank, zeros left out."""
    scores = np.array([1.0, 0.0, 2.0, 1.0, 1.0])
    tie_rank = np.array([3, 0, 4, 1, 2], np.int32)
    assert select_top(scores, tie_rank, 3).tolist() == [2, 3, 4]
    assert select_top(scores, tie_rank, 9).tolist() == [2, 3, 4, 0]
    assert select_top(scores, tie_rank, 0).tolist() == []
    assert select_top(scores[:0], tie_rank[:0], 5).tolist() == []


@pytest.mark.parametrize("size", [1, 1023, 2048, 2049, 5_000, 40_000])
@pytest.mark.parametrize("levels", [1, 2, 30, 10**9])
@pytest.mark.parametrize("k", [1, 10, 100, 50_000])
def test_against_sorting_all(size: int, levels: int, k: int) -> None:
    """Below and above the size where groups bound the k-th score, from all tied to hardly a tie."""
    generator = np.random.default_rng([size, levels, k])
    scores = generator.integers(0, levels, size, endpoint=True).astype(np.float64)
    tie_rank = generator.permutation(size).astype(np.int32)
    assert select_top(scores, tie_rank, k).tolist() == sort_all(scores, tie_rank, k)


def test_floor_by_hand() -> None:
    """Scores above the floor are found, negative ones too, and none at it."""
    scores = np.array([-1.0, -np.inf, 0.0, -1.0, 2.0])
    tie_rank = np.array([1, 2, 3, 0, 4], np.int32)
    assert select_top(scores, tie_rank, 9, floor=-np.inf).tolist() == [4, 2, 3, 0]
    assert select_top(scores, tie_rank, 3, floor=-np.inf).tolist() == [4, 2, 3]
    assert select_top(scores, tie_rank, 9, floor=-1.0).tolist() == [4, 2]
    assert select_top(scores, tie_rank, 9, floor=2.0).tolist() == []
    assert select_top(scores, tie_rank, 0, floor=-np.inf).tolist() == []
    assert select_top(scores[1:2], tie_rank[:1], 5, floor=-np.inf).tolist() == []


@pytest.mark.parametrize("size", [1, 1023, 2048, 5_000, 40_000])
@pytest.mark.parametrize("levels", [0, 2, 10**9])
@pytest.mark.parametrize("share_left_out", [0.0, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("k", [1, 50, 50_000])
def test_no_floor_against_sorting_all(size: int, levels: int, share_left_out: float, k: int) -> None:
    """Without a floor, scores below and above 0 are sorted alike, and those of minus infinity are never found."""
    generator = np.random.default_rng([size, levels, int(1000 * share_left_out), k])
    scores = generator.integers(-levels, levels, size, endpoint=True).astype(np.float64)
    scores[generator.random(size) < share_left_out] = -np.inf
    tie_rank = generator.permutation(size).astype(np.int32)
    for made in (scores, scores - 2 * levels - 1):  # of both signs, and all below 0
        found = select_top(made, tie_rank, k, floor=-np.inf)
        assert found.tolist() == sort_all(made, tie_rank, k, floor=-np.inf)
        assert len(found) == min(k, int(np.isfinite(made).sum()))


@given(st.data())
def test_any_floor(data: st.DataObject) -> None:
    """Whatever the floor, what lies above it is found, also where the groups' bound lies below it."""
    size = 3_000
    floor = data.draw(st.sampled_from([-np.inf, -2.0, -1.0, 0.0, 1.0]))
    places = data.draw(st.lists(st.sampled_from(range(0, size, 1024)) | st.integers(0, size - 1), max_size=20))
    scores = np.full(size, data.draw(st.sampled_from([-np.inf, -2.0, 0.0])))
    levels = st.sampled_from([-np.inf, -2.0, -1.0, 0.0, 1.0, 2.0])
    scores[places] = data.draw(st.lists(levels, min_size=len(places), max_size=len(places)))
    tie_rank = np.arange(size, dtype=np.int32)[::-1].copy()
    k = data.draw(st.integers(0, 25))
    assert select_top(scores, tie_rank, k, floor=floor).tolist() == sort_all(scores, tie_rank, k, floor)


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_all_tied(score: float) -> None:
    """Where all are tied the lowest ranks win; where all are 0 there is nothing to find."""
    tie_rank = np.random.default_rng(1).permutation(20_000).astype(np.int32)
    found = select_top(np.full(20_000, score), tie_rank, 10)
    assert tie_rank[found].tolist() == (list(range(10)) if score else [])


@given(st.data())
def test_matches_in_few_groups(data: st.DataObject) -> None:
    """Best documents that crowd into few groups are all found."""
    size = 3_000
    places = data.draw(st.lists(st.sampled_from(range(0, size, 1024)) | st.integers(0, size - 1), max_size=20))
    scores = np.zeros(size)
    scores[places] = data.draw(st.lists(st.sampled_from([1.0, 2.0]), min_size=len(places), max_size=len(places)))
    tie_rank = np.arange(size, dtype=np.int32)[::-1].copy()
    k = data.draw(st.integers(0, 25))
    assert select_top(scores, tie_rank, k).tolist() == sort_all(scores, tie_rank, k)
