"""Sentences -> passages: runs of whole sentences of one paragraph, short enough for an encoder to read whole."""

from __future__ import annotations

from collections.abc import Sequence

from sicetnon.text.sentences import PARAGRAPH_BREAK
from sicetnon.types import Span


def split_passages(text: str, sentences: Sequence[Span], *, max_words: int) -> list[Span]:
    """Pack ``sentences`` (in order) into passages of at most ``max_words`` words that keep to one paragraph.

    A sentence longer than that makes a passage of its own. Every sentence lies in exactly one passage.
    """
    passages: list[Span] = []
    words = 0
    for sentence in sentences:
        count = len(sentence.of(text).split())
        joins = bool(passages) and words + count <= max_words
        if joins and not PARAGRAPH_BREAK.search(text, passages[-1].end, sentence.start):
            passages[-1] = Span(passages[-1].start, sentence.end)
            words += count
        else:
            passages.append(sentence)
            words = count
    return passages
