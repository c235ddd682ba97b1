"""How much a document is on point, whatever its side: signals of all documents, fused by their standard scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from sicetnon.collection import Collection
from sicetnon.dense import max_similarity, similarities
from sicetnon.dense.encoder import Vectors
from sicetnon.relevance.features import standardise
from sicetnon.relevance.logistic import to_probability
from sicetnon.relevance.signals import BM25
from sicetnon.text import analyze

Scores = npt.NDArray[np.float64]

# Logistic calibration of the fused score on the bundled propositions: see benchmarks/calibrate_relevance.py.
SLOPE, INTERCEPT = 0.6, -8.9


def fused_scores(collection: Collection, propositions: Sequence[str], vectors: Vectors) -> Scores:
    """The sum of the signals of every document: float64 [len(propositions), documents].

    The arguments are those of ``standard_signals``.
    """
    return sum_signals(standard_signals(collection, propositions, vectors))


def sum_signals(standard: Mapping[str, Scores]) -> Scores:
    """The sum of signals of one shape. No weights: there is no labelled data of the user's to fit them on."""
    signals = list(standard.values())
    fused = np.zeros_like(signals[0])
    for signal in signals:
        fused += signal
    return fused


def standard_signals(collection: Collection, propositions: Sequence[str], vectors: Vectors) -> dict[str, Scores]:
    """Each signal of every document for each of a block of propositions: float64 [len(propositions), documents].

    ``vectors`` float32 [len(propositions), d] are those of the propositions, at most ``QUERIES_AT_ONCE``. Every row of
    a signal has mean 0 and standard deviation 1 over the documents; a row of equal values becomes 0.
    """
    lexical = [collection.lexical.scores(analyze(proposition), scoring=BM25) for proposition in propositions]
    return {
        "words": standardise(np.array(lexical)),
        "passage": standardise(max_similarity(vectors, collection.passages.vectors, collection.passages.starts).T),
        "sentence": standardise(max_similarity(vectors, collection.sentences.vectors, collection.sentences.starts).T),
        "document": standardise(similarities(vectors, collection.document_vectors).T),
    }


def relevance_probability(fused: Scores) -> Scores:
    """The probability that a document with this fused score is on point (logistic calibration)."""
    return to_probability(SLOPE * fused + INTERCEPT)
