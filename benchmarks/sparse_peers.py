"""How does the sparse engine compare with other engines, side by side in one run, on one core each?

    sparse_peers.py --data DIR --work DIR [--documents 100000 1000000] [--weighting unweighted weighted]
                    [--queries 200] [--passes 5] [--peers NAME ...] [--together N] [--out FILE]

DIR of --data holds corpus.jsonl ({"doc_id", "terms"} a row) and queries.jsonl ({"query_id", "terms"}); a smaller corpus
is its first rows. Every peer builds and answers in processes of its own, each held to one core. Builds come first, one
after another, and are kept in the folder of --work (ours is built anew); then all are open at once and take turns, one
pass over all queries at a time, so that whatever disturbs the machine meets all of them. Where memory is short, N are
open at once, ours beside them each time. What is timed: a batch of prepared queries to the best 100 documents, as the
library gives them. Overlap is with full float64 scores; ties count.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from machine import keep_figures
from peers.collection import Collection, prepare_collection
from peers.peer import NAMES

OURS = NAMES[0]
TOP_K = 100
HERE = Path(__file__).resolve().parent
ONE_THREAD = dict.fromkeys(
    (
        *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
        *("NUMBA_NUM_THREADS", "RAYON_NUM_THREADS", "TBB_NUM_THREADS"),
    ),
    "1",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--documents", type=int, nargs="+", default=[100_000])
    weightings = ("unweighted", "weighted")
    parser.add_argument("--weighting", choices=weightings, nargs="+", default=list(weightings))
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--peers", choices=NAMES, nargs="+", default=list(NAMES), metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--together", type=int, default=len(NAMES), metavar="N", help="peers open at once (all)")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    names = [OURS, *(name for name in NAMES if name in options.peers and name != OURS)]
    figures: dict[str, Any] = {"passes": options.passes, "top_k": TOP_K, "runs": []}
    for documents in options.documents:
        folder = options.work.resolve() / f"{options.data.resolve().name}-{documents}-{options.queries}"
        source = folder / "collection"
        with ProcessPoolExecutor(1) as pool:  # whose memory is given back
            counts = {"documents": documents, "queries": options.queries}
            pool.submit(prepare_collection, options.data, source, **counts).result()
        for weighting in options.weighting:
            run = Run(source, folder / weighting, is_weighted=weighting == "weighted")
            facts = Collection(source, weighted=run.is_weighted).facts
            figures["runs"].append(
                {"weighting": weighting, **facts} | run.measure(names, options.passes, options.together)
            )
            if options.out:  # so that a run that is broken off leaves the earlier ones
                options.out.with_suffix(".part").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    keep_figures(options.out, figures)
    if options.out:
        options.out.with_suffix(".part").unlink()


class Run:
    """One collection under one weighting."""

    def __init__(self, source: Path, folder: Path, *, is_weighted: bool) -> None:
        """Name the collection's folder and that of the indexes."""
        self._source, self._folder, self.is_weighted = source, folder, is_weighted

    def measure(self, names: list[str], passes: int, together: int) -> dict[str, Any]:
        """Build, take turns, judge; return the figures of every peer."""
        built = {name: self._build(name) for name in names}
        left_out = {name: answer["left_out"] for name, answer in built.items() if "left_out" in answer}
        others = [name for name in names if name not in left_out and name != OURS]
        opened: dict[str, dict[str, Any]] = {}
        seconds: dict[str, list[list[float]]] = {name: [] for name in names}
        for first in range(0, max(len(others), 1), together):
            for name, (answer, times) in self._take_turns([OURS, *others[first : first + together]], passes).items():
                if "left_out" in answer:
                    left_out[name] = answer["left_out"]
                else:
                    opened[name] = answer
                    seconds[name] += times
        with self._start("judge", OURS) as judge:
            overlaps = _hear(judge)
        if OURS in left_out or "left_out" in overlaps:
            raise SystemExit(f"our own engine failed: {left_out.get(OURS) or overlaps['left_out']}")
        count = len(Collection(self._source, weighted=self.is_weighted).queries)
        rows = []
        for name, answer in ((name, opened[name]) for name in names if name in opened):
            facts = built[name] | answer | {"overlaps": overlaps}
            for setting in range(len(answer["settings"])):
                times = [one_pass[setting] for one_pass in seconds[name]]
                rows.append(_describe(name, facts, setting, passes=times, count=count))
        return {"engines": rows, "left_out": left_out, "faster": _find_faster(rows)}

    def _build(self, name: str) -> dict[str, Any]:
        """Build an index, a peer's only once, and return what the process said of it."""
        marker = self._folder / name / "built.json"
        if marker.exists() and name != OURS:  # ours is under change
            return json.loads(marker.read_text(encoding="utf-8"))
        with self._start("build", name) as worker:
            answer = _hear(worker)
        if "left_out" not in answer:
            marker.write_text(json.dumps(answer), encoding="utf-8")
        _tell(f"{name}: {json.dumps(answer)}")
        return answer

    def _take_turns(self, names: list[str], passes: int) -> dict[str, tuple[dict[str, Any], list[list[float]]]]:
        """Return what each peer said on opening, or of its failure, and the seconds of its passes."""
        workers: dict[str, subprocess.Popen[str]] = {}
        opened: dict[str, dict[str, Any]] = {}
        seconds: dict[str, list[list[float]]] = {name: [] for name in names}
        try:
            for name in names:
                workers[name] = self._start("search", name)
                opened[name] = _hear(workers[name])
                _tell(f"{name}: {opened[name].get('left_out', 'open')}")
            for number in range(passes):
                for name in names:
                    answer = opened[name] if "left_out" in opened[name] else _hear(workers[name], "go")
                    if "left_out" in answer:
                        opened[name] = answer
                    else:
                        seconds[name].append(answer["seconds"])
                _tell(f"pass {number + 1} of {passes}")
        finally:
            for worker in workers.values():
                worker.communicate()  # closes its input, at which it ends
        return {name: (opened[name], seconds[name]) for name in names}

    def _start(self, step: str, name: str) -> subprocess.Popen[str]:
        results = self._folder / "results" / ("" if step == "judge" else name)
        command = [sys.executable, "-m", "peers.worker", step, "--peer", name, "--collection", str(self._source)]
        command += ["--folder", str(self._folder / name), "--results", str(results), "--k", str(TOP_K)]
        command += ["--weighted"] if self.is_weighted else []
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=HERE, env=os.environ | ONE_THREAD, stdin=pipe, stdout=pipe, text=True)


