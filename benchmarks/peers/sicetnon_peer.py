"""Sicetnon's own sparse engine, in the process."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from peers.collection import K1, B, Collection
from peers.peer import Setting
from sicetnon.sparse import Bm25, IdfOverlap, ScoredDocument, Scoring, SparseIndex, SparseIndexBuilder


class SicetnonSparse:
    """Strings in, records with document IDs out."""

    package = "sicetnon"
    compiled = False
    note = "maps its index; the time holds the look-up of terms and the records with document IDs"

    def build(self, collection: Collection, folder: Path) -> None:
        names = collection.names
        with SparseIndexBuilder(folder / "index") as builder:
            documents = collection.iter_documents(collection.frequencies)
            for doc_id, (terms, frequencies) in zip(collection.doc_ids, documents, strict=True):
                strings = [names[term] for term in terms]
                builder.add(doc_id, dict(zip(strings, frequencies, strict=True)) if collection.weighted else strings)
            builder.commit(tunes=True)  # finds the budget of the fast mode; its time counts

    def open(self, collection: Collection, folder: Path, *, k: int) -> list[Setting]:
        index = open_index(folder)
        queries = [[collection.names[term] for term in query] for query in collection.queries]
        scoring = choose_scoring(collection)
        search = partial(index.search_batch, queries, top_k=k, scoring=scoring)
        return [
            Setting("exact", search, _read, approximate=False),
            Setting("fast", partial(search, budget=index.budget), _read, approximate=True),
        ]


def open_index(folder: Path) -> SparseIndex:
    return SparseIndex.open(folder / "index")


def choose_scoring(collection: Collection) -> Scoring:
    return Bm25(K1, B) if collection.weighted else IdfOverlap()


def _read(answers: list[list[ScoredDocument]]) -> list[list[int]]:
    return [[document.ordinal for document in found] for found in answers]


def make_peer(_variant: str) -> SicetnonSparse:
    return SicetnonSparse()
