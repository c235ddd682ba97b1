"""The folder of a training under way: what is finished is not done again after a kill."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sicetnon.errors import IndexDirectoryError, IndexLocked, InputError, SicetnonError
from sicetnon.storage.lock import WriteLock

ABOUT, UNFINISHED, LOCK, SPENT = "training.json", "training.unfinished", "training.lock", "seconds"

Arrays = dict[str, npt.NDArray[Any]]


class Work:
    """Results of finished steps, by name, in a folder that belongs to one training: same input, settings and version.

    It is locked until the end of the ``with`` block. Where that is reached without a finished step, nothing remains.
    """

    def __init__(self, folder: Path, about: Mapping[str, object]) -> None:
        """Open the folder, or make it.

        Raises:
            InputError: something lies there that is no training's, or another training's.
            IndexLocked: a training that is under way has it open.
        """
        self.folder = folder
        self._opened = time.monotonic()
        self._lock = _take(folder)
        try:
            self._earlier = self._claim(hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest())
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock.is_held() and not any(self.folder.glob("*.npz")):
            self.remove()
        self._lock.release()

    def _claim(self, digest: str) -> float:
        """Make the folder this training's, or see that it is; return the seconds that were spent before."""
        found = _read_digest(self.folder)
        if found is None:
            (self.folder / UNFINISHED).write_text(json.dumps({"digest": digest}), encoding="utf-8")
            (self.folder / UNFINISHED).replace(self.folder / ABOUT)
        elif found != digest:
            raise InputError(
                f"{self.folder} holds an unfinished training of other input or settings",
                expected="nothing, or this training's own unfinished work",
                remedy="remove it, or name another --out",
            )
        try:
            return float((self.folder / SPENT).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):  # no step was finished, or the file was damaged: it is only told
            return 0.0

    @property
    def seconds(self) -> float:
        """How long the training has taken: steps that were finished before, and this process."""
        return self._earlier + time.monotonic() - self._opened

    def once(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """The arrays called ``name``: made the first time, read after that."""
        path = self.folder / f"{name}.npz"
        if (kept := _read_arrays(path)) is not None:
            return kept
        made = make()
        assert not any(array.dtype.hasobject for array in made.values())
        unfinished = path.with_suffix(".unfinished")
        with telling_failure(unfinished):
            with unfinished.open("wb") as sink:
                np.savez(sink, **made)  # type: ignore[arg-type]  # none is called as one of its options
                sink.flush()
                os.fsync(sink.fileno())
            unfinished.replace(path)
            (self.folder / SPENT).write_text(f"{self.seconds:.1f}", encoding="utf-8")
        return made

    def save_folder(self, name: str, save: Callable[[Path], None]) -> None:
        """Make the folder called ``name`` with what ``save`` writes into it, whole or not at all."""
        unfinished = self.folder / f"{name} unfinished"  # a checkpoint of that name has a file "NAME.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        with telling_failure(unfinished):
            save(unfinished)
            unfinished.replace(self.folder / name)

    def remove(self) -> None:
        """The training is finished. What says whose the folder is goes last, so that a kill leaves no riddle."""
        for path in self.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name not in {ABOUT, LOCK}:
                path.unlink()
        (self.folder / ABOUT).unlink()
        self._lock.remove()
        with suppress(OSError):  # another training may have begun in it at once
            self.folder.rmdir()


@contextmanager
def telling_failure(path: Path) -> Iterator[None]:
    """Turn what goes wrong as something is written to ``path`` into one error, whichever library writes.

    Raises:
        IndexDirectoryError: it cannot be written.
    """
    try:
        yield
    except SicetnonError:
        raise
    except Exception as error:  # of safetensors and torch, each their own: a full disk is a plain Exception
        raise IndexDirectoryError(
            f"{path} cannot be written ({next(iter(str(error).splitlines()), type(error).__name__)})",
            expected="a folder that can be written, with room for the training's work",
            remedy="make room, or name another --out, and start the training again",
        ) from error


def _read_arrays(path: Path) -> Arrays | None:
    """What was kept of a finished step; None where there is nothing, or it was damaged: then it is made again."""
    try:
        with path.open("rb") as source, np.load(source, allow_pickle=False) as kept:
            return dict(kept)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None


def _take(folder: Path) -> WriteLock:
    """Lock the folder, made if it is not there; what is no training's is not touched."""
    with telling_failure(folder):
        if folder.exists() and not _is_own(folder):
            raise InputError(
                f"{folder} holds something else",
                expected="nothing, or this training's own unfinished work",
                remedy="remove it, or name another --out",
            )
        folder.mkdir(parents=True, exist_ok=True)
    try:
        return WriteLock.take(folder / LOCK)
    except (IndexLocked, FileNotFoundError) as error:  # the latter where another one ends just now
        raise IndexLocked(
            f"{folder} is the work of a training that is under way",
            expected="one training at a time for one --out",
            remedy="wait until it has finished, or name another --out",
        ) from error


def _is_own(folder: Path) -> bool:
    """Whether the folder is a training's, if only the little that a kill may leave of one."""
    return folder.is_dir() and (
        _read_digest(folder) is not None or {path.name for path in folder.iterdir()} <= {UNFINISHED, LOCK}
    )


def _read_digest(folder: Path) -> str | None:
    try:
        return str(json.loads((folder / ABOUT).read_text(encoding="utf-8"))["digest"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