def _hear(worker: subprocess.Popen[str], request: str = "") -> dict[str, Any]:
    """Send a line, if there is one, and return what the process says next."""
    if worker.stdin is None or worker.stdout is None:
        raise AssertionError("a worker has pipes")
    try:
        if request:
            worker.stdin.write(request + "\n")
            worker.stdin.flush()
        line = worker.stdout.readline()
    except BrokenPipeError:
        line = ""
    return json.loads(line) if line else {"left_out": f"its process ended with status {worker.wait()}"}


def _describe(name: str, facts: dict[str, Any], setting: int, *, passes: list[float], count: int) -> dict[str, Any]:
    """Return one row of figures; passes are in seconds, each of `count` queries."""
    milliseconds = [seconds * 1000 / count for seconds in passes]
    row = {"engine": name} | facts["settings"][setting] | {"ms": round(statistics.median(milliseconds), 3)}
    row |= {"ms_range": [round(min(milliseconds), 3), round(max(milliseconds), 3)]}
    row |= facts["overlaps"].get(f"{name}/{setting}.npy", {})
    kept = ("version", "compiled", "build_s", "index_bytes", "build_peak_mib", "search_peak_mib", "note")
    return row | {key: facts[key] for key in kept}


def _find_faster(rows: list[dict[str, Any]]) -> list[str]:
    """Say which answers came sooner than our exact ones."""
    ours = rows[0]
    return [
        f"{row['engine']}, {row['setting']} ({'compiled' if row['compiled'] else 'not compiled'}): {row['ms']} ms "
        f"against {ours['ms']}, overlap@100 {row['overlap@100']}"
        for row in sorted(rows, key=lambda row: row["ms"])
        if row["ms"] < ours["ms"] and row["engine"] != ours["engine"]
    ]


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
