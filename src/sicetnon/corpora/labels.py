"""Labelled examples: which documents are relevant to a query, and which side each takes toward a proposition."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sicetnon.jsonl import Row, read_keyed_rows, tell_kind
from sicetnon.types import JudgedProposition, Judgment, Side

RELEVANT_FIELDS = ("doc_ids", "relevant_doc_ids", "relevant")


def read_relevant(path: Path) -> dict[str, frozenset[str]]:
    """Query ID -> IDs of its relevant documents, from rows ``{"query_id", "doc_ids"}``.

    The IDs may stand under any of ``RELEVANT_FIELDS``, as strings or as ``{"doc_id", "relevance"}`` objects, of which
    those with a relevance above 0 count.

    Raises:
        MalformedRow: bad JSON or UTF-8, a missing or wrongly typed field, a query seen before.
        InputError: the file cannot be opened or holds no judgment.
    """
    return {query_id: frozenset(_parse_relevant(row)) for query_id, row in read_keyed_rows(path, "query_id")}


def _parse_relevant(row: Row) -> Iterator[str]:
    name = row.present(RELEVANT_FIELDS)
    expected = 'a list of document IDs or of {"doc_id", "relevance"} objects'
    for item in row.items(name, expected=expected):
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict) and isinstance(item.get("doc_id"), str):
            relevance = item.get("relevance", 1)
            if not isinstance(relevance, int | float):
                raise row.fault(f"a relevance that is {tell_kind(relevance)}", expected="a number")
            if relevance > 0:
                yield item["doc_id"]
        else:
            raise row.fault(f'"{name}" holds {item!r}', expected=expected)


def read_propositions(path: Path) -> list[JudgedProposition]:
    """The judged propositions of ``path`` in order, from rows ``{"proposition_id", "proposition", "judgments"}``.

    Each judgment is ``{"doc_id", "stance": "supports" | "refutes" | "neither", "evidence": str | null}``.

    Raises:
        MalformedRow: bad JSON or UTF-8, a missing or wrongly typed field, an ID seen before.
        InputError: the file cannot be opened or holds no proposition.
    """
    propositions = []
    for proposition_id, row in read_keyed_rows(path, "proposition_id"):
        judgments = row.items("judgments", expected="a list with at least one judgment")
        if not judgments:
            raise row.fault('"judgments" is empty', expected="at least one judgment")
        propositions.append(
            JudgedProposition(
                proposition_id=proposition_id,
                proposition=row.string("proposition"),
                judgments=tuple(_parse_judgment(row, judgment) for judgment in judgments),
            )
        )
    return propositions


def _parse_judgment(row: Row, value: object) -> Judgment:
    expected = '{"doc_id", "stance": "supports" | "refutes" | "neither", "evidence": string that is not empty, or null}'
    if not isinstance(value, dict):
        raise row.fault(f"a judgment that is {tell_kind(value)}", expected=expected)
    doc_id, side, evidence = value.get("doc_id"), value.get("stance"), value.get("evidence")
    marked = evidence is None or (isinstance(evidence, str) and bool(evidence.strip()))
    fits = isinstance(doc_id, str) and isinstance(side, str) and side in set(Side) and marked
    if not fits:
        raise row.fault(f"the judgment {value!r}", expected=expected)
    return Judgment(doc_id=str(doc_id), side=Side(str(side)), evidence=evidence)
