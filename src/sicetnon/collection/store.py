"""Documents and their metadata in SQLite: read by number, found by ID, filtered on typed columns."""

from __future__ import annotations

import json
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sicetnon.errors import IndexDamaged, InputError
from sicetnon.types import Document, Filters, Treatment

DOCUMENTS = "documents.sqlite"
SCHEMA = """
CREATE TABLE documents (
    ordinal INTEGER PRIMARY KEY, doc_id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, text TEXT NOT NULL,
    citation TEXT, docket TEXT, court TEXT, court_id TEXT, decided TEXT,
    areas TEXT NOT NULL, treatment TEXT, metadata TEXT NOT NULL
) STRICT;
CREATE INDEX documents_decided ON documents (decided);
"""


class DocumentStoreWriter:
    """Writes documents in the order given: the first gets ordinal 0."""

    def __init__(self, path: Path) -> None:
        # Autocommit off and no journal: the file is part of an unfinished generation until the index is committed.
        self._connection = sqlite3.connect(path)
        self._connection.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + SCHEMA)
        self._count = 0

    def add(self, document: Document) -> None:
        _check_types(document)
        treatment = document.treatment
        try:
            self._connection.execute(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    self._count,
                    document.doc_id,
                    document.title,
                    document.text,
                    document.citation,
                    document.docket,
                    document.court,
                    document.court_id,
                    document.decided.isoformat() if document.decided else None,
                    json.dumps(document.areas),
                    json.dumps(treatment.as_row()) if treatment else None,
                    json.dumps(dict(document.metadata)),
                ),
            )
        except UnicodeEncodeError as error:
            raise InputError(
                f"document {document.doc_id!r} with half of a surrogate pair",
                expected="text that can be written as UTF-8",
                remedy="correct that document",
            ) from error
        except sqlite3.IntegrityError as error:
            raise InputError(
                f'doc_id "{document.doc_id}" twice', expected="each document once", remedy="remove one of the two"
            ) from error
        self._count += 1

    def close(self) -> None:
        self._connection.commit()
        self._connection.close()

    def abandon(self) -> None:
        """Let go of the file, finished or not."""
        self._connection.close()


