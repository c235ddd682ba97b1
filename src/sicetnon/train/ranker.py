"""Described candidates with labels -> a ranker, with what it would have said of each left out.

Trees by LambdaMART (Burges 2010, "From RankNet to LambdaRank to LambdaMART: an overview", sections 6 and 7; grown by
LightGBM), and weights by cross-entropy over each list (Cao et al. 2007, "Learning to rank: from pairwise approach to
listwise approach", section 4.2), as much of the one as of the other: their mistakes differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sicetnon.errors import MissingExtra
from sicetnon.relevance.features import FEATURES
from sicetnon.relevance.forest import Forest
from sicetnon.relevance.logistic import to_probability
from sicetnon.relevance.ranker import Ranker
from sicetnon.train.logistic import fit_multinomial

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

FOLD_GROUPS = 5  # left out one at a time: each costs growing all trees again
PENALTY = 1e-4  # of the weights, on features of spread 1
MOST_STEPS = 300
CALIBRATION_PENALTY = 1e-6  # a curve of two numbers needs none; above 0 it has one minimum


def require_trees() -> None:
    """See that what grows trees is there.

    Raises:
        MissingExtra: LightGBM is not installed.
    """
    try:
        import lightgbm  # noqa: F401 - to see that it loads
    except ImportError as error:
        raise MissingExtra("lightgbm", extra="train", purpose="fitting a ranker") from error


class Described(NamedTuple):
    """Candidates of labelled propositions, proposition by proposition.

    ``features`` float64 [n, ``FEATURES``]; ``relevant`` bool [n]; ``counts`` int64 [propositions], how many candidates
    each has; ``folds`` int64 [propositions], the memory's fold of each.
    """

    features: Floats
    relevant: Flags
    counts: Ints
    folds: Ints

    @property
    def groups(self) -> Ints:
        """The group of folds of each proposition, of which one at a time is left out: int64 [propositions]."""
        return self.folds % FOLD_GROUPS


@dataclass(frozen=True, slots=True)
class RankerSettings:
    """How trees are grown: few leaves, slowly, on part of the features and of the propositions at a time."""

    trees: int = 300
    leaves: int = 15
    learning_rate: float = 0.05
    fewest_in_leaf: int = 50
    seed: int = 0


def fit_ranker(described: Described, *, settings: RankerSettings | None = None) -> tuple[Ranker, Floats]:
    """A ranker of all propositions, and the scores of those that left each proposition out: float64 [n].

    The curve of probabilities is fitted on the scores of the left out; the stance counts nothing yet.
    """
    left_out = score_left_out(described, settings=settings)
    ranker = _fit(described, np.ones(len(described.folds), np.bool_), None, settings or RankerSettings())
    return ranker.with_curve(*fit_curve(left_out, described.relevant)), left_out


def score_left_out(
    described: Described, *, columns: Ints | None = None, settings: RankerSettings | None = None
) -> Floats:
    """The scores of each proposition's candidates by a ranker that had not seen its group of folds: float64 [n].

    ``columns``: the features that may be used, all if None.
    """
    owners = np.repeat(described.groups, described.counts)
    left_out = np.zeros(len(owners))
    for group in np.unique(owners).tolist():
        ranker = _fit(described, described.groups != group, columns, settings or RankerSettings())
        left_out[owners == group] = ranker.score(described.features[owners == group])
    return left_out


def calibrate_left_out(described: Described, left_out: Floats) -> Floats:
    """The probabilities of left-out scores, float64 [n], by a curve fitted on those of the other groups of folds."""
    owners = np.repeat(described.groups, described.counts)
    probabilities = np.zeros(len(owners))
    for group in np.unique(owners).tolist():
        is_own = owners == group
        slope, intercept = fit_curve(left_out[~is_own], described.relevant[~is_own])
        probabilities[is_own] = to_probability(slope * left_out[is_own] + intercept)
    return probabilities


def fit_curve(scores: Floats, relevant: Flags) -> tuple[float, float]:
    """Slope and intercept of the logistic curve from score to the share of relevant ones (Platt 1999, section 2)."""
    spread = max(float(scores.std()), 1e-9)
    weights = fit_multinomial(
        scores[:, None] / spread, relevant.astype(np.int64), class_count=2, penalty=CALIBRATION_PENALTY
    )
    slope, intercept = (weights[1] - weights[0]).tolist()
    return max(slope, 1e-6) / spread, intercept


def _fit(described: Described, chosen: Flags, columns: Ints | None, settings: RankerSettings) -> Ranker:
    """A ranker of the chosen propositions, its curve still to be fitted."""
    rows = np.repeat(chosen, described.counts)
    features, relevant, counts = described.features[rows], described.relevant[rows], described.counts[chosen]
    if columns is not None:  # the others are made to say nothing
        features = np.where(np.isin(np.arange(len(FEATURES)), columns), features, 0.0)
    forest = _grow(features, relevant, counts, settings)
    weights = fit_weights(features, relevant, counts)
    weights = weights / _spread(features @ weights)
    return Ranker(forest, weights, slope=1.0, intercept=0.0, stance_weight=0.0)


def _spread(scores: Floats) -> float:
    """The standard deviation; 1 of scores that are all the same, of which rounding would else make a tiny one."""
    return float(scores.std()) if np.ptp(scores) > 0 else 1.0


def fit_weights(features: Floats, relevant: Flags, counts: Ints) -> Floats:
    """The weights float64 [``FEATURES``] that give most of each list's exponentials to its relevant candidates.

    Lists without one are passed over. A feature that is the same for all weighs nothing.
    """
    from scipy.optimize import minimize

    lists = np.repeat(np.arange(len(counts)), counts)
    found = np.bincount(lists, relevant, minlength=len(counts))
    used = found[lists] > 0
    weights = np.zeros(features.shape[1])
    if not used.any():
        return weights
    seen = features[used]
    differs = np.ptp(seen, axis=0) > 0
    if not differs.any():
        return weights
    spread = seen.std(axis=0)[differs]
    inputs = (seen[:, differs] - seen[:, differs].mean(axis=0)) / spread
    _, owners = np.unique(lists[used], return_inverse=True)
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    wanted = relevant[used] / found[lists[used]]

    def lose(given: Floats) -> tuple[float, Floats]:
        scores = inputs @ given
        scores -= np.maximum.reduceat(scores, starts)[owners]
        shares = np.exp(scores)
        sums = np.add.reduceat(shares, starts)[owners]
        loss = -(wanted * (scores - np.log(sums))).sum() / len(starts) + PENALTY / 2 * (given**2).sum()
        slope = inputs.T @ (shares / sums - wanted) / len(starts) + PENALTY * given
        return float(loss), slope

    fitted = minimize(lose, np.zeros(int(differs.sum())), jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS})
    weights[differs] = fitted.x / spread
    return weights


def _grow(features: Floats, relevant: Flags, counts: Ints, settings: RankerSettings) -> Forest:
    """Trees whose scores of these candidates have a spread of 1."""
    import lightgbm

    data = lightgbm.Dataset(features, relevant, group=counts)
    parameters = {
        "objective": "lambdarank",
        "lambdarank_truncation_level": 20,
        "num_leaves": settings.leaves,
        "learning_rate": settings.learning_rate,
        "min_data_in_leaf": settings.fewest_in_leaf,
        "feature_fraction": 0.6,
        "bagging_fraction": 0.7,
        "bagging_freq": 1,
        "lambda_l2": 5.0,
        "seed": settings.seed,
        "deterministic": True,
        "force_row_wise": True,
        "verbose": -1,
    }
    booster = lightgbm.train(parameters, data, settings.trees)
    trees = [_read_tree(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"]]
    # The library is asked for these scores: it has the bins at hand, and is many times quicker than our own trees.
    return Forest(trees, feature_count=len(FEATURES)).scaled(1 / _spread(np.asarray(booster.predict(features))))


def _read_tree(root: Mapping[str, Any]) -> dict[str, list[Any]]:
    """LightGBM's nested nodes as the arrays of a ``Forest``: it numbers inner nodes and leaves from 0."""
    inner: dict[int, tuple[int, float, int, int]] = {}
    leaves: dict[int, float] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if "split_index" in node:
            sides = (node["left_child"], node["right_child"])
            below, above = (side["split_index"] if "split_index" in side else -1 - _leaf_index(side) for side in sides)
            inner[node["split_index"]] = (node["split_feature"], node["threshold"], below, above)
            waiting += sides
        else:
            leaves[_leaf_index(node)] = node["leaf_value"]
    feature, threshold, below, above = zip(*(inner[n] for n in range(len(inner))), strict=True) if inner else [()] * 4
    return {
        "feature": list(feature),
        "threshold": list(threshold),
        "below": list(below),
        "above": list(above),
        "leaf": [leaves[n] for n in range(len(leaves))],
    }


def _leaf_index(node: Mapping[str, Any]) -> int:
    return int(node.get("leaf_index", 0))  # a tree that is one leaf does not number it
