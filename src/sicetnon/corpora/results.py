"""The contract's results file: one row a query, ``{"query_id", "results": [{"doc_id", "score"}, ...]}``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sicetnon.jsonl import read_rows, write_rows


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
        MalformedRow: bad JSON or UTF-8, or a row that is not of the form above.
        InputError: the file cannot be opened.
    """
    rows = []
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
        ids = tuple(r["doc_id"] for r in results)
        rows.append(ResultRow(row.string("query_id"), ids, tuple(float(r["score"]) for r in results)))
    return rows
