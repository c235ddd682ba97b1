"""How long a process takes, what it was measured on, and where the figures are kept."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("numpy", "onnxruntime", "tokenizers", "nupunkt", "PyStemmer")


def describe_machine() -> dict[str, object]:
    model = next((line.split(":")[1].strip() for line in _cpu_lines() if line.startswith("model name")), "unknown")
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in ("sicetnon", *PACKAGES)},
    }


def keep_figures(out: Path | None, figures: dict[str, object]) -> None:
    """Print the figures, and keep them with the machine where ``out`` is named."""
    print(json.dumps(figures, indent=1))
    if out:
        out.write_text(json.dumps({"figures": figures, "machine": describe_machine()}, indent=1) + "\n")


def measure_wall(command: list[str], environment: dict[str, str] | None = None) -> float:
    """Seconds that a whole process takes, its output thrown away."""
    start = time.perf_counter()
    silent = subprocess.DEVNULL
    subprocess.run(command, check=True, env=os.environ | (environment or {}), stdout=silent, stderr=silent)
    return time.perf_counter() - start


def _cpu_lines() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []
