"""Measures of labelled queries: by hand, against a slow oracle and against ir-measures."""

from __future__ import annotations

from math import log2

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sicetnon.relevance.features import FEATURES
from sicetnon.train.labelled import Labelled, LabelledQuery, list_queries
from sicetnon.train.measuring import CUTOFF, Candidates, Estimate, estimate, measure_queries, rank_candidates
from sicetnon.train.ranker import Described
from sicetnon.types import Stance


def describe(counts: list[int]) -> Described:
    """Make candidates of which only the numbers matter."""
    total = sum(counts)
    return Described(
        np.zeros((total, len(FEATURES))), np.zeros(total, np.bool_), np.array(counts), np.zeros(len(counts), np.int64)
    )


def find(*documents: object) -> Candidates:
    """Make candidates whose IDs ascend as their ordinals do."""
    return Candidates([np.array(own) for own in documents], np.arange(50, dtype=np.int32))


def ask(proposition: int, *relevant: int, stance: Stance = Stance.ALL) -> LabelledQuery:
    """Make a labelled query."""
    return LabelledQuery(proposition, f"P{proposition}", stance, frozenset(relevant))


def test_by_hand() -> None:
    """Two of two at the ranks 1 and 3; one of three at rank 2; one that is no candidate."""
    candidates = find([7, 8, 9], [4, 5])
    scores = np.array([0.1, 0.3, 0.2, 1.0, -1.0])
    queries = [ask(0, 8, 7), ask(1, 5, 1, 2), ask(1, 3)]
    assert rank_candidates(describe([3, 2]), candidates, scores, 2) == [[8, 9], [4, 5]]
    assert measure_queries(queries, describe([3, 2]), candidates, scores).tolist() == pytest.approx(
        [(1 + 1 / log2(4)) / (1 + 1 / log2(3)), (1 / log2(3)) / (1 + 1 / log2(3) + 1 / log2(4)), 0]
    )


def test_equal_scores() -> None:
    """Equal scores are ordered by ascending document ID, however the candidates stand and whatever their ordinals."""
    ids = ["d3", "d10", "d2", "d1"]
    tie_rank = np.argsort(np.argsort(ids)).astype(np.int32)
    scores = np.array([0.5, 0.5, 0.9, 0.5])
    for order in ([0, 1, 2, 3], [3, 1, 2, 0], [1, 0, 2, 3]):
        candidates = Candidates([np.array(order)], tie_rank)
        (ranked,) = rank_candidates(describe([4]), candidates, scores, 3)
        tied = sorted({0, 1, 2, 3} - {order[2]}, key=lambda document: ids[document])
        assert ranked == [order[2], *tied[:2]]
        assert measure_queries([ask(0, tied[0])], describe([4]), candidates, scores).tolist() == [1 / log2(3)]


def test_more_relevant_than_counted() -> None:
    """Ten relevant ones on top are all that can be wished for."""
    candidates = find(np.arange(20))
    scores = -np.arange(20.0)
    assert measure_queries([ask(0, *range(15))], describe([20]), candidates, scores).tolist() == [1.0]


@given(st.integers(0, 10_000), st.lists(st.integers(1, 30), min_size=1, max_size=4))
def test_against_ir_measures(seed: int, counts: list[int]) -> None:
    """The measure is ir-measures' nDCG@10, also where a query has other stances and documents that are not found."""
    chance = np.random.default_rng(seed)
    candidates = find(*(chance.permutation(40)[:count] for count in counts))
    scores = chance.permutation(sum(counts)).astype(float)
    queries = [
        ask(proposition, *chance.choice(45, int(chance.integers(1, 14)), replace=False).tolist(), stance=stance)
        for proposition in range(len(counts))
        for stance in (Stance.SUPPORTED, Stance.REFUTED)
    ]
    values = measure_queries(queries, describe(counts), candidates, scores)
    own = np.split(scores, np.cumsum(counts)[:-1])
    qrels = {str(n): {f"d{d}": 1 for d in query.relevant} for n, query in enumerate(queries)}
    run = {
        str(n): {
            f"d{d}": float(s)
            for d, s in zip(candidates.documents[query.proposition], own[query.proposition], strict=True)
        }
        for n, query in enumerate(queries)
    }
    measured = {found.query_id: found.value for found in ir_measures.iter_calc([ir_measures.nDCG @ CUTOFF], qrels, run)}
    assert values.tolist() == pytest.approx([measured[str(n)] for n in range(len(queries))])


def test_queries_of_propositions() -> None:
    """Each stance of each proposition is a query of its own, in order."""
    labelled = [
        Labelled("P", frozenset({1, 2}), {Stance.REFUTED: frozenset({1}), Stance.ALL: frozenset({1, 2})}),
        Labelled("Q", frozenset({3}), {Stance.SUPPORTED: frozenset({3})}),
    ]
    assert list_queries(labelled) == [
        LabelledQuery(0, "P", Stance.REFUTED, frozenset({1})),
        LabelledQuery(0, "P", Stance.ALL, frozenset({1, 2})),
        LabelledQuery(1, "Q", Stance.SUPPORTED, frozenset({3})),
    ]


def test_interval_by_hand() -> None:
    """Half zeros and half ones of a hundred: the mean, and about two standard errors on either side."""
    values = np.tile([0.0, 1.0], 50)
    found = estimate(values, np.arange(100))
    assert found.mean == 0.5
    assert found.low == pytest.approx(0.5 - 1.96 * 0.05, abs=0.015)
    assert found.high == pytest.approx(0.5 + 1.96 * 0.05, abs=0.015)
    assert estimate(values, np.arange(100)) == found


def test_interval_in_words() -> None:
    """An estimate is told as its mean with the interval, in the format that is asked for."""
    assert f"{Estimate(0.5, 0.41234, 0.6):.2f}" == "0.50 (0.41 to 0.60)"
    assert f"{Estimate(0.5, -0.25, 0.6):+.1f}" == "+0.5 (-0.2 to +0.6)"


def test_values_of_one_owner_stand_together() -> None:
    """Four queries of each proposition say no more than one would, where they all say the same."""
    values = np.random.default_rng(1).random(40)
    once = estimate(values, np.arange(40))
    again = estimate(np.repeat(values, 4), np.repeat(np.arange(40) * 7, 4))
    assert (again.mean, again.low, again.high) == pytest.approx((once.mean, once.low, once.high))


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_interval_holds_values(values: list[float]) -> None:
    """The interval lies within the values, and is a point where they are all the same."""
    found = estimate(np.array(values), np.arange(len(values)))
    assert min(values) - 1e-12 <= found.low <= found.high <= max(values) + 1e-12
    same = estimate(np.full(5, values[0]), np.arange(5))
    assert (same.low, same.high) == pytest.approx((values[0], values[0]))
