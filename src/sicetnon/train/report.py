"""What a trained model is worth on propositions it was not trained on: measures, ablation, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sicetnon.relevance.features import FEATURES
from sicetnon.relevance.ranker import Ranker
from sicetnon.train.labelled import Labelled
from sicetnon.train.ranker import Described, RankerSettings, fit_ranker
from sicetnon.types import Stance

CUTOFF, DEEP = 10, 100
RESAMPLES = 1_000
LEVEL = 0.95
BINS = 10
# What is taken away to see what it adds: the features that begin so.
PARTS = {
    "words": ("words",),
    "propositions as words": ("expanded words",),
    "passages": ("passage", "last passage", "joined"),
    "whole documents": ("document",),
    "nearest propositions": ("nearest", "nearest two", "lift", "joined"),
    "number of propositions": ("known propositions",),
}
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean, and the interval that holds it with a chance of ``LEVEL``, by resampling propositions."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Slice:
    """Some of the labelled queries: nDCG@10 with binary gains, and R@100."""

    queries: int
    ndcg: Estimate
    recall: float


@dataclass(frozen=True, slots=True)
class Ablation:
    """The ranker without a part: nDCG@10 of all queries, and how much that part adds."""

    ndcg: float
    gain: Estimate


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Candidates of like probability: how many, the mean of their probabilities, the share that is relevant."""

    candidates: int
    probability: float
    relevant: float


@dataclass(frozen=True, slots=True)
class RetrievalReport:
    """Figures on propositions that neither the encoder nor the memory nor the ranker had seen.

    ``slices`` are all queries, those of each stance, and those whose documents other propositions name ("seen") or
    none ("unseen"). ``calibration_error`` is the expected calibration error over ``BINS`` bins of equal width.
    """

    propositions: int
    slices: dict[str, Slice]
    ablation: dict[str, Ablation]
    calibration: list[CalibrationBin]
    calibration_error: float
    seconds: float


class _Asked(NamedTuple):
    """A labelled query: which proposition, which stance, how good its ranking is may be."""

    proposition: int
    stance: Stance
    relevant: frozenset[int]


def make_report(
    labelled: Sequence[Labelled],
    described: Described,
    candidates: Sequence[Ints],
    left_out: Floats,
    *,
    ranker: Ranker,
    settings: RankerSettings,
    seconds: float,
) -> RetrievalReport:
    """Measure the left-out scores, and those of rankers that are denied a part each.

    ``candidates``: the document ordinals of each proposition's candidates; ``left_out`` float64: their scores.
    """
    asked = [
        _Asked(index, stance, own) for index, known in enumerate(labelled) for stance, own in known.by_stance.items()
    ]
    best = _rank(described, candidates, left_out, DEEP)
    found = [len(query.relevant & set(best[query.proposition])) for query in asked]
    recall = np.array(found) / np.array([len(query.relevant) for query in asked])
    values = _measure(asked, described, candidates, left_out)
    owners = np.array([query.proposition for query in asked])
    seen = _find_seen(labelled, described.folds)
    groups = {"all": np.ones(len(asked), np.bool_)}
    groups |= {f"stance {stance}": np.array([query.stance is stance for query in asked]) for stance in Stance}
    groups |= {"seen": seen[owners], "unseen": ~seen[owners]}
    slices = {
        name: Slice(int(chosen.sum()), _estimate(values[chosen], owners[chosen]), float(recall[chosen].mean()))
        for name, chosen in groups.items()
        if chosen.any()
    }
    others = {"the ranker": described.features[:, FEATURES.index("sum")]}
    for part, names in PARTS.items():
        kept = np.array([number for number, name in enumerate(FEATURES) if name.partition(",")[0] not in names])
        others[part] = fit_ranker(described, columns=kept, settings=settings)[1]
    ablation = {}
    for name, scores in others.items():
        without = _measure(asked, described, candidates, scores)
        ablation[name] = Ablation(float(without.mean()), _estimate(values - without, owners))
    bins = _bin(ranker.probability(left_out), described.relevant)
    weights = np.array([held.candidates for held in bins]) / len(left_out)
    errors = np.array([abs(held.probability - held.relevant) for held in bins])
    return RetrievalReport(
        propositions=len(labelled),
        slices=slices,
        ablation=ablation,
        calibration=bins,
        calibration_error=float(weights @ errors),
        seconds=round(seconds, 1),
    )


def _rank(described: Described, candidates: Sequence[Ints], scores: Floats, count: int) -> list[list[int]]:
    """The best documents of each proposition by the scores of its candidates."""
    ends = np.cumsum(described.counts)
    orders = [np.argsort(-own, kind="stable")[:count] for own in np.split(scores, ends[:-1])]
    return [own[order].tolist() for own, order in zip(candidates, orders, strict=True)]


def _measure(asked: Sequence[_Asked], described: Described, candidates: Sequence[Ints], scores: Floats) -> Floats:
    """nDCG@10 of each query with binary gains (Jaervelin and Kekaelaeinen 2002, section 2.2; over log2(rank + 1))."""
    discounts = 1 / np.log2(np.arange(2, CUTOFF + 2))
    best = _rank(described, candidates, scores, CUTOFF)
    values = []
    for query in asked:
        hits = [document in query.relevant for document in best[query.proposition]]
        values.append(float(discounts[: len(hits)][hits].sum() / discounts[: len(query.relevant)].sum()))
    return np.array(values)


def _find_seen(labelled: Sequence[Labelled], folds: Ints) -> npt.NDArray[np.bool_]:
    """Whether a proposition of another fold names one of the documents: bool [propositions]."""
    naming: dict[int, set[int]] = {}
    for known, fold in zip(labelled, folds.tolist(), strict=True):
        for document in known.documents:
            naming.setdefault(document, set()).add(fold)
    return np.array(
        [
            any(naming[document] - {fold} for document in known.documents)
            for known, fold in zip(labelled, folds.tolist(), strict=True)
        ]
    )


def _estimate(values: Floats, owners: Ints) -> Estimate:
    """The mean of values, of which those of one owner stand or fall together."""
    _, owner = np.unique(owners, return_inverse=True)
    sums, counts = np.bincount(owner, values), np.bincount(owner)
    chance = np.random.default_rng(0)
    means = []
    for _ in range(RESAMPLES):
        drawn = chance.integers(len(sums), size=len(sums))
        means.append(sums[drawn].sum() / counts[drawn].sum())
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return Estimate(float(values.mean()), low, high)


def _bin(probabilities: Floats, relevant: npt.NDArray[np.bool_]) -> list[CalibrationBin]:
    places = np.minimum((probabilities * BINS).astype(np.int64), BINS - 1)
    return [
        CalibrationBin(int(chosen.sum()), float(probabilities[chosen].mean()), float(relevant[chosen].mean()))
        for chosen in (places == place for place in range(BINS))
        if chosen.any()
    ]
