"""A proposition's denial, by rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sicetnon.stance import negate
from sicetnon.stance.negation import AFFIRMED, DENIAL

WORDS = st.lists(
    st.sampled_from([*AFFIRMED, "can", "must", "is", "the", "police", "search", "No", "requires", "a", "phone", "."]),
    min_size=1,
    max_size=8,
).map(" ".join)
PLAIN = st.lists(st.sampled_from(["the", "police", "search", "a", "phone"])).map(" ".join)


@pytest.mark.parametrize(
    ("proposition", "denial"),
    [
        ("The police may search a phone.", "The police may not search a phone."),
        ("The police may not search a phone.", "The police may search a phone."),
        ("The police can search a phone.", "The police cannot search a phone."),
        ("The police cannot search a phone.", "The police can search a phone."),
        ("A warrant must be shown.", "A warrant need not be shown."),
        ("A warrant need not be shown.", "A warrant must be shown."),
        ("A warrant must not be shown.", "A warrant may be shown."),
        ("The rule is void.", "The rule is not void."),
        ("The rule isn't void.", "The rule is void."),
        ("The rule is no longer valid.", "The rule is still valid."),
        ("Courts never decide that.", "Courts always decide that."),
        ("It is void and may not stand.", "It is void and may stand."),
        ("No state decides that.", "Some state decides that."),
        ("The statute protects the phone.", "The statute does not protect the phone."),
        ("The rule requires a warrant.", "The rule does not require a warrant."),
        ("It applies to the state.", "It does not apply to the state."),
        ("The court dismisses the case.", "The court does not dismiss the case."),
        ("The process to follow varies.", "It is not true that the process to follow varies."),
        ("The rule wouldn\u2019t stand.", "The rule would stand."),
        ("The rule couldn't stand.", "The rule could stand."),
        ("The rule won't stand.", "The rule will stand."),
        ("A warrant mustn't be shown.", "A warrant may be shown."),
        ("A warrant needn't be shown.", "A warrant must be shown."),
        ("The rule shall not stand.", "The rule shall stand."),
        ("The rule might not stand.", "The rule might stand."),
        ("They had not known.", "They had known."),
        ("Congress alone decides.", "It is not true that congress alone decides."),
        ("", "It is not true that "),
    ],
)
def test_by_hand(proposition: str, denial: str) -> None:
    """The first denial is taken out, or else the first auxiliary or verb is denied."""
    assert negate(proposition) == denial


@pytest.mark.parametrize("phrase", AFFIRMED)
def test_longest_phrase_first(phrase: str) -> None:
    """Each denied phrase is found whole, not as a shorter one within."""
    found = DENIAL.search(f"it {phrase} so")
    assert found is not None
    assert found[1] == phrase


@given(st.text() | WORDS)
def test_any_text(proposition: str) -> None:
    """The denial of any text is another text, and always the same."""
    assert negate(proposition) != proposition
    assert negate(proposition) == negate(proposition)


@given(st.sampled_from(["is", "are", "can", "must", "shall", "may", "has", "will", "would"]), PLAIN, PLAIN)
def test_denied_twice(auxiliary: str, before: str, after: str) -> None:
    """Denying an affirmation with an auxiliary puts one denial in; denying that takes it out again."""
    proposition = f"{before} {auxiliary} {after}"
    assert len(DENIAL.findall(negate(proposition))) == 1
    assert negate(negate(proposition)) == proposition
