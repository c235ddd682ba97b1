"""How does the cost of a query, of opening and of building grow with the number of documents?

    sparse_growth.py --work DIR [--sizes 10000 30000 ... 4000000] [--queries 200] [--out FILE] [--plot SVG]

Made-up corpora (synthetic.py), each the beginning of the next; an index of each is built in the folder of --work unless
it is there. Milliseconds a query, one thread, the medians of five passes that take turns: the plain sum over every
posting, the exact search, and the fast one within the budget that the build found. The exponents are fitted to
milliseconds over documents on logarithmic scales, over all sizes and over those from 100,000.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
from machine import keep_figures
from synthetic import VOCABULARY, SyntheticCorpus

from sicetnon.sparse import SparseIndex, SparseIndexBuilder, select_top

SEED = 11
SIZES = [10_000, 30_000, 100_000, 300_000, 1_000_000, 4_000_000]
PASSES = 5
TOP_K = 100
LARGE = 100_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    rows = [measure(options.work, size, options.queries) for size in options.sizes]
    exponents = {
        f"exponent_{name}_{label}": round(fit([row for row in rows if row["documents"] >= least], f"{name}_ms"), 3)
        for name in ("plain", "exact", "fast")
        for label, least in (("all", 0), ("large", LARGE))
        if sum(row["documents"] >= least for row in rows) > 1
    }
    keep_figures(options.out, {"queries": options.queries, "passes": PASSES, "rows": rows} | exponents)
    if options.plot:
        draw(rows, options.plot)


def measure(work: Path, documents: int, count: int) -> dict[str, float]:
    corpus = SyntheticCorpus(SEED)
    directory = work / f"growth-{documents}"
    row: dict[str, float] = {"documents": documents}
    if not directory.exists():
        start = time.perf_counter()
        with SparseIndexBuilder(directory) as builder:
            names = [str(term) for term in range(VOCABULARY)]
            for number, terms in enumerate(corpus.documents(documents)):
                builder.add(f"d{number}", [names[term] for term in terms.tolist()])
            builder.commit(tunes=True)
        row["build_s"] = round(time.perf_counter() - start, 1)
    opening = []
    for _ in range(PASSES):
        start = time.perf_counter()
        index = SparseIndex.open(directory)
        opening.append(time.perf_counter() - start)
    queries = list(corpus.queries(count, documents))
    exact = [index.rank(terms, top_k=TOP_K)[0] for terms in queries]
    fast = [index.rank(terms, top_k=TOP_K, budget=index.budget)[0] for terms in queries]
    ways = {
        "plain": lambda terms: select_top(index.scores(terms), index.tie_rank, TOP_K),
        "exact": lambda terms: index.rank(terms, top_k=TOP_K),
        "fast": lambda terms: index.rank(terms, top_k=TOP_K, budget=index.budget),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(PASSES):
        for name, search in ways.items():
            start = time.perf_counter()
            for terms in queries:
                search(terms)
            times[name].append((time.perf_counter() - start) / count * 1e3)
    row |= {f"{name}_ms": round(statistics.median(values), 4) for name, values in times.items()}
    row["open_ms"] = round(statistics.median(opening) * 1e3, 2)
    for depth in (10, TOP_K):
        shares = [np.isin(e[:depth], f[:depth]).mean() for e, f in zip(exact, fast, strict=True)]
        row[f"overlap_{depth}"] = round(float(np.mean(shares)), 4)
    row["index_bytes_a_posting"] = round(
        sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()) / index.posting_count, 2
    )
    print(row, flush=True)
    return row


def fit(rows: list[dict[str, float]], name: str) -> float:
    """Return the exponent of growth: the slope of logarithms."""
    documents, values = (np.log([row[key] for row in rows]) for key in ("documents", name))
    return float(np.polyfit(documents, values, 1)[0])


def draw(rows: list[dict[str, float]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "sicetnon"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    documents = [row["documents"] for row in rows]
    for name, label, marker in (("plain", "plain sum", "s"), ("exact", "exact", "o"), ("fast", "fast", "^")):
        values = [row[f"{name}_ms"] for row in rows]
        large = [row for row in rows if row["documents"] >= LARGE] or rows
        exponent = f", N^{fit(large, f'{name}_ms'):.2f} from 100,000" if len(large) > 1 else ""
        axes.loglog(documents, values, marker=marker, label=f"{label}{exponent}")
    axes.set_xlabel("documents")
    axes.set_ylabel("milliseconds a query, one thread")
    axes.grid(visible=True, which="both", linewidth=0.3)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
