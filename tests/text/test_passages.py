"""Passages: runs of whole sentences of one paragraph."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sicetnon.text import split_passages, split_sentences
from sicetnon.text.sentences import PARAGRAPH_BREAK
from sicetnon.types import Span


def pack(text: str, max_words: int) -> list[str]:
    """Split a text into passages and return them themselves."""
    return [span.of(text) for span in split_passages(text, split_sentences(text), max_words=max_words)]


def pack_slowly(text: str, sentences: list[Span], max_words: int) -> list[list[Span]]:
    """Pack sentences one by one, counting all words anew each time."""
    groups: list[list[Span]] = []
    for sentence in sentences:
        longer = [*groups[-1], sentence] if groups else []
        words = sum(len(span.of(text).split()) for span in longer)
        whole = text[longer[0].start : longer[-1].end] if longer else "\n\n"
        if words <= max_words and not PARAGRAPH_BREAK.search(whole):
            groups[-1] = longer
        else:
            groups.append([sentence])
    return groups


def test_by_hand() -> None:
    """Sentences join up to the number of words, in order."""
    text = "One two three. Four five. Six seven."
    assert pack(text, 5) == ["One two three. Four five.", "Six seven."]
    assert pack(text, 100) == [text]
    assert pack(text, 3) == ["One two three.", "Four five.", "Six seven."]


def test_paragraphs_stay_apart() -> None:
    """No passage crosses a blank line; a line break alone parts nothing."""
    assert pack("One two.\n\nThree four.", 100) == ["One two.", "Three four."]
    assert pack("One two.\nThree four.", 100) == ["One two.\nThree four."]


def test_long_sentence() -> None:
    """A sentence of more words than fit is a passage of its own, and nothing joins it."""
    assert pack("One. Two three four five six. Seven.", 3) == ["One.", "Two three four five six.", "Seven."]


def test_nothing() -> None:
    """No sentences make no passage."""
    assert split_passages("", [], max_words=10) == []


@pytest.mark.parametrize("max_words", [1, 4, 110])
@settings(max_examples=40)
@given(st.lists(st.sampled_from(["One.", "One two three.", "A question?", "\n\n", "\n"]), max_size=12).map(" ".join))
def test_every_sentence_once(max_words: int, text: str) -> None:
    """On any text, passages are what packing slowly gives: each sentence in one, from first to last character."""
    sentences = split_sentences(text)
    groups = pack_slowly(text, sentences, max_words)
    passages = split_passages(text, sentences, max_words=max_words)
    assert passages == [Span(group[0].start, group[-1].end) for group in groups]
    for sentence in sentences:
        assert sum(p.start <= sentence.start and sentence.end <= p.end for p in passages) == 1
