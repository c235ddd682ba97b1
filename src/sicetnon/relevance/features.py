"""Signals -> what a ranker is told of each candidate, and the sum that picks the candidates."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sicetnon.relevance.signals import Signals

Floats = npt.NDArray[np.float64]

# How much each signal's standard score counts in picking candidates. Whole and half numbers: nothing here was fitted.
PICKED_BY = {"words": 0.5, "passage": 1.0, "document": 0.5, "expanded words": 1.0, "nearest": 0.5}
COSINES = ("passage", "document", "nearest", "nearest two")
LAGGING = ("passage", "nearest", "expanded words")
STANDARD = ("words", "passage", "document", "expanded words", "nearest", "nearest two")

FEATURES = (
    "sum",
    *(f"{signal}, standard score" for signal in STANDARD),
    *COSINES,
    *(f"{signal}, below the best" for signal in LAGGING),
    *(f"{signal}, best of all" for signal in ("passage", "nearest")),
    "propositions known",
)


def standardise(signal: npt.NDArray[np.floating]) -> Floats:
    """Bring each row to mean 0 and standard deviation 1; a row of equal values becomes 0."""
    values = np.ascontiguousarray(signal, np.float64)
    deviation = values.std(axis=1, keepdims=True)
    standard: Floats = (values - values.mean(axis=1, keepdims=True)) / np.where(deviation > 0, deviation, 1)
    return standard


def pick_scores(signals: Signals) -> Floats:
    """The sum of the standard scores by which candidates are picked: float64 [queries, documents]."""
    total: Floats = np.sum([weight * standardise(signals[name]) for name, weight in PICKED_BY.items()], axis=0)
    return total


def describe(signals: Signals, query: int, picked: Floats, candidates: npt.NDArray[np.int64]) -> Floats:
    """What the ranker is told of the candidates of one query of a block: float64 [candidates, ``FEATURES``].

    ``picked`` float64 [documents] is the query's row of ``pick_scores``.
    """
    rows = {name: signal[query].astype(np.float64) for name, signal in signals.items()}
    columns = [picked[candidates]]
    columns += [standardise(rows[name][None])[0, candidates] for name in STANDARD]
    columns += [rows[name][candidates] for name in COSINES]
    columns += [rows[name][candidates] - rows[name].max() for name in LAGGING]
    columns += [np.full(len(candidates), rows[name].max()) for name in ("passage", "nearest")]
    columns += [np.log1p(rows["known"][candidates])]
    return np.stack(columns, axis=1)
