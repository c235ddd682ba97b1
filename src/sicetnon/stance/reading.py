"""A sentence as the stance model reads it: its words with the sign under which each stands.

A word's sign is -1 in the scope of an odd number of negations, else +1. Words of opposite meaning are read as one
concept with opposite signs ("prohibit" is "permit" with -1), so that "may not be banned" and "is permitted" come out
alike. A negation reaches to the next punctuation mark, as in Pang, Lee and Vaithyanathan (2002, "Thumbs up?", section
4, after Das and Chen 2001), but no further than ``SCOPE`` words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from sicetnon.dense.encoder import Vectors
from sicetnon.stance.cues import ANSWER, HOLDING, KEPT_STOP_WORDS, NEGATIONS, OPPOSITES, REPORTED
from sicetnon.text import STOP_WORDS, stem, straighten_quotes

TOKEN = re.compile(r"[a-z0-9]+(?:'[a-z]+)?|[.,;:?!()\"]|--")
CLAUSE_END = frozenset('.,;:?!()"') | {"--", "but", "although", "though", "because", "unless", "while", "whereas"}
SCOPE = 8  # words that a negation reaches at most


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, read. ``signs`` maps each content stem or concept to the mean of the signs it stands under."""

    signs: Mapping[str, float]
    negations: int
    holding: bool  # words by which a court decides
    reported: bool  # the view of a party, a dissent or a lower court
    question: bool
    answer: int  # +1 where it begins with "Yes", -1 with "No", else 0


@dataclass(frozen=True, slots=True)
class Claim:
    """A proposition as the stance model is given it, with its vector and that of its denial (``negate``).

    Both are float32 [d] of length 1, by the encoder that made the vectors of the ``Reading``. ``text`` is the
    proposition as it was asked, for a judge that reads it; the stance model does not.
    """

    statement: Statement
    vector: Vectors
    denial: Vectors
    text: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """A document as the stance model is given it: its sentences in order, with their vectors.

    ``vectors`` float32 [sentences, d] has rows of length 1.
    """

    sentences: Sequence[str]
    vectors: Vectors


@lru_cache(maxsize=65_536)
def read_statement(sentence: str) -> Statement:
    """Read one sentence."""
    signs: dict[str, list[int]] = {}
    negations = 0
    sign, reach = 1, 0
    for token in TOKEN.findall(straighten_quotes(sentence.lower())):
        reach -= 1
        if token in CLAUSE_END or reach < 0:
            sign = 1
        if token in NEGATIONS:
            negations += 1
            sign, reach = -sign, SCOPE
        if read := _read_word(token):
            concept, own = read
            signs.setdefault(concept, []).append(sign * own)
    answer = ANSWER.match(sentence)
    return Statement(
        signs={concept: float(np.mean(values)) for concept, values in signs.items()},
        negations=negations,
        holding=HOLDING.search(sentence) is not None,
        reported=REPORTED.search(sentence) is not None,
        question=sentence.rstrip().endswith("?"),
        answer=0 if answer is None else (1 if answer[1].lower() == "yes" else -1),
    )


@lru_cache(maxsize=65_536)
def _read_word(token: str) -> tuple[str, int] | None:
    """The concept or stem of a word and the sign it brings; None for punctuation, negations and function words."""
    if token in {"cannot", "can't"}:
        return "permit", 1  # the negation in it has turned the sign already
    if not token[0].isalnum() or token in NEGATIONS or (token in STOP_WORDS and token not in KEPT_STOP_WORDS):
        return None
    stemmed = stem([token])[0]
    return _concepts().get(stemmed, (stemmed, 1))


@cache
def _concepts() -> dict[str, tuple[str, int]]:
    return {
        stemmed: (concept, sign)
        for concept, sides in OPPOSITES.items()
        for words, sign in zip(sides, (1, -1), strict=True)
        for stemmed in stem(words.split())
    }
