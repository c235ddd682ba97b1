"""Sides that are clear, sentences that are marked, probabilities in words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sicetnon.serve.answer import Marked, mark_sentence, name_tone, say_percent, say_probability, tell_side
from sicetnon.serve.paragraphs import split_paragraphs
from sicetnon.types import SideProbabilities, Span


@pytest.mark.parametrize(
    ("supports", "refutes", "neither", "side"),
    [
        (0.55, 0.45, 0.0, "supports"),
        (0.45, 0.55, 0.0, "refutes"),
        (0.54, 0.46, 0.0, "unclear"),
        (0.46, 0.54, 0.0, "unclear"),
        (0.40, 0.10, 0.50, "unclear"),
        (0.45, 0.10, 0.45, "unclear"),
        (0.46, 0.10, 0.44, "supports"),
    ],
)
def test_tell_side(supports: float, refutes: float, neither: float, side: str) -> None:
    """A side leads the other by a tenth and is likelier than neither, or it is unclear."""
    assert tell_side(SideProbabilities(supports=supports, refutes=refutes, neither=neither)) == side


def test_mark_sentence() -> None:
    """Only a sentence that begins in the stretch is marked, and only as far as the stretch goes."""
    text = "One. Two. Three."
    assert mark_sentence(text, Span(0, 9), Span(5, 9)) == Marked("One. ", "Two.", "")
    assert mark_sentence(text, Span(0, 9), Span(5, 16)) == Marked("One. ", "Two.", "")
    assert mark_sentence(text, Span(0, 9), Span(10, 16)) == Marked("One. Two.", "", "")
    assert mark_sentence(text, Span(0, 9), None) == Marked("One. Two.", "", "")


@given(st.text(alphabet="ab \n\t", max_size=40), st.data())
def test_paragraphs_lose_nothing(text: str, data: st.DataObject) -> None:
    """The paragraphs hold all that is not white space, in order, and mark what was to be marked."""
    words = [match.span() for match in re.finditer(r"\S+", text)]
    sentence = Span(*data.draw(st.sampled_from(words))) if words else None
    parts = split_paragraphs(text, sentence)
    assert "".join("".join((part.before + part.marked + part.after).split()) for part in parts) == "".join(text.split())
    assert [part.marked for part in parts if part.marked] == ([sentence.of(text)] if sentence else [])


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


def test_tone_of_a_treatment() -> None:
    """Undone, partly undone, or something else."""
    statuses = ("overruled", "Overruled in part", "superseded by statute", "followed", "not overruled")
    assert [name_tone(status) for status in statuses] == ["undone", "partly", "undone", "other", "other"]
