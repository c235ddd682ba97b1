"""Files written one after another -> the next generation of an index directory, made current in one step.

Everything lies beneath the directory itself, which may be a mount point or have a read-only parent. A crash at any
moment leaves the index as it was; what a killed writer left behind is removed by the next one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from sicetnon import __version__
from sicetnon.errors import (
    IndexDamaged,
    IndexDirectoryError,
    IndexForeign,
    IndexLocked,
    IndexNotFound,
    IndexTooOld,
    SicetnonError,
)
from sicetnon.storage.format import (
    GENERATION_PATTERN,
    LOCK_NAME,
    MANIFEST_NAME,
    UNFINISHED_MANIFEST_NAME,
    FileEntry,
    Manifest,
    is_own_name,
    name_generation,
    read_manifest,
    refuse_part,
)
from sicetnon.storage.lock import WriteLock
from sicetnon.storage.reader import StoredDirectory

# Errors that a write to the index raises and that reading something else meanwhile does not.
_WRITE_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})


class DirectoryWriter:
    """Writes one generation of an index directory, as a context manager; without `commit` nothing of it remains."""

    def __init__(self, path: str | Path, *, kind: str) -> None:
        """Name the index directory, which may not exist yet, and the kind of index it is to hold."""
        self._directory = Path(path)
        self._kind = kind
        self._created: list[Path] = []
        self._generation = 0
        self._is_committing = False
        self._is_damaged = False
        self._taken: dict[str, FileEntry] = {}  # from earlier generations, with what their manifest says of them
        self._copied: set[str] = set()  # those of them that are no links
        self._lock: WriteLock | None = None

    @property
    def folder(self) -> Path:
        """The folder to write files into, within the `with` block."""
        return self._directory / name_generation(self._generation)

    def __enter__(self) -> Self:
        """Take the directory: check that it may be written, lock it, remove leftovers, begin a generation."""
        try:
            self._read_current()
            self._create_directory()
            self._lock = WriteLock.take(self._directory / LOCK_NAME)
            current = self._read_current()
            if self._is_damaged:  # what lies there may be of use to somebody until it is replaced
                self._generation = max(self._list_generations(), default=0) + 1
            else:
                self._generation = (current.generation if current else 0) + 1
                self._remove_generations(keep=current)
            self.folder.mkdir()
        except BaseException as error:
            self._leave()
            if isinstance(error, OSError) and not isinstance(error, SicetnonError):
                raise self._explain(error) from error
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove the generation unless it was committed, and let the directory go."""
        self._leave()
        if isinstance(error, OSError) and not isinstance(error, SicetnonError) and self._is_ours(error):
            raise self._explain(error) from error

    def save(self, name: str, array: NDArray[Any]) -> None:
        """Write an array as NAME (.npy), little-endian and C-contiguous."""
        self.save_array(name, [np.ascontiguousarray(array)], dtype=array.dtype, shape=array.shape)

    def save_array(
        self, name: str, chunks: Iterable[NDArray[Any]], *, dtype: DTypeLike, shape: tuple[int, ...]
    ) -> None:
        """Write an array that comes in chunks along its first axis as NAME (.npy)."""
        stored = np.dtype(dtype).newbyteorder("<")
        assert not stored.hasobject
        expected = stored.itemsize * int(np.prod(shape, dtype=object))
        try:
            with self._create(name) as file:
                header = {"descr": npy.dtype_to_descr(stored), "fortran_order": False, "shape": shape}
                npy.write_array_header_1_0(file, header)
                start = file.tell()
                for chunk in chunks:
                    # memoryview and not tofile: NumPy's own writing hides the reason of a failure.
                    file.write(np.ascontiguousarray(chunk, stored).reshape(-1).view(np.uint8).data)
                assert file.tell() - start == expected
        except OSError as error:
            raise self._explain(error) from error

    def save_bytes(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write bytes that come in chunks as the file NAME."""
        try:
            with self._create(name) as file:
                file.writelines(chunks)
        except OSError as error:
            raise self._explain(error) from error

    def check_open(self) -> None:
        """Raise where nothing more may be written: after a commit, or without the lock."""
        if self._is_committing:
            raise IndexDirectoryError(
                f"{self._directory} was committed already", expected="one commit", remedy="open it for writing again"
            )
        if self._lock is None or not self._lock.is_held():
            raise IndexLocked(
                f"{self._directory / LOCK_NAME} was removed or replaced meanwhile",
                expected="the lock that this writer took",
                remedy="see that nobody else writes the index, and start again",
            )

    def _create(self, name: str) -> BinaryIO:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        return path.open("wb")

    def link(self, stored: StoredDirectory, name: str, *, as_name: str) -> None:
        """Take over a file of an earlier generation, without copying it where the file system can; it is not read."""
        target = self.folder / as_name
        try:
            target.parent.mkdir(exist_ok=True)
            try:
                os.link(stored.path(name), target)
            except OSError as error:
                if error.errno in _WRITE_ERRORS:
                    raise
                shutil.copyfile(stored.path(name), target)
                self._copied.add(as_name)
        except OSError as error:
            raise self._explain(error) from error
        self._taken[as_name] = stored.manifest.files[name]

    def rename(self, name: str, new_name: str) -> None:
        """Give a folder of this generation another name."""
        try:
            (self.folder / name).rename(self.folder / new_name)
        except OSError as error:
            raise self._explain(error) from error

    def look(self, counts: Mapping[str, int]) -> StoredDirectory:
        """Return what is written so far as if it were committed, with these counts, for reading it back meanwhile."""
        paths = [path for path in self.folder.rglob("*") if path.is_file()]
        files = {path.relative_to(self.folder).as_posix(): FileEntry(path.stat().st_size, "") for path in paths}
        return StoredDirectory(
            self._directory, Manifest(self._kind, self._generation, {}, counts, files, _describe_builder())
        )

    def commit(self, settings: Mapping[str, Any], counts: Mapping[str, int]) -> Manifest:
        """Make the files written so far the index, in one step, and remove older generations; once."""
        self.check_open()
        try:
            manifest = Manifest(
                kind=self._kind,
                generation=self._generation,
                settings=settings,
                counts=counts,
                files=_sync_files(self.folder, self._taken, self._copied),
                built_by=_describe_builder(),
            )
            unfinished = _write_manifest(self._directory, manifest)
            self._is_committing = True
            unfinished.replace(self._directory / MANIFEST_NAME)
            _sync(self._directory)
            for created in self._created:
                _sync(created.parent)
        except OSError as error:
            raise self._explain(error) from error
        self._remove_generations(keep=manifest)
        return manifest

    def _read_current(self) -> Manifest | None:
        """Return the manifest of the index that is there; refuse a directory that holds something else."""
        try:
            return read_manifest(self._directory, kind=self._kind)
        except IndexNotFound:
            pass
        except (IndexDamaged, IndexTooOld):
            # Ours, if a writer's lock and nothing foreign lies beside it; else somebody's file that has this name. What
            # it holds says nothing to us, but may be of use until it is replaced.
            names = {entry.name for entry in self._directory.iterdir()} - {"lost+found"}
            if LOCK_NAME not in names or not all(map(is_own_name, names)):
                raise self._refuse(MANIFEST_NAME) from None
            self._is_damaged = True
            return None
        except IndexForeign:
            if not self._directory.is_dir() or (self._directory / MANIFEST_NAME).exists():
                raise
        if not self._directory.is_dir():
            return None
        names = {entry.name for entry in self._directory.iterdir()}
        # A new file system's root, mounted for an index, holds lost+found.
        others = sorted(name for name in names if not is_own_name(name) and name != "lost+found")
        if not others and LOCK_NAME not in names:
            # A killed writer leaves its lock; generations without one are somebody else's.
            others = sorted(names - {"lost+found"})
        if others:
            raise self._refuse(others[0])
        return None

    def _refuse(self, name: str) -> IndexForeign:
        return IndexForeign(
            f"found {self._directory}, a directory with other files, e.g. {name}",
            expected="an empty or new directory, or one that Sicetnon wrote",
            remedy="choose another directory",
        )

    def _create_directory(self) -> None:
        missing = []
        ancestor = self._directory
        while not ancestor.exists() and not ancestor.is_symlink():
            missing.append(ancestor)
            ancestor = ancestor.parent
        for path in reversed(missing):
            path.mkdir()
            self._created.append(path)

    def _list_generations(self) -> list[int]:
        names = [entry.name for entry in self._directory.iterdir() if GENERATION_PATTERN.fullmatch(entry.name)]
        return [int(name.removeprefix("generation-")) for name in names]

    def _remove_generations(self, *, keep: Manifest | None) -> None:
        """Remove every generation but one, and a manifest that was not finished."""
        kept = name_generation(keep.generation) if keep else None
        (self._directory / UNFINISHED_MANIFEST_NAME).unlink(missing_ok=True)
        for entry in self._directory.iterdir():
            is_generation = GENERATION_PATTERN.fullmatch(entry.name) and entry.is_dir() and not entry.is_symlink()
            if is_generation and entry.name != kept:
                shutil.rmtree(entry, ignore_errors=True)

    def _leave(self) -> None:
        """Remove what is not committed, and what was created for it, then unlock."""
        if self._lock is not None:
            if self._lock.is_held():  # else what lies there may be another writer's
                with suppress(OSError):
                    (self._directory / UNFINISHED_MANIFEST_NAME).unlink(missing_ok=True)
                if not self._may_be_current():
                    shutil.rmtree(self.folder, ignore_errors=True)
                if not (self._directory / MANIFEST_NAME).exists():
                    self._lock.remove()
            self._lock.release()
            self._lock = None
        for path in reversed(self._created):
            try:
                path.rmdir()
            except OSError:
                break

    def _may_be_current(self) -> bool:
        """Tell whether the manifest may name our generation: an interrupted commit leaves that to be read."""
        if not self._is_committing:
            return False
        try:
            return read_manifest(self._directory, kind=self._kind).generation == self._generation
        except IndexNotFound:
            return False
        except SicetnonError:
            return True  # unreadable for now: what it may need is not removed

    def _is_ours(self, error: OSError) -> bool:
        named = error.filename if isinstance(error.filename, str | os.PathLike) else None
        return error.errno in _WRITE_ERRORS or (named is not None and Path(named).is_relative_to(self._directory))

    def _explain(self, error: OSError) -> IndexDirectoryError:
        return _explain_failure(self._directory, error)


def _explain_failure(directory: Path, error: OSError) -> IndexDirectoryError:
    """Return the error for a directory that could not be written."""
    return IndexDirectoryError(
        f"{directory} cannot be written ({error.strerror or error})",
        expected="a writable directory with enough free space",
        remedy="free some space, check its permissions or choose another directory",
    )


def change_settings(path: str | Path, *, kind: str, settings: Mapping[str, Any]) -> Manifest:
    """Set some settings of the index in a directory, in one step; its files and other settings stay."""
    directory = Path(path)
    read_manifest(directory, kind=kind)  # a directory without an index is refused before anything is written to it
    refuse_part(directory)
    try:
        lock = WriteLock.take(directory / LOCK_NAME)
        try:
            current = read_manifest(directory, kind=kind)
            manifest = replace(current, settings=dict(current.settings) | dict(settings))
            _write_manifest(directory, manifest).replace(directory / MANIFEST_NAME)
            _sync(directory)
        finally:
            with suppress(OSError):
                (directory / UNFINISHED_MANIFEST_NAME).unlink(missing_ok=True)
            lock.release()
    except OSError as error:
        if isinstance(error, SicetnonError):
            raise
        raise _explain_failure(directory, error) from error
    return manifest


def _write_manifest(directory: Path, manifest: Manifest) -> Path:
    unfinished = directory / UNFINISHED_MANIFEST_NAME
    unfinished.write_text(manifest.to_json(), encoding="utf-8")
    _sync(unfinished)
    return unfinished


def _sync_files(folder: Path, taken: Mapping[str, FileEntry], copied: set[str]) -> dict[str, FileEntry]:
    """Force every file beneath the folder to disk, but for links, and return what the manifest is to say of each.

    Of files taken from an earlier generation that is what it said before: so one that was altered since is still seen.
    """
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            _sync(path)
        elif (name := path.relative_to(folder).as_posix()) in taken:
            files[name] = taken[name]
            if name in copied:
                _sync(path)
        elif path.name != LOCK_NAME:  # of an index directory within this one; it carries nothing
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                files[name] = FileEntry(file.tell(), digest)
                os.fsync(file.fileno())
    _sync(folder)
    return files


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _describe_builder() -> dict[str, str]:
    return {"sicetnon": __version__, "python": platform.python_version(), "numpy": np.__version__}
