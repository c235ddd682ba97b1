"""`python3 -m sicetnon.sparse COMMAND`: the engine from the shell, where only NumPy is installed."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from math import inf
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, TypeVar

from sicetnon.errors import SicetnonError
from sicetnon.sparse.contract import FORMATS, MODES, build_index, search_file
from sicetnon.sparse.scoring import Bm25, DotProduct, Scoring

if TYPE_CHECKING:
    from sicetnon.storage import Manifest

Number = TypeVar("Number", int, float)


def main(arguments: Sequence[str] | None = None, *, program: str = "python3 -m sicetnon.sparse") -> int:
    """Run one command and return the exit status: 0, or 1 after an error."""
    options = _parse(arguments, program)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _leave)  # so that what is unfinished is removed
    started = time.perf_counter()
    try:
        done = _COMMANDS[options.command](options)
    except (SicetnonError, OSError) as error:
        _say(f"error: {' '.join(str(error).split())}\n".translate(_CONTROLS))
        return 1
    except KeyboardInterrupt:
        _say("error: interrupted\n")
        return 130
    _say(f"{done} in {time.perf_counter() - started:.2f} s\n")
    return 0


def _build(options: argparse.Namespace) -> str:
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    return _describe(build_index(options.corpus, options.index_dir, report=_report if is_terminal else None))


def _search(options: argparse.Namespace) -> str:
    count = search_file(
        options.index_dir,
        options.queries,
        options.output,
        top_k=options.top_k,
        mode=options.mode or ("fast" if options.scoring == "overlap" else "exact"),
        scoring=_make_scoring(options),
        format=options.format,
        **({} if options.run_tag is None else {"tag": options.run_tag}),
    )
    return f"{count:,} queries"


def _add(options: argparse.Namespace) -> str:
    from sicetnon.sparse.changes import add_file

    return _describe(add_file(options.corpus, options.index_dir, replaces=options.replace))


def _delete(options: argparse.Namespace) -> str:
    from sicetnon.sparse.changes import delete_documents

    return _describe(delete_documents(options.doc_id, options.index_dir))


def _merge(options: argparse.Namespace) -> str:
    from sicetnon.sparse.changes import merge_index

    return _describe(merge_index(options.index_dir))


def _tune(options: argparse.Namespace) -> str:
    from sicetnon.sparse.changes import tune_index

    tuned = tune_index(
        options.index_dir,
        options.queries,
        top_k=options.top_k,
        overlap=options.overlap,
        overlap_top=options.overlap_top,
    )
    print(json.dumps(asdict(tuned)))  # noqa: T201  the command's answer
    return f"tuned by {tuned.queries:,} queries"


_COMMANDS = {"build": _build, "search": _search, "add": _add, "delete": _delete, "merge": _merge, "tune": _tune}


def _describe(manifest: Manifest) -> str:
    counts = {name: count for name, count in manifest.counts.items() if "/" not in name}  # no segment's
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def _parse(arguments: Sequence[str] | None, program: str) -> argparse.Namespace:
    parser = _make_parser(program)
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
    if options.scoring == "dot":
        return DotProduct()
    return Bm25(**{name: value for name in ("k1", "b") if (value := getattr(options, name)) is not None})


def _make_parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program, description="The sparse engine alone: sets or bags of opaque terms, ranked search."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, description: str, example: str) -> argparse.ArgumentParser:
        added = commands.add_parser(
            name, help=description, description=f"{description.capitalize()}.", epilog=f"Example: {program} {example}"
        )
        added.add_argument("-i", "--index-dir", type=Path, required=True, metavar="DIR", help="the index directory")
        return added

    rows = 'rows of {"doc_id", "terms"}, one a line; terms are a list, or an object of frequencies or weights'
    queries = 'rows of {"query_id", "terms"}, one a line; terms are a list, or an object of weights'
    build = command("build", "build an index from a corpus file", "build --corpus corpus.jsonl --index-dir sets")
    build.add_argument("--corpus", type=Path, required=True, metavar="FILE", help=rows)
    search = command(
        "search",
        "answer every query of a file",
        "search --index-dir sets --queries queries.jsonl --output results.jsonl",
    )
    search.add_argument("--queries", type=Path, required=True, metavar="FILE", help=queries)
    search.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the results file to write")
    search.add_argument(
        "-k", "--top-k", type=_number(int, 0), default=100, help="the most documents a query (default: 100)"
    )
    search.add_argument(
        "--mode",
        choices=MODES,
        help="fast looks at as much as the index's budget allows, exact at all that matters (default: fast for the "
        "scoring overlap, which the budget is tuned for, exact for the others)",
    )
    search.add_argument(
        "--scoring",
        choices=("overlap", "bm25", "dot"),
        default="overlap",
        help="overlap adds up ln(1 + N / df) over the terms in common, whatever their weights; dot adds up products of "
        "weights (default: overlap)",
    )
    default = Bm25()
    search.add_argument(
        "--k1", type=_number(float, 0), help=f"how slowly BM25 saturates in frequency (default: {default.k1})"
    )
    search.add_argument(
        "--b", type=_number(float, 0, 1), help=f"how much BM25 discounts length, 0 to 1 (default: {default.b})"
    )
    search.add_argument(
        "--format", choices=FORMATS, default="jsonl", help="rows of JSON or the lines of a TREC run (default: jsonl)"
    )
    search.add_argument("--run-tag", help="the last word of a TREC run's lines (default: sicetnon)")
    add = command("add", "add the documents of a corpus file", "add --corpus more.jsonl --index-dir sets")
    add.add_argument("--corpus", type=Path, required=True, metavar="FILE", help=rows)
    add.add_argument("--replace", action="store_true", help="replace documents of the same ID, which are refused else")
    delete = command("delete", "delete documents", "delete --index-dir sets d17 d18")
    delete.add_argument("doc_id", nargs="+", metavar="ID", help="their IDs")
    command("merge", "merge all segments into one, without what was deleted", "merge --index-dir sets")
    tuned = command(
        "tune",
        "find the budget of fast searches by sample queries, and keep it in the index",
        "tune --index-dir sets --queries sample.jsonl --overlap 0.95",
    )
    tuned.add_argument("--queries", type=Path, required=True, metavar="FILE", help=f"{queries}; 256 at most are used")
    tuned.add_argument(
        "-k", "--top-k", type=_number(int, 1), default=100, help="how many documents are asked for (default: 100)"
    )
    tuned.add_argument(
        "--overlap",
        type=_number(float, 0, 1),
        default=0.9,
        help="the mean share of the exact top k to find (default: 0.9)",
    )
    tuned.add_argument(
        "--overlap-top", type=_number(float, 0, 1), default=0.995, help="the same of the exact top ten (default: 0.995)"
    )
    return parser


def _number(kind: type[Number], least: float, most: float = inf) -> Callable[[str], Number]:
    """Return what reads a number of a kind and a range, for argparse to refuse any other."""

    def read(text: str) -> Number:
        value = kind(text)
        if not least <= value <= most or value == inf:
            bounds = f"at least {least}" if most == inf else f"from {least} to {most}"
            raise argparse.ArgumentTypeError(f"{text} is not {bounds}")
        return value

    read.__name__ = kind.__name__  # what argparse calls it
    return read


_CONTROLS = {number: "\ufffd" for number in (*range(32), *range(127, 160)) if number != ord("\n")}


def _report(documents: int) -> None:
    _say(f"\r{documents:,} documents\r")


def _say(text: str) -> None:
    if sys.stderr is not None:  # closed by the caller
        sys.stderr.write(text)
        sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
