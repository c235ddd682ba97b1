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
from sicetnon.sparse.contract import build_index, search_file


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status: 0, or 1 after an error."""
    options = _make_parser().parse_args(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)  # so that what is unfinished is removed
    started = time.perf_counter()
    try:
        if options.command == "build":
            is_terminal = sys.stderr is not None and sys.stderr.isatty()
            manifest = build_index(options.corpus, options.index_dir, report=_report if is_terminal else None)
            done = ", ".join(f"{count:,} {name}" for name, count in manifest.counts.items())
        else:
            count = search_file(
                options.index_dir, options.queries, options.output, top_k=options.top_k, mode=options.mode
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


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m sicetnon.sparse", description="Sparse retrieval.")
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="build an index from a corpus file")
    build.add_argument("--corpus", type=Path, required=True, help='rows of {"doc_id", "terms"}, one a line')
    build.add_argument("--index-dir", type=Path, required=True, help="a new or empty directory, or an index to replace")
    search = commands.add_parser("search", help="answer every query of a file")
    search.add_argument("--index-dir", type=Path, required=True, help="the index")
    search.add_argument("--queries", type=Path, required=True, help='rows of {"query_id", "terms"}, one a line')
    search.add_argument("--output", type=Path, required=True, help="the results file to write")
    search.add_argument("--top-k", type=int, default=100, help="the most documents a query (default: 100)")
    search.add_argument(
        "--mode",
        choices=("fast", "exact"),
        default="fast",
        help="fast looks at as much as the index's budget allows, exact at all that matters (default: fast)",
    )
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
