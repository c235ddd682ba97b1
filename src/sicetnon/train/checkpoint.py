"""Where a tuning run stands, kept now and then so that a run that was stopped goes on.

Tensors are kept as safetensors: nothing that is read back can run code.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sicetnon.train.work import telling_failure

if TYPE_CHECKING:
    from sicetnon.train.optimizing import Tunable

SECONDS_BETWEEN = 60.0
MOMENTS = ("exp_avg", "exp_avg_sq")  # what AdamW remembers of each parameter, beside the number of steps


class Checkpoint:
    """A file that holds the weights, the optimizer's moments and the number of steps; ``None`` keeps nothing."""

    def __init__(self, path: Path | None, *, seconds_between: float = SECONDS_BETWEEN) -> None:
        self._path = path
        self._seconds = seconds_between
        self._kept = time.monotonic()

    def restore(self, model: Tunable, optimizer: Any) -> int:
        """Load what was kept, if anything that is whole; return how many steps were done."""
        if self._path is None or not self._path.exists():
            return 0
        from safetensors import SafetensorError, safe_open

        try:
            opened = safe_open(str(self._path), framework="pt", device="cpu")
        except SafetensorError:  # cut off
            return 0
        with opened as kept:
            step = int(json.loads(kept.metadata()["step"]))
            model.load_weights({name: kept.get_tensor(f"weight {name}") for name, _ in model.parameters})
            known = set(kept.keys())
            for name, parameter in model.parameters:
                if f"step {name}" in known:
                    state = {moment: kept.get_tensor(f"{moment} {name}").to(parameter.device) for moment in MOMENTS}
                    optimizer.state[parameter] = state | {"step": kept.get_tensor(f"step {name}")}
        return step

    def keep(self, step: int, model: Tunable, optimizer: Any) -> None:
        """Keep where the run stands, if the last time is long enough ago."""
        if self._path is None or time.monotonic() - self._kept < self._seconds:
            return
        from safetensors.torch import save_file

        tensors = {f"weight {name}": parameter.detach().contiguous() for name, parameter in model.parameters}
        for name, parameter in model.parameters:
            state = optimizer.state.get(parameter)
            if not state:  # a part that no vector depends on
                continue
            tensors |= {f"{moment} {name}": state[moment].contiguous() for moment in MOMENTS}
            tensors[f"step {name}"] = state["step"]
        unfinished = self._path.with_suffix(".unfinished")
        with telling_failure(unfinished):
            save_file(tensors, str(unfinished), metadata={"step": json.dumps(step)})
            unfinished.replace(self._path)
        self._kept = time.monotonic()
