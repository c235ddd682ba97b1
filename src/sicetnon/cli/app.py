"""The ``sicetnon`` program: its commands gathered, its errors told in one line, its exit status."""

from __future__ import annotations

import fcntl
import io
import os
import signal
import sys
from types import FrameType
from typing import Annotated, NoReturn

import typer

from sicetnon.cli import ask, demo, index, learn, serve, sparse
from sicetnon.errors import SicetnonError
from sicetnon.wording import harmless

INTERRUPTED = 130

app = typer.Typer(
    name="sicetnon",
    help="Find the court documents that support or refute a legal proposition.",
    epilog="Exit status: 0 done, 1 ran and failed, 2 used wrongly, 130 interrupted. Not legal advice.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer hands it over by position
    if wanted:
        from sicetnon import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def describe_program(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Find the court documents that support or refute a legal proposition."""


demo.register(app)
ask.register(app)
learn.register(app)
serve.register(app)
app.add_typer(index.app, name="index")
sparse.register(app)


def main() -> None:
    """Run the program and leave with its exit status."""
    _ready_streams()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _leave)  # so that what is unfinished is removed
    try:
        app()
    except BrokenPipeError:
        # The reader of our output has left (``| head``): nothing to say, and nothing more to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (SicetnonError, OSError) as error:
        # An ID or a path may hold a line break, and worse.
        sys.stderr.write(f"error: {harmless(' '.join(str(error).splitlines()))}\n")
        sys.exit(1)
    except KeyboardInterrupt:  # before typer's own handling of it
        sys.stderr.write("error: interrupted\n")
        sys.exit(INTERRUPTED)
    except SystemExit as leaving:
        if leaving.code == INTERRUPTED:
            sys.stderr.write("error: interrupted\n")
        raise


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def _ready_streams() -> None:
    """Give a closed stream a place to write to, and one that is not of UTF-8 a way to write every character."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # Not under the number of the closed one: what is written to that must fail, and not vanish.
            low = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(fcntl.fcntl(low, fcntl.F_DUPFD, 10), "w", encoding="utf-8"))
            os.close(low)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
