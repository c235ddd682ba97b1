"""What a query must be to be asked."""

from __future__ import annotations

from datetime import date

from sicetnon.errors import InputError
from sicetnon.types import Query, Stance


def check_query(query: Query) -> None:
    """Refuse a query that cannot be asked.

    Raises:
        InputError: a field is of another type than ``Query`` declares, or has no meaning.
    """
    days = (query.as_of, query.filters.decided_from, query.filters.decided_to)
    kinds = {
        "proposition": isinstance(query.proposition, str),
        "stance": isinstance(query.stance, Stance),
        "top_k": type(query.top_k) is int,
        "min_relevance": isinstance(query.min_relevance, int | float),
        "courts": all(isinstance(court, str) for court in query.filters.courts),
        "areas": all(isinstance(area, str) for area in query.filters.areas),
        "explain": isinstance(query.explain, bool),
        "as_of or a filter's day": all(day is None or type(day) is date for day in days),
    }
    if wrong := [name for name, fits in kinds.items() if not fits]:
        raise InputError(
            f"a query whose {wrong[0]} is of another type", expected="what Query declares", remedy="correct the query"
        )
    if not query.proposition.strip():
        raise InputError("an empty proposition", expected="a sentence to look for", remedy="state the proposition")
    try:
        query.proposition.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            "a proposition with half of a surrogate pair",
            expected="text that can be written as UTF-8",
            remedy="correct it",
        ) from error
    if query.top_k < 1:
        raise InputError(f"top_k of {query.top_k}", expected="1 or more", remedy="ask for at least one document")
    if not 0 <= query.min_relevance <= 1:
        raise InputError(
            f"min_relevance of {query.min_relevance}", expected="a probability from 0 to 1", remedy="correct it"
        )
