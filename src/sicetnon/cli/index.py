"""``index``: build an index of a corpus, look at one, check one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sicetnon.types import Document

if TYPE_CHECKING:
    from sicetnon.stance import StanceModel

app = typer.Typer(help="Build, describe and verify indexes of court documents.", no_args_is_help=True)

IndexDir = Annotated[Path, typer.Argument(metavar="INDEX_DIR", help="An index directory.")]


@app.command(epilog="Example: sicetnon index build --corpus corpus.jsonl --index-dir my-index")
def build(
    *,
    corpus: Annotated[Path, typer.Option(help="JSONL rows with doc_id and text.")],
    index_dir: Annotated[Path, typer.Option("--index-dir", "-i", help="Where to put the index.")],
    encoder: Annotated[
        str,
        typer.Option(
            envvar="SICETNON_ENCODER",
            help='"embedded", a local sentence-transformers directory, or "endpoint": texts are sent to the URL in '
            "SICETNON_ENDPOINT_URL.",
        ),
    ] = "embedded",
    try_encoder: Annotated[
        Path | None,
        typer.Option(
            help="A local directory to use in its place if it is there, loads, and is fast enough on this machine."
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(envvar="SICETNON_MODEL", help="A model that sicetnon train wrote, encoder included."),
    ] = None,
    stance_model: Annotated[
        Path | None,
        typer.Option(help="A stance model of sicetnon train-stance; without it, the one that ships."),
    ] = None,
) -> None:
    """Build an index of a corpus. An index that stands there stays in use until the new one is whole."""
    from sicetnon.cli.progress import show_progress
    from sicetnon.corpora import read_documents
    from sicetnon.dense import load_encoder
    from sicetnon.dense.encoder import EMBEDDED
    from sicetnon.dense.trial import hold_trial
    from sicetnon.ingest import build_index
    from sicetnon.relevance import RetrievalModel

    judging = _read_stance_model(stance_model)
    trained = RetrievalModel.open(model) if model else None
    if trained and encoder != EMBEDDED:
        sys.stderr.write(f"note: the encoder of {model} is used, not {encoder}\n")
    documents: Iterable[Document] = read_documents(corpus)
    chosen = None
    if encoder == EMBEDDED and try_encoder is not None and trained is None:
        documents = list(documents)
        trial = hold_trial(try_encoder, [document.text for document in documents])
        sys.stderr.write(f"note: {trial.reason}\n")
        chosen = trial.encoder
    with show_progress() as report:
        done = build_index(
            documents,
            index_dir,
            encoder=chosen or (None if trained else load_encoder(encoder)),
            model=trained,
            stance_model=judging,
            progress=report,
        )
    if done.unread_dates:
        sys.stderr.write(
            f"note: {done.unread_dates:,} documents have a date in decided that is not of the form 2004-06-24; it is "
            "kept as metadata and no date filter passes them\n"
        )
    sys.stderr.write(f"{done.documents:,} documents, {done.passages:,} passages, {done.sentences:,} sentences\n")


@app.command(epilog="Example: sicetnon index info my-index --json")
def info(
    index_dir: IndexDir, *, as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False
) -> None:
    """Say what an index holds and what built it."""
    from sicetnon.storage import StoredDirectory

    stored = StoredDirectory.open(index_dir, kind=None)
    manifest = stored.manifest
    about: dict[str, object] = {
        "kind": manifest.kind,
        "generation": manifest.generation,
        "bytes": sum(entry.bytes for entry in manifest.files.values()),
        **{f"count of {name}": count for name, count in manifest.counts.items()},
        **manifest.settings,
        **{f"built by {name}": version for name, version in manifest.built_by.items()},
    }
    if as_json:
        typer.echo(json.dumps(about, indent=2))
    else:
        for name, value in about.items():
            typer.echo(f"{name.replace('_', ' ')}: {value}")


@app.command(epilog="Example: sicetnon index verify my-index")
def verify(index_dir: IndexDir) -> None:
    """Read every byte of an index and compare it with the checksums of its manifest."""
    from sicetnon.storage import StoredDirectory

    stored = StoredDirectory.open(index_dir, kind=None)
    stored.verify()
    typer.echo(f"{index_dir}: {len(stored.manifest.files)} files as they were written")


def _read_stance_model(path: Path | None) -> StanceModel | None:
    from sicetnon.errors import ModelError
    from sicetnon.stance import StanceModel

    if path is None:
        return None
    try:
        return StanceModel.from_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ModelError(
            f"{path} cannot be read ({reason})", expected="a stance model", remedy="check the path"
        ) from error
