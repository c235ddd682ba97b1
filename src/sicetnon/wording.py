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


# What a terminal obeys: control characters but line break and tab, and what turns the direction of a line.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """The text with every character that a terminal obeys replaced, one for one."""
    return UNSEEN.sub("\ufffd", text)


def escape_unseen(json_text: str) -> str:
    """JSON with every character that a terminal obeys escaped: the same value."""
    return UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text)
