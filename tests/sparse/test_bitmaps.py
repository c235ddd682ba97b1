"""Bitmaps of frequent terms: what has one, and what is read from it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sicetnon.sparse import SparseIndex
from sicetnon.sparse.bitmaps import TermBitmaps


def make(has: np.ndarray) -> TermBitmaps:
    """Return bitmaps of all terms of a matrix of bool, documents by terms."""
    bits = np.packbits(has.T, axis=1, bitorder="little")
    return TermBitmaps(np.arange(has.shape[1], dtype=np.int32), bits, document_count=len(has))


def test_by_hand(build: Callable[..., SparseIndex]) -> None:
    """Terms of more than one document in 32 have a bitmap, of one bit a document; others have none."""
    corpus = [(f"d{number}", ["all", "one"] if number == 9 else ["all"]) for number in range(40)]
    corpus[0] = ("d0", ["all", "two"])
    corpus[1] = ("d1", ["all", "two"])
    maps = build(corpus).segments[0].sets.bitmaps
    places = maps.find(np.array([0, 1, 2]))  # the rows of "all", "two" and "one", in the order of appearance
    assert (places >= 0).tolist() == [True, True, False]
    assert maps.test(places[:2], np.array([0, 1, 2, 39])).tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]
    assert maps.bits.tolist() == [[255] * 5, [3, 0, 0, 0, 0]]


def test_none() -> None:
    """Where no term is frequent, none is found."""
    maps = TermBitmaps(np.zeros(0, np.int32), np.zeros((0, 5), np.uint8), document_count=40)
    assert maps.find(np.array([0, 7])).tolist() == [-1, -1]


def test_rows_between_and_beyond() -> None:
    """A term row between those that have a bitmap, before them or beyond them has none."""
    maps = TermBitmaps(np.array([2, 5], np.int32), np.zeros((2, 1), np.uint8), document_count=8)
    assert maps.find(np.array([5, 0, 2, 3, 9])).tolist() == [1, -1, 0, -1, -1]


@pytest.mark.parametrize("count", [1, 7, 8, 9, 1_001])
def test_against_the_matrix(count: int) -> None:
    """Tests, sums of given documents and sums of all documents are those of the matrix, for any number of documents."""
    generator = np.random.default_rng(count)
    has = generator.random((count, 12)) < 0.4
    maps = make(has)
    places = generator.permutation(12)[:9]
    ordinals = generator.permutation(count)[: count // 2 + 1]
    assert maps.test(places, ordinals).tolist() == has[ordinals][:, places].T.tolist()
    whole = generator.integers(0, 2**24 // 9, 9)
    assert maps.weigh(places, whole, ordinals).tolist() == (has[ordinals][:, places] @ whole).tolist()
    steps = generator.integers(0, 256 // 9, 9).astype(np.uint8)
    assert maps.sum_up(places, steps).tolist() == (has[:, places] @ steps.astype(int)).tolist()


def test_largest_sums() -> None:
    """Sums are exact up to 2**24, and up to what a byte holds."""
    maps = make(np.ones((3, 5), np.bool_))
    whole = np.array([2**24 - 10, 1, 2, 3, 4])
    assert maps.weigh(np.arange(5), whole, np.arange(3)).tolist() == [2**24] * 3
    assert maps.sum_up(np.arange(5), np.array([50, 51, 52, 53, 49], np.uint8)).tolist() == [255] * 3


def test_nothing_to_sum() -> None:
    """No terms sum up to zeros, and no documents to nothing."""
    maps = make(np.ones((3, 2), np.bool_))
    none = np.empty(0, np.intp)
    assert maps.weigh(none, none, np.arange(3)).tolist() == [0, 0, 0]
    assert maps.weigh(np.arange(2), np.array([1, 2]), none).tolist() == []
    assert maps.sum_up(none, np.empty(0, np.uint8)).tolist() == [0, 0, 0]
