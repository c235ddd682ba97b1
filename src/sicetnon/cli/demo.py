"""``demo``: an index of the bundled decisions, and three propositions asked of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

PROPOSITIONS = (
    ("supported", "The police need a warrant before they may look through the phone of someone they have arrested."),
    ("refuted", "Public schools may be separated by race as long as the schools are equally good."),
    ("both", "Burning the national flag in protest can be punished as a crime."),
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
    from sicetnon.search import Searcher
    from sicetnon.types import Query, Stance

    place = prepare_demo_index(index_dir)
    searcher = Searcher.open(place)
    console = Console(highlight=False)
    for stance, proposition in PROPOSITIONS:
        if stance == "both":
            print_both(console, *searcher.search_both(Query(proposition=proposition, top_k=2, min_relevance=0.05)))
        else:
            print_ranking(console, searcher.search(Query(proposition=proposition, stance=Stance(stance), top_k=2)))
        console.print()
    own = "" if index_dir is None else f" --index-dir {place}"
    console.print("Probabilities are the model's, and it errs often: read the decision. Not legal advice.")
    console.print(f'Ask your own:  sicetnon search "The President may refuse to spend money"{own}', soft_wrap=True)


def prepare_demo_index(place: Path | None = None) -> Path:
    """Where the demo's index is; it is built first if there is none, or one of other decisions or models."""
    from sicetnon.cli.progress import show_progress
    from sicetnon.corpora import read_bundled_decisions
    from sicetnon.errors import IndexDirectoryError
    from sicetnon.ingest import build_index, describe_build
    from sicetnon.storage import StoredDirectory

    place = place or _cache() / "demo-index"
    decisions = list(read_bundled_decisions())
    try:
        settings = StoredDirectory.open(place, kind="legal").settings
        wanted = describe_build(decisions)
        if wanted.items() <= settings.items():
            return place
    except IndexDirectoryError:
        pass  # none, or one that cannot be used: the build says so if it may not replace it
    sys.stderr.write(f"Building the demo's index of {len(decisions)} decisions in {place} ...\n")
    with show_progress() as report:
        build_index(decisions, place, progress=report)
    return place


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sicetnon"
