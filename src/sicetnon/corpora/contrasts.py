"""Contrast sets: statements that decide the same question differently, and claims with the side of each."""

from __future__ import annotations

from pathlib import Path

from sicetnon.errors import InputError
from sicetnon.jsonl import Row, read_rows
from sicetnon.types import ContrastSet, Side

STATEMENTS = "a list of strings that are not empty"
CLAIM = '{"text": string, "sides": one of "supports" | "refutes" | "neither" for each statement}'


def read_contrasts(path: Path) -> list[ContrastSet]:
    """The sets of ``path`` in order, from rows ``{"statements": [...], "claims": [{"text", "sides"}, ...]}``.

    Raises:
        MalformedRow: bad JSON or UTF-8, a missing or wrongly typed field.
        InputError: the file cannot be opened or holds no set.
    """
    sets = [_parse_set(row) for row in read_rows(path)]
    if not sets:
        raise InputError(f"{path} holds no contrast set", expected="at least one", remedy="check the path")
    return sets


def _parse_set(row: Row) -> ContrastSet:
    statements = row.items("statements", expected=STATEMENTS)
    if not statements or not all(isinstance(statement, str) and statement.strip() for statement in statements):
        raise row.fault(f"the statements {statements!r}", expected=STATEMENTS)
    claims = row.items("claims", expected=f"a list of {CLAIM}")
    return ContrastSet(
        statements=tuple(map(str, statements)),
        claims=tuple(_parse_claim(row, claim, len(statements)) for claim in claims),
    )


def _parse_claim(row: Row, value: object, count: int) -> tuple[str, tuple[Side, ...]]:
    text, sides = (value.get("text"), value.get("sides")) if isinstance(value, dict) else (None, None)
    if not isinstance(text, str) or not text.strip() or not isinstance(sides, list) or len(sides) != count:
        raise row.fault(f"the claim {value!r}", expected=CLAIM)
    if unknown := [side for side in sides if not isinstance(side, str) or side not in set(Side)]:
        raise row.fault(f"the side {unknown[0]!r}", expected=CLAIM)
    return text, tuple(map(Side, sides))
