"""Answers of an endpoint, kept on disk so that the same thing is asked once.

One SQLite file in the folder that was named; nothing is kept where none was. A key is a digest of the URL, the model,
the kind of call and the text, so the file holds answers but none of the texts. Every call opens the file anew, which
threads, processes and their forks may do at once.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import NoReturn

from sicetnon.errors import EndpointError
from sicetnon.remote.settings import CACHE, Settings

FILE = "endpoint.sqlite"
VERSION = 1  # of the file, as SQLite's user_version
WAIT = 60  # seconds for another process that is writing
SCHEMA = "CREATE TABLE answers (key BLOB PRIMARY KEY, answer BLOB NOT NULL) STRICT, WITHOUT ROWID"


class AnswerCache:
    """What one model of one endpoint answered. ``kind`` names the form of an answer."""

    def __init__(self, settings: Settings) -> None:
        self._of = (settings.url, settings.model)
        self._path = settings.cache / FILE if settings.cache else None

    def read(self, kind: str, texts: Sequence[str]) -> dict[str, bytes]:
        """The answers that are kept, by text.

        Raises:
            EndpointError: the file is damaged, something else, or cannot be read.
        """
        if self._path is None:
            return {}
        found = {}
        with self._open() as connection:
            for text in texts:
                row = connection.execute(
                    "SELECT answer FROM answers WHERE key = ?", (self._key(kind, text),)
                ).fetchone()
                if row is not None:
                    found[text] = row[0]
        return found

    def write(self, kind: str, answers: Mapping[str, bytes]) -> None:
        """Keep answers, by text.

        Raises:
            EndpointError: the file is damaged, something else, or cannot be written.
        """
        if self._path is None:
            return
        rows = [(self._key(kind, text), answer) for text, answer in answers.items()]
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", rows)
            connection.execute("COMMIT")

    def refuse(self, found: str) -> NoReturn:
        """Raise the error of a file that cannot be used."""
        raise EndpointError(
            f"the cache {self._path} cannot be used ({found})",
            expected="the file that Sicetnon wrote, in a folder that may be written",
            remedy=f"if it is damaged remove it, which costs only asking again; else name another folder in {CACHE}",
        )

    def _key(self, kind: str, text: str) -> bytes:
        return hashlib.sha256(json.dumps([*self._of, kind, text]).encode()).digest()

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        path = self._path
        assert path is not None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(path, timeout=WAIT, isolation_level=None)) as connection:
                if _version(connection) != VERSION:
                    self._create(connection)
                yield connection
        except EndpointError:
            raise
        except (sqlite3.Error, OSError) as error:
            self.refuse(str(error))

    def _create(self, connection: sqlite3.Connection) -> None:
        """Make the table, unless another process just did or the file is something else."""
        connection.execute("BEGIN IMMEDIATE")
        version = _version(connection)
        if version == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
            connection.execute(SCHEMA)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        elif version != VERSION:
            self.refuse("it is of another version, or something else")
        connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)
