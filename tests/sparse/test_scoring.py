"""Weights and impacts from statistics alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sicetnon.errors import InputError
from sicetnon.sparse.scoring import (
    Bm25,
    Bm25L,
    Bm25Plus,
    Bm25Robertson,
    CollectionStatistics,
    DotProduct,
    IdfOverlap,
    Scoring,
)

TEN = CollectionStatistics(document_count=10, average_length=4.0)
TF = np.array([1, 3, 3], np.uint8)
LENGTHS = np.array([4, 4, 8], np.uint32)
SCORINGS = [IdfOverlap(), DotProduct(), Bm25(), Bm25Robertson(), Bm25L(), Bm25Plus()]
VARIANTS = [Bm25, Bm25Robertson, Bm25L, Bm25Plus]


def test_idf_overlap_weights() -> None:
    """The weight is ln(1 + N / df), and the impact of each posting."""
    weights = IdfOverlap().weigh(np.array([1, 10]), TEN)
    assert weights.tolist() == pytest.approx([math.log(11), math.log(2)])
    impacts = IdfOverlap().score_postings(1.5, np.array([1, 7], np.uint8), np.array([1, 2], np.uint32), TEN)
    assert impacts.tolist() == [1.5, 1.5]


def test_products_by_hand() -> None:
    """Each term counts once, and the impact is the product of both weights."""
    assert DotProduct().weigh(np.array([1, 10]), TEN).tolist() == [1, 1]
    impacts = DotProduct().score_postings(1.5, np.array([0.5, 4], np.float32), LENGTHS[:2], TEN)
    assert impacts.tolist() == [0.75, 6.0]


def test_bm25_weights() -> None:
    """The weight is ln(1 + (N - df + 0.5) / (df + 0.5)), positive even where every document has the term."""
    weights = Bm25().weigh(np.array([1, 10]), TEN)
    assert weights.tolist() == pytest.approx([math.log(1 + 9.5 / 1.5), math.log(1 + 0.5 / 10.5)])
    assert (weights > 0).all()


def test_bm25_impacts() -> None:
    """The impact saturates with the frequency and falls with the length."""
    impacts = Bm25(1.2, 0.75).score_postings(2.0, TF, LENGTHS, TEN)
    assert impacts.tolist() == pytest.approx([2 / 2.2, 6 / 4.2, 6 / (3 + 1.2 * 1.75)])


def test_robertson_by_hand() -> None:
    """The weight is ln((N - df + 0.5) / (df + 0.5)), and a millionth where that is less; impacts are as Lucene's."""
    weights = Bm25Robertson().weigh(np.array([1, 4, 5, 6, 10]), TEN)
    assert weights.tolist() == pytest.approx([math.log(9.5 / 1.5), math.log(6.5 / 4.5), 1e-6, 1e-6, 1e-6])
    impacts = Bm25Robertson(1.2, 0.75).score_postings(2.0, TF, LENGTHS, TEN)
    assert impacts.tolist() == pytest.approx([2 / 2.2, 6 / 4.2, 6 / 5.1])


def test_bm25l_by_hand() -> None:
    """Frequencies are divided by the norm of the length, 1 and 1.75 here, and raised by delta."""
    assert Bm25L().weigh(np.array([1, 10]), TEN).tolist() == pytest.approx([math.log(11 / 1.5), math.log(11 / 10.5)])
    impacts = Bm25L(1.2, 0.75, 0.5).score_postings(2.0, TF, LENGTHS, TEN)
    raised = 3 / 1.75 + 0.5
    expected = [2 * 2.2 * 1.5 / 2.7, 2 * 2.2 * 3.5 / 4.7, 2 * 2.2 * raised / (1.2 + raised)]
    assert impacts.tolist() == pytest.approx(expected)


def test_bm25_plus_by_hand() -> None:
    """Every match counts for delta times the weight, and for more the more frequent the term."""
    assert Bm25Plus().weigh(np.array([1, 10]), TEN).tolist() == pytest.approx([math.log(11), math.log(1.1)])
    impacts = Bm25Plus(1.2, 0.75, 1.0).score_postings(2.0, TF, LENGTHS, TEN)
    assert impacts.tolist() == pytest.approx([2 * (2.2 / 2.2 + 1), 2 * (6.6 / 4.2 + 1), 2 * (6.6 / 5.1 + 1)])


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("k1", "b"), [(-0.1, 0.4), (math.nan, 0.4), (math.inf, 0.4), (0.9, -0.1), (0.9, 1.1)])
def test_bm25_parameters_out_of_range(variant: type[Bm25], k1: float, b: float) -> None:
    """Parameters outside their range are refused."""
    with pytest.raises(InputError, match="BM25"):
        variant(k1, b)


@pytest.mark.parametrize("variant", [Bm25L, Bm25Plus])
@pytest.mark.parametrize("delta", [-0.1, math.nan, math.inf])
def test_delta_out_of_range(variant: Any, delta: float) -> None:
    """A delta that is no finite number of at least 0 is refused."""
    with pytest.raises(InputError, match="BM25"):
        variant(delta=delta)


@pytest.mark.parametrize("scoring", SCORINGS)
@given(
    st.lists(st.tuples(st.integers(1, 2**32 - 1), st.integers(0, 2**20), st.floats(1e-3, 1e3)), min_size=1),
    st.integers(1, 100),
    st.floats(1, 100),
)
def test_impacts_are_what_pruning_counts_on(
    scoring: Scoring, postings: list[tuple[int, int, float]], df: int, average: float
) -> None:
    """Weights and impacts are above 0; each posting's is the same alone and among others, and as its weight has it."""
    statistics = CollectionStatistics(100, average)
    assert (scoring.weigh(np.array([df]), statistics) > 0).all()
    frequencies = np.array([posting[0] for posting in postings], np.uint32)
    lengths = np.array([min(tf + more, 2**32 - 1) for tf, more, _ in postings], np.uint32)
    weights = np.array([posting[2] for posting in postings])
    impacts = scoring.score_postings(weights, frequencies, lengths, statistics)
    assert (impacts > 0).all()
    alone = [
        scoring.score_postings(float(weight), tf, length, statistics).item()
        for weight, tf, length in zip(weights, frequencies[:, None], lengths[:, None], strict=True)
    ]
    assert impacts.tolist() == alone
    units = scoring.score_postings(1.0, frequencies, lengths, statistics)
    assert impacts.tolist() == pytest.approx((weights * units).tolist(), rel=1e-14)


def test_scorings_are_told_apart() -> None:
    """Scorings are equal where class and parameters are."""
    assert Bm25() == Bm25(0.9, 0.4) != Bm25(0.9, 0.5)
    assert len({*SCORINGS}) == len(SCORINGS)
