"""Rows of contrast sets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sicetnon.corpora import read_contrasts
from sicetnon.errors import InputError, MalformedRow
from sicetnon.types import ContrastSet, Side

WriteLines = Callable[..., Path]
STATEMENTS = ["A phone may be searched.", "A phone may not be searched."]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


def make_row(**changes: object) -> str:
    """Make a row with two statements and two claims, changed as asked."""
    claims = [
        {"text": "Phones are open.", "sides": ["supports", "refutes"]},
        {"text": "Cars are open.", "sides": ["neither", "neither"]},
    ]
    return json.dumps({"statements": STATEMENTS, "claims": claims} | changes)


def claim(text: object = "Phones are open.", sides: object = ("supports", "refutes")) -> str:
    """Make a row whose second claim is this one."""
    return make_row(claims=[{"text": "Fish swim.", "sides": ["neither", "neither"]}, {"text": text, "sides": sides}])


def test_by_hand(write_lines: WriteLines) -> None:
    """Each claim has a side for each statement, in the order of those; other fields and blank lines do not matter."""
    path = write_lines(make_row(topic="phones"), make_row(statements=["One."], claims=[]), "", " ")
    assert read_contrasts(path) == [
        ContrastSet(
            statements=tuple(STATEMENTS),
            claims=(
                ("Phones are open.", (Side.SUPPORTS, Side.REFUTES)),
                ("Cars are open.", (Side.NEITHER, Side.NEITHER)),
            ),
        ),
        ContrastSet(statements=("One.",), claims=()),
    ]


@st.composite
def sets(draw: st.DrawFn) -> ContrastSet:
    """Draw a set."""
    statements = draw(st.lists(TEXTS, min_size=1, max_size=3))
    sides = st.lists(st.sampled_from(Side), min_size=len(statements), max_size=len(statements)).map(tuple)
    return ContrastSet(statements=tuple(statements), claims=tuple(draw(st.lists(st.tuples(TEXTS, sides), max_size=3))))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.lists(sets(), min_size=1, max_size=3))
def test_any_sets(write_lines: WriteLines, made: list[ContrastSet]) -> None:
    """Whatever is said, the sets of a file are those that were written, in their order."""
    rows = [
        {"statements": one.statements, "claims": [{"text": text, "sides": sides} for text, sides in one.claims]}
        for one in made
    ]
    assert read_contrasts(write_lines(*map(json.dumps, rows))) == made


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("{", "invalid JSON"),
        ("", "a blank line"),
        (b"\xff", "bytes that are not UTF-8"),
        ("[]", "a list"),
        ("{}", 'no field "statements"'),
        (make_row(statements=None), '"statements" is null'),
        (make_row(statements="One."), '"statements" is a string'),
        (make_row(statements=[]), r"the statements \[\]"),
        (make_row(statements=["One.", 2]), "the statements"),
        (make_row(statements=["One.", " "]), "the statements"),
        (make_row(statements=[["One."], "Two."]), "the statements"),
        (json.dumps({"statements": STATEMENTS}), 'no field "claims"'),
        (make_row(claims=None), '"claims" is null'),
        (make_row(claims={}), '"claims" is an object'),
        (make_row(claims=["Phones are open."]), "the claim 'Phones are open.'"),
        (make_row(claims=[None]), "the claim None"),
        (make_row(claims=[{"sides": ["supports", "refutes"]}]), "the claim"),
        (make_row(claims=[{"text": "Phones are open."}]), "the claim"),
        (claim(text=" "), "the claim"),
        (claim(text=1), "the claim"),
        (claim(sides="supports"), "the claim"),
        (claim(sides=None), "the claim"),
        (claim(sides=["supports"]), "the claim"),
        (claim(sides=["supports", "refutes", "neither"]), "the claim"),
        (claim(sides=["supports", "refuted"]), "the side 'refuted'"),
        (claim(sides=["SUPPORTS", "refutes"]), "the side 'SUPPORTS'"),
        (claim(sides=["supports", None]), "the side None"),
        (claim(sides=[0, "refutes"]), "the side 0"),
        (claim(sides=["supports", ["refutes"]]), "the (side|claim)"),
        (claim(sides=["supports", {}]), "the (side|claim)"),
    ],
)
def test_rows_that_are_refused(write_lines: WriteLines, line: str | bytes, found: str) -> None:
    """A bad row is named with its line."""
    with pytest.raises(MalformedRow, match=f"line 2: .*{found}"):
        read_contrasts(write_lines(make_row(), line, make_row()))


@pytest.mark.parametrize("lines", [(), ("", " ")])
def test_no_set(write_lines: WriteLines, lines: tuple[str, ...]) -> None:
    """A file without rows is an error that names it."""
    with pytest.raises(InputError, match=r"rows\.jsonl"):
        read_contrasts(write_lines(*lines))


def test_missing_file(tmp_path: Path) -> None:
    """A file that is not there is named."""
    with pytest.raises(InputError, match=r"absent\.jsonl cannot be read"):
        read_contrasts(tmp_path / "absent.jsonl")
