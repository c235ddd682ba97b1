"""Boosted regression trees as arrays: the sum of one leaf of each.

Trees are grown elsewhere; here they are only asked, many documents and all trees at once, without the library that grew
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from sicetnon.errors import ModelError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ROWS_AT_ONCE = 1_024  # so that what a block needs stays in the processor's caches
FIELDS = ("feature", "threshold", "below", "above", "leaf")
TYPES = {"feature": (int,), "threshold": (int, float), "below": (int,), "above": (int,), "leaf": (int, float)}


class Forest:
    """Trees that are walked from node 0: to ``below`` where the feature is at most the threshold, else to ``above``.

    Each tree is a mapping of ``FIELDS``: of each inner node the feature (from 0), the threshold and the two next nodes,
    a negative number n standing for leaf -1 - n; and the value of each leaf. A tree without an inner node has one leaf.
    """

    def __init__(self, trees: Sequence[Mapping[str, Any]], *, feature_count: int) -> None:
        """Take the trees.

        Raises:
            ModelError: a tree is none, or not one of so many features.
        """
        self._feature_count = feature_count
        if not isinstance(trees, list | tuple):
            raise _no_tree()
        self._trees = [_check_tree(tree, feature_count) for tree in trees]
        nodes = max((len(tree["feature"]) for tree in self._trees), default=0) or 1
        leaves = max((len(tree["leaf"]) for tree in self._trees), default=0) or 1
        shape = (len(self._trees), nodes)
        self._feature = np.zeros(shape, np.int64)
        self._threshold = np.zeros(shape)
        self._below = np.full(shape, -1, np.int64)
        self._above = np.full(shape, -1, np.int64)
        self._leaf = np.zeros((len(self._trees), leaves))
        arrays = (self._feature, self._threshold, self._below, self._above, self._leaf)
        for number, tree in enumerate(self._trees):
            for field, array in zip(FIELDS, arrays, strict=True):
                array[number, : len(tree[field])] = tree[field]

    def predict(self, features: Floats) -> Floats:
        """The sum over the trees for each row of ``features`` float64 [n, f]: float64 [n]."""
        if not self._trees:
            return np.zeros(len(features))
        blocks = [features[start : start + ROWS_AT_ONCE] for start in range(0, len(features), ROWS_AT_ONCE)]
        return np.concatenate([self._predict(block) for block in blocks] or [np.empty(0)])

    def _predict(self, features: Floats) -> Floats:
        trees = np.arange(len(self._trees))
        rows = np.arange(len(features))[:, None]
        node = np.zeros((len(features), len(trees)), np.int64)
        while (node >= 0).any():
            inner = np.maximum(node, 0)
            is_below = features[rows, self._feature[trees, inner]] <= self._threshold[trees, inner]
            following = np.where(is_below, self._below[trees, inner], self._above[trees, inner])
            node = np.where(node >= 0, following, node)
        total: Floats = self._leaf[trees, -1 - node].sum(axis=1)
        return total

    def scaled(self, factor: float) -> Forest:
        """The same trees with every leaf times ``factor``."""
        trees = [dict(tree) | {"leaf": [value * factor for value in tree["leaf"]]} for tree in self._trees]
        return Forest(trees, feature_count=self._feature_count)

    def to_json(self) -> list[dict[str, list[float]]]:
        """The trees, as they are given to make a forest."""
        return [{field: list(tree[field]) for field in FIELDS} for tree in self._trees]


def _check_tree(tree: Mapping[str, Any], feature_count: int) -> Mapping[str, Any]:
    """Refuse what would be walked without end or out of the arrays: every node is reached once, from one before it."""
    try:
        inner, leaves = len(tree["feature"]), len(tree["leaf"])
        reached = sorted([*tree["below"], *tree["above"]])
        fits = (
            all(isinstance(tree[name], list | tuple) for name in FIELDS)
            and all(type(value) in TYPES[name] and isfinite(value) for name in FIELDS for value in tree[name])
            and leaves == inner + 1
            and len(tree["threshold"]) == len(tree["below"]) == len(tree["above"]) == inner
            and all(0 <= feature < feature_count for feature in tree["feature"])
            and (not inner or reached == [*range(-leaves, 0), *range(1, inner)])
            and all(node < 0 or node > number for side in ("below", "above") for number, node in enumerate(tree[side]))
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise _no_tree() from error
    if not fits:
        raise _no_tree()
    return tree


def _no_tree() -> ModelError:
    return ModelError("a tree that is none", expected="nodes and leaves that make one tree", remedy="train again")
