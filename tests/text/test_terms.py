"""Terms of the lexical index."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sicetnon.text import STOP_WORDS, analyze, stem


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The police searched the PHONES, and searches of phones", ["polic", "search", "phone", "search", "phone"]),
        ("Article III, § 2 of 42 U.S.C. 1983", ["articl", "iii", "2", "42", "u", "s", "c", "1983"]),
        ("defendant's defendant\u2019s", ["defend", "defend"]),
        ("snake_case well-known", ["snake", "case", "well", "known"]),
        ("Straße café", ["straße", "café"]),
        ("may not be", []),
        ("", []),
        ("§ -- \u200b !", []),
    ],
)
def test_by_hand(text: str, terms: list[str]) -> None:
    """Letters and digits in lower case, stop words out, stemmed, in order and with repeats."""
    assert analyze(text) == terms


def test_stop_words() -> None:
    """Stop words are lower case and give no term."""
    assert all(word == word.lower() for word in STOP_WORDS)
    assert analyze(" ".join(sorted(STOP_WORDS))) == []


def test_stem() -> None:
    """Each word has one stem, in order."""
    assert stem(["searched", "searching", "x"]) == ["search", "search", "x"]
    assert stem([]) == []


@given(st.text())
def test_any_text(text: str) -> None:
    """Any text gives the same terms in any case of a space around it, none of them empty or with white space."""
    terms = analyze(text)
    assert analyze(f"  {text}\n") == terms
    assert all(term and not any(character.isspace() for character in term) for term in terms)


@settings(max_examples=50)
@given(st.text(), st.text())
def test_texts_side_by_side(one: str, other: str) -> None:
    """The terms of two texts parted by a line break are those of the one and then those of the other."""
    assert analyze(f"{one}\n{other}") == analyze(one) + analyze(other)


def test_threads() -> None:
    """Many threads get what one gets."""
    texts = [f"searching phone {number} privately" for number in range(400)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(analyze, texts)) == [analyze(text) for text in texts]
