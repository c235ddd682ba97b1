"""The stance model: two linear models, one that finds the carrying sentence, one that tells the side.

The side is a multinomial logistic regression over ``SIDE_FEATURES`` with a temperature fitted out of fold (Guo et al.
2017, "On Calibration of Modern Neural Networks", section 4.2). Everything it knows fits in a few kilobytes of JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Self

import numpy as np
import numpy.typing as npt

from sicetnon.errors import ModelError
from sicetnon.stance.features import EVIDENCE_FEATURES, SIDE_FEATURES, evidence_features, side_features
from sicetnon.stance.reading import Claim, Reading
from sicetnon.types import Side, SideProbabilities

Floats = npt.NDArray[np.float64]

FORMAT = 1
SIDES = (Side.SUPPORTS, Side.REFUTES, Side.NEITHER)
CONTEXT = 1  # sentences shown before and after the carrying one


@dataclass(frozen=True, slots=True)
class Verdict:
    """The side of one document. ``sentence`` and ``passage`` number the sentences of its ``Reading``."""

    sides: SideProbabilities
    sentence: int
    passage: slice


@dataclass(frozen=True, slots=True, eq=False)
class StanceModel:
    """Weights of both parts.

    ``evidence_weights`` float64 [len(EVIDENCE_FEATURES)]; ``side_weights`` float64 [3, len(SIDE_FEATURES) + 1], a row
    a side in the order of ``SIDES``, the last column the intercept, over features brought to ``side_mean`` and
    ``side_scale``; ``temperature`` divides their sums.
    """

    evidence_weights: Floats
    side_mean: Floats
    side_scale: Floats
    side_weights: Floats
    temperature: float

    def judge(self, claim: Claim, reading: Reading) -> Verdict:
        """The side of a document, which has at least one sentence, toward a proposition."""
        sentence, passage = find_evidence(self.evidence_weights, evidence_features(claim, reading))
        features = side_features(claim, reading, sentence, passage)
        logits = self.side_logits(features[None]) / self.temperature
        supports, refutes, neither = softmax(logits)[0].tolist()
        return Verdict(SideProbabilities(supports=supports, refutes=refutes, neither=neither), sentence, passage)

    def judge_all(self, claim: Claim, readings: Sequence[Reading]) -> list[Verdict]:
        return [self.judge(claim, reading) for reading in readings]

    def side_logits(self, features: Floats) -> Floats:
        """float64 [n, len(SIDE_FEATURES)] -> float64 [n, 3] in the order of ``SIDES``, before the temperature."""
        standard = (features - self.side_mean) / self.side_scale
        logits: Floats = standard @ self.side_weights[:, :-1].T + self.side_weights[:, -1]
        return logits

    @classmethod
    def bundled(cls) -> Self:
        """The model that ships with the package; ``make model`` trains it again."""
        return cls.from_json((files("sicetnon") / "data" / "stance-model.json").read_text(encoding="utf-8"))

    @classmethod
    def from_json(cls, source: str) -> Self:
        """The model that ``to_json`` wrote.

        Raises:
            ModelError: it is no stance model, or one over other features than this version computes.
        """
        try:
            value = json.loads(source)
            features = (tuple(value["evidence_features"]), tuple(value["side_features"]))
            model = cls(
                evidence_weights=np.array(value["evidence_weights"], np.float64),
                side_mean=np.array(value["side_mean"], np.float64),
                side_scale=np.array(value["side_scale"], np.float64),
                side_weights=np.array(value["side_weights"], np.float64),
                temperature=float(value["temperature"]),
            )
            version = value["format"]
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise ModelError(
                f"a stance model that cannot be read ({type(error).__name__}: {error})",
                expected="the JSON that sicetnon train-stance writes",
                remedy="train the model again",
            ) from error
        if version != FORMAT or features != (EVIDENCE_FEATURES, SIDE_FEATURES) or not model._is_sound():
            raise ModelError(
                f"a stance model of format {version} that does not fit this version's features",
                expected=f"format {FORMAT} over {len(SIDE_FEATURES)} features",
                remedy="train the model again with this version",
            )
        return model

    def _is_sound(self) -> bool:
        """Whether every part has the shape that the features ask for, and every number can be computed with."""
        sides = len(SIDE_FEATURES)
        parts = (self.evidence_weights, self.side_mean, self.side_scale, self.side_weights)
        shapes = [part.shape for part in parts] == [(len(EVIDENCE_FEATURES),), (sides,), (sides,), (3, sides + 1)]
        finite = all(np.isfinite(part).all() for part in parts) and 0 < self.temperature < np.inf
        return shapes and bool(finite) and bool((self.side_scale > 0).all())

    def to_json(self) -> str:
        value = {
            "format": FORMAT,
            "evidence_features": EVIDENCE_FEATURES,
            "evidence_weights": self.evidence_weights.tolist(),
            "side_features": SIDE_FEATURES,
            "side_mean": self.side_mean.tolist(),
            "side_scale": self.side_scale.tolist(),
            "side_weights": self.side_weights.tolist(),
            "temperature": self.temperature,
        }
        return json.dumps(value, indent=1) + "\n"

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]


def find_evidence(weights: Floats, features: Floats) -> tuple[int, slice]:
    """The carrying sentence, and the passage around it, as numbers of a reading's sentences.

    ``weights`` float64 [len(EVIDENCE_FEATURES)]; ``features`` as ``evidence_features`` gives them.
    """
    sentence = int((features @ weights).argmax())
    return sentence, slice(max(0, sentence - CONTEXT), sentence + CONTEXT + 1)


def softmax(logits: Floats) -> Floats:
    """Rows of ``logits`` to probabilities."""
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities: Floats = odds / odds.sum(axis=1, keepdims=True)
    return probabilities
