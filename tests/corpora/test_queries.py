"""Rows of queries: the names of the proposition, the stances, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sicetnon.corpora import read_queries
from sicetnon.errors import InputError, MalformedRow
from sicetnon.types import Query, Stance

WriteLines = Callable[..., Path]


def test_by_hand(write_lines: WriteLines) -> None:
    """Queries come in order, with the cutoff that was asked for."""
    path = write_lines(
        '{"query_id": "q2", "claim": "A phone is private.", "stance": "supported"}',
        '{"query_id": "q1", "claim": "A phone is private.", "stance": "refuted", "extra": 1}',
        '{"query_id": "q3", "claim": "A car is not.", "stance": "all"}',
    )
    assert read_queries(path, top_k=7) == [
        Query(proposition="A phone is private.", stance=Stance.SUPPORTED, top_k=7, query_id="q2"),
        Query(proposition="A phone is private.", stance=Stance.REFUTED, top_k=7, query_id="q1"),
        Query(proposition="A car is not.", stance=Stance.ALL, top_k=7, query_id="q3"),
    ]
    assert read_queries(path)[0].top_k == 10


@pytest.mark.parametrize("name", ["claim", "query", "proposition", "text"])
def test_names_of_the_proposition(write_lines: WriteLines, name: str) -> None:
    """The proposition may stand under any accepted name."""
    path = write_lines(json.dumps({"query_id": "q", name: "x", "stance": "all"}))
    assert read_queries(path)[0].proposition == "x"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("{", "invalid JSON"),
        (b'{"query_id": "\xff"}', "bytes that are not UTF-8"),
        ("", "a blank line"),
        ('{"claim": "x", "stance": "all"}', 'no field "query_id"'),
        ('{"query_id": 1, "claim": "x", "stance": "all"}', '"query_id" is a number'),
        (
            '{"query_id": "b", "stance": "all"}',
            r'found "query_id", "stance"\); expected one of "claim", "query", "proposition", "text"',
        ),
        ('{"query_id": "b", "claim": "  ", "stance": "all"}', '"claim" is empty'),
        ('{"query_id": "b", "claim": ["x"], "stance": "all"}', '"claim" is a list'),
        ('{"query_id": "b", "claim": "x"}', 'no field "stance"'),
        ('{"query_id": "b", "claim": "x", "stance": null}', '"stance" is null'),
        (
            '{"query_id": "b", "claim": "x", "stance": "Supported"}',
            'stance "Supported"; expected "supported" or "refuted" or "all"',
        ),
        ('{"query_id": "a", "claim": "y", "stance": "all"}', r'query_id "a" again \(first on line 1\)'),
    ],
)
def test_rows_that_are_refused(write_lines: WriteLines, line: str | bytes, found: str) -> None:
    """A bad row is named with its line, and what is accepted is listed."""
    good = '{"query_id": "%s", "claim": "x", "stance": "all"}'
    with pytest.raises(MalformedRow, match=f"rows.jsonl, line 2: .*{found}") as caught:
        read_queries(write_lines(good % "a", line, good % "c"))
    assert caught.value.line == 2


def test_no_query(write_lines: WriteLines, tmp_path: Path) -> None:
    """A file without rows, and one that is not there, are errors."""
    with pytest.raises(InputError, match=r"rows\.jsonl holds no row"):
        read_queries(write_lines())
    with pytest.raises(InputError, match="cannot be read"):
        read_queries(tmp_path / "absent.jsonl")
