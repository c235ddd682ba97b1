"""Lengths of time, as they are given on the command line."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import typer

STARTED = 19  # the place of starttime among the fields after the name: see proc_pid_stat(5)
SECONDS = {"s": 1, "m": 60, "h": 3600}


def measure_age() -> float:
    """Seconds since this process began; where the system does not tell, how long the processor has worked for it."""
    try:
        ticks = int(Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[STARTED])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return time.process_time()


def read_time(text: str, option: str) -> float:
    """Seconds of a time such as 45s, 90m or 1.5h, which ``option`` was given."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if found is None:
        raise typer.BadParameter(f"{option} {text} is no time; give it as 45s, 90m or 1.5h")
    return float(found[1]) * SECONDS[found[2]]
