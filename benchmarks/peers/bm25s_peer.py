"""bm25s: scores reckoned when the index is built, summed by term with NumPy or Numba."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import bm25s
import numpy as np
from numpy.typing import NDArray

from peers.collection import K1, B, Collection
from peers.peer import Setting


class Bm25s:
    """Query terms have no weights here: the weight of a term is in its postings."""

    package = "bm25s"

    def __init__(self, backend: str) -> None:
        """Name the backend of retrieval; bm25s builds with NumPy under both."""
        self._backend = backend
        self.compiled = backend == "numba"
        self.note = f"index in memory, {backend} backend; unweighted: its scores are replaced by ln(1 + N / df)"

    def build(self, collection: Collection, folder: Path) -> None:
        # k1 of 0 makes every score an idf: the arrays then have the postings' order, and the weights are put in.
        k1, b = (K1, B) if collection.weighted else (0.0, 0.0)
        index = bm25s.BM25(k1=k1, b=b, method="lucene", backend=self._backend)
        vocabulary = {token: number for number, token in enumerate(collection.tokens)}
        index.index((_Bags(collection), vocabulary), show_progress=False)
        if not collection.weighted:
            counts = np.diff(index.scores["indptr"])[: collection.term_count]
            index.scores["data"] = np.repeat(collection.term_weights, counts).astype(np.float32)
        index.save(folder, show_progress=False)

    def open(self, collection: Collection, folder: Path, *, k: int) -> list[Setting]:
        index = bm25s.BM25.load(folder, backend=self._backend, show_progress=False)
        queries = [query.tolist() for query in collection.queries]
        answer = partial(index.retrieve, queries, k=k, return_as="tuple", show_progress=False, n_threads=0)
        return [Setting("retrieve", answer, _read)]


class _Bags(list):  # a list by name alone: bm25s asks for one, but only iterates and takes its length
    """The documents as lists of terms, each as often as it occurs, without holding all of them at once."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def __len__(self) -> int:
        return self._collection.document_count

    def __iter__(self) -> Iterator[list[int]]:
        for terms, frequencies in self._collection.iter_documents(self._collection.frequencies):
            yield np.repeat(terms, frequencies).tolist() if self._collection.weighted else terms


def _read(answers: bm25s.Results) -> NDArray[np.int32]:
    return answers.documents


def make_peer(variant: str) -> Bm25s:
    return Bm25s(variant)
