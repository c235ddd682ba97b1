"""Sicetnon: given a legal proposition, the court documents that support it and those that refute it.

This is the public shelf. Every name is loaded when it is first used, so ``import sicetnon`` does no work, and
``import sicetnon.sparse`` needs NumPy alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sicetnon.corpora import read_bundled_decisions as read_bundled_decisions
    from sicetnon.corpora import read_documents as read_documents
    from sicetnon.corpora import read_queries as read_queries
    from sicetnon.errors import SicetnonError as SicetnonError
    from sicetnon.ingest import build_index as build_index
    from sicetnon.search import Searcher as Searcher
    from sicetnon.types import BothSides as BothSides
    from sicetnon.types import Document as Document
    from sicetnon.types import DocumentReading as DocumentReading
    from sicetnon.types import Evidence as Evidence
    from sicetnon.types import Filters as Filters
    from sicetnon.types import Hit as Hit
    from sicetnon.types import IndexDescription as IndexDescription
    from sicetnon.types import PassageReading as PassageReading
    from sicetnon.types import Query as Query
    from sicetnon.types import Ranking as Ranking
    from sicetnon.types import Side as Side
    from sicetnon.types import SideProbabilities as SideProbabilities
    from sicetnon.types import Span as Span
    from sicetnon.types import Stance as Stance
    from sicetnon.types import Treatment as Treatment

__version__ = "0.1.0"

_HOMES = {
    "BothSides": "types",
    "Document": "types",
    "DocumentReading": "types",
    "Evidence": "types",
    "Filters": "types",
    "Hit": "types",
    "IndexDescription": "types",
    "PassageReading": "types",
    "Query": "types",
    "Ranking": "types",
    "Searcher": "search",
    "SicetnonError": "errors",
    "Side": "types",
    "SideProbabilities": "types",
    "Span": "types",
    "Stance": "types",
    "Treatment": "types",
    "build_index": "ingest",
    "read_bundled_decisions": "corpora",
    "read_documents": "corpora",
    "read_queries": "corpora",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - sorted gives a list


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
