"""Described candidates -> what the cross-encoder reads of them, and what its scores add to the ranker's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sicetnon.relevance.reranker import NONE_KNOWN, RERANKED, Blend, Nearest, join_texts
from sicetnon.train.checkpoint import Checkpoint
from sicetnon.train.contrastive import TuningPair
from sicetnon.train.cross_encoder import TunableCrossEncoder
from sicetnon.train.describing import Seen, tune_half
from sicetnon.train.labelled import Labelled, LabelledQuery, Texts, draw_some, list_queries
from sicetnon.train.logistic import fit_multinomial
from sicetnon.train.measuring import Candidates, Estimate, estimate, measure_queries, order_cells
from sicetnon.train.ranker import Described
from sicetnon.train.reranker import RatedText, RerankingExample, tune_reranker
from sicetnon.train.training import HALVES, Training
from sicetnon.train.tunable import TunableEncoder
from sicetnon.train.work import Arrays

OTHERS = 20  # candidates that are not on point, of each proposition, from which those of a step are drawn
MOST_SCORED = 1_000  # propositions of a half, by which the blend is fitted and the gain measured
SCORED_AT_ONCE = 512
BLEND_PENALTY = 1e-6  # three numbers need none; above 0 there is one minimum
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Read(NamedTuple):
    """What a cross-encoder reads of the candidates: the nearest passage and known proposition of each."""

    texts: Texts
    labelled: Sequence[Labelled]
    nearest: Nearest

    def of(self, cell: int) -> str:
        """The text of a candidate, by its place among all."""
        row = int(self.nearest.propositions[cell])
        known = None if row == NONE_KNOWN else self.labelled[row].proposition
        return join_texts(known, self.texts.passages[self.nearest.passages[cell]])


class Tried(NamedTuple):
    """What a cross-encoder proved to be worth: how it is blended with the ranker, and what that gains in nDCG@10.

    ``without`` is the nDCG@10 of the same queries, as many as ``queries``, by the ranker alone.
    """

    blend: Blend
    gain: Estimate
    without: float
    queries: int


def try_reranking(training: Training, pairs: Sequence[TuningPair], seen: Seen, probabilities: Floats) -> Tried | None:
    """Tune a cross-encoder on each half and see what it adds on the other; None where none is to be tried.

    ``probabilities`` float64 [candidates]: the ranker's of what it had not seen.
    """
    if not training.settings.reranks:
        return None
    reranked = np.full(len(probabilities), np.nan)
    for half in range(HALVES):
        scored = training.work.once(
            f"reranked-{half}",
            lambda half=half: _score_half(training, pairs, seen, probabilities, half),  # type: ignore[misc]
        )
        reranked[scored["cells"]] = scored["scores"]
    queries = list_queries(training.labelled)
    return weigh_reranking(queries, seen.described, seen.candidates, probabilities, reranked, halves=training.halves)


def tune_shipped(training: Training, encoder: TunableEncoder, seen: Seen, probabilities: Floats) -> TunableCrossEncoder:
    """The cross-encoder that is shipped: tuned on all propositions."""
    ordered = order_cells(seen.described, seen.candidates, probabilities)
    read = Read(training.texts, training.labelled, seen.nearest)
    return _tune(training, "reranker", encoder, list_examples(seen.described, ordered, read, probabilities))


def _score_half(
    training: Training, pairs: Sequence[TuningPair], seen: Seen, probabilities: Floats, half: int
) -> Arrays:
    """The scores of the first candidates of some propositions of a half, by one that was tuned on the other half."""
    ordered = order_cells(seen.described, seen.candidates, probabilities)
    read = Read(training.texts, training.labelled, seen.nearest)
    # What is learned from holds no proposition of the half that is scored, nor stands one beside its document.
    learned = read._replace(nearest=seen.nearest._replace(propositions=seen.nearest_of_half))
    examples = list_examples(seen.described, ordered, learned, probabilities)
    others = [examples[index] for index in np.flatnonzero(training.halves != half).tolist()]
    name = f"reranker of half {half + 1}"
    reranker = _tune(training, name, tune_half(training, pairs, half), others)
    own = np.flatnonzero(training.halves == half)
    cells = choose_scored(ordered, own, seed=training.settings.seed)
    owners = np.repeat(np.arange(len(ordered)), seen.described.counts)
    scored = []
    for start in range(0, len(cells), SCORED_AT_ONCE):
        some = cells[start : start + SCORED_AT_ONCE].tolist()
        asked = [(training.labelled[owners[cell]].proposition, read.of(cell)) for cell in some]
        scored.append(reranker.score(asked)[:, 0])
        training.progress(f"reading by the {name}", start + len(some), len(cells))
    return {"cells": cells, "scores": np.concatenate(scored)}


def _tune(
    training: Training, name: str, encoder: TunableEncoder, examples: Sequence[RerankingExample]
) -> TunableCrossEncoder:
    return tune_reranker(
        encoder,
        examples,
        settings=training.settings.reranker,
        checkpoint=Checkpoint(training.work.folder / f"{name}.safetensors"),
        progress=lambda done, total: training.progress(f"tuning the {name}", done, total),
    )


def list_examples(
    described: Described, ordered: Sequence[Ints], read: Read, probabilities: Floats
) -> list[RerankingExample]:
    """What a cross-encoder learns from, proposition by proposition; ``probabilities`` float64 [candidates]."""
    examples = []
    odds = Blend.log_odds(probabilities).tolist()

    def rate(cells: Ints) -> tuple[RatedText, ...]:
        return tuple(RatedText(read.of(cell), odds[cell]) for cell in cells.tolist())

    for known, cells in zip(read.labelled, ordered, strict=True):
        is_relevant = described.relevant[cells]
        relevant, others = rate(cells[is_relevant]), rate(cells[~is_relevant][:OTHERS])
        examples.append(RerankingExample(known.proposition, relevant, others))
    return examples


def choose_scored(ordered: Sequence[Ints], own: Ints, *, seed: int) -> Ints:
    """The places of the candidates to be scored: the first of some of the propositions ``own``, by chance."""
    chosen = draw_some(own, MOST_SCORED, seed=seed)
    return np.concatenate([ordered[index][:RERANKED] for index in chosen.tolist()])


def weigh_reranking(
    queries: Sequence[LabelledQuery],
    described: Described,
    candidates: Candidates,
    probabilities: Floats,
    reranked: Floats,
    *,
    halves: Ints,
) -> Tried:
    """How the cross-encoder's scores and the ranker's probabilities become one, and what that gains in nDCG@10.

    ``probabilities`` float64 [candidates] by a ranker that had not seen the propositions; ``reranked`` float64
    [candidates], NaN where not scored. The gain is measured on each half of the propositions, ``halves`` int64
    [propositions], with the blend that was fitted on the other.
    """
    known = np.isfinite(reranked)
    owners = np.repeat(np.arange(len(described.counts)), described.counts)
    blended = probabilities.copy()
    for half in np.unique(halves).tolist():
        own = known & (halves[owners] == half)
        blend = fit_blend(probabilities[known & ~own], reranked[known & ~own], described.relevant[known & ~own])
        blended[own] = blend.probability(probabilities[own], reranked[own])
    scored = set(owners[known].tolist())
    asked = [query for query in queries if query.proposition in scored]
    before, after = (measure_queries(asked, described, candidates, scores) for scores in (probabilities, blended))
    gain = estimate(after - before, np.array([query.proposition for query in asked]))
    blend = fit_blend(probabilities[known], reranked[known], described.relevant[known])
    return Tried(blend, gain, float(before.mean()), len(asked))


def fit_blend(probabilities: Floats, reranked: Floats, relevant: npt.NDArray[np.bool_]) -> Blend:
    """The logistic curve over both (Platt 1999, section 2, with two inputs)."""
    inputs = np.stack([Blend.log_odds(probabilities), reranked], axis=1)
    weights = fit_multinomial(inputs, relevant.astype(np.int64), class_count=2, penalty=BLEND_PENALTY)
    return Blend(*(weights[1] - weights[0]).tolist())
