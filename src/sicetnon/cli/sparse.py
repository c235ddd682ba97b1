"""``sparse``: the engine alone, over documents and queries that are sets or bags of opaque terms.

The commands are those of ``python3 -m sicetnon.sparse``, which works where NumPy alone is installed.
"""

from __future__ import annotations

import typer

_HANDED_OVER = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def register(app: typer.Typer) -> None:
    """Add the command, which hands all that follows it over."""

    @app.command(context_settings=_HANDED_OVER, add_help_option=False)
    def sparse(context: typer.Context) -> None:
        """The sparse engine alone: build, search, add, delete, merge and tune; see sparse --help."""
        from sicetnon.sparse.__main__ import main

        raise typer.Exit(main(context.args, program="sicetnon sparse"))
