"""``demo``: an index of the bundled decisions, and three propositions asked of it."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sicetnon.types import Document

if TYPE_CHECKING:
    from sicetnon.search import Searcher
    from sicetnon.stance import StanceJudge

LONGEST_WAIT = 300  # seconds, for another process that builds the demo's index
PROPOSITIONS = (
    ("supported", "Someone too poor to pay for a lawyer must be given one when charged with a serious crime."),
    ("refuted", "Students may be punished for quietly wearing an armband to protest a war."),
    ("both", "Public employees may be required to pay fees to a union they have not joined."),
)


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: sicetnon demo")(demo)


def demo(
    *,
    index_dir: Annotated[
        Path | None, typer.Option("--index-dir", "-i", help="Where to keep the index; without it, the user's cache.")
    ] = None,
) -> None:
    """Index the bundled decisions, if that was not done before, and answer three propositions."""
    from rich.console import Console

    from sicetnon.cli.render import print_both, print_ranking
    from sicetnon.types import MIN_RELEVANCE, Query, Stance

    searcher = open_demo(index_dir)
    console = Console(highlight=False)
    for stance, proposition in PROPOSITIONS:
        query = Query(proposition=proposition, top_k=2, min_relevance=MIN_RELEVANCE)
        if stance == "both":
            print_both(console, searcher.search_both(query))
        else:
            print_ranking(console, searcher.search(replace(query, stance=Stance(stance))))
        console.print()
    console.print("Probabilities are the model's, and it errs often: read the decision. Not legal advice.")
    search = f'{_program()} search "The President may refuse to spend money"'
    serve = f"{_program()} serve"
    if index_dir is not None:
        search, serve = f"{search} --index-dir {index_dir}", f"{serve} {index_dir}"
    console.print(f"Ask your own:  {search}\nOpen the page: {serve}", soft_wrap=True)


def open_demo(place: Path | None = None, *, judge: StanceJudge | None = None) -> Searcher:
    """Open the demo's index; it is built first if there is none, one of other decisions or models, or a damaged one.

    Where another process is building it, that one is waited for.
    """
    from sicetnon.corpora import read_bundled_decisions
    from sicetnon.errors import IndexDamaged
    from sicetnon.search import Searcher

    place = place or _cache() / "demo-index"
    decisions = list(read_bundled_decisions())
    if not _is_current(place, decisions):
        _build(place, decisions)
    try:
        return Searcher.open(place, judge=judge)
    except IndexDamaged:
        _build(place, decisions)
        return Searcher.open(place, judge=judge)


def _build(place: Path, decisions: Sequence[Document]) -> None:
    from sicetnon.cli.progress import show_progress
    from sicetnon.errors import IndexLocked
    from sicetnon.ingest import build_index

    sys.stderr.write(f"Building the demo's index of {len(decisions)} decisions in {place} ...\n")
    deadline = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            with show_progress() as report:
                build_index(decisions, place, progress=report)
        except IndexLocked:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
            if _is_current(place, decisions):
                return
        else:
            return


def _is_current(place: Path, decisions: Sequence[Document]) -> bool:
    from sicetnon.dense.embedded import FINGERPRINT
    from sicetnon.errors import IndexDirectoryError
    from sicetnon.ingest import BUNDLED, PASSAGE_WORDS, digest_corpus
    from sicetnon.storage import StoredDirectory

    wanted = {
        "corpus_digest": digest_corpus(decisions),
        "encoder_fingerprint": FINGERPRINT,
        "passage_words": PASSAGE_WORDS,
        "stance_model": BUNDLED,
    }
    try:
        return wanted.items() <= StoredDirectory.open(place, kind="legal").settings.items()
    except IndexDirectoryError:
        return False  # none, or one that cannot be used: the build says so if it may not replace it


def _program() -> str:
    """How the reader may call this program again: by its name where the shell finds it, else by its path."""
    called = Path(sys.argv[0])
    if called.name != "sicetnon":
        return f"{sys.executable} -m sicetnon"
    found = shutil.which("sicetnon")
    same = found is not None and Path(found).resolve() == called.resolve()
    return "sicetnon" if same else str(called)


def _cache() -> Path:
    from sicetnon.errors import InputError

    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "sicetnon"
    try:
        return Path.home() / ".cache" / "sicetnon"
    except RuntimeError as error:
        raise InputError(
            "this user has no home to keep the demo's index in",
            expected="HOME or XDG_CACHE_HOME in the environment",
            remedy="set one of them, or name an index with --index-dir",
        ) from error
