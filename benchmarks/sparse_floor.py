"""How near is the fast sparse search to what the memory system and the interpreter allow?

    sparse_floor.py --index-dir DIR --queries FILE --work DIR [--out FILE]

The floor is what no program of this kind can go below: starting Python and importing NumPy; reading, at the bandwidth
measured here, each byte that the search within the index's budget has to touch (the postings added up; a byte or two a
document, cleared, read for the bound and read for the candidates; the candidates' terms or bits); parsing the queries
and writing the results as they are. Beside it, the wall time of the contract's run.sh, the median of five.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from machine import keep_figures, measure_wall

from sicetnon.sparse import SparseIndex

RUNS = 5
CONTRACT = Path(__file__).resolve().parent.parent / "contracts" / "sparse-pruning" / "run.sh"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
PASSES = 3  # over the sums: clearing them, the bound of the best, the candidates
CACHE_LINE = 64
FAR_MORE_THAN_CACHES = 2**28  # bytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--index-dir", "--queries", "--work"):
        parser.add_argument(flag, type=Path, required=True)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    output = options.work / "floor.jsonl"
    command = [str(CONTRACT), "--index-dir", str(options.index_dir), "--queries", str(options.queries)]
    command += ["--output", str(output)]
    start_up = take_median(lambda: measure_wall([sys.executable, "-c", "import numpy"], ONE_THREAD))
    wall = take_median(lambda: measure_wall(command, ONE_THREAD))
    index = SparseIndex.open(options.index_dir)
    queries = [json.loads(line)["terms"] for line in options.queries.read_text().splitlines()]
    touched = statistics.mean(count_bytes(index, terms) for terms in queries)
    bandwidth = measure_bandwidth()
    results = output.read_text()
    parsing = take_median(lambda: time_call(lambda: [json.loads(line) for line in options.queries.open()]))
    writing = take_median(lambda: time_call(lambda: (options.work / "copy.jsonl").write_text(results)))
    search = touched * len(queries) / bandwidth
    floor = start_up + search + parsing + writing
    figures = {
        "queries": len(queries),
        "bytes_a_query": round(touched),
        "bandwidth_gb_s": round(bandwidth / 1e9, 2),
        "floor_start_up_s": round(start_up, 4),
        "floor_search_s": round(search, 4),
        "floor_parsing_s": round(parsing, 4),
        "floor_writing_s": round(writing, 4),
        "floor_s": round(floor, 4),
        "wall_s": round(wall, 4),
        "wall_over_floor": round(wall / floor, 2),
    }
    keep_figures(options.out, figures)


def count_bytes(index: SparseIndex, terms: list[str]) -> float:
    """Return how many bytes a fast search for a query has to touch."""
    budget = index.budget
    total = 0.0
    for part in index.plan(terms):
        if not len(part.rows):
            continue
        postings, left, looks_up = budget.reckon(part.segment.sets, part.rows, part.weights)
        documents = part.segment.document_count
        length = len(part.segment.postings) / documents
        row = part.segment.forward.rows.itemsize * length
        each = left * CACHE_LINE if looks_up else row
        total += 4 * postings + PASSES * (2 if looks_up else 1) * documents + budget.candidates * each
    return total


def measure_bandwidth() -> float:
    """Return the bytes a second that one core reads from memory."""
    content = np.ones(FAR_MORE_THAN_CACHES // 8, np.uint64)
    return content.nbytes / take_median(lambda: time_call(content.max))


def time_call(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def take_median(measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(RUNS))


if __name__ == "__main__":
    main()
