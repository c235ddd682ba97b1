"""Probabilities in words, and text that does nothing to a terminal."""

from __future__ import annotations

import json

from sicetnon.wording import escape_unseen, harmless, say_percent, say_probability


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


def test_harmless() -> None:
    """What a terminal would obey is replaced one for one, turns of direction too; line breaks and tabs stay."""
    assert harmless("a\x1b[31mb\x9b\x07\x7f\r\n\tc\u202ed") == "a\ufffd[31mb\ufffd\ufffd\ufffd\ufffd\n\tc\ufffdd"


def test_escape_unseen() -> None:
    """Escaped JSON is the same value, and has nothing in it that a terminal would obey."""
    value = {"a\u202e": ["\x9b\x1b\u2028", "§"]}
    text = escape_unseen(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert harmless(text) == text
