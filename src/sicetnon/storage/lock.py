"""One writer at a time: an advisory lock that dies with the process that holds it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Self

from sicetnon.errors import IndexLocked


class WriteLock:
    """A held lock on a file, created if it was not there."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """Take over a descriptor that holds the lock."""
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path) -> Self:
        """Lock the file at once, or raise IndexLocked."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The holder before may have removed the file between our open and our lock: then ours guards nothing.
            is_held = _is_same_file(path, descriptor)
        except BlockingIOError:
            is_held = False
        except BaseException:
            os.close(descriptor)
            raise
        if not is_held:
            os.close(descriptor)
            raise IndexLocked(
                f"{path.parent} is being written by another process",
                expected="one writer at a time",
                remedy="wait until it has finished or choose another directory",
            )
        return cls(path, descriptor)

    def is_held(self) -> bool:
        """Tell whether the file is still the one that was locked: a user may have removed it as left over."""
        return _is_same_file(self._path, self._descriptor)

    def remove(self) -> None:
        """Remove the file while the lock is still held."""
        self._path.unlink(missing_ok=True)

    def release(self) -> None:
        """Let the next writer in."""
        os.close(self._descriptor)


def _is_same_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