class DocumentStore:
    """Reads the documents of an index. Safe from many threads, which take turns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turn = threading.Lock()
        # Opened once, and not when a thread first reads: by then a writer may have removed the generation.
        with self._damage_named():
            uri = path.resolve().as_uri() + "?mode=ro&immutable=1"
            self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        weakref.finalize(self, self._connection.close)
        self._courts: list[str] | None = None  # read when a filter first names one
        self._counts: dict[str, dict[str, int]] = {}
        with self._reading() as connection:
            self._count = int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])

    def __len__(self) -> int:
        return self._count

    def read(self, ordinals: Sequence[int]) -> list[Document]:
        """The documents with these ordinals, in that order."""
        with self._reading() as connection:
            rows = [
                connection.execute("SELECT * FROM documents WHERE ordinal = ?", (int(ordinal),)).fetchone()
                for ordinal in ordinals
            ]
        try:
            return [_document(row) for row in rows]
        except (TypeError, ValueError, KeyError, AttributeError) as error:  # of altered bytes; JSON's is a ValueError
            raise self._damage(error) from error

    def read_ids(self, ordinals: Sequence[int]) -> list[str]:
        """The IDs of the documents with these ordinals, in that order."""
        statement = "SELECT doc_id FROM documents WHERE ordinal = ?"
        with self._reading() as connection:
            rows = [connection.execute(statement, (int(ordinal),)).fetchone() for ordinal in ordinals]
        try:
            return [str(doc_id) for (doc_id,) in rows]
        except TypeError as error:  # altered bytes may lose a row
            raise self._damage(error) from error

    def find(self, doc_id: str) -> int | None:
        """The ordinal of the document called ``doc_id``, or None."""
        try:
            doc_id.encode()
        except UnicodeEncodeError:  # half a surrogate pair: no document can have it
            return None
        with self._reading() as connection:
            row = connection.execute("SELECT ordinal FROM documents WHERE doc_id = ?", (doc_id,)).fetchone()
        return None if row is None else int(row[0])

    def doc_ids(self) -> list[str]:
        """Every document ID, by ordinal."""
        with self._reading() as connection:
            return [str(row[0]) for row in connection.execute("SELECT doc_id FROM documents ORDER BY ordinal")]

    def allowed(self, filters: Filters, as_of: date | None) -> npt.NDArray[np.bool_] | None:
        """Bool [len(self)]: which documents pass the filters and were decided by ``as_of`` (None: any day).

        None where every document does.
        """
        if filters.allow_everything and as_of is None:
            return None
        clauses, values = ["TRUE"], list[str]()
        if filters.courts:
            spellings = self._fold(filters.courts, self._court_names())
            marks = ", ".join("?" * len(spellings))
            clauses.append(f"(court IN ({marks}) OR court_id IN ({marks}))")
            values += spellings * 2
        if filters.areas:
            wanted = self._fold(filters.areas, self.areas())
            marks = ", ".join("?" * len(wanted))
            clauses.append(f"EXISTS (SELECT 1 FROM json_each(areas) WHERE value IN ({marks}))")  # noqa: S608 - question marks
            values += wanted
        for operator, day in ((">=", filters.decided_from), ("<=", filters.decided_to), ("<=", as_of)):
            if day is not None:
                clauses.append(f"decided {operator} ?")  # ISO dates sort as text; NULL passes no comparison
                values.append(day.isoformat())
        statement = "SELECT ordinal FROM documents WHERE " + " AND ".join(clauses)  # noqa: S608 - no value is in it
        mask = np.zeros(len(self), np.bool_)
        with self._reading() as connection:
            mask[[row[0] for row in connection.execute(statement, values)]] = True
        return mask

    def courts(self) -> dict[str, int]:
        """How many documents each court has, by its name, or its ID where it has no name; in alphabetical order."""
        return self._count_by("SELECT coalesce(court, court_id) AS name FROM documents")

    def areas(self) -> dict[str, int]:
        """How many documents are of each area of law; in alphabetical order."""
        return self._count_by("SELECT DISTINCT ordinal, value AS name FROM documents, json_each(areas)")

    def decided_range(self) -> tuple[date, date] | None:
        """The first and the last day on which a document was decided; None where none has a day."""
        with self._reading() as connection:
            first, last = connection.execute("SELECT min(decided), max(decided) FROM documents").fetchone()
        return None if first is None else (date.fromisoformat(first), date.fromisoformat(last))

    def _count_by(self, names: str) -> dict[str, int]:
        """Counted when first asked for: the store never changes."""
        if (counts := self._counts.get(names)) is None:
            statement = f"SELECT name, count(*) FROM ({names}) WHERE name IS NOT NULL GROUP BY name"  # noqa: S608 - ours
            with self._reading() as connection:
                rows = connection.execute(statement).fetchall()
            counts = dict(sorted((str(name), int(count)) for name, count in rows))
            self._counts[names] = counts
        return dict(counts)

    def _court_names(self) -> list[str]:
        """The names and the IDs of courts."""
        if self._courts is None:
            with self._reading() as connection:
                statement = "SELECT court FROM documents UNION SELECT court_id FROM documents"
                self._courts = [name for (name,) in connection.execute(statement) if name is not None]
        return self._courts

    @staticmethod
    def _fold(wanted: Sequence[str], known: Iterable[str]) -> list[str]:
        """The spellings that the index has of what is wanted, but for case (SQLite folds ASCII alone)."""
        folded = {name.casefold() for name in wanted}
        return [name for name in known if name.casefold() in folded]

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._turn, self._damage_named():
            yield self._connection

    @contextmanager
    def _damage_named(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._damage(error) from error

    def _damage(self, error: Exception) -> IndexDamaged:
        return IndexDamaged(
            f"{self._path} cannot be read ({error})",
            expected="the document store of an index",
            remedy="restore it from a copy or build the index again",
        )


def _check_types(document: Document) -> None:
    """Refuse what a caller may have put into a Document that its fields' types do not allow."""
    strings = ("doc_id", "title", "text"), ("citation", "docket", "court", "court_id")
    wrong = [name for name in strings[0] if not isinstance(getattr(document, name), str)]
    wrong += [name for name in strings[1] if not isinstance(getattr(document, name), str | None)]
    if document.decided is not None and type(document.decided) is not date:  # a datetime is a date, but no day
        wrong.append("decided")
    if not isinstance(document.areas, tuple) or not all(isinstance(area, str) for area in document.areas):
        wrong.append("areas")
    try:
        json.dumps(dict(document.metadata))
    except (TypeError, ValueError):
        wrong.append("metadata")
    if wrong:
        raise InputError(
            f"document {document.doc_id!r} with {wrong[0]} {getattr(document, wrong[0])!r}",
            expected=f"what Document.{wrong[0]} is declared to be",
            remedy="correct that document",
        )


def _document(row: tuple[object, ...]) -> Document:
    _, doc_id, title, text, citation, docket, court, court_id, decided, areas, treatment, metadata = row
    known: dict[str, object] = {"citation": citation, "docket": docket, "court": court, "court_id": court_id}
    if treatment is not None:
        known["treatment"] = Treatment.of_row(json.loads(str(treatment)))
    return Document(
        doc_id=str(doc_id),
        title=str(title),
        text=str(text),
        decided=date.fromisoformat(str(decided)) if decided is not None else None,
        areas=tuple(json.loads(str(areas))),
        metadata=json.loads(str(metadata)),
        **known,  # type: ignore[arg-type]
    )
