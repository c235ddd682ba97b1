"""``sparse``: the engine alone, over documents and queries that are sets of opaque terms.

The same two commands as ``python3 -m sicetnon.sparse``, which works where NumPy alone is installed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="The sparse engine alone: sets of opaque terms, exact ranked search.", no_args_is_help=True)


@app.command(epilog="Example: sicetnon sparse build --corpus corpus.jsonl --index-dir sets")
def build(
    *,
    corpus: Annotated[Path, typer.Option(help='JSONL rows {"doc_id", "terms": [...]}.')],
    index_dir: Annotated[Path, typer.Option("--index-dir", "-i", help="Where to put the index.")],
) -> None:
    """Build an index of term sets."""
    _run("build", corpus=corpus, index_dir=index_dir)


@app.command(epilog="Example: sicetnon sparse search --index-dir sets --queries queries.jsonl --output results.jsonl")
def search(
    *,
    index_dir: Annotated[Path, typer.Option("--index-dir", "-i", help="The index to search.")],
    queries: Annotated[Path, typer.Option(help='JSONL rows {"query_id", "terms": [...]}.')],
    output: Annotated[Path, typer.Option("--output", "-o", help="Results are written here, one row a query.")],
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=0, help="Documents for each query, at most.")] = 100,
) -> None:
    """Answer a file of queries."""
    _run("search", index_dir=index_dir, queries=queries, output=output, top_k=top_k)


def _run(command: str, **options: object) -> None:
    from sicetnon.sparse.__main__ import main

    raise typer.Exit(main([command, *(f"--{name.replace('_', '-')}={value}" for name, value in options.items())]))
