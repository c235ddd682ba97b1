"""The text of a document -> its paragraphs, the sentence that carries its side marked."""

from __future__ import annotations

from sicetnon.serve.answer import Marked, mark_sentence
from sicetnon.text.sentences import PARAGRAPH_BREAK
from sicetnon.types import Span


def split_paragraphs(text: str, sentence: Span | None) -> list[Marked]:
    """The paragraphs of a text, which blank lines part, with ``sentence`` marked in the one that holds it."""
    breaks = [match.span() for match in PARAGRAPH_BREAK.finditer(text)]
    starts = [0, *(end for _, end in breaks)]
    ends = [*(start for start, _ in breaks), len(text)]
    whole = [Span(start, end) for start, end in zip(starts, ends, strict=True) if text[start:end].strip()]
    return [mark_sentence(text, paragraph, sentence) for paragraph in whole]
