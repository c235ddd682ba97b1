"""Signals -> what a ranker is told of each candidate, and the sum that picks the candidates.

A document that propositions are known of is found by them too; one that none is known of must not suffer for it. So
what the nearest proposition says counts only where it says more than the document's own passages: the *lift*.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sicetnon.relevance.signals import Signals

Floats = npt.NDArray[np.float64]
Ordinals = npt.NDArray[np.int64]

LIFTED = 0.6  # the share of the lift that is added to the passage's cosine: of 0.3 to 1, flat from 0.5 to 0.7
# How much the standard scores count in picking candidates.
PICKED_BY = {"joined": 1.0, "document": 0.5, "words": 0.3}
STANDARD = ("expanded words", "passage", "last passage", "document", "joined")
COSINES = ("passage", "last passage", "document", "nearest", "nearest two", "lift", "joined")
LAGGING = ("expanded words", "passage", "document", "nearest", "joined")
RANKED_BY = ("passage", "document", "joined")
BEST_OF_ALL = ("passage", "nearest", "joined")

FEATURES = (
    "sum",
    *(f"{signal}, standard score" for signal in STANDARD),
    *COSINES,
    *(f"{signal}, below the best" for signal in LAGGING),
    *(f"{signal}, log of the rank" for signal in RANKED_BY),
    *(f"{signal}, best of all" for signal in BEST_OF_ALL),
    "known propositions",
)


def join_signals(signals: Signals) -> Signals:
    """The signals, and what comes of passages and known propositions together: "lift" and "joined"."""
    lift = np.maximum(signals["nearest"] - signals["passage"], 0)
    return {**signals, "lift": lift, "joined": signals["passage"] + np.float32(LIFTED) * lift}


def standardise(signal: npt.NDArray[np.floating]) -> Floats:
    """Bring each row to mean 0 and standard deviation 1; a row of equal values becomes 0."""
    values = np.ascontiguousarray(signal, np.float64)
    differs = values.max(axis=1, keepdims=True) > values.min(axis=1, keepdims=True)
    deviation = np.where(differs, values.std(axis=1, keepdims=True), 1)
    standard: Floats = np.where(differs, (values - values.mean(axis=1, keepdims=True)) / deviation, 0)
    return standard


def pick_scores(joined: Signals) -> Floats:
    """The sum of the standard scores by which candidates are picked: float64 [queries, documents]."""
    total: Floats = np.sum([weight * standardise(joined[name]) for name, weight in PICKED_BY.items()], axis=0)
    return total


def describe(joined: Signals, query: int, picked: Floats, candidates: Ordinals) -> Floats:
    """What the ranker is told of the candidates of one query of a block: float64 [candidates, ``FEATURES``].

    ``joined`` is what ``join_signals`` gave; ``picked`` float64 [documents] the query's row of ``pick_scores``.
    """
    rows = {name: signal[query].astype(np.float64) for name, signal in joined.items()}
    columns = [picked[candidates]]
    columns += [standardise(rows[name][None])[0, candidates] for name in STANDARD]
    columns += [rows[name][candidates] for name in COSINES]
    columns += [rows[name][candidates] - rows[name].max() for name in LAGGING]
    columns += [np.log1p(_count_better(rows[name], candidates)) for name in RANKED_BY]
    columns += [np.full(len(candidates), rows[name].max()) for name in BEST_OF_ALL]
    columns += [np.log1p(rows["known"][candidates])]
    return np.stack(columns, axis=1)


def _count_better(values: Floats, candidates: Ordinals) -> Ordinals:
    """How many of all documents have a higher value than each candidate."""
    better: Ordinals = len(values) - np.searchsorted(np.sort(values), values[candidates], side="right")
    return better
