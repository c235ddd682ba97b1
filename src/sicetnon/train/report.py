"""What a trained model is worth on propositions it was not trained on: measures, ablation, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sicetnon.relevance.features import FEATURES
from sicetnon.train.labelled import Labelled, LabelledQuery
from sicetnon.train.measuring import Candidates, Estimate, estimate, measure_queries, rank_candidates
from sicetnon.train.ranker import Described, RankerSettings, score_left_out
from sicetnon.train.sides import Doubt
from sicetnon.types import Stance

DEEP = 100
BINS = 10
NAMED = 3
# What is taken away to see what it adds: the features that begin so.
PARTS = {
    "propositions as words": ("expanded words",),
    "passages": ("passage", "last passage", "joined"),
    "whole documents": ("document",),
    "nearest propositions": ("nearest", "nearest two", "lift", "joined"),
    "number of propositions": ("known propositions",),
}
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


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
class CrossEncoder:
    """What one gained on some of the labelled queries, as many as ``queries``, and whether it was kept.

    ``ndcg`` is the nDCG@10 of these queries by the ranker alone.
    """

    queries: int
    ndcg: float
    gain: Estimate
    kept: bool


@dataclass(frozen=True, slots=True)
class RetrievalReport:
    """Figures on propositions that neither the encoder nor the memory nor the ranker had seen.

    ``slices`` are all queries, those of each stance, and those whose documents other propositions name ("seen") or
    none ("unseen"). ``calibration_error`` is the expected calibration error over ``BINS`` bins of equal width, of
    probabilities by curves fitted on other propositions. ``stance_weight`` is the exponent of the side in the model,
    ``stance_gain`` what the side adds where one is asked, with exponents that were chosen on other propositions.
    ``cross_encoder``: None where none was tried; all other figures are those of the ranker alone. ``unknown``: the
    labelled documents that the corpus lacks, of which nothing was learned.
    """

    propositions: int
    slices: dict[str, Slice]
    ablation: dict[str, Ablation]
    calibration: list[CalibrationBin]
    calibration_error: float
    stance_weight: float
    stance_gain: Estimate
    cross_encoder: CrossEncoder | None
    doubts: list[Doubt]
    unknown: list[str]
    seconds: float


def word_cross_encoder(tried: CrossEncoder) -> str:
    """What a reader is told of a cross-encoder that was tried."""
    fate = "kept" if tried.kept else "left out, since that may be luck"
    return (
        f"a cross-encoder over the first candidates adds {tried.gain:+.3f} to {tried.ndcg:.3f} on {tried.queries:,} "
        f"queries: {fate}"
    )


def word_unknown(unknown: Sequence[str]) -> str:
    """What a reader is told of labelled documents that the corpus lacks, of which there is one at least."""
    named = ", ".join(unknown[:NAMED]) + (", ..." if len(unknown) > NAMED else "")
    return f"{len(unknown):,} labelled documents are not in the corpus, and nothing was learned of them: {named}"


def make_report(
    labelled: Sequence[Labelled],
    queries: Sequence[LabelledQuery],
    described: Described,
    candidates: Candidates,
    left_out: Floats,
    *,
    probabilities: Floats,
    settings: RankerSettings,
    stance_weight: float,
    stance_gain: Estimate,
    cross_encoder: CrossEncoder | None,
    doubts: list[Doubt],
    unknown: Sequence[str],
    seconds: float,
) -> RetrievalReport:
    """Measure the left-out scores, and those of rankers that are denied a part each.

    ``queries`` are those of ``labelled``; ``left_out`` float64 [candidates]: the scores; ``probabilities`` as many:
    what was made of them, as ``calibrate_left_out`` does.
    """
    best = rank_candidates(described, candidates, left_out, DEEP)
    found = [len(query.relevant & set(best[query.proposition])) for query in queries]
    recall = np.array(found) / np.array([len(query.relevant) for query in queries])
    values = measure_queries(queries, described, candidates, left_out)
    owners = np.array([query.proposition for query in queries])
    seen = _find_seen(labelled, described.folds)
    groups = {"all": np.ones(len(queries), np.bool_)}
    groups |= {f"stance {stance}": np.array([query.stance is stance for query in queries]) for stance in Stance}
    groups |= {"seen": seen[owners], "unseen": ~seen[owners]}
    slices = {
        name: Slice(int(chosen.sum()), estimate(values[chosen], owners[chosen]), float(recall[chosen].mean()))
        for name, chosen in groups.items()
        if chosen.any()
    }
    others = {"the ranker": described.features[:, FEATURES.index("sum")]}
    for part, names in PARTS.items():
        kept = np.array([number for number, name in enumerate(FEATURES) if name.partition(",")[0] not in names])
        others[part] = score_left_out(described, columns=kept, settings=settings)
    ablation = {}
    for name, scores in others.items():
        without = measure_queries(queries, described, candidates, scores)
        ablation[name] = Ablation(float(without.mean()), estimate(values - without, owners))
    bins = _bin(probabilities, described.relevant)
    weights = np.array([held.candidates for held in bins]) / len(left_out)
    errors = np.array([abs(held.probability - held.relevant) for held in bins])
    return RetrievalReport(
        propositions=len(labelled),
        slices=slices,
        ablation=ablation,
        calibration=bins,
        calibration_error=float(weights @ errors),
        stance_weight=stance_weight,
        stance_gain=stance_gain,
        cross_encoder=cross_encoder,
        doubts=doubts,
        unknown=list(unknown),
        seconds=round(seconds, 1),
    )


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


def _bin(probabilities: Floats, relevant: npt.NDArray[np.bool_]) -> list[CalibrationBin]:
    places = np.minimum((probabilities * BINS).astype(np.int64), BINS - 1)
    return [
        CalibrationBin(int(chosen.sum()), float(probabilities[chosen].mean()), float(relevant[chosen].mean()))
        for chosen in (places == place for place in range(BINS))
        if chosen.any()
    ]
