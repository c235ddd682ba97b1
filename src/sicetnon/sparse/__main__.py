"""`python3 -m sicetnon.sparse build | search`: the engine from the shell, where only NumPy is installed."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from sicetnon.errors import SicetnonError
from sicetnon.sparse.contract import FORMATS, build_index, search_file
from sicetnon.sparse.scoring import Bm25, Scoring


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status: 0, or 1 after an error."""
    options = _parse(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)  # so that what is unfinished is removed
    started = time.perf_counter()
    try:
        if options.command == "build":
            is_terminal = sys.stderr is not None and sys.stderr.isatty()
            manifest = build_index(options.corpus, options.index_dir, report=_report if is_terminal else None)
            counts = {name: count for name, count in manifest.counts.items() if "/" not in name}  # no segment's
            done = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        else:
            count = search_file(
                options.index_dir,
                options.queries,
                options.output,
                top_k=options.top_k,
                mode=options.mode,
                scoring=_make_scoring(options),
                format=options.format,
                **({} if options.run_tag is None else {"tag": options.run_tag}),
            )
            done = f"{count:,} queries"
    except (SicetnonError, OSError) as error:
        _say(f"error: {' '.join(str(error).split())}\n".translate(_CONTROLS))
        return 1
    except KeyboardInterrupt:
        _say("error: interrupted\n")
        return 130
    _say(f"{done} in {time.perf_counter() - started:.2f} s\n")
    return 0


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = _make_parser()
    options = parser.parse_args(arguments)
    if options.command == "search":
        if options.scoring != "bm25" and (options.k1, options.b) != (None, None):
            parser.error("--k1 and --b are for --scoring bm25")
        if options.format != "trec" and options.run_tag is not None:
            parser.error("--run-tag is for --format trec")
    return options


def _make_scoring(options: argparse.Namespace) -> Scoring | None:
    if options.scoring == "overlap":
        return None
    return Bm25(**{name: value for name in ("k1", "b") if (value := getattr(options, name)) is not None})


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m sicetnon.sparse", description="Sparse retrieval.")
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="build an index from a corpus file")
    build.add_argument(
        "--corpus",
        type=Path,
        required=True,
        help='rows of {"doc_id", "terms"}, one a line; terms are a list, or an object of frequencies',
    )
    build.add_argument("--index-dir", type=Path, required=True, help="a new or empty directory, or an index to replace")
    search = commands.add_parser("search", help="answer every query of a file")
    search.add_argument("--index-dir", type=Path, required=True, help="the index")
    search.add_argument(
        "--queries",
        type=Path,
        required=True,
        help='rows of {"query_id", "terms"}, one a line; terms are a list, or an object of weights',
    )
    search.add_argument("--output", type=Path, required=True, help="the results file to write")
    search.add_argument("--top-k", type=int, default=100, help="the most documents a query (default: 100)")
    search.add_argument(
        "--mode",
        choices=("fast", "exact"),
        default="fast",
        help="fast looks at as much as the index's budget allows, exact at all that matters (default: fast)",
    )
    search.add_argument(
        "--scoring",
        choices=("overlap", "bm25"),
        default="overlap",
        help="overlap adds up ln(1 + N / df) over the terms in common, whatever their weights (default: overlap)",
    )
    default = Bm25()
    search.add_argument("--k1", type=float, help=f"how slowly BM25 saturates in frequency (default: {default.k1})")
    search.add_argument("--b", type=float, help=f"how much BM25 discounts length, 0 to 1 (default: {default.b})")
    search.add_argument(
        "--format", choices=FORMATS, default="jsonl", help="rows of JSON or the lines of a TREC run (default: jsonl)"
    )
    search.add_argument("--run-tag", help="the last word of a TREC run's lines (default: sicetnon)")
    return parser


_CONTROLS = {number: "\ufffd" for number in (*range(32), *range(127, 160)) if number != ord("\n")}


def _report(documents: int) -> None:
    _say(f"\r{documents:,} documents\r")


def _say(text: str) -> None:
    if sys.stderr is not None:  # closed by the caller
        sys.stderr.write(text)
        sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
