"""What a page marks: the sentence that carries a side, and the colour of a treatment."""

from __future__ import annotations

from dataclasses import dataclass

from sicetnon.text.sentences import PARAGRAPH_BREAK
from sicetnon.types import Span

UNDONE = ("overruled", "abrogated", "superseded", "reversed", "vacated")


@dataclass(frozen=True, slots=True)
class Marked:
    """A stretch of text in three parts, the middle one to be marked; parts may be empty."""

    before: str
    marked: str
    after: str


def mark_sentence(text: str, whole: Span, sentence: Span | None) -> Marked:
    """``whole`` of ``text``, with ``sentence`` marked if it begins there."""
    if sentence is None or not whole.start <= sentence.start < whole.end:
        return Marked(whole.of(text), "", "")
    end = min(sentence.end, whole.end)
    return Marked(text[whole.start : sentence.start], text[sentence.start : end], text[end : whole.end])


def split_paragraphs(text: str, sentence: Span | None) -> list[Marked]:
    """The paragraphs of a text, which blank lines part, with ``sentence`` marked in the one that holds it."""
    breaks = [match.span() for match in PARAGRAPH_BREAK.finditer(text)]
    starts = [0, *(end for _, end in breaks)]
    ends = [*(start for start, _ in breaks), len(text)]
    whole = [Span(start, end) for start, end in zip(starts, ends, strict=True) if text[start:end].strip()]
    return [mark_sentence(text, paragraph, sentence) for paragraph in whole]


def name_tone(status: str) -> str:
    """How a later treatment is coloured: ``undone``, ``partly`` (undone) or ``other``."""
    if not status.lower().startswith(UNDONE):
        return "other"
    return "partly" if "in part" in status.lower() else "undone"
