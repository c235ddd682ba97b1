"""What the side of a document is worth in a ranking, and which labelled sides look wrong.

The stance model is trained on judged propositions with the vectors of the tuned encoder, as it will be given them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sicetnon.corpora import read_bundled_decisions, read_bundled_propositions
from sicetnon.dense import Encoder
from sicetnon.stance import Claim, Reading, StanceModel, negate, read_statement
from sicetnon.train.labelled import Labelled, LabelledQuery, Texts, draw_some
from sicetnon.train.measuring import Candidates, Estimate, estimate, measure_queries
from sicetnon.train.ranker import Described
from sicetnon.train.stance import train_stance
from sicetnon.types import Stance

JUDGED = 30  # candidates of a proposition whose side is told
MOST_PROPOSITIONS = 1_000
WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
DOUBTED, MOST_DOUBTS = 0.75, 100
SIDED = (Stance.SUPPORTED, Stance.REFUTED)
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Doubt:
    """A labelled side that the stance model is sure to be the other one."""

    proposition: str
    stance: Stance
    doc_id: str
    other: float  # the probability of the other side


def fit_stance_model(encoder: Encoder) -> StanceModel:
    """The stance model of the bundled judged propositions, for vectors of this encoder."""
    decisions = {document.doc_id: document for document in read_bundled_decisions()}
    return train_stance(read_bundled_propositions(), decisions, encoder)[0]


def choose_judged(labelled: Sequence[Labelled], own: Ints, *, seed: int) -> Ints:
    """Which of the propositions ``own`` to judge: some of those that a side is asked of, by chance."""
    sided = [index for index in own.tolist() if any(stance in labelled[index].by_stance for stance in SIDED)]
    return draw_some(np.array(sided, np.int64), MOST_PROPOSITIONS, seed=seed)


def judge_candidates(
    encoder: Encoder, texts: Texts, labelled: Sequence[Labelled], judged: Sequence[tuple[int, Ints]]
) -> list[Floats]:
    """The probabilities that each document supports and refutes a proposition: float64 [documents, 2] for each.

    ``judged``: the propositions, each with the ordinals of its documents.
    """
    model = fit_stance_model(encoder)
    needed = sorted({document for _, documents in judged for document in documents.tolist()})
    sentences = {
        document: [span.of(texts.texts[document]) for span in texts.sentences[document]] for document in needed
    }
    vectors = encoder.encode_documents([sentence for document in needed for sentence in sentences[document]])
    ends = np.cumsum([0, *(len(sentences[document]) for document in needed)]).tolist()
    readings = {
        document: Reading(sentences[document], vectors[start:end])
        for document, (start, end) in zip(needed, pairwise(ends), strict=True)
    }
    propositions = [labelled[index].proposition for index, _ in judged]
    claims = map(
        Claim,
        map(read_statement, propositions),
        encoder.encode_queries(propositions),
        encoder.encode_queries([negate(proposition) for proposition in propositions]),
    )
    told = []
    for claim, (_, documents) in zip(claims, judged, strict=True):
        verdicts = model.judge_all(claim, [readings[document] for document in documents.tolist()])
        told.append(np.array([(verdict.sides.supports, verdict.sides.refutes) for verdict in verdicts]).reshape(-1, 2))
    return told


def weigh_stance(
    queries: Sequence[LabelledQuery],
    described: Described,
    candidates: Candidates,
    probabilities: Floats,
    sides: Floats,
) -> tuple[float, Estimate]:
    """The exponent of the side's probability that ranks best where a side is asked, and what the side gains in nDCG@10.

    The exponent is 0 where its gain on the queries it was chosen on may be luck. The gain that is told is not of those:
    each query is ranked with the exponent that is best for the other groups of folds, and without.

    ``probabilities`` float64 [candidates] of being on point, by a ranker and a curve that had not seen the
    propositions; ``sides`` float64 [candidates, 2] to support and to refute, NaN where it is not known.
    """
    ends = np.cumsum(described.counts)
    known = np.isfinite(sides[:, 0])
    judged = {index for index, cells in enumerate(np.split(known, ends[:-1])) if cells.any()}
    asked = [query for query in queries if query.stance in SIDED and query.proposition in judged]
    if not asked:
        return 0.0, Estimate(0.0, 0.0, 0.0)
    owners = np.repeat(np.arange(len(described.counts)), described.counts)
    filled = sides.copy()
    for side in range(len(SIDED)):
        sums = np.bincount(owners[known], sides[known, side], minlength=len(ends))
        means = sums / np.maximum(np.bincount(owners[known], minlength=len(ends)), 1)
        filled[~known, side] = means[owners[~known]]
    values = np.zeros((len(WEIGHTS), len(asked)))
    for row, weight in enumerate(WEIGHTS):
        for side, stance in enumerate(SIDED):
            chosen = [query.stance is stance for query in asked]
            scores = probabilities * filled[:, side] ** weight
            values[row, chosen] = measure_queries(
                [query for query in asked if query.stance is stance], described, candidates, scores
            )
    gains = values - values[0]  # without the side
    asking = np.array([query.proposition for query in asked])
    best = _choose(gains)
    weight = WEIGHTS[best] if estimate(gains[best], asking).low > 0 else 0.0
    honest = np.zeros(len(asked))
    for group in np.unique(described.groups[asking]).tolist():
        is_own = described.groups[asking] == group
        honest[is_own] = gains[_choose(gains[:, ~is_own]), is_own]
    return weight, estimate(honest, asking)


def _choose(gains: Floats) -> int:
    """The row of the weight that gains most, of equals the least: of ``gains`` float64 [WEIGHTS, queries]."""
    return int(np.argmax(gains.sum(axis=1)))


def find_doubts(
    queries: Sequence[LabelledQuery],
    described: Described,
    candidates: Candidates,
    sides: Floats,
    doc_ids: Sequence[str],
) -> list[Doubt]:
    """The labelled sides that the stance model is surest are the other, those first."""
    ends = np.cumsum(described.counts)
    doubts = []
    for query in queries:
        if query.stance not in SIDED:
            continue
        own = candidates.documents[query.proposition]
        start = ends[query.proposition] - described.counts[query.proposition]
        for place in np.flatnonzero(np.isin(own, sorted(query.relevant))).tolist():
            other = float(sides[start + place, 1 - SIDED.index(query.stance)])
            if other >= DOUBTED:  # no NaN is
                doubts.append(Doubt(query.text, query.stance, doc_ids[own[place]], other))
    return sorted(doubts, key=lambda doubt: -doubt.other)[:MOST_DOUBTS]
