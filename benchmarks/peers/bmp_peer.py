"""BMP: block-max pruning (Mallia, Suel and Tonellotto, SIGIR 2024), compiled from Rust."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import bmp
import numpy as np

from peers.collection import Collection
from peers.peer import Setting

BLOCK = 32  # documents; the library's default
_SETTINGS = ((1.0, 1.0), (0.7, 1.0), (0.8, 0.8), (0.8, 0.6))  # alpha, beta
_LARGEST_SUM = 2**16 - 1  # scores are 16 bits wide and run over unnoticed, which loses the best documents
_QUERY_STEPS = 32  # the largest weight of a query becomes this
_LARGEST_TABLE = 3_000_000_000  # bytes of block maxima, a byte for each block and term, above which they are compressed


class Bmp:
    """Impacts of documents are bytes here, weights of query terms become integers up to 32."""

    package = "bmp"
    compiled = True

    def __init__(self, *, impacts: bool) -> None:
        """Say where the weights of terms go: into the postings' impacts, or to the query."""
        self._impacts = impacts
        where = "in the postings" if impacts else f"with the query, where it becomes one of {_QUERY_STEPS} steps"
        self.note = (
            f"index in memory, blocks of {BLOCK}; the weight of a term is {where}; impacts are bytes, as high as keeps "
            "its 16-bit sums from running over on these queries"
        )

    def build(self, collection: Collection, folder: Path) -> None:
        highest = self._choose_highest(collection)
        scale = collection.scale_impacts if self._impacts else collection.scale_posting_weights
        impacts = scale(highest)
        tokens = collection.tokens
        table = collection.document_count // BLOCK * collection.term_count
        indexer = bmp.Indexer(str(folder / "index.bmp"), bsize=BLOCK, compress_range=table > _LARGEST_TABLE)
        for number, (terms, values) in enumerate(collection.iter_documents(impacts)):
            indexer.add_document(str(number), {tokens[term]: value for term, value in zip(terms, values, strict=True)})
        indexer.finish()

    def _choose_highest(self, collection: Collection) -> int:
        """Return the highest impact with which no query's sum can run over, at most a byte."""
        weights = collection.term_weights
        if self._impacts:
            top = float(collection.impacts.max())
            reaches = [_QUERY_STEPS * float(weights[query].sum()) / top for query in collection.queries]
        else:
            reaches = [float((weights[q] * (_QUERY_STEPS / weights[q].max()) + 1).sum()) for q in collection.queries]
        return min(255, int(_LARGEST_SUM / max(reaches)))

    def open(self, collection: Collection, folder: Path, *, k: int) -> list[Setting]:
        searcher = bmp.Searcher(str(folder / "index.bmp"))
        weights = np.ones(collection.term_count) if self._impacts else collection.term_weights
        tokens = collection.tokens
        queries = [{tokens[term]: float(weights[term]) for term in query} for query in collection.queries]

        def answer(alpha: float, beta: float) -> list[tuple[list[str], list[float]]]:
            return [searcher.search(query, k=k, alpha=alpha, beta=beta) for query in queries]

        return [
            Setting(f"alpha {a}, beta {b}", partial(answer, a, b), _read, approximate=(a, b) != (1.0, 1.0))
            for a, b in _SETTINGS
        ]


def _read(answers: list[tuple[list[str], list[float]]]) -> list[list[int]]:
    return [list(map(int, doc_ids)) for doc_ids, _ in answers]


def make_peer(variant: str) -> Bmp:
    return Bmp(impacts=variant == "impacts")
