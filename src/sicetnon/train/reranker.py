"""Labelled propositions with ranked candidates -> a cross-encoder that tells those on point from their like.

Of each proposition one text on point is to score above others that the ranker put near the top: cross-entropy over the
scores of such a group (Gao, Dai and Callan 2021, "Rethink training of BERT rerankers in multi-stage retrieval
pipeline", section 3), to which the ranker's log-odds are added: to be learned is what the ranker gets wrong. The
candidates must come from an encoder and a ranker that had not seen the proposition: it would else learn from mistakes
that are not made in use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sicetnon.train.checkpoint import Checkpoint
from sicetnon.train.cross_encoder import TunableCrossEncoder
from sicetnon.train.optimizing import count_steps, draw_batch, optimize
from sicetnon.train.tunable import TunableEncoder

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class RerankerSettings:
    """How to tune a cross-encoder: ``groups`` propositions a step, each with ``others`` texts beside the one on point.

    ``layers``: how many of the encoder's are kept, from the first on.
    """

    epochs: float = 2.0
    groups: int = 16
    others: int = 4
    learning_rate: float = 1e-4
    layers: int = 3
    seed: int = 0


class RatedText(NamedTuple):
    """What is read of a candidate, and the ranker's log-odds of its being on point."""

    text: str
    odds: float


class RerankingExample(NamedTuple):
    """A proposition, candidates on point for it, and candidates that are not, the ranker's first among them first."""

    proposition: str
    relevant: tuple[RatedText, ...]
    others: tuple[RatedText, ...]


def tune_reranker(
    encoder: TunableEncoder,
    examples: Sequence[RerankingExample],
    *,
    settings: RerankerSettings,
    checkpoint: Checkpoint,
    progress: Callable[[int, int], None],
) -> TunableCrossEncoder:
    """A cross-encoder that was tuned on the examples, from the weights of ``encoder``, which stays as it is.

    Examples without a text on point or without another are passed over.
    """
    import torch

    reranker = TunableCrossEncoder(encoder, outputs=1, layers=settings.layers, seed=settings.seed)
    usable = [example for example in examples if example.relevant and example.others]

    def measure_loss(step: int) -> Tensor:
        groups = _draw(usable, step, settings)
        rated = reranker.rate([(example.proposition, text) for example, group in groups for text, _ in group])
        scores = rated[:, 0] + torch.tensor([odds for _, group in groups for _, odds in group], device=rated.device)
        losses = [
            torch.nn.functional.cross_entropy(own[None], torch.zeros(1, dtype=torch.long, device=own.device))
            for own in scores.split([len(group) for _, group in groups])
        ]
        return torch.stack(losses).mean()

    steps = count_steps(len(usable), at_once=settings.groups, epochs=settings.epochs) if usable else 0
    optimize(
        reranker,
        measure_loss,
        steps,
        learning_rate=settings.learning_rate,
        checkpoint=checkpoint,
        progress=progress,
    )
    return reranker


def _draw(
    examples: Sequence[RerankingExample], step: int, settings: RerankerSettings
) -> list[tuple[RerankingExample, list[RatedText]]]:
    """One step's groups: of each proposition one on point, then others, the first of them likelier than the last."""
    chosen, chance = draw_batch(len(examples), step, at_once=settings.groups, seed=settings.seed)
    groups = []
    for index in chosen:
        example = examples[index]
        likely = 1 / np.arange(2.0, len(example.others) + 2)
        size = min(settings.others, len(example.others))
        others = chance.choice(len(example.others), size=size, replace=False, p=likely / likely.sum()).tolist()
        relevant = example.relevant[chance.integers(len(example.relevant))]
        groups.append((example, [relevant, *(example.others[other] for other in others)]))
    return groups
