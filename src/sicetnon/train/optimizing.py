"""The loop of gradient steps that every tuning goes through: warm-up and decay, clipping, checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

    from sicetnon.train.checkpoint import Checkpoint

WARM_UP = 0.1  # of the steps
WEIGHT_DECAY = 0.01
CLIP = 1.0


class Tunable(Protocol):
    """A model whose weights are tuned."""

    @property
    def parameters(self) -> list[tuple[str, Any]]:
        """Name and parameter, always in the same order."""

    def load_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Put these in place of the present weights."""
        import torch

        with torch.no_grad():
            for name, parameter in self.parameters:
                parameter.copy_(weights[name])


def count_steps(count: int, *, at_once: int, epochs: float) -> int:
    """How many steps go through ``count`` examples so often; an epoch is one step at least."""
    return round(epochs * max(count / at_once, 1))


def draw_batch(count: int, step: int, *, at_once: int, seed: int) -> tuple[list[int], np.random.Generator]:
    """Which of ``count`` examples a step sees, and the chance of what else it draws: by the seed and its number alone.

    An epoch goes through the examples in an order of its own.
    """
    epoch, place = divmod(step, max(1, count // at_once))
    order = np.random.default_rng([seed, epoch]).permutation(count).tolist()
    return order[place * at_once : (place + 1) * at_once], np.random.default_rng([seed, epoch, place])


def optimize(
    model: Tunable,
    measure_loss: Callable[[int], Tensor],
    steps: int,
    *,
    learning_rate: float,
    checkpoint: Checkpoint,
    progress: Callable[[int, int], None],
) -> None:
    """Lower the loss that ``measure_loss`` gives for each step's number, with AdamW; go on from the checkpoint.

    Where the loss of a step depends on its number alone, a run that was stopped ends as one that was not.
    """
    import torch

    optimizer = torch.optim.AdamW(_group_parameters(model), lr=learning_rate)
    for step in range(checkpoint.restore(model, optimizer), steps):
        done = step / steps
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * (done / WARM_UP if done < WARM_UP else (1 - done) / (1 - WARM_UP))
        optimizer.zero_grad()
        measure_loss(step).backward()
        torch.nn.utils.clip_grad_norm_([parameter for _, parameter in model.parameters], CLIP)
        optimizer.step()
        checkpoint.keep(step + 1, model, optimizer)
        progress(step + 1, steps)


def _group_parameters(model: Tunable) -> list[dict[str, object]]:
    """Matrices decay, biases and normalisations do not."""
    matrices = [parameter for _, parameter in model.parameters if parameter.ndim > 1]
    others = [parameter for _, parameter in model.parameters if parameter.ndim <= 1]
    return [{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay": 0.0}]
