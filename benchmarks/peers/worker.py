"""One peer in a process of its own, held to one core: build its index, or open it and answer pass after pass.

It speaks JSON lines on its standard output, kept free of what libraries print: `build` says one; `search` says what it
opened, and then the seconds of one pass over all queries and settings for each line that it reads.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from peers.collection import Collection
from peers.peer import Setting, load_peer, read_version

JUDGED = (10, 100)  # cutoffs of overlap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("build", "search", "judge"))
    for flag in ("--collection", "--folder", "--results"):
        parser.add_argument(flag, type=Path, required=True)
    parser.add_argument("--peer", required=True)
    parser.add_argument("--weighted", action="store_true")
    parser.add_argument("--k", type=int, default=100)
    options = parser.parse_args()
    say = _take_output()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    collection = Collection(options.collection, weighted=options.weighted)
    if options.step == "judge":
        _judge(say, collection, options.folder, options.results)
        return
    try:
        peer = load_peer(options.peer)
        if options.step == "build":
            _build(say, peer.build, collection, options.folder)
        else:
            settings = peer.open(collection, options.folder / "index", k=options.k)
            facts = {"version": read_version(peer.package), "compiled": peer.compiled, "note": peer.note}
            _search(say, settings, facts, options.results)
    except ImportError as error:
        say({"left_out": f"cannot be imported: {error}"})
    except Exception as error:  # noqa: BLE001  whatever a library raises is reported, and the others go on
        say({"left_out": f"{options.step} failed: {type(error).__name__}: {error}"})


def _take_output() -> Callable[[dict[str, object]], None]:
    """Return what writes to standard output, which everything else now finds replaced by standard error."""
    kept = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(message: dict[str, object]) -> None:
        kept.write(json.dumps(message) + "\n")
        kept.flush()

    return say


def _build(
    say: Callable[[dict[str, object]], None],
    build: Callable[[Collection, Path], None],
    collection: Collection,
    folder: Path,
) -> None:
    index = folder / "index"
    shutil.rmtree(index, ignore_errors=True)
    index.mkdir(parents=True)
    start = time.perf_counter()
    build(collection, index)
    seconds = time.perf_counter() - start
    size = sum(path.stat().st_size for path in index.rglob("*") if path.is_file())
    say({"build_s": round(seconds, 1), "build_peak_mib": _measure_peak(), "index_bytes": size})


def _search(
    say: Callable[[dict[str, object]], None], settings: Sequence[Setting], facts: dict[str, object], results: Path
) -> None:
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    names = []
    for number, setting in enumerate(settings):
        found = setting.read(setting.answer())
        width = max(JUDGED)
        rows = np.full((len(found), width), -1, np.int64)
        for row, ordinals in zip(rows, found, strict=True):
            row[: len(ordinals)] = ordinals[:width]
        np.save(results / f"{number}.npy", rows)
        names.append({"setting": setting.name, "approximate": setting.approximate})
    say(facts | {"settings": names, "search_peak_mib": _measure_peak()})
    for _ in sys.stdin:
        seconds = []
        for setting in settings:
            start = time.perf_counter()
            setting.answer()
            seconds.append(time.perf_counter() - start)
        say({"seconds": seconds})


def _judge(say: Callable[[dict[str, object]], None], collection: Collection, folder: Path, results: Path) -> None:
    """Say the mean overlap@k of every kept result with the full, unpruned float64 scores of every document.

    A document counts where its score reaches that of the exact k-th, so that ties may fall either way. Where fewer
    than k documents match, the overlap is with these; a query that matches none does not count.
    """
    from peers.sicetnon_peer import choose_scoring, open_index

    index, scoring = open_index(folder / "index"), choose_scoring(collection)
    kept = {str(path.relative_to(results)): np.load(path) for path in sorted(results.rglob("*.npy"))}
    sums = {name: dict.fromkeys(JUDGED, 0.0) for name in kept}
    count = 0
    for place, query in enumerate(collection.queries):
        scores = index.scores([collection.names[term] for term in query], scoring=scoring)
        best = -np.sort(-np.partition(scores, -max(JUDGED))[-max(JUDGED) :])
        matching = int((best > 0).sum())
        if not matching:
            continue
        count += 1
        for name, rows in kept.items():
            for k in JUDGED:
                found = rows[place, :k]
                wanted = min(k, matching)
                right = scores[np.unique(found[found >= 0])] >= best[wanted - 1] * (1 - 1e-12)
                sums[name][k] += float(right.sum()) / wanted
    say({name: {f"overlap@{k}": round(total / count, 4) for k, total in part.items()} for name, part in sums.items()})


def _measure_peak() -> int:
    """Return the most memory that this process or one that it started has held, in MiB.

    Not by getrusage for the process itself: Linux counts there what the process that started it had held.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    own = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) // 1024


if __name__ == "__main__":
    main()
