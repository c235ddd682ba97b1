"""Contrastive fine-tuning of an encoder on propositions and the passages of their documents.

Each proposition is to lie nearer to a passage of its own document than to the other passages of the batch, of which one
was mined for it: cross-entropy over scaled cosines (Henderson et al. 2017, "Efficient natural language response
suggestion for Smart Reply", section 4; Karpukhin et al. 2020, "Dense passage retrieval", section 3.2). A passage of
another document that is labelled for the proposition is no negative of it, be it for another stance. The tuned weights
may be mixed with those before (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models", section 3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from sicetnon.dense.encoder import Vectors
from sicetnon.train.checkpoint import Checkpoint
from sicetnon.train.labelled import LabelledQuery
from sicetnon.train.optimizing import count_steps, draw_batch, optimize
from sicetnon.train.tunable import TunableEncoder
from sicetnon.types import Stance

if TYPE_CHECKING:
    from torch import Tensor

NEAREST_POSITIVES = 2  # passages of a document that may speak for it
NEAREST_SHARE = 0.75  # of the draws fall on the nearest of them
MINED_FROM, MINED_MOST = 60, 30  # documents ahead in the ranking, of which so many are kept
MARGIN = 0.95  # a mined passage this near to the own one, or nearer, may well be on point and only not labelled
SKIPPED = -1e4  # a logit that takes no part
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TuningSettings:
    """How to tune. ``scale`` multiplies cosines; ``mix`` is the tuned weights' share in the result."""

    epochs: float = 3.0
    batch: int = 64
    learning_rate: float = 1e-4
    scale: float = 20.0
    mix: float = 1.0
    seed: int = 0


class TuningPair(NamedTuple):
    """A proposition with passages, by row: ``positives`` of each document on point, nearest first; ``negatives``.

    ``stance`` is what is asked for. ``documents`` are labelled for the proposition, whatever the stance.
    """

    proposition: str
    documents: frozenset[int]
    positives: tuple[tuple[int, ...], ...]
    negatives: tuple[int, ...]
    stance: Stance = Stance.ALL


def mine_pairs(
    queries: Sequence[LabelledQuery],
    documents: Sequence[frozenset[int]],
    vectors: Vectors,
    passage_vectors: Vectors,
    starts: Ints,
) -> list[TuningPair]:
    """The queries with their nearest own passages and near ones of others, by an encoder's vectors.

    ``documents`` are those labelled for each proposition, whatever the stance. ``vectors`` float32 [queries, d];
    ``passage_vectors`` float32 [passages, d]; ``starts`` int64 [documents], the first passage of each.
    """
    ends = np.append(starts[1:], len(passage_vectors))
    pairs = []
    for query, vector in zip(queries, vectors, strict=True):
        labelled = documents[query.proposition]
        cosines = passage_vectors @ vector
        best = np.maximum.reduceat(cosines, starts)
        positives = []
        for document in sorted(query.relevant):
            order = np.argsort(-cosines[starts[document] : ends[document]], kind="stable")[:NEAREST_POSITIVES]
            positives.append(tuple((starts[document] + order).tolist()))
        limit = MARGIN * max(best[document] for document in query.relevant)
        negatives = [
            int(starts[document] + np.argmax(cosines[starts[document] : ends[document]]))
            for document in np.argsort(-best, kind="stable")[:MINED_FROM].tolist()
            if document not in labelled and best[document] < limit
        ]
        pairs.append(
            TuningPair(query.text, labelled, tuple(positives), tuple(negatives[:MINED_MOST]), stance=query.stance)
        )
    return pairs


def tune_encoder(
    encoder: TunableEncoder,
    pairs: Sequence[TuningPair],
    passages: Sequence[str],
    passage_documents: Ints,
    *,
    settings: TuningSettings,
    checkpoint: Checkpoint,
    progress: Callable[[int, int], None],
) -> None:
    """Tune the encoder in place; goes on from the checkpoint where it has one.

    ``passage_documents`` int64 [passages] is the document of each. What a step sees depends on the seed and its number
    alone, so that a run that was stopped ends as one that was not.
    """
    before = encoder.weights if settings.mix < 1 else {}
    optimize(
        encoder,
        lambda step: _loss(encoder, _draw(pairs, step, settings), passages, passage_documents, settings),
        count_steps(len(pairs), at_once=settings.batch, epochs=settings.epochs),
        learning_rate=settings.learning_rate,
        checkpoint=checkpoint,
        progress=progress,
    )
    if settings.mix < 1:
        tuned = encoder.weights
        encoder.load_weights({name: before[name].lerp(tuned[name], settings.mix) for name in tuned})


class _Drawn(NamedTuple):
    """One step's queries, each with a passage of its own, and mined ones."""

    pairs: list[TuningPair]
    own: list[int]
    mined: list[int]


def _draw(pairs: Sequence[TuningPair], step: int, settings: TuningSettings) -> _Drawn:
    drawn, chance = draw_batch(len(pairs), step, at_once=settings.batch, seed=settings.seed)
    chosen = [pairs[index] for index in drawn]
    own, mined = [], []
    for pair in chosen:
        passages = pair.positives[chance.integers(len(pair.positives))]
        own.append(passages[0 if chance.random() < NEAREST_SHARE else chance.integers(len(passages))])
        if pair.negatives:
            mined.append(pair.negatives[chance.integers(len(pair.negatives))])
    return _Drawn(chosen, own, mined)


def _loss(
    encoder: TunableEncoder, drawn: _Drawn, passages: Sequence[str], passage_documents: Ints, settings: TuningSettings
) -> Tensor:
    import torch

    rows = drawn.own + drawn.mined
    queries = encoder.embed_queries([pair.proposition for pair in drawn.pairs], [pair.stance for pair in drawn.pairs])
    logits = queries @ encoder.embed([passages[row] for row in rows]).T * settings.scale
    owners = passage_documents[rows].tolist()
    skipped = [
        [owner in pair.documents and column != row for column, owner in enumerate(owners)]
        for row, pair in enumerate(drawn.pairs)
    ]
    logits = logits.masked_fill(torch.tensor(skipped, device=logits.device), SKIPPED)
    return torch.nn.functional.cross_entropy(logits, torch.arange(len(drawn.pairs), device=logits.device))
