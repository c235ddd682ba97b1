"""Tuning an encoder: pairs that are mined, what a step sees, and where it leads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tiny_models import needs_exact_torch

from sicetnon.train.contrastive import (
    MINED_MOST,
    TuningPair,
    TuningSettings,
    _draw,
    _Drawn,
    _loss,
    mine_pairs,
)
from sicetnon.train.labelled import LabelledQuery
from sicetnon.train.optimizing import count_steps
from sicetnon.types import Stance


def ask(relevant: set[int], stance: Stance = Stance.ALL) -> LabelledQuery:
    """Ask for the documents that are on point for the first proposition."""
    return LabelledQuery(0, "P", stance, frozenset(relevant))


def test_pairs_by_hand() -> None:
    """The nearest own passages of each document, nearest first; the best passage of others, unless about as near."""
    angles = np.array([0.1, 0.6, 0.3, 0.05, 0.5, 1.0, 1.2])  # of passages, seen from a proposition at 0
    starts = np.array([0, 3, 5, 6])  # documents of 3, 2, 1 and 1 passages
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    asked = np.array([[1, 0]], np.float32)
    (pair,) = mine_pairs([ask({0, 2})], [frozenset({0, 2})], asked, vectors, starts)
    assert pair == TuningPair("P", frozenset({0, 2}), ((0, 2), (5,)), (6,))  # document 1 lies within the margin of 0
    (pair,) = mine_pairs([ask({1})], [frozenset({1})], asked, vectors, starts)
    assert pair.positives == ((3, 4),)
    assert pair.negatives == (5, 6)  # and 0 does of 1
    assert all(type(row) is int for row in (*pair.positives[0], *pair.negatives))


def test_pairs_of_a_stance_by_hand() -> None:
    """The passages are those of the stance's own documents; one labelled for another stance is no negative."""
    angles = np.array([0.1, 0.9, 0.8, 1.0])  # of documents of a passage each
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    queries = [ask({0}, Stance.SUPPORTED), ask({1, 2}, Stance.REFUTED)]
    pairs = mine_pairs(queries, [frozenset({0, 1, 2})], np.array([[1, 0]] * 2, np.float32), vectors, np.arange(4))
    every = frozenset({0, 1, 2})
    assert pairs == [
        TuningPair("P", every, ((0,),), (3,), Stance.SUPPORTED),
        TuningPair("P", every, ((1,), (2,)), (3,), Stance.REFUTED),
    ]


def test_mined_are_not_too_many() -> None:
    """No more are kept than are of use, the nearest first, and none of an own document."""
    angles = 0.5 + np.arange(100) / 200
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    (pair,) = mine_pairs([ask({0})], [frozenset({0})], np.array([[1, 0]], np.float32), vectors, np.arange(100))
    assert len(pair.negatives) == MINED_MOST
    assert list(pair.negatives) == sorted(pair.negatives)
    assert 0 not in pair.negatives


@pytest.mark.parametrize(
    ("pairs", "epochs", "steps"), [(640, 2.0, 20), (640, 0.05, 0), (640, 0.0, 0), (10, 2.0, 2), (96, 1.0, 2)]
)
def test_steps(pairs: int, epochs: float, steps: int) -> None:
    """As many as the epochs come to; where there are fewer pairs than make a batch, one for each epoch."""
    assert count_steps(pairs, at_once=64, epochs=epochs) == steps


def test_an_epoch_sees_each_pair_once() -> None:
    """Each step is drawn by its number alone; the passages are the pair's own, mostly the nearest."""
    settings = TuningSettings(batch=4)
    pairs = [TuningPair(f"P{n}", frozenset({n}), ((10 * n, 10 * n + 1),), (10 * n + 5,)) for n in range(200)]
    drawn = [_draw(pairs, step, settings) for step in range(50)]
    assert sorted(pair.proposition for step in drawn for pair in step.pairs) == sorted(pair[0] for pair in pairs)
    assert _draw(pairs, 17, settings) == drawn[17]
    assert [pair.proposition for pair in _draw(pairs, 50, settings).pairs] != [p.proposition for p in drawn[0].pairs]
    own = [(row, pair) for step in drawn for row, pair in zip(step.own, step.pairs, strict=True)]
    assert all(row in pair.positives[0] for row, pair in own)
    assert 0.8 < np.mean([row == pair.positives[0][0] for row, pair in own]) < 0.95  # 0.75 + 0.25 / 2
    assert all(row in pair.negatives for step in drawn for row, pair in zip(step.mined, step.pairs, strict=True))


