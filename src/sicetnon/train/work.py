"""The folder of a training under way: what is finished is not done again after a kill."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sicetnon.errors import InputError

ABOUT, SPENT = "training.json", "seconds"
Arrays = dict[str, npt.NDArray[Any]]


class Work:
    """Results of finished steps, by name, in a folder that belongs to one training: same input, same settings."""

    def __init__(self, folder: Path, about: Mapping[str, object]) -> None:
        """Open the folder, or make it.

        Raises:
            InputError: something lies there that is no training's, or another training's.
        """
        self.folder = folder
        self._opened = time.monotonic()
        self._earlier = 0.0  # seconds spent before this process
        told = json.dumps(about, sort_keys=True)
        digest = hashlib.sha256(told.encode()).hexdigest()
        unfinished = (folder / ABOUT).with_suffix(".unfinished")
        if not folder.exists() or (folder.is_dir() and {*folder.iterdir()} <= {unfinished}):  # a kill may leave that
            folder.mkdir(parents=True, exist_ok=True)
            unfinished.write_text(json.dumps({"digest": digest}), encoding="utf-8")
            unfinished.replace(folder / ABOUT)
            return
        try:
            found = json.loads((folder / ABOUT).read_text(encoding="utf-8"))["digest"]
        except (OSError, ValueError, KeyError, TypeError):
            found = None
        if found != digest:
            raise InputError(
                f"{folder} holds {'something else' if found is None else 'an unfinished training of other input'}",
                expected="nothing, or this training's own unfinished work",
                remedy="remove it, or name another --out",
            )
        if (folder / SPENT).exists():
            self._earlier = float((folder / SPENT).read_text(encoding="utf-8") or 0)

    @property
    def seconds(self) -> float:
        """How long the training has taken: steps that were finished before, and this process."""
        return self._earlier + time.monotonic() - self._opened

    def once(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """The arrays called ``name``: made the first time, read after that."""
        path = self.folder / f"{name}.npz"
        if not path.exists():
            made = make()
            assert not any(array.dtype.hasobject for array in made.values())
            unfinished = path.with_suffix(".unfinished")
            with unfinished.open("wb") as sink:
                np.savez(sink, **made)  # type: ignore[arg-type]  # none is called as one of its options
            unfinished.replace(path)
            (self.folder / SPENT).write_text(f"{self.seconds:.1f}", encoding="utf-8")
        with np.load(path, allow_pickle=False) as kept:
            return dict(kept)

    def remove(self) -> None:
        """The training is finished. What says whose the folder is goes last, so that a kill leaves no riddle."""
        for path in self.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != ABOUT:
                path.unlink()
        shutil.rmtree(self.folder)
