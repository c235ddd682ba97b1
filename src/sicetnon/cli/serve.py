"""``serve``: the web page over an index."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: sicetnon serve my-index --port 8420")(serve)


def serve(
    index: Annotated[Path | None, typer.Argument(help="The index to serve; without it, the demo's.")] = None,
    *,
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 is open to every machine that can reach this one.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port to listen on; 0 takes any free one.")] = 8420,
) -> None:
    """Serve a web page that takes a proposition and shows the decisions for and against it. Ctrl-C stops it."""
    from sicetnon.cli.demo import open_demo
    from sicetnon.search import Searcher
    from sicetnon.serve import create_app, name_address, open_listener, run_server

    with open_listener(host, port) as listener:
        app = create_app(Searcher.open(index) if index else open_demo())
        sys.stderr.write(f"Serving {name_address(listener)} (Ctrl-C stops it)\n")
        sys.stderr.flush()
        run_server(app, listener)
