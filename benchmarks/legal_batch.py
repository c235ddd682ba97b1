"""How good are the legal contract's answers, and how long do build and batch take?

    legal_batch.py --corpus C --queries Q --truth T [--index-dir DIR] [--runs 5] [--out FILE]

Whole processes are timed, as an evaluator would; DIR is built if it is not there. The batch is run several times and
the median quoted.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from machine import keep_figures, measure_wall

from sicetnon.corpora import read_queries, read_relevant, read_results
from sicetnon.evaluate import evaluate_results

CONTRACT = Path(__file__).resolve().parent.parent / "contracts" / "legal-stance"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--corpus", "--queries", "--truth"):
        parser.add_argument(flag, type=Path, required=True)
    parser.add_argument("--index-dir", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        index_dir = options.index_dir or Path(folder) / "index"
        if not (index_dir / "manifest.json").exists():
            build = [str(CONTRACT / "build.sh"), "--corpus", str(options.corpus), "--index-dir", str(index_dir)]
            figures["build_s"] = round(measure_wall(build), 1)
        output = Path(folder) / "results.jsonl"
        run = [str(CONTRACT / "run.sh"), "--index-dir", str(index_dir), "--queries", str(options.queries)]
        run += ["--output", str(output), "--top-k", "10"]
        walls = [measure_wall(run, {"SICETNON_DEADLINE": ""}) for _ in range(options.runs)]
        queries = read_queries(options.queries)
        figures |= {"queries": len(queries), "batch_s": round(statistics.median(walls), 2), "runs": options.runs}
        groups = {str(query.query_id): str(query.stance) for query in queries}
        table = evaluate_results(read_results(output), read_relevant(options.truth), groups=groups)
    figures["measures"] = {group: {k: round(v, 4) for k, v in values.items()} for group, values in table.items()}
    keep_figures(options.out, figures)


if __name__ == "__main__":
    main()
