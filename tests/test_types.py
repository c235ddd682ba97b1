"""The records: what they make of what they are given."""

from __future__ import annotations

from typing import Any

import pytest

from sicetnon.types import BothSides, Filters, Query


@pytest.mark.parametrize(
    ("courts", "kept"),
    [
        (("a", "b"), ("a", "b")),
        (["a", "b"], ("a", "b")),
        (iter(["a", "b"]), ("a", "b")),
        ("supreme court", ("supreme court",)),
        ([], ()),
        ((), ()),
    ],
)
def test_courts_become_a_tuple(courts: Any, kept: tuple[str, ...]) -> None:
    """A list of courts, and a court alone, are kept as a tuple, so that a query can be a key."""
    filters = Filters(courts=courts)
    assert filters.courts == kept
    assert filters == Filters(courts=kept)
    assert filters.allow_everything is not bool(kept)
    assert hash(Query(proposition="x", filters=filters)) == hash(Query(proposition="x", filters=Filters(courts=kept)))


def test_both_sides_is_a_record() -> None:
    """The answer on both sides is frozen."""
    answer = BothSides(query=Query(proposition="x"), supports=(), refutes=(), unclear=())
    with pytest.raises(AttributeError):
        answer.supports = ()  # type: ignore[misc]
