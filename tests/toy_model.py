"""A retrieval model that no training made: known propositions, a random ranker, and whatever encoder there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sicetnon.relevance import KnownProposition, Ranker
from sicetnon.relevance.features import FEATURES
from sicetnon.relevance.forest import Forest
from sicetnon.types import Document

WORDS = ["police", "warrant", "phone", "car", "flag", "speech", "school", "fence", "wages", "contract", "land", "ship"]


def make_ranker(*, slope: float = 2.0, intercept: float = -1.0, seed: int = 0, trees: int = 20) -> Ranker:
    """Make a ranker of trees of two random steps, whose scores often tie."""
    chance = np.random.default_rng(seed)
    grown = [
        {
            "feature": chance.integers(len(FEATURES), size=2).tolist(),
            "threshold": chance.normal(size=2).tolist(),
            "below": [1, -1],
            "above": [-3, -2],
            "leaf": (chance.integers(-8, 8, size=3) / 16).tolist(),
        }
        for _ in range(trees)
    ]
    forest = Forest(grown, feature_count=len(FEATURES))
    weights = chance.integers(-2, 3, size=len(FEATURES)) / 16
    return Ranker(forest, weights, slope=slope, intercept=intercept, stance_weight=0.25)


@dataclass(frozen=True)
class ToyModel:
    """What ``build_index`` asks of a ``RetrievalModel``."""

    encoder: Any
    propositions: Sequence[KnownProposition]
    ranker: Ranker
    onnx: tuple[bytes, str] | None = None
    reranker: tuple[bytes, str] | None = None
    fingerprint: str = "toy 1"
    stance_model: str | None = None

    def load_encoder(self) -> Any:
        """Give the encoder."""
        return self.encoder


def make_corpus(documents: int, propositions: int, *, seed: int = 0) -> tuple[list[Document], list[KnownProposition]]:
    """Make documents of a few words, in courts "even" and "odd", and propositions that are known of some of them."""
    chance = np.random.default_rng(seed)

    def say(length: int) -> str:
        return " ".join(chance.choice(WORDS, length)).capitalize() + "."

    made = [
        Document(
            doc_id=f"d{chance.integers(10**9)}-{number}",
            text=" ".join(say(6) for _ in range(int(chance.integers(1, 4)))),
            court_id="odd" if number % 2 else "even",
        )
        for number in range(documents)
    ]
    known = [
        KnownProposition(
            f"{say(4)} ({number})",
            tuple(made[ordinal].doc_id for ordinal in chance.choice(documents // 2, 1 + number % 3, replace=False)),
        )
        for number in range(propositions)
    ]
    return made, known
