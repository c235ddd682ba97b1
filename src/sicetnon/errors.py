"""One tree of errors; each says what was found, what was expected and what to do.

    SicetnonError
    |- InputError (ValueError)            a corpus, query, label or settings value that cannot be used
    |  `- MalformedRow                    ... in a file, with its line number
    |- IndexDirectoryError (OSError)      an index directory that cannot be used
    |  |- IndexNotFound (FileNotFoundError)
    |  |- IndexForeign                    it is something else than what was asked for
    |  |- IndexTooNew                     written in a later version of the format
    |  |- IndexTooOld                     written in an earlier version of the format
    |  |- IndexDamaged                    a file is missing, truncated or altered
    |  `- IndexLocked (BlockingIOError)   another process is writing it
    |- ModelError (ValueError)            an encoder or stance model that cannot be loaded
    |- EndpointError (OSError)            an embedding or chat endpoint, or the cache of its answers, that fails
    `- MissingExtra (ImportError)         an optional dependency is not installed

The command line turns every one of them into a single line on standard error and exit status 1.
"""

from __future__ import annotations

from pathlib import Path


class SicetnonError(Exception):
    """Root of every error that Sicetnon raises on purpose."""

    def __init__(self, found: str, *, expected: str, remedy: str) -> None:
        self.found = found
        self.expected = expected
        self.remedy = remedy
        super().__init__(f"{found}; expected {expected}; {remedy}")


class InputError(SicetnonError, ValueError):
    """Data or settings handed to Sicetnon cannot be used."""


class MalformedRow(InputError):
    """A row of a file cannot be used; names the file and the line (counted from 1)."""

    def __init__(self, path: Path, line: int, found: str, *, expected: str, remedy: str) -> None:
        self.path = path
        self.line = line
        super().__init__(f"{path}, line {line}: {found}", expected=expected, remedy=remedy)


class IndexDirectoryError(SicetnonError, OSError):
    """An index directory cannot be used."""


class IndexNotFound(IndexDirectoryError, FileNotFoundError):
    """There is no index at the path."""


class IndexForeign(IndexDirectoryError):
    """The directory holds something else than the kind of index that was asked for."""


class IndexTooNew(IndexDirectoryError):
    """The index was written by a later version of the format."""


class IndexTooOld(IndexDirectoryError):
    """The index was written in an earlier version of the format."""


class IndexDamaged(IndexDirectoryError):
    """A file of the index is missing, truncated or altered."""


class IndexLocked(IndexDirectoryError, BlockingIOError):
    """Another process is writing this index."""


class ModelError(SicetnonError, ValueError):
    """An encoder or stance model cannot be loaded or does not fit."""


class EndpointError(SicetnonError, OSError):
    """An embedding or chat endpoint cannot be reached, refuses, or answers something else; or its cache is damaged."""


class MissingExtra(SicetnonError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, *, extra: str, purpose: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(
            f"{package} is not installed",
            expected=f"it for {purpose}",
            remedy=f"install it with: pip install 'sicetnon[{extra}]'",
        )
