"""Lengths of time, as they are given on the command line."""

from __future__ import annotations

import re

import typer

SECONDS = {"s": 1, "m": 60, "h": 3600}


def read_time(text: str, option: str) -> float:
    """Seconds of a time such as 45s, 90m or 1.5h, which ``option`` was given."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if found is None:
        raise typer.BadParameter(f"{option} {text} is no time; give it as 45s, 90m or 1.5h")
    return float(found[1]) * SECONDS[found[2]]
