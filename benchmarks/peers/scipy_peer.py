"""SciPy: documents x terms in compressed rows, times the query, then the best by np.argpartition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from peers.collection import Collection
from peers.peer import Setting


class ScipyCsr:
    """Every posting of every document is read for every query."""

    package = "scipy"
    compiled = True
    note = "rows in memory (float32, int32), kept here as NumPy files; the query is a dense float32 vector"

    def build(self, collection: Collection, folder: Path) -> None:
        np.save(folder / "data.npy", collection.posting_weights)
        np.save(folder / "terms.npy", collection.terms)
        # Offsets of the same type as the terms, where they fit: SciPy would copy both to the wider one.
        fits = len(collection.terms) < 2**31
        np.save(folder / "offsets.npy", collection.offsets.astype(np.int32 if fits else np.int64))

    def open(self, collection: Collection, folder: Path, *, k: int) -> list[Setting]:
        parts = [np.load(folder / f"{name}.npy") for name in ("data", "terms", "offsets")]
        rows = csr_array(tuple(parts), shape=(collection.document_count, collection.term_count), copy=False)
        queries = []
        for query in collection.queries:
            vector = np.zeros(collection.term_count, np.float32)
            vector[query] = collection.term_weights[query]
            queries.append(vector)

        def answer() -> list[NDArray[np.intp]]:
            found = []
            for vector in queries:
                scores = rows @ vector
                best = np.argpartition(scores, -k)[-k:]
                found.append(best[np.argsort(-scores[best], kind="stable")])
            return found

        return [Setting("csr @ query", answer, list)]


def make_peer(_variant: str) -> ScipyCsr:
    return ScipyCsr()
