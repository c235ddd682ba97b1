"""Many strings -> two files, memory-mapped; any of them back by its number.

NAME.bin holds the UTF-8 bytes end to end, NAME-offsets.npy where each string starts (int64, n + 1, bytes).
Lone surrogates, which JSON can carry, are kept as their three bytes, so that every Python string survives.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from sicetnon.storage.reader import StoredDirectory
    from sicetnon.storage.writer import DirectoryWriter

_CHUNK = 65_536  # strings encoded at a time: some megabytes


def encode(string: str) -> bytes:
    """Return the stored bytes of a string."""
    return string.encode("utf-8", "surrogatepass")


def write_strings(writer: DirectoryWriter, name: str, strings: Iterable[str]) -> None:
    """Write the strings as NAME.bin and NAME-offsets.npy."""
    lengths = [np.zeros(1, np.int64)]

    def encode_chunks() -> Iterator[bytes]:
        remaining = iter(strings)
        while chunk := [encode(string) for string in islice(remaining, _CHUNK)]:
            lengths.append(np.fromiter(map(len, chunk), np.int64, len(chunk)))
            yield b"".join(chunk)

    writer.save_bytes(f"{name}.bin", encode_chunks())
    writer.save(f"{name}-offsets.npy", np.cumsum(np.concatenate(lengths)))


class StringTable:
    """Strings by number, decoded when asked for; safe from many threads."""

    __slots__ = ("_content", "_offsets")

    def __init__(self, content: mmap.mmap | bytes, offsets: NDArray[np.int64]) -> None:
        """Take the bytes and where each string starts: int64, n + 1, ascending, the last one len(content)."""
        self._content = content
        self._offsets = offsets

    @classmethod
    def open(cls, stored: StoredDirectory, name: str, *, length: int | None = None) -> StringTable:
        """Map the two files that `write_strings` wrote; `length` is the number of strings there should be."""
        rows = None if length is None else length + 1
        offsets = stored.array(f"{name}-offsets.npy", dtype=np.int64, length=rows)
        content = stored.map_bytes(f"{name}.bin")
        if offsets.ndim != 1 or not len(offsets) or offsets[0] != 0 or offsets[-1] != len(content):
            raise stored.damage(
                f"{stored.path(f'{name}-offsets.npy')} does not fit {name}.bin", expected="offsets from 0 to its size"
            )
        return cls(content, offsets)

    def __len__(self) -> int:
        """Return the number of strings."""
        return len(self._offsets) - 1

    def __getitem__(self, number: int) -> str:
        """Return one string; its number counts from 0."""
        return str(self.encoded(number), "utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        """Return the strings in order."""
        return iter(self.to_list())

    def encoded(self, number: int) -> bytes:
        """Return one string as `encode` gives it."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self._content[self._offsets.item(number) : self._offsets.item(number + 1)]

    def take(self, numbers: ArrayLike) -> list[str]:
        """Return the strings with the given numbers (integers, 1-d), in that order."""
        chosen = np.asarray(numbers, dtype=np.intp)
        if not len(chosen):
            return []
        if not 0 <= chosen.min() <= chosen.max() < len(self):
            raise IndexError(numbers)
        copied = self.take_bytes(chosen)
        if copied is not None and (text := copied.tobytes()).isascii():
            # Each character is a byte: decoded at one go and cut.
            joined, length = text.decode("ascii"), copied.shape[1]
            return [joined[at : at + length] for at in range(0, len(joined), length)]
        starts, ends = self._offsets[chosen], self._offsets[chosen + 1]
        content = self._content
        spans = zip(starts.tolist(), ends.tolist(), strict=True)
        return [str(content[start:end], "utf-8", "surrogatepass") for start, end in spans]

    def take_bytes(self, numbers: NDArray[np.intp]) -> NDArray[np.uint8] | None:
        """Return the strings with the given numbers as `encode` gives them: uint8[len(numbers), length].

        None where they are not all of one length, above 0; an IndexError where altered offsets lead beyond the bytes.
        """
        starts = self._offsets[numbers]
        lengths = self._offsets[numbers + 1] - starts
        length = int(lengths[0]) if len(lengths) else 0
        if not length or (lengths != length).any():
            return None
        last = len(self._content) - length
        if length < 0 or not 0 <= starts.min() <= starts.max() <= last:
            raise IndexError(f"offsets beyond {len(self._content)} bytes")
        # A view of every `length` bytes in a row: one copy of each string, at any byte.
        windows = np.ndarray((last + 1, length), np.uint8, self._content, strides=(1, 1))
        return windows[starts]

    def to_list(self) -> list[str]:
        """Return all strings."""
        starts = self._offsets.tolist()
        content = self._content[:]
        if not content.isascii():
            return self.take(np.arange(len(self)))
        text = content.decode("ascii")
        return [text[start:end] for start, end in pairwise(starts)]
