"""Sentence spans: where they lie, and that they lose no character."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sicetnon.text import split_sentences

LEGAL_TEXT = st.lists(
    st.sampled_from(
        ["The Court held so.", "No. 12-345", "v.", "U.S.C.", "§ 2", " ", "\n\n", "\n \t\n", "\n", "?", "Yes."]
    )
).map(" ".join)


def split(text: str) -> list[str]:
    """Split a text and return the sentences themselves."""
    return [span.of(text) for span in split_sentences(text)]


def test_by_hand() -> None:
    """Sentences come in order, without the white space around them."""
    assert split("  The Court held so.  It was right.\n") == ["The Court held so.", "It was right."]


@pytest.mark.parametrize(
    "text",
    [
        "In Roe v. Wade, 410 U.S. 113 (1973), the Court decided otherwise.",
        "Section 1983 of 42 U.S.C. gives a remedy.",
        "The motion in No. 12-345 was denied.",
    ],
)
def test_legal_abbreviations(text: str) -> None:
    """The full stop of a citation ends no sentence."""
    assert split(text) == [text]


def test_blank_line_ends_a_sentence() -> None:
    """No sentence crosses a blank line, whatever white space that holds."""
    assert split("The question\n \t\nThe answer") == ["The question", "The answer"]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\t\n \n"])
def test_nothing(text: str) -> None:
    """A text of white space has no sentence."""
    assert split_sentences(text) == []


@settings(max_examples=150)
@given(st.text(max_size=80) | LEGAL_TEXT)
@example("\x1c.\x85\n\n\u2003A. B\u2028C")
@example("\r\n\r\nA\r\n\r\nB.")
def test_cover(text: str) -> None:
    """On any text, spans rise, never overlap, hold no outer white space, and together hold all else."""
    spans = split_sentences(text)
    assert all(span.start < span.end for span in spans)
    assert all(before.end <= after.start for before, after in pairwise(spans))
    assert all(span.of(text) == span.of(text).strip() for span in spans)
    covered = {place for span in spans for place in range(span.start, span.end)}
    assert {place for place, character in enumerate(text) if not character.isspace()} <= covered


def test_long_runs_of_marks() -> None:
    """A long run of marks is read as one word: it ends no sentence, and its time does not grow with its square."""
    text = "He came. " + "?!" * 100_000 + " He left. Then it rained."
    spans = split_sentences(text)
    assert [span.of(text)[-9:] for span in spans] == ["He came.", " He left.", "t rained."]
