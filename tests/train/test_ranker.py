"""A ranker from described candidates: the trees are LightGBM's, and what is left out is not seen."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sicetnon.errors import MissingExtra
from sicetnon.relevance import Ranker
from sicetnon.relevance.features import FEATURES
from sicetnon.relevance.forest import Forest
from sicetnon.train.ranker import (
    FOLD_GROUPS,
    PENALTY,
    Described,
    RankerSettings,
    _read_tree,
    _spread,
    calibrate_left_out,
    fit_curve,
    fit_ranker,
    fit_weights,
    score_left_out,
)
from sicetnon.train.retrieval import train_retrieval

needs_lightgbm = [
    pytest.mark.torch,
    pytest.mark.skipif(find_spec("lightgbm") is None, reason="needs lightgbm: pip install 'sicetnon[train]'"),
]
SETTINGS = RankerSettings(trees=10, leaves=7, fewest_in_leaf=5)
CANDIDATES, PROPOSITIONS, FOLDS = 20, 40, 4


def describe_at_random(*, told: float, seed: int = 0, propositions: int = PROPOSITIONS) -> Described:
    """Make candidates with noise for features; the first of them tells of the labels, as much as ``told``."""
    chance = np.random.default_rng(seed)
    relevant = chance.random(propositions * CANDIDATES) < 0.2
    features = chance.normal(size=(len(relevant), len(FEATURES)))
    features[:, 0] += told * relevant
    return Described(
        features, relevant, np.full(propositions, CANDIDATES), np.arange(propositions, dtype=np.int64) % FOLDS
    )


def separation(scores: np.ndarray, relevant: np.ndarray) -> float:
    """The chance that a relevant candidate scores higher than one that is not; half for equal ones."""
    better = scores[relevant][:, None] - scores[~relevant][None]
    return float((better > 0).mean() + (better == 0).mean() / 2)


class TestFitting:
    """What LightGBM makes of candidates."""

    pytestmark = needs_lightgbm

    @pytest.fixture(autouse=True)
    def one_thread(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Grow trees by one thread, since several wait for one another where other programs use the cores."""
        import lightgbm

        train = lightgbm.train
        monkeypatch.setattr(lightgbm, "train", lambda given, *rest: train(given | {"num_threads": 1}, *rest))

    @pytest.mark.parametrize("leaves", [2, 7, 31])
    def test_trees_are_the_librarys(self, leaves: int) -> None:
        """The forest says what the booster says, on what it was grown on and on what it was not."""
        import lightgbm

        described = describe_at_random(told=1.0)
        parameters = {"objective": "regression", "num_leaves": leaves, "min_data_in_leaf": 5, "verbose": -1}
        data = lightgbm.Dataset(described.features, described.relevant.astype(float))
        booster = lightgbm.train(parameters, data, 30)
        trees = [_read_tree(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"]]
        forest = Forest(trees, feature_count=len(FEATURES))
        features = np.concatenate([described.features, describe_at_random(told=3.0, seed=1).features])
        assert forest.predict(features) == pytest.approx(booster.predict(features), abs=1e-9)

    def test_trees_of_one_leaf(self) -> None:
        """Where no split is worth it, the library grows a tree of one leaf, which is read as one."""
        import lightgbm

        features = np.zeros((50, len(FEATURES)))
        data = lightgbm.Dataset(features, np.arange(50) % 2)
        booster = lightgbm.train({"objective": "regression", "verbose": -1}, data, 3)
        trees = [_read_tree(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"]]
        assert Forest(trees, feature_count=len(FEATURES)).predict(features) == pytest.approx(booster.predict(features))

    def test_learns_what_is_told(self) -> None:
        """A feature that tells of relevance is used, also for what was left out; probabilities rise with the score."""
        described = describe_at_random(told=2.0)
        ranker, left_out = fit_ranker(described, settings=SETTINGS)
        assert separation(left_out, described.relevant) > 0.8
        assert ranker.slope > 0
        probabilities = ranker.probability(left_out)
        assert probabilities.mean() == pytest.approx(described.relevant.mean(), abs=0.03)
        assert ranker.stance_weight == 0

    def test_noise_cannot_be_learnt_out_of_fold(self) -> None:
        """Where features say nothing, scores of the left out say nothing, though the ranker fits what it saw."""
        described = describe_at_random(told=0.0)
        ranker, left_out = fit_ranker(described, settings=SETTINGS)
        assert separation(ranker.score(described.features), described.relevant) > 0.65
        assert abs(separation(left_out, described.relevant) - 0.5) < 0.1
        assert ranker.slope > 0

    def test_labels_of_a_fold_do_not_reach_its_scores(self) -> None:
        """Scores of a left-out fold stay the same bits whatever its labels and its features are for the others."""
        described = describe_at_random(told=1.0)
        own = np.repeat(described.folds % FOLD_GROUPS == 2, described.counts)
        turned = described._replace(relevant=described.relevant ^ own)
        before, after = (fit_ranker(given, settings=SETTINGS)[1] for given in (described, turned))
        assert before[own].tobytes() == after[own].tobytes()
        assert before[~own].tobytes() != after[~own].tobytes()

    def test_columns_that_are_kept_out(self) -> None:
        """A feature that may not be used tells nothing."""
        described = describe_at_random(told=2.0)
        left_out = score_left_out(described, columns=np.arange(1, len(FEATURES)), settings=SETTINGS)
        assert abs(separation(left_out, described.relevant) - 0.5) < 0.1
        assert separation(score_left_out(described, settings=SETTINGS), described.relevant) > 0.7

    def test_same_seed_same_bytes(self) -> None:
        """The same candidates and seed grow the same ranker; another seed another."""
        described = describe_at_random(told=1.0)
        one, two = (fit_ranker(described, settings=SETTINGS) for _ in range(2))
        assert one[0].to_json() == two[0].to_json()
        assert one[1].tobytes() == two[1].tobytes()
        other = RankerSettings(trees=10, leaves=7, fewest_in_leaf=5, seed=1)
        assert fit_ranker(described, settings=other)[0].to_json() != one[0].to_json()

    def test_as_it_is_read(self) -> None:
        """What was fitted comes back from its JSON with the same scores."""
        described = describe_at_random(told=1.0)
        ranker, _ = fit_ranker(described, settings=SETTINGS)
        read = Ranker.from_json(ranker.to_json())
        assert read.score(described.features).tobytes() == ranker.score(described.features).tobytes()

    @pytest.mark.parametrize("relevant", [False, True])
    def test_labels_that_are_all_the_same(self, relevant: bool) -> None:  # noqa: FBT001 - a case
        """Where every candidate is relevant, or none, there still is a ranker that can be written and read."""
        described = describe_at_random(told=0.0, propositions=10)
        described = described._replace(relevant=np.full_like(described.relevant, relevant))
        ranker, left_out = fit_ranker(described, settings=SETTINGS)
        assert abs(ranker.probability(left_out) - float(relevant)).max() < 0.05
        assert Ranker.from_json(ranker.to_json()).slope > 0


def _trees(ranker: Ranker) -> list[Any]:
    """The features of each tree."""
    return [tree["feature"] for tree in ranker._forest.to_json()]


def test_curve_by_hand() -> None:
    """Two scores, of which a quarter and three quarters are relevant: the curve goes through both."""
    scores = np.repeat([-1.0, 1.0], 4)
    slope, intercept = fit_curve(scores, np.array([True, False, False, False, True, True, True, False]))
    assert (slope, intercept) == (pytest.approx(np.log(3), abs=1e-3), pytest.approx(0, abs=1e-3))


def test_curve_of_other_folds() -> None:
    """Probabilities of a group of folds are by the curve of the others: here each says what the other's shares are."""
    relevant = np.array([True, False, False, False, True, True, True, False] * 2)
    folds = np.array([0, 1, FOLD_GROUPS, FOLD_GROUPS + 1])
    described = Described(np.zeros((16, len(FEATURES))), relevant, np.full(4, 4), folds)
    scores = np.zeros(16)
    assert described.groups.tolist() == [0, 1, 0, 1]
    assert calibrate_left_out(described, scores) == pytest.approx(np.repeat([0.75, 0.25, 0.75, 0.25], 4), abs=1e-3)
    slope, intercept = fit_curve(scores, relevant)  # fitted on all it would seem without a fault
    assert 1 / (1 + np.exp(-intercept)) == pytest.approx(0.5)
    assert slope > 0


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_curve_in_any_unit(scale: float) -> None:
    """The curve does not depend on how large scores are."""
    chance = np.random.default_rng(2)
    scores = chance.normal(size=500)
    relevant = chance.random(500) < 1 / (1 + np.exp(1 - 2 * scores))
    slope, intercept = fit_curve(scores * scale, relevant)
    expected, _ = fit_curve(scores, relevant)
    assert slope * scale == pytest.approx(expected, rel=1e-6)
    assert slope * scale == pytest.approx(2, abs=0.5)
    assert intercept == pytest.approx(-1, abs=0.4)


@pytest.mark.parametrize(
    "scores",
    [
        [-3, -2, 2, 3],  # apart from one another
        [3, 2, -2, -3],  # the wrong way round
        [1, 1, 1, 1],  # all the same
        [0, 0, 0, 1e-12],
        [-1e6, 0, 1, 2],
    ],
)
def test_curve_of_odd_scores(scores: list[float]) -> None:
    """The slope is a positive number whatever the scores, and probabilities are some."""
    given = np.array(scores, np.float64)
    slope, intercept = fit_curve(given, np.array([False, False, True, True]))
    assert slope > 0
    assert np.isfinite([slope, intercept]).all()
    ranker = Ranker(
        Forest([], feature_count=len(FEATURES)),
        np.zeros(len(FEATURES)),
        slope=slope,
        intercept=intercept,
        stance_weight=0,
    )
    assert np.isfinite(ranker.probability(given)).all()


class TestWeights:
    """The linear part."""

    pytestmark = needs_lightgbm  # which brings SciPy

    def test_by_hand(self) -> None:
        """Of two lists of two, the first feature tells which is relevant, the second nothing, the third is constant."""
        features = np.zeros((4, len(FEATURES)))
        features[:, 0] = [1, 0, 3, 2]
        features[:, 1] = [1, 0, 0, 1]
        features[:, 2] = 5
        weights = fit_weights(features, np.array([True, False, True, False]), np.array([2, 2]))
        assert weights[0] > 1
        assert weights[1] == pytest.approx(0, abs=1e-4)
        assert not weights[2:].any()

    def test_slope_is_that_of_the_loss(self) -> None:
        """At the weights that were found, a small step along any feature does not lower the loss."""
        described = describe_at_random(told=1.0)
        best = fit_weights(described.features, described.relevant, described.counts)

        def lose(weights: np.ndarray) -> float:
            total, start = 0.0, 0
            for count in described.counts.tolist():
                own = slice(start, start + count)
                start += count
                if (own_relevant := described.relevant[own]).any():
                    scores = described.features[own] @ weights
                    shares = np.exp(scores) / np.exp(scores).sum()
                    total -= float(np.log(shares[own_relevant]).mean())
            spread = described.features.std(axis=0)
            return total / PROPOSITIONS + PENALTY / 2 * float(((weights * spread) ** 2).sum())

        for feature in range(len(FEATURES)):
            for step in (-0.01, 0.01):
                moved = best.copy()
                moved[feature] += step
                assert lose(moved) > lose(best)

    def test_nothing_to_learn(self) -> None:
        """Without a relevant candidate, or with features that do not differ, nothing weighs anything."""
        features = np.ones((4, len(FEATURES)))
        counts = np.array([2, 2])
        assert not fit_weights(features, np.array([True, False, True, False]), counts).any()
        features[0] = 2
        assert not fit_weights(features, np.zeros(4, np.bool_), counts).any()

    def test_what_rounding_makes_differ(self) -> None:
        """A number whose standard deviation is not 0 but for rounding is the same for all."""
        same = np.full((3, len(FEATURES)), 0.1)
        assert 0 < same[:, 0].std() < 1e-16
        assert not fit_weights(same, np.array([True, False, False]), np.array([3])).any()
        assert _spread(same[:, 0]) == 1
        assert _spread(np.array([1.0, 3.0])) == 1
        assert _spread(np.array([0.0, 4.0])) == 2


def test_library_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without LightGBM the error names the command that installs it, before anything is read or written."""
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sicetnon\[train\]'"):
        train_retrieval(iter(()), iter(()), tmp_path / "model")
    assert not list(tmp_path.iterdir())
