"""How long does the sparse contract take next to a reference program, and how good are its answers?

    sparse_wall.py --reference reference.py --data DIR --work DIR [--pairs 5] [--out FILE]

The reference is a Python program with the commands ``build --corpus C --index-dir I`` and ``search --index-dir I
--queries Q --output O``. DIR of --data holds corpus.jsonl, queries.jsonl and, if there, qrels.tsv (query_id, doc_id,
relevance, with a heading). Both indexes are built in the folder of --work unless they are there. Whole processes are
timed, on one thread, the reference, the fast mode and the exact mode in turns; the median of the ratios counts.
"""

from __future__ import annotations

import argparse
import csv
import resource
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from ir_measures import Qrel as Judgment
from ir_measures import R, ScoredDoc, calc_aggregate, nDCG
from machine import keep_figures, measure_wall

from sicetnon.corpora import read_results
from sicetnon.corpora.results import ResultRow
from sicetnon.sparse import SparseIndex

CONTRACT = Path(__file__).resolve().parent.parent / "contracts" / "sparse-pruning"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
MODES = ("fast", "exact")
DEPTHS = (10, 100)
KIB_PER_MB = 1000 * 1000 / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--reference", "--data", "--work"):
        parser.add_argument(flag, type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    reference = [sys.executable, str(options.reference)]
    figures = build(reference, options.data, options.work)
    commands = {"reference": [*reference, "search", "--index-dir", str(options.work / "reference-index")]}
    for mode in MODES:
        commands[mode] = [str(CONTRACT / "run.sh"), "--mode", mode, "--index-dir", str(options.work / "product-index")]
    for name, command in commands.items():
        command += ["--queries", str(options.data / "queries.jsonl"), "--output", str(options.work / f"{name}.jsonl")]
        measure_wall(command, ONE_THREAD)  # the first run fills the page cache
    walls: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(options.pairs):
        for name, command in commands.items():
            walls[name].append(measure_wall(command, ONE_THREAD))
    figures |= {f"{name}_s": round(statistics.median(times), 3) for name, times in walls.items()}
    figures["pairs"] = options.pairs
    for mode in MODES:
        ratios = [mine / theirs for mine, theirs in zip(walls[mode], walls["reference"], strict=True)]
        figures[f"{mode}_ratio"] = round(statistics.median(ratios), 4)
        figures[f"{mode}_ratio_range"] = [round(min(ratios), 4), round(max(ratios), 4)]
    rows = {name: read_results(options.work / f"{name}.jsonl") for name in commands}
    figures["queries"] = len(rows["reference"])
    pairs = zip(rows["exact"], rows["reference"], strict=True)
    figures["exact_same_rankings_and_scores"] = sum(mine == theirs for mine, theirs in pairs)
    for depth in DEPTHS:
        figures[f"fast_overlap_{depth}"] = round(measure_overlap(rows["fast"], rows["reference"], depth), 4)
    qrels = options.data / "qrels.tsv"
    if qrels.exists():
        for name in commands:
            figures |= judge(rows[name], qrels, name)
    keep_figures(options.out, figures)


def build(reference: Sequence[str], data: Path, work: Path) -> dict[str, object]:
    """Build what is not there yet; ours first, so that the peak of memory is its own."""
    corpus = ["--corpus", str(data / "corpus.jsonl")]
    figures: dict[str, object] = {}
    for name, command in (("product", [str(CONTRACT / "build.sh")]), ("reference", [*reference, "build"])):
        index_dir = work / f"{name}-index"
        if not index_dir.exists():
            seconds = measure_wall([*command, *corpus, "--index-dir", str(index_dir)], ONE_THREAD)
            figures[f"{name}_build_s"] = round(seconds, 1)
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            figures[f"{name}_build_peak_mb"] = round(peak / KIB_PER_MB)
    index = SparseIndex.open(work / "product-index")
    size = sum(entry.bytes for entry in index.stored.manifest.files.values())
    return figures | {"budget": index.budget.to_json(), "index_bytes_a_posting": round(size / index.posting_count, 2)}


def measure_overlap(mine: Sequence[ResultRow], theirs: Sequence[ResultRow], depth: int) -> float:
    """Return the mean share of the reference's best documents that we return among as many."""
    shares = []
    for a, b in zip(mine, theirs, strict=True):
        expected = set(b.doc_ids[:depth])
        shares.append(len(expected & set(a.doc_ids[:depth])) / max(len(expected), 1))
    return statistics.mean(shares)


def judge(rows: Sequence[ResultRow], qrels: Path, name: str) -> dict[str, float]:
    """Return nDCG@10 and R@100 by the judgments."""
    with qrels.open(newline="") as source:
        lines = list(csv.DictReader(source, delimiter="\t"))
    judgments = [Judgment(line["query_id"], line["doc_id"], int(line["relevance"])) for line in lines]
    run = [ScoredDoc(row.query_id, doc_id, -rank) for row in rows for rank, doc_id in enumerate(row.doc_ids)]
    values = calc_aggregate([nDCG @ 10, R @ 100], judgments, run)
    return {f"{name}_{measure}": round(value, 4) for measure, value in values.items()}


if __name__ == "__main__":
    main()
