"""Answers as JSON: the contract's results file, and a hit with all that is known of it.

The results file has one row a query, ``{"query_id", "results": [{"doc_id", "score"}, ...]}``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from sicetnon.corpora.documents import treatment_row
from sicetnon.jsonl import read_rows, write_rows
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
        MalformedRow: bad JSON or UTF-8, a row that is not of the form above, scores that rise, a query seen before.
        InputError: the file cannot be opened.
    """
    rows: dict[str, ResultRow] = {}
    for row in read_rows(path):
        results = row.fields.get("results")
        fits = isinstance(results, list) and all(
            isinstance(r, dict)
            and isinstance(r.get("doc_id"), str)
            and isinstance(r.get("score"), int | float)
            and not isinstance(r.get("score"), bool)
            for r in results
        )
        if not isinstance(results, list) or not fits:
            raise row.fault('"results" is not a list of results', expected='objects with "doc_id" and "score"')
        query_id = row.string("query_id")
        if query_id in rows:
            raise row.fault(f'query_id "{query_id}" again', expected="each query_id once")
        scores = tuple(float(r["score"]) for r in results)
        if any(later > earlier for earlier, later in pairwise(scores)):
            raise row.fault("scores that rise", expected="results from the best to the worst")
        rows[query_id] = ResultRow(query_id, tuple(r["doc_id"] for r in results), scores)
    return list(rows.values())


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
        "treatment": treatment_row(hit.treatment) if hit.treatment else None,
    }
