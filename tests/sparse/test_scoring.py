"""Weights and impacts from statistics alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sicetnon.errors import InputError
from sicetnon.sparse import Bm25, CollectionStatistics, IdfOverlap

TEN = CollectionStatistics(document_count=10, average_length=4.0)


def test_idf_overlap_weights() -> None:
    """The weight is ln(1 + N / df), and the impact of each posting."""
    weights = IdfOverlap().weigh(np.array([1, 10]), TEN)
    assert weights.tolist() == pytest.approx([math.log(11), math.log(2)])
    impacts = IdfOverlap().score_postings(1.5, np.array([1, 7], np.uint8), np.array([1, 2], np.uint32), TEN)
    assert impacts.tolist() == [1.5, 1.5]


def test_bm25_weights() -> None:
    """The weight is ln(1 + (N - df + 0.5) / (df + 0.5)), positive even where every document has the term."""
    weights = Bm25().weigh(np.array([1, 10]), TEN)
    assert weights.tolist() == pytest.approx([math.log(1 + 9.5 / 1.5), math.log(1 + 0.5 / 10.5)])
    assert (weights > 0).all()


def test_bm25_impacts() -> None:
    """The impact saturates with the frequency and falls with the length."""
    impacts = Bm25(1.2, 0.75).score_postings(2.0, np.array([1, 3, 3], np.uint8), np.array([4, 4, 8], np.uint32), TEN)
    assert impacts.tolist() == pytest.approx([2 / 2.2, 6 / 4.2, 6 / (3 + 1.2 * 1.75)])


@pytest.mark.parametrize(("k1", "b"), [(-0.1, 0.4), (math.nan, 0.4), (math.inf, 0.4), (0.9, -0.1), (0.9, 1.1)])
def test_bm25_parameters_out_of_range(k1: float, b: float) -> None:
    """Parameters outside their range are refused."""
    with pytest.raises(InputError, match="BM25"):
        Bm25(k1, b)
