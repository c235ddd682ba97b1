"""Answers as JSON: the contract's results file, and a hit with all that is known of it.

The results file has one row a query, ``{"query_id", "results": [{"doc_id", "score"}, ...]}``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from pathlib import Path

from sicetnon.jsonl import Row, read_keyed_rows, write_rows
from sicetnon.types import Hit


@dataclass(frozen=True, slots=True)
class ResultRow:
    """The ranked documents of one query: ``doc_ids`` and ``scores`` of one length, scores never rising."""

    query_id: str
    doc_ids: tuple[str, ...]
    scores: tuple[float, ...]


def write_results(path: Path, rows: Iterable[ResultRow]) -> int:
    """Write the rows to ``path``, whole or not at all; return how many."""
    return write_rows(
        path,
        (
            {
                "query_id": row.query_id,
                "results": [{"doc_id": d, "score": s} for d, s in zip(row.doc_ids, row.scores, strict=True)],
            }
            for row in rows
        ),
    )


def read_results(path: Path) -> list[ResultRow]:
    """The rows of a results file in order.

    Raises:
        MalformedRow: bad JSON or UTF-8, a row that is not of the form above, scores that rise, a document or query
            seen before.
        InputError: the file cannot be opened or holds no row.
    """
    return [_parse_result(query_id, row) for query_id, row in read_keyed_rows(path, "query_id")]


def _parse_result(query_id: str, row: Row) -> ResultRow:
    expected = 'a list of objects with "doc_id" and "score", each document once, from the best to the worst'
    ids, scores = [], []
    for result in row.items("results", expected=expected):
        doc_id, score = (result.get("doc_id"), result.get("score")) if isinstance(result, dict) else (None, None)
        if not isinstance(doc_id, str) or not isinstance(score, int | float) or isinstance(score, bool):
            raise row.fault(f"the result {result!r}", expected=expected)
        if not abs(score) < inf:
            raise row.fault(f"the score {score!r}"[:60], expected="finite scores")
        try:
            scores.append(float(score))
        except OverflowError:
            raise row.fault("a score of hundreds of digits", expected="finite scores") from None
        ids.append(doc_id)
    if len(set(ids)) < len(ids):
        raise row.fault("a document twice", expected=expected)
    if any(later > earlier for earlier, later in pairwise(scores)):
        raise row.fault("scores that rise", expected=expected)
    return ResultRow(query_id, tuple(ids), tuple(scores))


def hit_row(hit: Hit) -> dict[str, object]:
    """The JSON object of a hit: the document's names, the probabilities, the passage and its sentence with offsets."""
    document, evidence = hit.document, hit.evidence
    sentence = evidence.sentence
    return {
        "doc_id": document.doc_id,
        "title": document.title,
        "citation": document.citation,
        "docket": document.docket,
        "court": document.court,
        "court_id": document.court_id,
        "decided": document.decided.isoformat() if document.decided else None,
        "areas": list(document.areas),
        "score": hit.score,
        "relevance": hit.relevance,
        "supports": hit.sides.supports,
        "refutes": hit.sides.refutes,
        "neither": hit.sides.neither,
        "passage": {"text": evidence.text, "start": evidence.passage.start, "end": evidence.passage.end},
        "sentence": {"text": sentence.of(document.text), "start": sentence.start, "end": sentence.end},
        "treatment": hit.treatment.as_row() if hit.treatment else None,
    }
