"""JSONL rows -> Queries: ``query_id``, the proposition under one of ``PROPOSITION_FIELDS``, and ``stance``."""

from __future__ import annotations

from pathlib import Path

from sicetnon.errors import InputError
from sicetnon.jsonl import Row, read_rows
from sicetnon.types import Query, Stance

PROPOSITION_FIELDS = ("claim", "query", "proposition", "text")


def read_queries(path: Path, *, top_k: int = 10) -> list[Query]:
    """All queries of ``path`` in order.

    Raises:
        MalformedRow: bad JSON or UTF-8, a missing or wrongly typed field, an unknown stance, an ID seen before.
        InputError: the file cannot be opened or holds no query.
    """
    queries: dict[str, Query] = {}
    for row in read_rows(path):
        query = _parse_query(row, top_k)
        if query.query_id in queries:
            raise row.fault(f'query_id "{query.query_id}" again', expected="each query_id once")
        queries[str(query.query_id)] = query
    if not queries:
        raise InputError(f"{path} holds no query", expected="at least one row", remedy="check the file")
    return list(queries.values())


def _parse_query(row: Row, top_k: int) -> Query:
    query_id = row.string("query_id")
    proposition = row.string(row.present(PROPOSITION_FIELDS))
    return Query(proposition=proposition, stance=parse_stance(row), top_k=top_k, query_id=query_id)


def parse_stance(row: Row) -> Stance:
    stance = row.string("stance")
    if stance not in set(Stance):
        raise row.fault(f'stance "{stance}"', expected=" or ".join(f'"{name}"' for name in Stance))
    return Stance(stance)
