"""JSONL rows -> Queries: ``query_id``, the proposition under one of ``PROPOSITION_FIELDS``, and ``stance``."""

from __future__ import annotations

from pathlib import Path

from sicetnon.jsonl import Row, read_keyed_rows
from sicetnon.types import Query, Stance

PROPOSITION_FIELDS = ("claim", "query", "proposition", "text")


def read_queries(path: Path, *, top_k: int = 10) -> list[Query]:
    """All queries of ``path`` in order.

    Raises:
        MalformedRow: bad JSON or UTF-8, a missing or wrongly typed field, an unknown stance, an ID seen before.
        InputError: the file cannot be opened or holds no query.
    """
    return [
        Query(
            proposition=row.string(row.present(PROPOSITION_FIELDS)),
            stance=_parse_stance(row),
            top_k=top_k,
            query_id=query_id,
        )
        for query_id, row in read_keyed_rows(path, "query_id")
    ]


def _parse_stance(row: Row) -> Stance:
    stance = row.string("stance")
    if stance not in set(Stance):
        raise row.fault(f'stance "{stance}"', expected=" or ".join(f'"{name}"' for name in Stance))
    return Stance(stance)
