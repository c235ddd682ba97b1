"""Sums of whole numbers over all documents, and which are highest, held against plain NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sicetnon.sparse.sums import SetPostings, bar, list_at_least, list_highest

LENGTHS = [0, 1, 7, 8, 9, 63, 64, 65, 1_023, 4_099, 20_001]


def highest(sums: np.ndarray, wanted: int) -> list[int]:
    """Return the places of so many highest sums above 0, and of all that equal the last of them."""
    found = np.flatnonzero(sums)
    if len(found) > wanted:
        found = found[sums[found] >= np.sort(sums[found])[-wanted]]
    return found.tolist()


def test_at_least_by_hand() -> None:
    """The places of what is high enough, ascending, whether eight at a time or in what is left over."""
    sums = np.zeros(70, np.uint8)
    sums[[0, 7, 8, 63, 64, 69]] = [9, 3, 5, 5, 5, 4]
    assert list_at_least(sums, 5).tolist() == [0, 8, 63, 64]
    assert list_at_least(sums, 4).tolist() == [0, 8, 63, 64, 69]
    assert list_at_least(sums, 10).tolist() == []


def test_highest_by_hand() -> None:
    """So many of the highest, all ties at the last, and nothing of what is 0."""
    sums = np.array([0, 2, 9, 2, 2, 5, 0], np.uint16)
    assert list_highest(sums, 1).tolist() == [2]
    assert list_highest(sums, 2).tolist() == [2, 5]
    assert list_highest(sums, 3).tolist() == list_highest(sums, 5).tolist() == [1, 2, 3, 4, 5]
    assert list_highest(sums, 6).tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 1.0])
def test_at_least_against_numpy(dtype: type, length: int, share: float) -> None:
    """From nothing to everything being high, for any length and every threshold of either type."""
    generator = np.random.default_rng([length, int(1_000 * share)])
    top = np.iinfo(dtype).max
    sums = generator.integers(0, 100, length).astype(dtype)
    sums[generator.random(length) < share] = top
    for least in (0, 1, 50, 99, 100, top):
        found = list_at_least(sums, least)
        assert found.dtype == np.intp
        assert found.tolist() == np.flatnonzero(sums >= least).tolist()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("levels", [0, 1, 3, 255])
def test_highest_against_numpy(dtype: type, length: int, levels: int) -> None:
    """Whether all are 0, all equal, tied in a few levels or hardly tied, the highest are found with all ties."""
    generator = np.random.default_rng([length, levels])
    for sums in (generator.integers(0, levels, length, endpoint=True), np.full(length, levels)):
        for wanted in (1, 2, 10, 300, 30_000):
            assert list_highest(sums.astype(dtype), wanted).tolist() == highest(sums, wanted)


@given(st.data())
def test_highest_property(data: st.DataObject) -> None:
    """Whatever few documents are high, however they crowd together, they are found with all ties."""
    size = data.draw(st.integers(2_000, 2_100))
    dtype = data.draw(st.sampled_from([np.uint8, np.uint16]))
    sums = np.full(size, data.draw(st.integers(0, 1)), dtype)
    places = data.draw(st.lists(st.sampled_from(range(0, 2_000, 1_024)) | st.integers(0, size - 1), max_size=30))
    values = st.sampled_from([0, 1, 2, int(np.iinfo(dtype).max)])
    sums[places] = data.draw(st.lists(values, min_size=len(places), max_size=len(places)))
    wanted = data.draw(st.integers(1, 40))
    assert list_highest(sums, wanted).tolist() == highest(sums, wanted)
    least = data.draw(values)
    assert list_at_least(sums, least).tolist() == np.flatnonzero(sums >= least).tolist()


def test_added_postings(make_sets: Callable[..., SetPostings]) -> None:
    """Each document's sum of its terms' numbers, in their type; of no terms, zeros."""
    has = np.array([[1, 0, 1], [1, 1, 0], [0, 0, 0], [1, 0, 0], [1, 0, 0]], np.bool_)
    sets = make_sets(has, np.array([True, False, False]))
    assert sets.span(1).tolist() == [1]
    assert sets.count_documents(np.array([0, 2])).tolist() == [4, 1]
    for dtype in (np.uint8, np.uint16):
        sums = sets.add_postings(np.array([2, 0]), np.array([7, 100], dtype))
        assert sums.dtype == dtype
        assert sums.tolist() == [107, 100, 0, 100, 100]
        assert sets.add_postings(np.empty(0, np.intp), np.empty(0, dtype)).tolist() == [0] * 5


def test_which_are_unpacked(make_sets: Callable[..., SetPostings]) -> None:
    """Terms of more than one document in 13 are cheaper by their bitmaps, if they have one."""
    has = np.zeros((26, 3), np.bool_)
    has[:3, :2] = has[:2, 2:] = True
    sets = make_sets(has, np.array([True, False, True]))
    rows = np.arange(3)
    assert sets.is_unpacked(sets.count_documents(rows), sets.bitmaps.find(rows)).tolist() == [True, False, False]


def test_barred_documents_have_no_sum() -> None:
    """What is not allowed is 0, in place; without a filter all stay."""
    sums = np.array([5, 6, 7], np.uint16)
    bar(sums, None)
    assert sums.tolist() == [5, 6, 7]
    bar(sums, np.array([True, False, True]))
    assert sums.tolist() == [5, 0, 7]
