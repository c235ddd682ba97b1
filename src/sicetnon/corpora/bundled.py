"""The decisions and judged propositions that ship with the package (``sicetnon/data/``)."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

from sicetnon.corpora.contrasts import read_contrasts
from sicetnon.corpora.documents import read_documents
from sicetnon.corpora.labels import read_propositions
from sicetnon.types import ContrastSet, Document, JudgedProposition

DATA = files("sicetnon") / "data"


def read_bundled_decisions() -> Iterator[Document]:
    """The bundled US Supreme Court decisions, digested in our own words, in order of decision."""
    with as_file(DATA / "decisions.jsonl") as path:
        yield from read_documents(Path(path))


def read_bundled_propositions() -> list[JudgedProposition]:
    """The bundled propositions with the side that named bundled decisions take toward them."""
    with as_file(DATA / "propositions.jsonl") as path:
        return read_propositions(Path(path))


def read_bundled_contrasts() -> list[ContrastSet]:
    """The bundled contrast sets: legal holdings and views in debates, in our own words."""
    with as_file(DATA / "contrasts.jsonl") as path:
        return read_contrasts(Path(path))
