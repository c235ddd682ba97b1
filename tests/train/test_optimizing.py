"""The loop of steps, on parameters whose gradients are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import needs_exact_torch

from sicetnon.train.checkpoint import Checkpoint
from sicetnon.train.optimizing import WARM_UP, WEIGHT_DECAY, optimize

RATE = 0.01
STEPS = 20


class Killed(Exception):
    """The run is stopped."""


class Toy:
    """A vector and a matrix."""

    def __init__(self) -> None:
        """Begin with 3 and with 2 everywhere."""
        import torch

        self.vector = torch.nn.Parameter(torch.full((4,), 3.0))
        self.matrix = torch.nn.Parameter(torch.full((2, 2), 2.0))

    @property
    def parameters(self) -> list[tuple[str, Any]]:
        """Both by name."""
        return [("vector", self.vector), ("matrix", self.matrix)]

    def load_weights(self, weights: Mapping[str, Any]) -> None:
        """Put these in their place."""
        for name, parameter in self.parameters:
            parameter.data.copy_(weights[name])

    def list_values(self) -> list[float]:
        """All numbers."""
        return [value for _, parameter in self.parameters for value in parameter.flatten().tolist()]


def run(
    measure_loss: Callable[[Toy, int], Any],
    *,
    steps: int = STEPS,
    checkpoint: Checkpoint | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Toy:
    """Optimize the toy."""
    toy = Toy()
    optimize(
        toy,
        lambda step: measure_loss(toy, step),
        steps,
        learning_rate=RATE,
        checkpoint=checkpoint or Checkpoint(None),
        progress=progress,
    )
    return toy


def rate_of(step: int) -> float:
    """The learning rate of a step: a line up to the full rate, and one down to none."""
    done = step / STEPS
    return RATE * (done / WARM_UP if done < WARM_UP else (1 - done) / (1 - WARM_UP))


class TestSteps:
    """Runs whose end is known."""

    pytestmark = needs_exact_torch

    def test_rates(self) -> None:
        """Where the gradient is always the same, a step is as long as the learning rate: it warms up and decays."""
        seen: list[float] = []

        def measure_loss(toy: Toy, _: int) -> Any:
            seen.append(float(toy.vector[0]))
            return toy.vector.sum() + 0 * toy.matrix.sum()

        end = run(measure_loss)
        moved = -np.diff([*seen, float(end.vector[0])])
        assert moved == pytest.approx([rate_of(step) for step in range(STEPS)], abs=1e-6)
        assert moved[0] == 0
        assert moved.argmax() == WARM_UP * STEPS
        assert moved.max() == pytest.approx(RATE, rel=1e-3)

    def test_decay(self) -> None:
        """A matrix decays, whatever its gradient; a vector does not."""
        end = run(lambda toy, _: 0 * toy.vector.sum() + 0 * toy.matrix.sum())
        expected = 2.0 * np.prod([1 - WEIGHT_DECAY * rate_of(step) for step in range(STEPS)])
        assert end.matrix.flatten().tolist() == pytest.approx([expected] * 4, abs=1e-6)
        assert end.vector.tolist() == [3.0] * 4

    def test_clipping(self) -> None:
        """A gradient of any length above 1 counts as one of length 1: a single large one does not stun the rest."""
        even = run(lambda toy, _: toy.vector.sum() + 0 * toy.matrix.sum())
        uneven = run(lambda toy, step: toy.vector.sum() * (1_000 if step == 5 else 1) + 0 * toy.matrix.sum())
        assert uneven.list_values() == pytest.approx(even.list_values(), abs=1e-5)

    def test_progress(self) -> None:
        """Each step is told of; no step changes nothing."""
        told: list[tuple[int, int]] = []
        run(lambda toy, _: toy.vector.sum() + toy.matrix.sum(), steps=3, progress=lambda *step: told.append(step))
        assert told == [(1, 3), (2, 3), (3, 3)]
        assert run(lambda *_: pytest.fail("measured"), steps=0).list_values() == Toy().list_values()

    @pytest.mark.parametrize("stops", [[1], [7], [3, 4, 19], [20]])
    def test_resumed_run(self, tmp_path: Path, stops: list[int]) -> None:
        """A run that is stopped, perhaps again and again, ends in the bits of one that was not."""

        def measure_loss(toy: Toy, step: int) -> Any:
            return (toy.vector.prod() * (step % 5) + (toy.matrix @ toy.matrix).sum()).square()

        expected = run(measure_loss).list_values()
        for stop in stops:

            def kill(done: int, _: int, stop: int = stop) -> None:
                if done == stop:
                    raise Killed

            with pytest.raises(Killed):
                run(measure_loss, checkpoint=Checkpoint(tmp_path / "c", seconds_between=0), progress=kill)
        began: list[int] = []
        resumed = run(measure_loss, checkpoint=Checkpoint(tmp_path / "c"), progress=lambda done, _: began.append(done))
        assert began == list(range(stops[-1] + 1, STEPS + 1))
        assert resumed.list_values() == expected
        assert expected != Toy().list_values()
