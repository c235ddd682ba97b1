"""Lengths of time on the command line."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from sicetnon.cli.times import measure_age, read_time


@pytest.mark.parametrize(("text", "seconds"), [("45s", 45), ("90m", 5_400), ("1.5h", 5_400), ("0.5m", 30)])
def test_time(text: str, seconds: float) -> None:
    """A time is a number with a unit."""
    assert read_time(text, "--budget") == seconds


@pytest.mark.parametrize("text", ["90", "m", "-1h", "1 h", "1d", "1.h", "soon", ""])
def test_time_that_is_none(text: str) -> None:
    """Anything else is a wrong use of the option, which is named."""
    with pytest.raises(typer.BadParameter, match=f"--budget {text} is no time; give it as 45s, 90m or 1.5h"):
        read_time(text, "--budget")


def test_age_counts_from_the_start_of_the_process() -> None:
    """What passed before a program came to ask is counted, also what it waited."""
    program = "import time; time.sleep(0.5); from sicetnon.cli.times import measure_age; print(measure_age())"
    started = time.monotonic()
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 0.5 <= float(told.stdout) <= time.monotonic() - started + 0.05


def test_age_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is the time that the processor has worked."""

    def refuse(*_: object, **__: object) -> str:
        raise OSError

    monkeypatch.setattr(Path, "read_text", refuse)
    before = time.process_time()
    assert before <= measure_age() <= time.process_time()
