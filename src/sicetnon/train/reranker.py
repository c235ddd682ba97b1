"""Labelled propositions with ranked candidates -> a cross-encoder that tells those on point from their like.

Of each proposition one text on point is to score above others that the ranker put near the top: cross-entropy over the
scores of such a group (Gao, Dai and Callan 2021, "Rethink training of BERT rerankers in multi-stage retrieval
pipeline", section 3), to which the ranker's log-odds are added: to be learned is what the ranker gets wrong. The
candidates must come from an encoder and a ranker that had not seen the proposition: it would else learn from mistakes
that are not made in use.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sicetnon.train.checkpoint import Checkpoint
from sicetnon.train.optimizing import Tunable, count_steps, draw_batch, optimize
from sicetnon.train.tunable import TunableEncoder, map_by_length, mixed_precision

if TYPE_CHECKING:
    from torch import Tensor

PAIRS_AT_ONCE = 32  # of like length
HEAD_SPREAD = 0.02  # of the first weights of the head, as BERT's own
Floats = npt.NDArray[np.float64]
Pair = tuple[str, str]


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


class TunableReranker(Tunable):
    """A BERT whose mean over the tokens of a pair becomes a score; it starts from the weights of an encoder."""

    def __init__(self, encoder: TunableEncoder, settings: RerankerSettings) -> None:
        import torch

        self.bert: Any = copy.deepcopy(encoder.transformer)
        self.bert.encoder.layer = self.bert.encoder.layer[: settings.layers]
        self.tokenizer_json = encoder.tokenizer_json
        self._tokenizer, self._max_tokens = encoder.tokenizer, encoder.max_tokens
        self.head = torch.nn.Linear(self.bert.config.hidden_size, 1, device=self.bert.device)
        chance = torch.Generator().manual_seed(settings.seed)
        with torch.no_grad():
            weight = torch.randn(self.head.weight.shape, generator=chance) * HEAD_SPREAD
            self.head.weight.copy_(weight)
            self.head.bias.zero_()

    @property
    def parameters(self) -> list[tuple[str, Any]]:
        """Name and parameter, in the model's order."""
        parts = {"bert": self.bert, "head": self.head}
        return [
            (f"{part}.{name}", parameter)
            for part, module in parts.items()
            for name, parameter in module.named_parameters()
        ]

    def rate(self, pairs: Sequence[Pair]) -> Tensor:
        """The scores of pairs of proposition and text, which gradients flow through: float32 [pairs]."""
        return map_by_length(pairs, lambda pair: len(pair[0]) + len(pair[1]), self._forward, at_once=PAIRS_AT_ONCE)

    def _forward(self, pairs: Sequence[Pair]) -> Tensor:
        """The scores of a few pairs."""
        inputs = self._tokenizer(
            [first for first, _ in pairs],
            [second for _, second in pairs],
            truncation=True,
            max_length=self._max_tokens,
            padding=True,
            return_tensors="pt",
        ).to(self.bert.device)
        with mixed_precision(self.bert.device.type):
            hidden = self.bert(**inputs).last_hidden_state.float()
        return pool(hidden, inputs["attention_mask"], self.head)

    def score(self, pairs: Sequence[Pair]) -> Floats:
        """The scores of pairs: float64 [pairs]."""
        import torch

        with torch.inference_mode():
            scores: Floats = self.rate(pairs).cpu().numpy().astype(np.float64)
        return scores


def pool(hidden: Tensor, mask: Tensor, head: Any) -> Tensor:
    """The score of each of a batch of pairs: the head of the mean over their tokens; float32 [pairs]."""
    kept = mask[:, :, None].float()
    scores: Tensor = head((hidden * kept).sum(1) / kept.sum(1))[:, 0]
    return scores


def tune_reranker(
    encoder: TunableEncoder,
    examples: Sequence[RerankingExample],
    *,
    settings: RerankerSettings,
    checkpoint: Checkpoint,
    progress: Callable[[int, int], None],
) -> TunableReranker:
    """A cross-encoder that was tuned on the examples, from the weights of ``encoder``, which stays as it is.

    Examples without a text on point or without another are passed over.
    """
    import torch

    reranker = TunableReranker(encoder, settings)
    usable = [example for example in examples if example.relevant and example.others]

    def measure_loss(step: int) -> Tensor:
        groups = _draw(usable, step, settings)
        scores = reranker.rate([(example.proposition, text) for example, group in groups for text, _ in group])
        scores = scores + torch.tensor([odds for _, group in groups for _, odds in group], device=scores.device)
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
