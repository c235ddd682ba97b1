"""A BERT that reads pairs of texts and gives figures for each, its weights open to training."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sicetnon.train.optimizing import Tunable
from sicetnon.train.tunable import TunableEncoder, map_by_length, mixed_precision

if TYPE_CHECKING:
    from torch import Tensor

PAIRS_AT_ONCE = 32  # of like length
HEAD_SPREAD = 0.02  # of the first weights of the head, as BERT's own
Floats = npt.NDArray[np.float64]
Pair = tuple[str, str]


class TunableCrossEncoder(Tunable):
    """A BERT whose mean over the tokens of a pair becomes ``outputs`` figures; it starts from an encoder's weights.

    ``layers``: how many of the encoder's are kept, from the first on. ``max_tokens`` is where the longer text of a pair
    is cut. ``frozen``: the embeddings of tokens and places stay as they are.
    """

    def __init__(
        self,
        encoder: TunableEncoder,
        *,
        outputs: int,
        seed: int,
        layers: int | None = None,
        max_tokens: int | None = None,
        frozen: bool = False,
    ) -> None:
        import torch

        self.bert: Any = copy.deepcopy(encoder.transformer)
        self.bert.encoder.layer = self.bert.encoder.layer[:layers]
        self._frozen = frozen
        self._tokenizer, self._max_tokens = encoder.tokenizer, max_tokens or encoder.max_tokens
        self.head = torch.nn.Linear(self.bert.config.hidden_size, outputs, device=self.bert.device)
        chance = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            self.head.weight.copy_(torch.randn(self.head.weight.shape, generator=chance) * HEAD_SPREAD)
            self.head.bias.zero_()
        if frozen:
            self.bert.embeddings.requires_grad_(False)

    @property
    def parameters(self) -> list[tuple[str, Any]]:
        """Name and parameter of what is tuned, in the model's order."""
        parts = {"bert": self.bert, "head": self.head}
        return [
            (f"{part}.{name}", parameter)
            for part, module in parts.items()
            for name, parameter in module.named_parameters()
            if not (self._frozen and name.startswith("embeddings."))
        ]

    def rate(self, pairs: Sequence[Pair]) -> Tensor:
        """The figures of pairs, which gradients flow through: float32 [pairs, outputs]."""
        return map_by_length(pairs, lambda pair: len(pair[0]) + len(pair[1]), self._forward, at_once=PAIRS_AT_ONCE)

    def _forward(self, pairs: Sequence[Pair]) -> Tensor:
        """The figures of a few pairs."""
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
        """The figures of pairs: float64 [pairs, outputs]."""
        import torch

        with torch.inference_mode():
            scores: Floats = self.rate(pairs).cpu().numpy().astype(np.float64)
        return scores


def pool(hidden: Tensor, mask: Tensor, head: Any) -> Tensor:
    """The figures of each of a batch of pairs: the head of the mean over their tokens; float32 [pairs, outputs]."""
    kept = mask[:, :, None].float()
    figures: Tensor = head((hidden * kept).sum(1) / kept.sum(1))
    return figures
