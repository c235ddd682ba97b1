"""How long does the sparse contract take next to a reference program, and are its rankings the same?

    sparse_wall.py --reference reference.py --data DIR --work DIR [--pairs 5] [--out FILE]

The reference is a Python program with the commands ``build --corpus C --index-dir I`` and ``search --index-dir I
--queries Q --output O``. DIR of --data holds corpus.jsonl and queries.jsonl. Both indexes are built in the folder of
--work unless they are there. Whole processes are timed, alternating, on one thread; the median of the ratios counts.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from machine import keep_figures, measure_wall

from sicetnon.corpora import read_results

CONTRACT = Path(__file__).resolve().parent.parent / "contracts" / "sparse-pruning"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--reference", "--data", "--work"):
        parser.add_argument(flag, type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    reference = [sys.executable, str(options.reference)]
    programs = {"reference": (reference, "build", "search"), "product": ([], "build.sh", "run.sh")}
    commands, figures = {}, {}
    for name, (program, build, search) in programs.items():
        index_dir, output = options.work / f"{name}-index", options.work / f"{name}.jsonl"
        starts = (
            [[*program, build], [*program, search]] if program else [[str(CONTRACT / build)], [str(CONTRACT / search)]]
        )
        if not index_dir.exists():
            corpus = ["--corpus", str(options.data / "corpus.jsonl"), "--index-dir", str(index_dir)]
            figures[f"{name}_build_s"] = round(measure_wall([*starts[0], *corpus], ONE_THREAD), 1)
        queries = ["--queries", str(options.data / "queries.jsonl"), "--output", str(output)]
        commands[name] = [*starts[1], "--index-dir", str(index_dir), *queries]
        measure_wall(commands[name], ONE_THREAD)  # the first run fills the page cache
    walls = {name: [] for name in commands}
    for _ in range(options.pairs):
        for name, command in commands.items():
            walls[name].append(measure_wall(command, ONE_THREAD))
    ratios = [p / r for p, r in zip(walls["product"], walls["reference"], strict=True)]
    rows = [read_results(options.work / f"{name}.jsonl") for name in commands]
    same = sum(a == b for a, b in zip(*rows, strict=True))
    figures |= {f"{name}_s": round(statistics.median(times), 3) for name, times in walls.items()}
    figures |= {"pairs": options.pairs, "ratio": round(statistics.median(ratios), 4)}
    figures |= {"ratio_range": [round(min(ratios), 4), round(max(ratios), 4)]}
    figures |= {"queries": len(rows[0]), "same_rankings_and_scores": same}
    keep_figures(options.out, figures)


if __name__ == "__main__":
    main()
