"""``sparse``: the engine alone, over documents and queries that are sets of opaque terms."""

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
    from sicetnon.sparse import build_index

    build_index(corpus, index_dir)


@app.command(epilog="Example: sicetnon sparse search --index-dir sets --queries queries.jsonl --output results.jsonl")
def search(
    *,
    index_dir: Annotated[Path, typer.Option("--index-dir", "-i", help="The index to search.")],
    queries: Annotated[Path, typer.Option(help='JSONL rows {"query_id", "terms": [...]}.')],
    output: Annotated[Path, typer.Option("--output", "-o", help="Results are written here, one row a query.")],
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=1, help="Documents for each query, at most.")] = 100,
) -> None:
    """Answer a file of queries."""
    from sicetnon.sparse import search_file

    search_file(index_dir, queries, output, top_k=top_k)
