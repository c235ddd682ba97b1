"""What a figure was measured on, and where it is kept."""

from __future__ import annotations

import json
import os
import platform
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


def _cpu_lines() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []
