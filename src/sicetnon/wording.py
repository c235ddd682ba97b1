"""How probabilities and foreign text are told to people, on the terminal and on the page."""

from __future__ import annotations

import re

PROBABILITY_WORDS = ((0.9, "very likely"), (0.7, "likely"), (0.5, "more likely than not"), (0.0, "perhaps"))
LEAST, MOST = 1, 99  # percent told as a figure: no model can be surer


def say_probability(probability: float) -> str:
    return next(words for least, words in PROBABILITY_WORDS if probability >= least)


def say_percent(probability: float) -> str:
    """A whole percentage; never 0 or 100."""
    percent = round(probability * 100)
    return f"under {LEAST}%" if percent < LEAST else f"over {MOST}%" if percent > MOST else f"{percent}%"


def harmless(text: str) -> str:
    """The text with every control character but line break and tab replaced, one for one: a terminal obeys them."""
    return re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\ufffd", text)
