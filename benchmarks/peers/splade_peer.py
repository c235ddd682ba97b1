"""splade-index: columns summed by term with Numba, weighted by the query."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import splade_index

from peers.collection import Collection
from peers.peer import Setting


class SpladeIndex:
    """Its index() takes an encoder's output: here the same columns are laid by SciPy."""

    package = "splade-index"
    compiled = True
    note = "index in memory, Numba backend; queries are handed over as a model's vectors, without a model"

    def build(self, collection: Collection, folder: Path) -> None:
        for name, values in zip(
            ("data", "indices", "indptr"), collection.invert(collection.posting_weights), strict=True
        ):
            np.save(folder / f"{name}.npy", values)

    def open(self, collection: Collection, folder: Path, *, k: int) -> list[Setting]:
        index = splade_index.SPLADE(backend="numba")
        index.scores = {name: np.load(folder / f"{name}.npy") for name in ("data", "indices", "indptr")}
        index.scores["num_docs"] = collection.document_count
        index.document_ids = np.arange(collection.document_count)
        index.unique_token_ids_set = set(range(collection.term_count))
        weights = collection.term_weights.astype(np.float32)
        index.model = _Vectors([_Vector(query, weights[query]) for query in collection.queries])
        texts = [str(number) for number in range(len(collection.queries))]
        answer = partial(index.retrieve, texts, k=k, return_as="doc_ids", show_progress=False)
        return [Setting("retrieve", answer, list)]


class _Vectors:
    """Stands where a sentence-transformers SparseEncoder would: a query's text is its number."""

    def __init__(self, vectors: list[_Vector]) -> None:
        self._vectors = vectors

    def encode_query(self, queries: list[str], **_options: Any) -> list[_Vector]:
        return [self._vectors[int(query)] for query in queries]


class _Vector:
    """Stands where a sparse torch tensor would: indices int32[terms], values float32[terms]."""

    def __init__(self, indices: np.ndarray, values: np.ndarray) -> None:
        self._indices, self._values = indices, values

    def coalesce(self) -> _Vector:
        return self

    def indices(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(numpy=lambda: self._indices)]

    def values(self) -> SimpleNamespace:
        return SimpleNamespace(numpy=lambda: self._values)


def make_peer(_variant: str) -> SpladeIndex:
    return SpladeIndex()
