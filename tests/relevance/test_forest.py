"""Boosted trees as arrays, against trees that are walked one node at a time."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sicetnon.errors import ModelError
from sicetnon.relevance.forest import FIELDS, Forest

FEATURES = 3
Tree: TypeAlias = "float | tuple[int, float, Tree, Tree]"
halves = st.integers(-8, 8).map(lambda value: value / 2)  # a coarse grid: features often are the threshold itself
trees = st.recursive(halves, lambda inner: st.tuples(st.integers(0, FEATURES - 1), halves, inner, inner), max_leaves=12)
rows = st.lists(st.lists(halves, min_size=FEATURES, max_size=FEATURES), max_size=8)

#          0: feature 1 <= 0.5
#          |                 \
#    1: feature 0 <= -1      leaf 2
#     |           \
#    leaf 0       leaf 1
SMALL: dict[str, list[Any]] = {
    "feature": [1, 0],
    "threshold": [0.5, -1.0],
    "below": [1, -1],
    "above": [-3, -2],
    "leaf": [10.0, 20.0, 40.0],
}


def walk(tree: Tree, row: list[float]) -> float:
    """Follow one tree from its root."""
    while isinstance(tree, tuple):
        feature, threshold, below, above = tree
        tree = below if row[feature] <= threshold else above
    return tree


def flatten(tree: Tree) -> dict[str, list[Any]]:
    """Number the nodes of a tree in the order in which they are met."""
    flat: dict[str, list[Any]] = {field: [] for field in FIELDS}

    def add(node: Tree) -> int:
        if not isinstance(node, tuple):
            flat["leaf"].append(node)
            return -len(flat["leaf"])
        number = len(flat["feature"])
        for field, value in zip(FIELDS[:4], (node[0], node[1], 0, 0), strict=True):
            flat[field].append(value)
        flat["below"][number], flat["above"][number] = add(node[2]), add(node[3])
        return number

    add(tree)
    return flat


@given(st.lists(trees, max_size=6), rows)
def test_against_the_oracle(grown: list[Tree], features: list[list[float]]) -> None:
    """Each row's prediction is the sum of the leaves that it reaches, one of each tree; of no tree it is 0."""
    forest = Forest([flatten(tree) for tree in grown], feature_count=FEATURES)
    expected = [sum(walk(tree, row) for tree in grown) for row in features]
    assert forest.predict(np.array(features, np.float64).reshape(-1, FEATURES)).tolist() == expected


@given(st.lists(trees, max_size=4))
def test_round_trip(grown: list[Tree]) -> None:
    """Trees come back from JSON as they were given."""
    flat = [flatten(tree) for tree in grown]
    read = json.loads(json.dumps(Forest(flat, feature_count=FEATURES).to_json()))
    assert read == flat
    assert Forest(read, feature_count=FEATURES).to_json() == flat


def test_by_hand() -> None:
    """A feature at the threshold goes below, above it above; trees of different sizes are added."""
    forest = Forest([SMALL, flatten(0.25)], feature_count=2)
    features = np.array([[-1.0, 0.5], [-0.5, 0.5], [-1.0, 0.75]])
    assert forest.predict(features).tolist() == [10.25, 20.25, 40.25]


def test_one_leaf_and_no_tree() -> None:
    """A tree of one leaf says the same of every row, no tree says nothing, and no row has no prediction."""
    features = np.zeros((2, FEATURES))
    assert Forest([flatten(1.5)], feature_count=FEATURES).predict(features).tolist() == [1.5, 1.5]
    assert Forest([], feature_count=FEATURES).predict(features).tolist() == [0.0, 0.0]
    assert Forest([SMALL], feature_count=2).predict(np.zeros((0, 2))).shape == (0,)


def test_company_changes_nothing() -> None:
    """A row's prediction has the same bits alone and among others."""
    chance = np.random.default_rng(3)
    leaves = [SMALL | {"leaf": chance.normal(size=3).tolist()} for _ in range(300)]
    forest = Forest(leaves, feature_count=2)
    features = chance.normal(size=(100, 2))
    alone = [forest.predict(features[row : row + 1])[0] for row in range(100)]
    assert forest.predict(features).tolist() == alone


MALFORMED: dict[str, dict[str, object]] = {
    "a node that leads to itself": {"below": [0, -1]},
    "a node that leads back": {"below": [1, 0]},
    "a node reached twice": {"above": [1, -2]},
    "a leaf reached twice": {"above": [-1, -2]},
    "a node beyond the last": {"below": [2, -1]},
    "a leaf beyond the last": {"above": [-4, -2]},
    "a feature beyond the last": {"feature": [2, 0]},
    "a feature below 0": {"feature": [-1, 0]},
    "too few thresholds": {"threshold": [0.5]},
    "too many features": {"feature": [1, 0, 0]},
    "too few nodes below": {"below": [1]},
    "too many nodes above": {"above": [-3, -2, -1]},
    "too few leaves": {"leaf": [10.0, 20.0]},
    "too many leaves": {"leaf": [10.0, 20.0, 40.0, 80.0]},
    "no leaf": {"leaf": []},
    "a threshold that is no number": {"threshold": [0.5, float("nan")]},
    "a threshold without end": {"threshold": [float("inf"), -1.0]},
    "a leaf that is no number": {"leaf": [10.0, float("nan"), 40.0]},
    "a leaf beyond every float": {"leaf": [10.0, 20.0, 10**400]},
    "a feature that is a boolean": {"feature": [True, 0]},
    "a node that is a boolean": {"below": [True, -1]},
    "a threshold that is a boolean": {"threshold": [True, -1.0]},
    "a leaf that is a boolean": {"leaf": [10.0, False, 40.0]},
    "a feature that is a fraction": {"feature": [1.0, 0]},
    "a node that is a fraction": {"above": [-3.0, -2]},
    "a threshold that is text": {"threshold": ["0.5", -1.0]},
    "a threshold that is nothing": {"threshold": [None, -1.0]},
    "a threshold that is a list": {"threshold": [[0.5], [-1.0]]},
    "leaves in lists": {"leaf": [[10.0], [20.0], [40.0]]},
    "leaves by name": {"leaf": {1: 10.0, 2: 20.0, 3: 40.0}},
    "features that are text": {"feature": "10"},
    "features that are a number": {"feature": 1},
}


@pytest.mark.parametrize("changed", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_trees(changed: dict[str, object]) -> None:
    """What would be walked without end, out of the arrays, or to no number, is refused."""
    with pytest.raises(ModelError, match="a tree that is none"):
        Forest([SMALL, SMALL | changed], feature_count=2)


@pytest.mark.parametrize("tree", [*({f: SMALL[f] for f in FIELDS if f != name} for name in FIELDS), [], 3, None, "x"])
def test_what_is_no_tree(tree: Any) -> None:
    """A tree that lacks a field, or is no mapping, is refused."""
    with pytest.raises(ModelError, match="a tree that is none"):
        Forest([tree], feature_count=2)


@pytest.mark.parametrize("grown", [None, {}, "", 3, {"feature": []}])
def test_what_are_no_trees(grown: Any) -> None:
    """Trees come in a list."""
    with pytest.raises(ModelError, match="a tree that is none"):
        Forest(grown, feature_count=2)
