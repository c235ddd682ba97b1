"""A proposition and a passage -> numbers that tell on which side the passage stands.

None of them looks at the proposition alone: a model over them cannot learn how refuted propositions tend to sound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sicetnon.stance.cues import OPPOSITES
from sicetnon.stance.reading import Claim, Reading, Statement, read_statement

Floats = npt.NDArray[np.float64]

EVIDENCE_FEATURES = ("cosine", "overlap", "holding", "reported", "question", "answer", "position")
"""What ``evidence_features`` tells of each sentence."""

_OF_PASSAGE = ("agreement", "clash", "overlap", "negation parity", *OPPOSITES)
SIDE_FEATURES = (
    "cosine",
    "cosine of passage",
    "cosine over denial",
    "answer",
    "reported",
    *(f"sentence {name}" for name in _OF_PASSAGE),
    *(f"passage {name}" for name in _OF_PASSAGE),
)
"""What ``side_features`` tells of a passage."""


def evidence_features(claim: Claim, reading: Reading) -> Floats:
    """float64 [sentences, len(EVIDENCE_FEATURES)]: how likely each sentence is to carry the document's side."""
    statements = [read_statement(sentence) for sentence in reading.sentences]
    cosines = reading.vectors @ claim.vector
    count = max(len(statements) - 1, 1)
    return np.array(
        [
            (
                cosine,
                _overlap(claim.statement.signs, statement.signs),
                statement.holding,
                statement.reported,
                statement.question,
                statement.answer != 0,
                position / count,
            )
            for position, (statement, cosine) in enumerate(zip(statements, cosines, strict=True))
        ],
        np.float64,
    )


def side_features(claim: Claim, reading: Reading, sentence: int, passage: slice) -> Floats:
    """float64 [len(SIDE_FEATURES)] of the passage ``reading.sentences[passage]``, carried by ``sentence``."""
    carrying = read_statement(reading.sentences[sentence])
    around = [read_statement(text) for text in reading.sentences[passage]]
    cosines = reading.vectors[passage] @ claim.vector
    return np.array(
        [
            reading.vectors[sentence] @ claim.vector,
            cosines.mean(),
            reading.vectors[sentence] @ (claim.vector - claim.denial),
            _answer(claim.statement, around),
            carrying.reported,
            *_compare(claim.statement, [carrying]),
            *_compare(claim.statement, [s for s in around if not s.question]),
        ],
        np.float64,
    )


def _compare(proposition: Statement, statements: Sequence[Statement]) -> list[float]:
    signs: dict[str, float] = {}
    for statement in statements:
        for concept, sign in statement.signs.items():
            signs[concept] = signs.get(concept, 0.0) + sign
    shared = [
        np.sign(sign) * np.sign(signs[concept])
        for concept, sign in proposition.signs.items()
        if concept in signs and concept not in OPPOSITES
    ]
    parity = (-1) ** (proposition.negations + sum(statement.negations for statement in statements))
    overlap = _overlap(proposition.signs, signs)
    return [
        sum(value > 0 for value in shared) / max(len(proposition.signs), 1),
        sum(value < 0 for value in shared) / max(len(proposition.signs), 1),
        overlap,
        parity * overlap,
        *(np.sign(proposition.signs.get(concept, 0.0)) * np.sign(signs.get(concept, 0.0)) for concept in OPPOSITES),
    ]


def _answer(proposition: Statement, around: Sequence[Statement]) -> float:
    """The answer given to a question in the passage, turned to the proposition: its sign times their agreement."""
    for asked, answered in pairwise(around):
        if asked.question and answered.answer:
            agreement = sum(
                np.sign(sign) * np.sign(asked.signs[concept])
                for concept, sign in proposition.signs.items()
                if concept in asked.signs
            )
            return float(answered.answer * np.sign(agreement))
    return 0.0


def _overlap(proposition: Mapping[str, float], other: Mapping[str, float]) -> float:
    return sum(concept in other for concept in proposition) / max(len(proposition), 1)
