"""Files of one JSON object a line: read with the line number in every error, written whole or not at all.

Knows nothing of what the rows mean. Standard library only.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import IO, Any, NoReturn

from sicetnon.errors import InputError, MalformedRow, SicetnonError

SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
STREAM = re.compile(r"/dev/(?:(stdout|stderr)|fd/(\d+))|/proc/self/fd/(\d+)")


@dataclass(frozen=True, slots=True)
class Row:
    """The object on one line (``line`` counts from 1), with readers that name file and line when a field is unfit."""

    path: Path
    line: int
    fields: dict[str, object]

    def fault(self, found: str, *, expected: str, remedy: str = "correct that line") -> MalformedRow:
        return MalformedRow(self.path, self.line, found, expected=expected, remedy=remedy)

    @contextmanager
    def naming_faults(self) -> Iterator[None]:
        """Turn what refuses the row's values in the block into the row's fault."""
        try:
            yield
        except InputError as error:
            raise self.fault(error.found, expected=error.expected, remedy=error.remedy) from None

    def string(self, name: str) -> str:
        """The non-empty string under ``name``."""
        if name not in self.fields:
            raise self.fault(f'no field "{name}" (found {_names(self.fields)})', expected=f'a string under "{name}"')
        value = self.fields[name]
        if not isinstance(value, str):
            raise self.fault(f'"{name}" is {tell_kind(value)}', expected="a string")
        if not value.strip():
            raise self.fault(f'"{name}" is empty', expected="a string that is not empty")
        return value

    def items(self, name: str, *, expected: str) -> list[Any]:
        """The list under ``name``; ``expected`` says of what."""
        value = self.fields.get(name)
        if not isinstance(value, list):
            found = f'"{name}" is {tell_kind(value)}' if name in self.fields else f'no field "{name}"'
            raise self.fault(found, expected=expected)
        return value

    def present(self, names: tuple[str, ...]) -> str:
        """Which of ``names`` the row carries, the first in that order; a blank string only if there is nothing else."""
        given = [name for name in names if self.fields.get(name) is not None]
        if given:
            return next((name for name in given if not _is_blank(self.fields[name])), given[0])
        accepted = ", ".join(f'"{name}"' for name in names)
        raise self.fault(f"none of the accepted fields (found {_names(self.fields)})", expected=f"one of {accepted}")


def read_keyed_rows(path: Path, key: str) -> Iterator[tuple[str, Row]]:
    """Yield the rows of ``path`` with the non-empty string that each has under ``key``.

    Raises:
        InputError: the file cannot be opened or holds no row.
        MalformedRow: as ``read_rows``, or a key is missing, no string, or that of a row before.
    """
    lines: dict[str, int] = {}
    for row in read_rows(path):
        value = row.string(key)
        if value in lines:
            raise row.fault(
                f'{key} "{value}" again (first on line {lines[value]})',
                expected=f"each {key} once",
                remedy="remove or rename one of the two",
            )
        lines[value] = row.line
        yield value, row
    if not lines:
        raise InputError(f"{path} holds no row", expected=f'at least one with "{key}"', remedy="check the file")


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of ``path`` in order, one at a time. Blank lines at the end of the file are passed over.

    Raises:
        InputError: the file cannot be opened.
        MalformedRow: a line is not UTF-8, not JSON, not an object, or blank with rows after it.
    """
    try:
        source = path.open("rb")
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror})", expected="a readable JSONL file", remedy="check the path"
        ) from error
    blank: int | None = None
    with source:
        for number, raw in enumerate(source, 1):
            if not raw.strip():
                blank = blank or number
                continue
            if blank is not None:
                raise MalformedRow(path, blank, "a blank line", expected="one JSON object", remedy="remove that line")
            yield Row(path, number, _parse(path, number, raw))


def _parse(path: Path, number: int, raw: bytes) -> dict[str, object]:
    try:
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise MalformedRow(
            path,
            number,
            f"bytes that are not UTF-8 (byte {error.start + 1} of the line)",
            expected="UTF-8 text",
            remedy="convert the file to UTF-8",
        ) from error
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_read_float)
    except (ValueError, RecursionError) as error:  # ValueError also for a number of thousands of digits
        raise MalformedRow(
            path, number, f"invalid JSON ({error})", expected="one JSON object", remedy="correct that line"
        ) from error
    if not isinstance(value, dict):
        raise MalformedRow(path, number, tell_kind(value), expected="a JSON object", remedy="correct that line")
    if SURROGATE.search(text) and not _is_text(value):
        raise MalformedRow(
            path,
            number,
            "half of a surrogate pair",
            expected="text that can be written as UTF-8",
            remedy="correct that line",
        )
    return value


def _is_blank(value: object) -> bool:
    return isinstance(value, str) and not value.strip()


def _read_float(digits: str) -> float:
    value = float(digits)
    if not isfinite(value):
        raise ValueError(f"{digits[:20]} is too large a number")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _is_text(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def whole_file(path: Path) -> Iterator[IO[str]]:
    """Open a text file that appears at ``path`` only when the block ends without error (UTF-8, Unix newlines).

    What stood at ``path`` stays until then. A stream of this process (``/dev/stdout``), a device or a pipe is written
    to as it is. Where the folder takes no new file, a file that stands there is overwritten at the end.

    Raises:
        InputError: nothing can be written there.
    """
    try:
        if (stream := STREAM.fullmatch(str(path))) is not None:
            number = {"stdout": 1, "stderr": 2}.get(stream[1]) or int(stream[2] or stream[3])
            with os.fdopen(os.dup(number), "w", encoding="utf-8", newline="\n") as sink:
                yield sink
        elif path.is_file() or not path.exists():
            with _replacement(path.resolve()) as sink:  # a link stays a link: its target is replaced
                yield sink
        else:
            with path.open("w", encoding="utf-8", newline="\n") as sink:
                yield sink
    except OSError as error:
        # Those that name another file are not of our writing.
        if isinstance(error, SicetnonError | BrokenPipeError) or error.filename not in {None, str(path)}:
            raise
        raise _unwritable(path, error) from error


@contextmanager
def _replacement(target: Path) -> Iterator[IO[str]]:
    unfinished = target.with_name(f".{os.urandom(8).hex()}.unfinished")  # short: the target's name may be long
    try:
        sink = unfinished.open("x", encoding="utf-8", newline="\n")
    except OSError as error:
        if not os.access(target, os.W_OK):
            raise _unwritable(target, error) from error
        import shutil  # it loads every kind of compression
        import tempfile

        with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as kept:
            yield kept
            kept.seek(0)
            with target.open("w", encoding="utf-8", newline="\n") as place:
                shutil.copyfileobj(kept, place)
        return
    try:
        with sink:
            yield sink
        if target.exists():
            unfinished.chmod(target.stat().st_mode & 0o7777)
        try:
            unfinished.replace(target)
        except OSError:  # a file that is mounted there cannot be replaced
            import shutil

            shutil.copyfile(unfinished, target)
            unfinished.unlink()
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(
        f"{path} cannot be written ({error.strerror or error})",
        expected="a path for a file in a writable folder with enough free space",
        remedy="check the path",
    )


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> int:
    """Write ``rows`` to ``path``, whole or not at all; return how many."""
    count = 0
    with whole_file(path) as sink:
        for row in rows:
            sink.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
            count += 1
    return count


def _names(fields: Mapping[str, object]) -> str:
    return ", ".join(f'"{name}"' for name in list(fields)[:12]) or "an empty object"


def tell_kind(value: object) -> str:
    """What a JSON value is, for an error."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else names[type(value)]
