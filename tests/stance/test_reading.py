"""A sentence as the stance model reads it, worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sicetnon.stance import read_statement
from sicetnon.stance.cues import CONTRACTIONS, NEGATIONS, OPPOSITES
from sicetnon.text import stem


def test_by_hand() -> None:
    """Content words stand under +1, or under -1 after a negation; words of opposite meaning are one concept."""
    statement = read_statement("The police may not search a phone, but the warrant permits it.")
    # may -> permit +1, "not" turns what follows to the comma, "permits" -> permit +1: the mean of two.
    assert statement.signs == {"polic": 1, "permit": 1, "search": -1, "phone": -1, "warrant": 1}
    assert statement.negations == 1
    assert (statement.holding, statement.reported, statement.question, statement.answer) == (False, False, False, 0)


@pytest.mark.parametrize(
    ("sentence", "signs"),
    [
        ("Searches are prohibited.", {"search": 1, "permit": -1}),
        ("Searches are not prohibited.", {"search": 1, "permit": 1}),
        ("The rule is valid.", {"rule": 1, "valid": 1}),
        ("The rule is unconstitutional.", {"rule": 1, "valid": -1}),
        ("The rule cannot swim.", {"rule": 1, "permit": -1, "swim": -1}),
        ("The rule can't swim.", {"rule": 1, "permit": -1, "swim": -1}),
        ("The rule can\u2019t swim.", {"rule": 1, "permit": -1, "swim": -1}),
        ("It is not void because a statute permits it.", {"valid": 1, "becaus": 1, "statut": 1, "permit": 1}),
        ("Searching and no searching.", {"search": 0}),
        ("", {}),
        ("... ?!", {}),
    ],
)
def test_signs(sentence: str, signs: dict[str, float]) -> None:
    """Opposites, negations and the ends of clauses turn signs as they should."""
    assert read_statement(sentence).signs == signs


@pytest.mark.parametrize("word", CONTRACTIONS)
def test_contractions(word: str) -> None:
    """Each contracted denial turns what follows, with either apostrophe."""
    for spelt in (word, word.replace("'", "\u2019")):
        statement = read_statement(f"The rule {spelt} swim.")
        assert (statement.signs["swim"], statement.negations) == (-1, 1)


def test_reach_of_a_negation() -> None:
    """A negation reaches eight words and no further."""
    words = "alpha bravo charlie delta echo foxtrot golf hotel india"
    signs = read_statement(f"Not {words}").signs
    assert [signs[word] for word in stem(words.split())] == [-1] * 8 + [1]


def test_double_negation() -> None:
    """A negation in the reach of another turns the sign back."""
    assert read_statement("No phone without warrant").signs == {"phone": -1, "warrant": 1}
    assert read_statement("No phone without warrant").negations == 2


@pytest.mark.parametrize(
    ("sentence", "holding", "reported", "question", "answer"),
    [
        ("The Court held that it is void.", True, False, False, 0),
        ("The dissent would affirm.", False, True, False, 0),
        ("The petitioner argued that he was free.", False, True, False, 0),
        ("Is a warrant needed? ", False, False, True, 0),
        ("Yes, by six to three.", True, False, False, 1),
        ("  No.", False, False, False, -1),
        ("NO. The rule fell.", True, False, False, -1),
        ("Nobody knew.", False, False, False, 0),
        ("The householder sat.", False, False, False, 0),
    ],
)
def test_whose_view(sentence: str, *, holding: bool, reported: bool, question: bool, answer: int) -> None:
    """Holdings, reported views, questions and answers are told apart."""
    read = read_statement(sentence)
    assert (read.holding, read.reported, read.question, read.answer) == (holding, reported, question, answer)


def test_words_of_the_concepts() -> None:
    """No word affirms one thing and denies another."""
    seen: dict[str, int] = {}
    for sides in OPPOSITES.values():
        for sign, words in zip((1, -1), sides, strict=True):
            for stemmed in stem(words.split()):
                assert seen.setdefault(stemmed, sign) == sign, stemmed


@given(st.text() | st.lists(st.sampled_from(["not", "may", "void", "phone", ",", "?", "yes", "no"])).map(" ".join))
def test_any_text(sentence: str) -> None:
    """On any text signs lie between -1 and 1, negations are counted, and no function word is read."""
    statement = read_statement(sentence)
    assert all(-1 <= sign <= 1 for sign in statement.signs.values())
    assert statement.negations >= 0
    assert not set(statement.signs) & NEGATIONS
    assert "the" not in statement.signs
