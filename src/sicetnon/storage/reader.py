"""An index directory on disk -> its files, checked and memory-mapped.

Existence and size of every file are checked at once, checksums on request. Knows nothing of what the files mean.
"""

from __future__ import annotations

import hashlib
import mmap
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from sicetnon.errors import IndexDamaged, IndexDirectoryError
from sicetnon.storage.format import REBUILD, Manifest, name_generation, read_manifest

T = TypeVar("T")

# What `numpy.lib.format` writes for a plain little-endian array in C order.
_HEADER = r"\{'descr': '([<|][biuf]\d+)', 'fortran_order': False, 'shape': \(((?:\d+,(?: \d+,?)*)?)\), \} *\n"

_POPULATE_READ = 22  # MADV_POPULATE_READ of Linux 5.14, which Python has no name for

# A writer may commit while a reader opens; that it does so three times over within one open is no accident.
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class StoredDirectory:
    """One committed generation of an index directory, open for reading; safe from many threads."""

    directory: Path
    manifest: Manifest

    @classmethod
    def open(cls, path: str | Path, *, kind: str | None) -> StoredDirectory:
        """Open an index directory of a kind (None: any), checking version and existence and size of every file."""
        return open_stored(path, kind=kind, read=lambda stored: stored)

    @property
    def folder(self) -> Path:
        """The folder of the generation."""
        return self.directory / name_generation(self.manifest.generation)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings it was committed with."""
        return self.manifest.settings

    @property
    def counts(self) -> Mapping[str, int]:
        """The counts it was committed with."""
        return self.manifest.counts

    def count(self, name: str) -> int:
        """Return one count; a manifest without it is damaged."""
        if name not in self.counts:
            raise self.damage(f"the manifest of {self.directory} has no count {name!r}", expected="that count")
        return self.counts[name]

    def setting(self, name: str) -> Any:
        """Return one setting; a manifest without it is damaged."""
        if name not in self.settings:
            raise self.damage(f"the manifest of {self.directory} has no setting {name!r}", expected="that setting")
        return self.settings[name]

    def path(self, name: str) -> Path:
        """Return the path of a file that the manifest lists."""
        if name not in self.manifest.files:
            raise self.damage(f"the manifest of {self.directory} lists no file {name!r}", expected="that file")
        return self.folder / name

    def has(self, name: str) -> bool:
        """Tell whether the manifest lists a file."""
        return name in self.manifest.files

    def map_bytes(self, name: str) -> mmap.mmap | bytes:
        """Map a file; slices of what is returned are bytes (an empty file, which no system maps, gives b"")."""
        with self._open(name) as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self.manifest.files[name].bytes else b""

    def array(self, name: str, *, dtype: DTypeLike | None = None, length: int | None = None) -> NDArray[Any]:
        """Map a .npy file read-only; a dtype or length (of the first axis) that differs from those given is damage."""
        with self._open(name) as file:
            try:
                shape, found_dtype = _read_header(file)
            except Exception as error:
                # Whatever the bytes lead to: ValueError, TypeError, ...
                raise self.damage(
                    f"{self.path(name)} has no readable array header", expected="a plain .npy file"
                ) from error
            start = file.tell()
            size = start + found_dtype.itemsize * int(np.prod(shape, dtype=object))
            if size != self.manifest.files[name].bytes:
                raise self.damage(
                    f"{self.path(name)} has a header for {size:,} bytes",
                    expected=f"{self.manifest.files[name].bytes:,} bytes",
                )
            if dtype is not None and found_dtype != np.dtype(dtype):
                raise self.damage(f"{self.path(name)} holds {found_dtype}", expected=str(np.dtype(dtype)))
            if length is not None and shape[:1] != (length,):
                raise self.damage(f"{self.path(name)} has shape {shape}", expected=f"length {length:,}")
            if size == start:
                empty = np.empty(shape, found_dtype)
                empty.flags.writeable = False
                return empty
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(content, found_dtype, offset=start).reshape(shape)

    def check_sizes(self) -> None:
        """Raise IndexDamaged at the first file that is missing or has another size than when it was written."""
        for name, entry in self.manifest.files.items():
            try:
                size = (self.folder / name).stat().st_size
            except OSError as error:
                raise self.damage(
                    f"{self.folder / name} cannot be found ({error.strerror})", expected=f"{entry.bytes:,} bytes"
                ) from None
            if size != entry.bytes:
                raise self.damage(f"{self.folder / name} has {size:,} bytes", expected=f"{entry.bytes:,} bytes")

    def verify(self, prefix: str = "") -> None:
        """Read every file (whose path begins so) and raise IndexDamaged naming each that differs from its checksum.

        Where a writer has committed meanwhile, and so removed files, it is IndexDirectoryError.
        """
        bad = [name for name in self.manifest.files if name.startswith(prefix) and not self._is_whole(name)]
        if bad and read_manifest(self.directory, kind=None).generation != self.manifest.generation:
            raise IndexDirectoryError(
                f"{self.folder} was replaced by a newer generation meanwhile",
                expected="the generation that was opened",
                remedy="open the index again",
            )
        if bad:
            raise IndexDamaged(
                f"{self.folder} has altered or missing files: {', '.join(bad)}",
                expected="the checksums of the manifest",
                remedy="restore them from a copy or build the index again",
            )

    @contextmanager
    def naming_damage(self) -> Iterator[None]:
        """Turn what altered bytes provoke in whoever reads them into IndexDamaged."""
        try:
            yield
        except (IndexError, UnicodeDecodeError) as error:
            raise IndexDamaged(
                f"{self.folder} holds what no writer wrote ({type(error).__name__}: {error})",
                expected="the bytes that were written",
                remedy=f"see which file it is with: sicetnon index verify {self.directory}; then {REBUILD}",
            ) from error

    def damage(self, found: str, *, expected: str) -> IndexDamaged:
        """Return the error for something of this directory that is not as it was written."""
        return IndexDamaged(found, expected=expected, remedy=REBUILD)

    def _is_whole(self, name: str) -> bool:
        try:
            with (self.folder / name).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == self.manifest.files[name].sha256
        except OSError:
            return False

    def _open(self, name: str) -> BinaryIO:
        path = self.path(name)
        try:
            file = path.open("rb")
        except FileNotFoundError:
            raise self.damage(f"{path} cannot be found", expected="that file") from None
        except OSError as error:
            raise IndexDirectoryError(
                f"{path} cannot be read ({error.strerror})", expected="a readable file", remedy="check its permissions"
            ) from error
        return file


def open_stored(path: str | Path, *, kind: str | None, read: Callable[[StoredDirectory], T]) -> T:
    """Open an index directory and return what `read` makes of it, which must open all the files it needs.

    A writer that commits meanwhile removes the generation that is being opened: then the new one is opened instead.
    """
    directory = Path(path)
    for attempt in range(1, _ATTEMPTS + 1):
        manifest = read_manifest(directory, kind=kind)
        stored = StoredDirectory(directory, manifest)
        try:
            stored.check_sizes()
            return read(stored)
        except (IndexDamaged, FileNotFoundError):
            if attempt == _ATTEMPTS or read_manifest(directory, kind=kind).generation == manifest.generation:
                raise
    raise AssertionError("unreachable")


def preload(array: NDArray[Any]) -> None:
    """Map all pages of an array's file into memory at once, where the system can: it is then quick at first touch."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    content = base.obj if isinstance(base, memoryview) else base
    if isinstance(content, mmap.mmap):
        with suppress(OSError, ValueError):
            content.madvise(_POPULATE_READ)


def _read_header(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and type of an array from the header that NumPy wrote, leaving the file at its first byte.

    NumPy's own has Python parse the header as a literal, which takes as long as all else at opening and fails now
    and then in one thread of several (Python 3.11: "AST constructor recursion depth mismatch").
    """
    version = npy.read_magic(file)
    if version != (1, 0):
        raise ValueError(version)
    header = file.read(int.from_bytes(file.read(2), "little")).decode("latin-1")
    found = re.fullmatch(_HEADER, header)
    if found is None:
        raise ValueError(header)
    shape = tuple(int(axis) for axis in found[2].split(",") if axis.strip())
    return shape, np.dtype(found[1])
