"""Lengths of time on the command line."""

from __future__ import annotations

import pytest
import typer

from sicetnon.cli.times import read_time


@pytest.mark.parametrize(("text", "seconds"), [("45s", 45), ("90m", 5_400), ("1.5h", 5_400), ("0.5m", 30)])
def test_time(text: str, seconds: float) -> None:
    """A time is a number with a unit."""
    assert read_time(text, "--budget") == seconds


@pytest.mark.parametrize("text", ["90", "m", "-1h", "1 h", "1d", "1.h", "soon", ""])
def test_time_that_is_none(text: str) -> None:
    """Anything else is a wrong use of the option, which is named."""
    with pytest.raises(typer.BadParameter, match=f"--budget {text} is no time; give it as 45s, 90m or 1.5h"):
        read_time(text, "--budget")
