"""``sparse``: the engine alone, over documents and queries that are sets of opaque terms.

The same two commands as ``python3 -m sicetnon.sparse``, which works where NumPy alone is installed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

app = typer.Typer(help="The sparse engine alone: sets or bags of opaque terms, ranked search.", no_args_is_help=True)


@app.command(epilog="Example: sicetnon sparse build --corpus corpus.jsonl --index-dir sets")
def build(
    *,
    corpus: Annotated[Path, typer.Option(help='JSONL rows {"doc_id", "terms": [...] or {term: frequency}}.')],
    index_dir: Annotated[Path, typer.Option("--index-dir", "-i", help="Where to put the index.")],
) -> None:
    """Build an index of term sets."""
    _run("build", corpus=corpus, index_dir=index_dir)


@app.command(epilog="Example: sicetnon sparse search --index-dir sets --queries queries.jsonl --output results.jsonl")
def search(
    *,
    index_dir: Annotated[Path, typer.Option("--index-dir", "-i", help="The index to search.")],
    queries: Annotated[Path, typer.Option(help='JSONL rows {"query_id", "terms": [...] or {term: weight}}.')],
    output: Annotated[Path, typer.Option("--output", "-o", help="Results are written here, in the queries' order.")],
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=0, help="Documents for each query, at most.")] = 100,
    mode: Annotated[
        Literal["fast", "exact"],
        typer.Option(help="Look at as much as the index's budget allows, or at all that matters."),
    ] = "fast",
    scoring: Annotated[
        Literal["overlap", "bm25"],
        typer.Option(help="Add up ln(1 + N / df) over the terms in common, whatever their weights, or BM25."),
    ] = "overlap",
    k1: Annotated[float | None, typer.Option(min=0, help="How slowly BM25 saturates in frequency; 0.9.")] = None,
    b: Annotated[float | None, typer.Option(min=0, max=1, help="How much BM25 discounts length; 0.4.")] = None,
    file_format: Annotated[
        Literal["jsonl", "trec"], typer.Option("--format", help="Rows of JSON, or the lines of a TREC run.")
    ] = "jsonl",
    run_tag: Annotated[str | None, typer.Option(help="The last word of a TREC run's lines; sicetnon.")] = None,
) -> None:
    """Answer a file of queries."""
    if scoring != "bm25" and (k1, b) != (None, None):
        raise typer.BadParameter("--k1 and --b are for --scoring bm25")
    if file_format != "trec" and run_tag is not None:
        raise typer.BadParameter("--run-tag is for --format trec")
    files = {"index_dir": index_dir, "queries": queries, "output": output}
    _run("search", **files, top_k=top_k, mode=mode, scoring=scoring, k1=k1, b=b, format=file_format, run_tag=run_tag)


def _run(command: str, **options: object) -> None:
    from sicetnon.sparse.__main__ import main

    given = {name.replace("_", "-"): value for name, value in options.items() if value is not None}
    raise typer.Exit(main([command, *(f"--{name}={value}" for name, value in given.items())]))
