"""Probabilities in words."""

from __future__ import annotations

from sicetnon.wording import say_percent, say_probability


def test_probabilities_in_words() -> None:
    """Words for likely and less likely; a percentage is never 0 or 100."""
    assert [say_probability(p) for p in (1, 0.9, 0.7, 0.5, 0.34)] == [
        "very likely",
        "very likely",
        "likely",
        "more likely than not",
        "perhaps",
    ]
    assert [say_percent(p) for p in (0, 0.004, 0.01, 0.5, 0.99, 0.996, 1)] == [
        "under 1%",
        "under 1%",
        "1%",
        "50%",
        "99%",
        "over 99%",
        "over 99%",
    ]
