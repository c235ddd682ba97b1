"""Sentences that are marked, and the tone of a treatment."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from sicetnon.serve.pages.marking import Marked, mark_sentence, name_tone, split_paragraphs
from sicetnon.types import Span


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


def test_tone_of_a_treatment() -> None:
    """Undone, partly undone, or something else."""
    statuses = ("overruled", "Overruled in part", "superseded by statute", "followed", "not overruled")
    assert [name_tone(status) for status in statuses] == ["undone", "partly", "undone", "other", "other"]
