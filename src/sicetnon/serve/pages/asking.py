"""The parameters of a URL -> a Query, or an error for the person who asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import TypeAlias
from urllib.parse import urlencode

from sicetnon.errors import InputError
from sicetnon.types import MIN_RELEVANCE, Filters, Query

Form: TypeAlias = dict[str, str]
"""What was asked, as it was typed: every one of ``FIELDS``, empty where nothing was."""

FIELDS = ("proposition", "as_of", "court", "from", "to")
LONGEST_PROPOSITION = 2_000  # characters: no sentence of law is longer, and each one costs the encoder time
ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def read_form(parameters: Mapping[str, str]) -> Form:
    return {name: parameters.get(name, "").strip() for name in FIELDS}


def form_query(form: Form) -> str:
    """The part of a URL after the question mark that asks the same again."""
    return urlencode({name: value for name, value in form.items() if value})


def parse_query(form: Form) -> Query | None:
    """The query of a form; None where no proposition was typed.

    Raises:
        InputError: a proposition that is too long, or dates that cannot be used.
    """
    proposition = form["proposition"]
    if len(proposition) > LONGEST_PROPOSITION:
        raise InputError(
            f"a proposition of {len(proposition):,} characters",
            expected=f"at most {LONGEST_PROPOSITION:,}",
            remedy="state one proposition in one sentence",
        )
    as_of = _parse_day(form["as_of"], "As the law stood on")
    decided_from = _parse_day(form["from"], "Decided from")
    decided_to = _parse_day(form["to"], "Decided to")
    if decided_from and decided_to and decided_from > decided_to:
        raise InputError(
            f"“Decided from” {decided_from} lies after “Decided to” {decided_to}",
            expected="the earlier day first",
            remedy="swap the two days, or leave one out",
        )
    if not proposition:
        return None
    courts = (form["court"],) if form["court"] else ()
    return Query(
        proposition=proposition,
        filters=Filters(courts=courts, decided_from=decided_from, decided_to=decided_to),
        as_of=as_of,
        min_relevance=MIN_RELEVANCE,
    )


def _parse_day(typed: str, label: str) -> date | None:
    if not typed:
        return None
    try:
        if ISO_DAY.fullmatch(typed):
            return date.fromisoformat(typed)
    except ValueError:
        pass  # the form of a day, but none of the calendar: told as below
    shown = typed if len(typed) <= len("2004-06-24") * 2 else f"{typed[:20]}…"
    raise InputError(
        f"“{label}” is “{shown}”",
        expected="a day of the calendar, year first, such as 2004-06-24",
        remedy="correct the day or leave it out",
    )
