"""What manifest.json says, and the names of the files around it.

The manifest is the commit point of an index directory: whatever it lists is the index, and nothing else is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from sicetnon.errors import (
    IndexDamaged,
    IndexDirectoryError,
    IndexForeign,
    IndexNotFound,
    IndexTooNew,
    IndexTooOld,
    InputError,
)

FORMAT_VERSION = 2
MANIFEST_NAME = "manifest.json"
UNFINISHED_MANIFEST_NAME = "manifest.json.unfinished"
LOCK_NAME = "write.lock"
GENERATION_PATTERN = re.compile(r"generation-\d{6,}", re.ASCII)

REBUILD = "restore it from a copy or build the index again"
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


def name_generation(generation: int) -> str:
    """Return the folder name of a generation, counted from 1."""
    return f"generation-{generation:06d}"


def is_own_name(name: str) -> bool:
    """Tell whether a directory entry has a name that only an index directory's writer gives."""
    return name in {MANIFEST_NAME, UNFINISHED_MANIFEST_NAME, LOCK_NAME} or bool(GENERATION_PATTERN.fullmatch(name))


def refuse_part(directory: Path) -> None:
    """Refuse to change an index that is a part of another: that one's manifest tells the bytes of all its files."""
    for folder in directory.resolve().parents:
        if GENERATION_PATTERN.fullmatch(folder.name) and (folder.parent / MANIFEST_NAME).exists():
            raise IndexForeign(
                f"{directory} is a part of the index {folder.parent}",
                expected="an index of its own",
                remedy="change that index as a whole, or work on a copy of this part elsewhere",
            )


def check_output(output: Path, directory: Path) -> None:
    """Refuse to write something else over what belongs to the index in a directory.

    Raises:
        InputError: ``output`` is such a file, or lies in such a folder.
    """
    inside = output.resolve()
    if inside.is_relative_to(directory.resolve()):
        parts = inside.relative_to(directory.resolve()).parts
        if not parts or is_own_name(parts[0]):
            raise InputError(f"results in the index, at {output}", expected="a path outside it", remedy="name another")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """Size in bytes and SHA-256 (64 lower-case hexadecimal digits) of one file of a generation."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """One committed generation: its kind, settings, counts and files (by path relative to the generation folder)."""

    kind: str
    generation: int
    settings: Mapping[str, Any]
    counts: Mapping[str, int]
    files: Mapping[str, FileEntry]
    built_by: Mapping[str, str]
    format_version: int = FORMAT_VERSION

    def to_json(self) -> str:
        """Return the manifest's text, with a checksum of its own: the same manifest always gives the same text."""
        fields = asdict(self)
        return json.dumps(fields | {"sha256": _digest(fields)}, indent=1, sort_keys=True, allow_nan=False) + "\n"


def read_manifest(directory: Path, *, kind: str | None) -> Manifest:
    """Read and check the manifest of an index directory that should be of the given kind (None: of any)."""
    path = directory / MANIFEST_NAME
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        _refuse_missing(directory)
    except NotADirectoryError:
        raise IndexForeign(f"{directory} is a file", expected="an index directory", remedy="check the path") from None
    except OSError as error:
        raise IndexDirectoryError(
            f"{path} cannot be read ({error.strerror})", expected="a readable file", remedy="check its permissions"
        ) from error
    return parse_manifest(text, path=path, kind=kind)


def parse_manifest(text: bytes, *, path: Path, kind: str | None) -> Manifest:
    """Parse a manifest; `path` is only for the errors."""
    try:
        fields = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        raise IndexDamaged(f"{path} is not JSON", expected="the manifest of an index", remedy=REBUILD) from None
    if not isinstance(fields, dict):
        raise IndexDamaged(f"{path} is not a JSON object", expected="the manifest of an index", remedy=REBUILD)
    version = _take_integer(path, fields, "format_version")
    if version > FORMAT_VERSION:
        raise IndexTooNew(
            f"{path} has format version {version}",
            expected=f"at most {FORMAT_VERSION}",
            remedy="install a newer Sicetnon or build the index again",
        )
    found = fields.get("kind")
    if not isinstance(found, str):
        raise _refuse_field(path, "kind", "a string")
    if kind is not None and found != kind:
        raise IndexForeign(
            f"{path} belongs to an index of kind {found!r}", expected=f"kind {kind!r}", remedy="check the path"
        )
    if version < FORMAT_VERSION:
        raise IndexTooOld(
            f"{path} has format version {version}", expected=f"version {FORMAT_VERSION}", remedy="build the index again"
        )
    if fields.get("sha256") != _digest({name: value for name, value in fields.items() if name != "sha256"}):
        raise IndexDamaged(f"{path} was altered", expected="the text that its checksum is of", remedy=REBUILD)
    counts, built_by = _take_object(path, fields, "counts"), _take_object(path, fields, "built_by")
    if not all(type(count) is int and count >= 0 for count in counts.values()):
        raise _refuse_field(path, "counts", "integers of at least 0")
    if not all(isinstance(value, str) for value in built_by.values()):
        raise _refuse_field(path, "built_by", "strings")
    files = _take_object(path, fields, "files")
    return Manifest(
        kind=found,
        generation=_take_integer(path, fields, "generation"),
        settings=_take_object(path, fields, "settings"),
        counts=counts,
        files={name: _parse_entry(path, name, entry) for name, entry in files.items()},
        built_by=built_by,
        format_version=version,
    )


def _digest(fields: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def _parse_entry(path: Path, name: str, entry: object) -> FileEntry:
    if set(name) & {"\\", "\0", ":"} or not {"", ".", ".."}.isdisjoint(name.split("/")):
        raise _refuse_field(path, "files", f"paths within the generation folder, not {name!r}")
    size = entry.get("bytes") if isinstance(entry, dict) else None
    digest = entry.get("sha256") if isinstance(entry, dict) else None
    if type(size) is not int or size < 0 or not isinstance(digest, str) or not _SHA256.fullmatch(digest):
        raise _refuse_field(path, "files", f"bytes and sha256 of {name!r}")
    return FileEntry(size, digest)


def _take_integer(path: Path, fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name)
    if type(value) is not int or value < 1:
        raise _refuse_field(path, name, "an integer of at least 1")
    return value


def _take_object(path: Path, fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = fields.get(name)
    if not isinstance(value, dict):
        raise _refuse_field(path, name, "an object")
    return value


def _refuse_field(path: Path, name: str, expected: str) -> IndexDamaged:
    return IndexDamaged(f"{path} has no usable field {name!r}", expected=expected, remedy=REBUILD)


def _refuse_missing(directory: Path) -> NoReturn:
    remedy = "check the path or build the index first"
    if not directory.is_dir():
        raise IndexNotFound(f"there is no directory {directory}", expected="an index directory", remedy=remedy)
    others = sorted(entry.name for entry in directory.iterdir() if not is_own_name(entry.name))
    if others:
        raise IndexForeign(
            f"{directory} has no {MANIFEST_NAME} but other files, e.g. {others[0]}",
            expected="an index directory",
            remedy=remedy,
        )
    raise IndexNotFound(f"{directory} has no {MANIFEST_NAME}", expected="a finished index", remedy=remedy)
