"""Results files: the contract's rows, there and back, and a hit as JSON."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sicetnon.corpora import ResultRow, hit_row, read_results, write_results
from sicetnon.errors import InputError, MalformedRow
from sicetnon.types import Document, Evidence, Hit, SideProbabilities, Span, Treatment

WriteLines = Callable[..., Path]
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
PAIRS = st.lists(
    st.tuples(NAMES, st.floats(allow_nan=False, allow_infinity=False)), max_size=4, unique_by=lambda pair: pair[0]
).map(lambda pairs: sorted(pairs, key=lambda pair: -pair[1]))


def make_row(query_id: str, pairs: list[tuple[str, float]]) -> ResultRow:
    """Make a row of (document, score) pairs."""
    return ResultRow(query_id, tuple(d for d, _ in pairs), tuple(s for _, s in pairs))


def test_by_hand(tmp_path: Path) -> None:
    """One JSON row a query, its results as objects of ID and score; a query without results has an empty list."""
    assert write_results(tmp_path / "r.jsonl", [make_row("q1", [("d2", 0.5), ("d1", 0.25)]), make_row("q2", [])]) == 2
    assert [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()] == [
        {"query_id": "q1", "results": [{"doc_id": "d2", "score": 0.5}, {"doc_id": "d1", "score": 0.25}]},
        {"query_id": "q2", "results": []},
    ]


@settings(max_examples=50)
@given(st.lists(st.builds(make_row, NAMES, PAIRS), min_size=1, max_size=4, unique_by=lambda row: row.query_id))
def test_round_trip(rows: list[ResultRow]) -> None:
    """Any results that are written come back, to the last bit of their scores."""
    with tempfile.TemporaryDirectory() as folder:
        write_results(Path(folder) / "r.jsonl", rows)
        assert read_results(Path(folder) / "r.jsonl") == rows


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("{", "invalid JSON"),
        ('{"query_id": "q"}', 'no field "results"'),
        ('{"query_id": "q", "results": null}', '"results" is null'),
        ('{"query_id": "q", "results": {}}', '"results" is an object'),
        ('{"query_id": "q", "results": "d"}', '"results" is a string'),
        ('{"query_id": "q", "results": ["d"]}', "the result 'd'"),
        ('{"query_id": "q", "results": [{"doc_id": "d"}]}', "the result {"),
        ('{"query_id": "q", "results": [{"doc_id": 1, "score": 1}]}', "the result {"),
        ('{"query_id": "q", "results": [{"doc_id": "d", "score": "1"}]}', "the result {"),
        ('{"query_id": "q", "results": [{"doc_id": "d", "score": true}]}', "the result {"),
        ('{"query_id": "q", "results": [{"doc_id": "d", "score": NaN}]}', "invalid JSON"),
        ('{"results": []}', 'no field "query_id"'),
        ('{"query_id": "a", "results": []}', r'query_id "a" again \(first on line 1\)'),
        (
            '{"query_id": "q", "results": [{"doc_id": "d", "score": 1}, {"doc_id": "e", "score": 2}]}',
            "scores that rise",
        ),
        (
            '{"query_id": "q", "results": [{"doc_id": "d", "score": 2}, {"doc_id": "d", "score": 1}]}',
            "a document twice",
        ),
    ],
)
def test_rows_that_are_refused(write_lines: WriteLines, line: str, found: str) -> None:
    """A row of another form, with rising scores, a document twice or of a query seen before is named with its line."""
    with pytest.raises(MalformedRow, match=f"line 2: {found}"):
        read_results(write_lines('{"query_id": "a", "results": []}', line))


def test_equal_scores(write_lines: WriteLines) -> None:
    """Scores may stay the same from one document to the next."""
    line = '{"query_id": "q", "results": [{"doc_id": "d", "score": 1}, {"doc_id": "e", "score": 1.0}]}'
    assert read_results(write_lines(line)) == [make_row("q", [("d", 1.0), ("e", 1.0)])]


def test_no_row(write_lines: WriteLines) -> None:
    """A file without rows is an error that names it."""
    with pytest.raises(InputError, match=r"rows\.jsonl holds no row"):
        read_results(write_lines("", " "))


def test_failure_half_way(tmp_path: Path) -> None:
    """Rows that stop with an error leave the old results."""
    path = tmp_path / "r.jsonl"
    path.write_text("old")

    def rows() -> list[ResultRow]:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_results(path, (row for _ in range(2) for row in rows()))
    assert path.read_text() == "old"


def test_hit_row() -> None:
    """A hit's JSON holds the document's names, the probabilities, and passage and sentence with their offsets."""
    text = "It was late. The Court held so. The end."
    treatment = Treatment(status="overruled", by="e", by_title="E v. F", date=date(1954, 5, 17))
    document = Document(
        doc_id="d", text=text, title="C v. D", decided=date(1896, 5, 18), areas=("race",), treatment=treatment
    )
    hit = Hit(
        document=document,
        score=0.5,
        relevance=0.75,
        sides=SideProbabilities(supports=0.5, refutes=0.25, neither=0.25),
        evidence=Evidence(passage=Span(0, 31), sentence=Span(13, 31), text=text[:31]),
        treatment=None,
    )
    assert json.loads(json.dumps(hit_row(hit))) == {
        "doc_id": "d",
        "title": "C v. D",
        "citation": None,
        "docket": None,
        "court": None,
        "court_id": None,
        "decided": "1896-05-18",
        "areas": ["race"],
        "score": 0.5,
        "relevance": 0.75,
        "supports": 0.5,
        "refutes": 0.25,
        "neither": 0.25,
        "passage": {"text": "It was late. The Court held so.", "start": 0, "end": 31},
        "sentence": {"text": "The Court held so.", "start": 13, "end": 31},
        "treatment": None,  # the hit's, not the document's: none was known on the day asked about
    }
