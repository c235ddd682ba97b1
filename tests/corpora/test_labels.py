"""Rows of labelled examples: relevant documents, and sides toward propositions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sicetnon.corpora import read_propositions, read_relevant
from sicetnon.errors import InputError, MalformedRow
from sicetnon.types import JudgedProposition, Judgment, Side

WriteLines = Callable[..., Path]


@pytest.mark.parametrize("name", ["doc_ids", "relevant_doc_ids", "relevant"])
def test_relevant_by_hand(write_lines: WriteLines, name: str) -> None:
    """Document IDs are strings, or objects of which those with a relevance above 0 count."""
    graded = [{"doc_id": "c"}, {"doc_id": "d", "relevance": 2}, {"doc_id": "e", "relevance": 0}, "f"]
    path = write_lines(json.dumps({"query_id": "q1", name: ["a", "b"]}), json.dumps({"query_id": "q2", name: graded}))
    assert read_relevant(path) == {"q1": frozenset("ab"), "q2": frozenset("cdf")}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("{", "invalid JSON"),
        ("", "a blank line"),
        ('{"doc_ids": ["x"]}', 'no field "query_id"'),
        ('{"query_id": "b"}', 'expected one of "doc_ids", "relevant_doc_ids", "relevant"'),
        ('{"query_id": "b", "doc_ids": "x"}', '"doc_ids" is a string'),
        ('{"query_id": "b", "doc_ids": [1]}', '"doc_ids" holds 1'),
        ('{"query_id": "b", "doc_ids": [{"id": "x"}]}', '"doc_ids" holds'),
        ('{"query_id": "b", "doc_ids": [{"doc_id": "x", "relevance": "1"}]}', "a relevance that is a string"),
        ('{"query_id": "b", "doc_ids": {"x": 1}}', '"doc_ids" is an object'),
        ('{"query_id": "a", "doc_ids": ["x"]}', r'query_id "a" again \(first on line 1\)'),
    ],
)
def test_relevant_rows_that_are_refused(write_lines: WriteLines, line: str, found: str) -> None:
    """A bad row of relevant documents is named with its line."""
    good = '{"query_id": "%s", "doc_ids": ["x"]}'
    with pytest.raises(MalformedRow, match=f"line 2: .*{found}"):
        read_relevant(write_lines(good % "a", line, good % "c"))


def judged(proposition_id: str = "p1", **changes: object) -> str:
    """Make a row with one judgment, changed as asked."""
    row: dict[str, object] = {
        "proposition_id": proposition_id,
        "proposition": "A phone is private.",
        "judgments": [{"doc_id": "d", "stance": "supports", "evidence": "It is private."}],
    }
    return json.dumps(row | changes)


def test_propositions_by_hand(write_lines: WriteLines) -> None:
    """Each judgment gives a document, its side and the sentence that carries it, or none."""
    two = [{"doc_id": "d", "stance": "refutes", "evidence": None}, {"doc_id": "e", "stance": "neither"}]
    assert read_propositions(write_lines(judged(), judged("p2", judgments=two, register="plain"))) == [
        JudgedProposition(
            proposition_id="p1",
            proposition="A phone is private.",
            judgments=(Judgment(doc_id="d", side=Side.SUPPORTS, evidence="It is private."),),
        ),
        JudgedProposition(
            proposition_id="p2",
            proposition="A phone is private.",
            judgments=(Judgment(doc_id="d", side=Side.REFUTES), Judgment(doc_id="e", side=Side.NEITHER)),
        ),
    ]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("{", "invalid JSON"),
        ("", "a blank line"),
        (judged("p1"), r'proposition_id "p1" again \(first on line 1\)'),
        (judged(""), '"proposition_id" is empty'),
        (judged("p2", proposition=None), '"proposition" is null'),
        ('{"proposition_id": "p2", "proposition": "A phone is private."}', 'no field "judgments"'),
        (judged("p2", judgments=None), '"judgments" is null'),
        (judged("p2", judgments={}), '"judgments" is an object'),
        (judged("p2", judgments=[]), '"judgments" is empty'),
        (judged("p2", judgments=["x"]), "a judgment that is a string"),
        (judged("p2", judgments=[{"doc_id": 1, "stance": "supports"}]), "the judgment"),
        (judged("p2", judgments=[{"doc_id": "d", "stance": "supported"}]), "the judgment"),
        (judged("p2", judgments=[{"doc_id": "d", "stance": ["supports"]}]), "the judgment"),
        (judged("p2", judgments=[{"doc_id": "d"}]), "the judgment"),
        (judged("p2", judgments=[{"doc_id": "d", "stance": "supports", "evidence": 1}]), "the judgment"),
        (judged("p2", judgments=[{"doc_id": "d", "stance": "supports", "evidence": " "}]), "the judgment"),
    ],
)
def test_proposition_rows_that_are_refused(write_lines: WriteLines, line: str, found: str) -> None:
    """A bad row of judgments is named with its line."""
    with pytest.raises(MalformedRow, match=f"line 2: .*{found}"):
        read_propositions(write_lines(judged(), line, judged("p3")))


def test_no_label(write_lines: WriteLines) -> None:
    """A file without rows is an error."""
    with pytest.raises(InputError, match=r"rows\.jsonl holds no row"):
        read_relevant(write_lines())
    with pytest.raises(InputError, match=r"rows\.jsonl holds no row"):
        read_propositions(write_lines())