class TestLoss:
    """What a step is judged by."""

    pytestmark = needs_exact_torch

    @staticmethod
    def stand_in(vectors: dict[str, list[float]]) -> Any:
        """Make an encoder that knows these texts."""
        import torch

        def embed(texts: list[str]) -> Any:
            return torch.tensor([vectors[text] for text in texts], dtype=torch.float32)

        def embed_queries(texts: list[str], stances: list[Stance]) -> Any:
            told = {Stance.SUPPORTED: "for ", Stance.REFUTED: "against ", Stance.ALL: ""}
            return embed([told[stance] + text for text, stance in zip(texts, stances, strict=True)])

        return SimpleNamespace(embed=embed, embed_queries=embed_queries)

    def test_by_hand(self) -> None:
        """Cross-entropy over scaled cosines: the own passage against the others' and the mined ones."""
        encoder = self.stand_in({"P": [1, 0], "Q": [0, 1], "p": [1, 0], "q": [0, 1], "mined": [0.6, 0.8]})
        pairs = [TuningPair("P", frozenset({0}), ((0,),), (2,)), TuningPair("Q", frozenset({1}), ((1,),), ())]
        loss = _loss(encoder, _Drawn(pairs, [0, 1], [2]), ["p", "q", "mined"], np.arange(3), TuningSettings(scale=2.0))
        first = -np.log(np.exp(2) / (np.exp(2) + np.exp(0) + np.exp(1.2)))
        second = -np.log(np.exp(2) / (np.exp(0) + np.exp(2) + np.exp(1.6)))
        assert float(loss) == pytest.approx((first + second) / 2, abs=1e-6)

    def test_labelled_passages_of_other_rows_take_no_part(self) -> None:
        """Another row's passage, own or mined, of a document labelled for a proposition is no negative of it."""
        encoder = self.stand_in({"P": [1, 0], "Q": [0, 1], "p": [1, 0], "q": [0.8, 0.6], "mined": [0.6, 0.8]})
        pairs = [TuningPair("P", frozenset({0, 1, 2}), ((0,),), ()), TuningPair("Q", frozenset({1}), ((1,),), (2,))]
        drawn = _Drawn(pairs, [0, 1], [2])
        loss = _loss(encoder, drawn, ["p", "q", "mined"], np.array([0, 1, 2]), TuningSettings(scale=2.0))
        second = -np.log(np.exp(1.2) / (np.exp(0) + np.exp(1.2) + np.exp(1.6)))
        assert float(loss) == pytest.approx((0 + second) / 2, abs=1e-6)

    def test_stances_of_one_proposition(self) -> None:
        """Each stance is embedded with its own instruction; neither's documents are negatives of the other."""
        encoder = self.stand_in({"for P": [1, 0], "against P": [0, 1], "p": [0.8, 0.6], "q": [0.6, 0.8], "r": [1, 0]})
        pairs = [
            TuningPair("P", frozenset({0, 1}), ((0,),), (2,), Stance.SUPPORTED),
            TuningPair("P", frozenset({0, 1}), ((1,),), (), Stance.REFUTED),
        ]
        loss = _loss(encoder, _Drawn(pairs, [0, 1], [2]), ["p", "q", "r"], np.arange(3), TuningSettings(scale=2.0))
        first = -np.log(np.exp(1.6) / (np.exp(1.6) + np.exp(2)))
        second = -np.log(np.exp(1.6) / (np.exp(1.6) + np.exp(0)))
        assert float(loss) == pytest.approx((first + second) / 2, abs=1e-6)
