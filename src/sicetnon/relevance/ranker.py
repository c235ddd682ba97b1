"""A ranker that was fitted on labelled examples: what is known of a candidate -> a score and a probability."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sicetnon.errors import ModelError
from sicetnon.relevance.features import FEATURES
from sicetnon.relevance.forest import Forest
from sicetnon.relevance.logistic import to_probability

Floats = npt.NDArray[np.float64]
FORMAT = 2
MOST_STANCE = 1.0


class Ranker:
    """Trees and weights over ``FEATURES``, a curve that makes a probability of their sum, and what the side counts.

    ``weights`` float64 [``FEATURES``]: what a feature adds in proportion; the trees find their interplay.

    ``stance_weight``, from 0 to 1, is the exponent of the probability of the asked side where one is asked for.
    """

    def __init__(
        self, forest: Forest, weights: Floats, *, slope: float, intercept: float, stance_weight: float
    ) -> None:
        self._forest, self._weights = forest, weights
        self.slope, self.intercept, self.stance_weight = slope, intercept, stance_weight

    def score(self, features: Floats) -> Floats:
        """The score of each row of ``features`` float64 [n, ``FEATURES``]: float64 [n]."""
        # Row by row: a product of matrices has other last bits for other numbers of rows.
        scores: Floats = self._forest.predict(features) + (features * self._weights).sum(axis=1)
        return scores

    def probability(self, scores: Floats) -> Floats:
        """The probability of being on point: float64, as many as scores."""
        return to_probability(self.slope * scores + self.intercept)

    def with_curve(self, slope: float, intercept: float) -> Ranker:
        """The same, with another curve."""
        return Ranker(self._forest, self._weights, slope=slope, intercept=intercept, stance_weight=self.stance_weight)

    def with_stance(self, weight: float) -> Ranker:
        """The same, with another stance weight."""
        return Ranker(self._forest, self._weights, slope=self.slope, intercept=self.intercept, stance_weight=weight)

    def to_json(self) -> str:
        """What ``from_json`` makes an equal ranker of."""
        fields = {
            "format": FORMAT,
            "features": FEATURES,
            "slope": self.slope,
            "intercept": self.intercept,
            "stance_weight": self.stance_weight,
            "weights": self._weights.tolist(),
            "trees": self._forest.to_json(),
        }
        return json.dumps(fields)

    @classmethod
    def from_json(cls, source: str) -> Self:
        """Read a ranker.

        Raises:
            ModelError: it is none, or one of another version.
        """
        try:
            fields = json.loads(source)
            _check_version(fields)
            slope, intercept, weight = (_read_number(fields, name) for name in ("slope", "intercept", "stance_weight"))
            weights = _read_weights(fields["weights"])
            forest = Forest(fields["trees"], feature_count=len(FEATURES))
        except ModelError:
            raise
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ModelError(
                "a ranker that cannot be read", expected="the JSON of one", remedy="train again"
            ) from error
        if slope <= 0 or not 0 <= weight <= MOST_STANCE:
            raise ModelError(
                f"a ranker with a slope of {slope} and a stance weight of {weight}",
                expected=f"a slope above 0 and a weight from 0 to {MOST_STANCE}",
                remedy="train again",
            )
        return cls(forest, weights, slope=slope, intercept=intercept, stance_weight=weight)


def _check_version(fields: Mapping[str, Any]) -> None:
    if fields["format"] != FORMAT or fields["features"] != list(FEATURES):
        raise ModelError(
            "a ranker of another version", expected=f"format {FORMAT}", remedy="train again with this version"
        )


def _read_weights(values: object) -> Floats:
    if not isinstance(values, list) or not all(type(value) in {int, float} for value in values):
        raise ValueError("weights")
    weights = np.array(values, np.float64)
    if weights.shape != (len(FEATURES),) or not np.isfinite(weights).all():
        raise ValueError("weights")
    return weights


def _read_number(fields: Mapping[str, Any], name: str) -> float:
    value = fields[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise ValueError(name)
    return float(value)
