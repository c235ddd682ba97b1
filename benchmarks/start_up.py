"""How long do imports and a cold search take?

    start_up.py [--runs 7] [--out FILE]

Whole processes, from start to exit, less what an empty Python takes where an import is asked for; medians.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from machine import keep_figures, measure_wall

PROPOSITION = "A person who cannot afford a lawyer must be given one in a criminal case."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    python = [sys.executable, "-c"]
    commands = {
        "python": [*python, "pass"],
        "import_sicetnon": [*python, "import sicetnon"],
        "import_sicetnon_sparse": [*python, "import sicetnon.sparse"],
        "search_on_the_demo_index": [sys.executable, "-m", "sicetnon", "search", PROPOSITION],
    }
    walls = {}
    for name, command in commands.items():
        measure_wall(command)  # fills the page cache, and builds the demo's index
        walls[name] = statistics.median(measure_wall(command) for _ in range(options.runs))
    figures = {f"{name}_ms": round(1e3 * (wall - walls["python"] * ("import" in name))) for name, wall in walls.items()}
    keep_figures(options.out, figures | {"runs": options.runs})


if __name__ == "__main__":
    main()
