"""Signals: for a proposition, one number of every document, by words, by vectors, by what is known of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sicetnon.collection import Collection, Memory
from sicetnon.dense import similarities
from sicetnon.dense.encoder import Vectors
from sicetnon.sparse import Bm25, SparseIndex
from sicetnon.text import analyze

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Signals = dict[str, Floats]

BM25 = Bm25(k1=1.2, b=0.75)
NONE_NEAR = 0.0  # the cosine of a document that no proposition is known of


class Sources(NamedTuple):
    """What signals are measured on: the parts of an index, or of one that is in the making.

    ``lexical`` is a sparse index of all documents; ``passages`` float32 [passages, d] are their passages' vectors,
    ``starts`` int64 [documents] the first passage of each, ``documents`` float32 [documents, d] a vector of each.
    """

    lexical: SparseIndex
    passages: Vectors
    starts: Ints
    documents: Vectors
    memory: Memory | None

    @classmethod
    def of(cls, collection: Collection) -> Sources:
        """Those of an opened index."""
        passages = collection.passages
        return cls(
            collection.lexical, passages.vectors, passages.starts, collection.document_vectors, collection.memory
        )


def measure_signals(
    sources: Sources, propositions: Sequence[str], vectors: Vectors, *, recalling: Vectors | None = None
) -> Signals:
    """Each signal of every document for each of a block of propositions: float32 [len(propositions), documents].

    ``vectors`` float32 [len(propositions), d] are those of the propositions, at most ``QUERIES_AT_ONCE``;
    ``recalling`` theirs by the instruction that the memory was encoded with, where ``vectors`` are by another.
    """
    terms = [analyze(proposition) for proposition in propositions]
    cosines = similarities(vectors, sources.passages)
    lasts = np.append(sources.starts[1:], len(sources.passages)) - 1
    signals = {
        "words": _score_words(sources.lexical, terms),
        "passage": np.maximum.reduceat(cosines, sources.starts, axis=0).T,
        "last passage": cosines[lasts].T,  # where decisions are told in order, what was decided
        "document": similarities(vectors, sources.documents).T,
    }
    if sources.memory is not None:
        signals["expanded words"] = _score_words(sources.memory.expanded, terms)
        compared = vectors if recalling is None else recalling
        signals |= _measure_memory(sources.memory, compared, len(sources.documents))
    return signals


def _score_words(index: SparseIndex, queries: Sequence[Sequence[str]]) -> Floats:
    return np.array([index.scores(terms, scoring=BM25) for terms in queries], np.float32)


def _measure_memory(memory: Memory, vectors: Vectors, document_count: int) -> Signals:
    """By the propositions known of each document: the nearest's cosine, the mean of the nearest two, their number."""
    shape = (len(vectors), document_count)
    nearest, pair = np.full(shape, NONE_NEAR, np.float32), np.full(shape, NONE_NEAR, np.float32)
    known = np.zeros(shape, np.float32)
    if len(memory.documents):
        cosines = similarities(vectors, memory.vectors).T[:, memory.propositions]  # [queries, links]
        starts = np.flatnonzero(np.diff(memory.documents, prepend=-1))
        counts = np.diff(starts, append=len(memory.documents))
        documents = memory.documents[starts]
        first = np.maximum.reduceat(cosines, starts, axis=1)
        rest = np.where(_is_first(cosines, first, starts, counts), -np.inf, cosines)
        second = np.maximum.reduceat(rest, starts, axis=1)
        nearest[:, documents] = first
        pair[:, documents] = np.where(counts > 1, (first + second) / 2, first / 2)
        known[:, documents] = counts
    return {"nearest": nearest, "nearest two": pair, "known": known}


def _is_first(cosines: Floats, best: Floats, starts: Ints, counts: Ints) -> npt.NDArray[np.bool_]:
    """Which links are their document's best: one for each document, the first where several are as near."""
    is_best = cosines == np.repeat(best, counts, axis=1)
    so_far = np.cumsum(is_best, axis=1)
    before = so_far[:, starts] - is_best[:, starts]
    is_first: npt.NDArray[np.bool_] = is_best & (so_far - np.repeat(before, counts, axis=1) == 1)
    return is_first
