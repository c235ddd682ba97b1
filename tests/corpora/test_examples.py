"""Labelled queries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from sicetnon.corpora import read_examples
from sicetnon.errors import InputError, MalformedRow
from sicetnon.jsonl import write_rows
from sicetnon.types import Example, Stance

QUERIES = [
    {"query_id": "1", "claim": "A", "stance": "supported"},
    {"query_id": "2", "claim": "A", "stance": "all"},
    {"query_id": "3", "claim": "B", "stance": "refuted"},
]


def write(folder: Path, truth: Sequence[Mapping[str, object]]) -> Path:
    """Write a folder of labelled queries."""
    write_rows(folder / "queries.jsonl", QUERIES)
    write_rows(folder / "ground_truth.jsonl", truth)
    return folder


@pytest.mark.parametrize(
    "judged",
    [
        {"doc_ids": ["x", "y"]},
        {"relevant_doc_ids": ["y", "x"]},
        {
            "relevant": [
                {"doc_id": "x", "relevance": 1},
                {"doc_id": "y", "relevance": 0.5},
                {"doc_id": "z", "relevance": 0},
            ]
        },
    ],
)
def test_every_shape_of_judgments(tmp_path: Path, judged: Mapping[str, object]) -> None:
    """Each of the contract's shapes says the same; a query without relevant documents or judgments is left out."""
    folder = write(
        tmp_path, [{"query_id": "2", **judged}, {"query_id": "3", "doc_ids": []}, {"query_id": "9", **judged}]
    )
    assert read_examples(folder) == [Example(proposition="A", stance=Stance.ALL, doc_ids=frozenset({"x", "y"}))]


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    """Where no query is judged the error says how many there are of each."""
    folder = write(tmp_path, [{"query_id": "q1", "doc_ids": ["x"]}])
    with pytest.raises(InputError, match=re.escape("3 queries, 1 judged ones, and none of both")):
        read_examples(folder)


def test_missing_file(tmp_path: Path) -> None:
    """A folder without one of the files is named."""
    write(tmp_path, [{"query_id": "1", "doc_ids": ["x"]}])
    (tmp_path / "ground_truth.jsonl").unlink()
    with pytest.raises(InputError, match=r"ground_truth\.jsonl"):
        read_examples(tmp_path)


def test_malformed_judgment(tmp_path: Path) -> None:
    """File and line are named."""
    folder = write(tmp_path, [{"query_id": "1", "doc_ids": ["x"]}, {"query_id": "2", "doc_ids": "x"}])
    with pytest.raises(MalformedRow, match=r"ground_truth\.jsonl.*2"):
        read_examples(folder)
