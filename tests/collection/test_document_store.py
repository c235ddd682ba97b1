"""Documents in SQLite: every field comes back, and filters let through what they should."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sicetnon.collection.store import DocumentStore, DocumentStoreWriter
from sicetnon.errors import IndexDamaged, InputError
from sicetnon.types import Document, Filters, Treatment

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
DOCUMENTS = st.builds(
    Document,
    doc_id=TEXT,
    text=TEXT,
    title=TEXT,
    citation=st.none() | TEXT,
    docket=st.none() | TEXT,
    court=st.none() | TEXT,
    court_id=st.none() | TEXT,
    decided=st.none() | st.dates(),
    areas=st.lists(st.text(), max_size=2).map(tuple),
    treatment=st.none()
    | st.builds(Treatment, status=TEXT, by=st.none() | TEXT, by_title=TEXT, date=st.dates(), note=TEXT),
    metadata=st.dictionaries(st.text(), JSON, max_size=2),
)
COURTS = ("Supreme Court", "COUR D'ÉTAT", None)


def store(path: Path, documents: Sequence[Document]) -> DocumentStore:
    """Write the documents and open them."""
    writer = DocumentStoreWriter(path)
    for document in documents:
        writer.add(document)
    writer.close()
    return DocumentStore(path)


def allowed(documents: Sequence[Document], filters: Filters, as_of: date | None, folder: Path) -> list[str]:
    """Return the IDs of the documents that pass; no mask at all is given where nothing is asked, and only there."""
    mask = store(folder / "documents.sqlite", documents).allowed(filters, as_of)
    assert (mask is None) is (filters == Filters() and as_of is None)
    passing = [True] * len(documents) if mask is None else mask.tolist()
    return [document.doc_id for document, passes in zip(documents, passing, strict=True) if passes]


def mask_of(opened: DocumentStore, filters: Filters, as_of: date | None = None) -> list[bool]:
    """Return which documents pass where something is asked."""
    mask = opened.allowed(filters, as_of)
    assert mask is not None
    assert (mask.dtype, mask.shape) == (np.bool_, (len(opened),))
    return list(mask.tolist())


def passes(document: Document, filters: Filters, as_of: date | None) -> bool:
    """Tell slowly whether a document passes."""
    names = {name.casefold() for name in (document.court, document.court_id) if name is not None}
    if filters.courts and not names & {court.casefold() for court in filters.courts}:
        return False
    low, high = filters.decided_from or date.min, min(filters.decided_to or date.max, as_of or date.max)
    has_date_filter = not (filters.decided_from is None and filters.decided_to is None and as_of is None)
    return not has_date_filter or (document.decided is not None and low <= document.decided <= high)


def make(number: int, day: date | None, court: str | None = None, court_id: str | None = None) -> Document:
    """Make a document of that day and court."""
    return Document(doc_id=f"d{number}", text="x", decided=day, court=court, court_id=court_id)


@settings(max_examples=40)
@given(st.lists(DOCUMENTS, max_size=4, unique_by=lambda document: document.doc_id))
def test_round_trip(documents: list[Document]) -> None:
    """Every field of any document comes back, by number in any order and by ID."""
    with tempfile.TemporaryDirectory() as folder:
        opened = store(Path(folder) / "documents.sqlite", documents)
        assert len(opened) == len(documents)
        assert opened.read(range(len(documents))) == documents
        assert opened.read(range(len(documents))[::-1]) == documents[::-1]
        assert opened.doc_ids() == [document.doc_id for document in documents]
        assert [opened.find(document.doc_id) for document in documents] == list(range(len(documents)))


def test_unknown_id(tmp_path: Path) -> None:
    """An ID that no document has is not found, also where it looks like SQL."""
    opened = store(tmp_path / "documents.sqlite", [make(1, None)])
    assert opened.find("d2") is None
    assert opened.find("' OR 1=1 --") is None


def test_same_id_twice(tmp_path: Path) -> None:
    """An ID that comes a second time is named."""
    writer = DocumentStoreWriter(tmp_path / "documents.sqlite")
    writer.add(make(1, None))
    with pytest.raises(InputError, match='doc_id "d1" twice'):
        writer.add(make(1, None))
    writer.abandon()


def test_half_a_surrogate_pair(tmp_path: Path) -> None:
    """A text that cannot be written as UTF-8 is refused, with its document."""
    writer = DocumentStoreWriter(tmp_path / "documents.sqlite")
    with pytest.raises(InputError, match="document 'd' with half of a surrogate pair"):
        writer.add(Document(doc_id="d", text="\ud800"))
    writer.abandon()


@pytest.mark.parametrize("court", ["supreme COURT", "sct", "SCT"])
def test_courts(tmp_path: Path, court: str) -> None:
    """A court is named by its name or its ID, in any case."""
    documents = [make(1, None, "Supreme Court", "SCt"), make(2, None, "Court", "other"), make(3, None)]
    assert allowed(documents, Filters(courts=(court,)), None, tmp_path) == ["d1"]


def test_courts_in_any_alphabet(tmp_path: Path) -> None:
    """Case is folded beyond ASCII too."""
    documents = [make(1, None, "COUR D'ÉTAT"), make(2, None, "ΔΙΚΑΣΤΉΡΙΟ"), make(3, None, "Straße")]
    assert allowed(documents, Filters(courts=("Cour d'État", "δικαστήριο")), None, tmp_path) == ["d1", "d2"]


def test_several_courts(tmp_path: Path) -> None:
    """A document of any of the courts passes; a court that no document has lets none through."""
    documents = [make(1, None, "A"), make(2, None, "B"), make(3, None, "C")]
    assert allowed(documents, Filters(courts=("a", "c", "none")), None, tmp_path) == ["d1", "d3"]
    (tmp_path / "documents.sqlite").unlink()
    assert allowed(documents, Filters(courts=("none",)), None, tmp_path) == []


def test_dates_are_inclusive(tmp_path: Path) -> None:
    """The first and the last day pass; a document without a date does not, but where no day is asked for all do."""
    documents = [make(day, date(2000, 1, day)) for day in (1, 2, 3, 4)] + [make(9, None)]
    opened = store(tmp_path / "documents.sqlite", documents)
    filters = Filters(decided_from=date(2000, 1, 2), decided_to=date(2000, 1, 3))
    assert mask_of(opened, filters) == [False, True, True, False, False]
    assert mask_of(opened, Filters(decided_from=date(2000, 1, 4))) == [False, False, False, True, False]
    assert mask_of(opened, Filters(decided_to=date(2000, 1, 1))) == [True, False, False, False, False]
    assert mask_of(opened, Filters(), date(2000, 1, 2)) == [True, True, False, False, False]
    assert opened.allowed(Filters(), None) is None


@pytest.mark.parametrize(
    "court", ["' OR '1'='1", 'x" OR TRUE --', "'); DROP TABLE documents; --", "%", "_", "\0", "?", ") OR (TRUE"]
)
def test_injection_is_harmless(tmp_path: Path, court: str) -> None:
    """A court's name is never read as SQL or as a pattern."""
    opened = store(tmp_path / "documents.sqlite", [make(1, None, "A"), make(2, None, court)])
    assert mask_of(opened, Filters(courts=(court,))) == [False, True]
    assert len(opened.read([0, 1])) == 2


DAYS = st.none() | st.dates(date(1999, 12, 30), date(2000, 1, 3))


@settings(max_examples=60)
@given(
    st.lists(st.tuples(DAYS, st.sampled_from(COURTS), st.sampled_from(["sct", "É", None])), max_size=6),
    st.lists(st.sampled_from(["supreme court", "Cour d'état", "SCT", "é", "none"]), max_size=2).map(tuple),
    DAYS,
    DAYS,
    DAYS,
)
def test_filters_against_oracle(
    rows: list[tuple[date | None, str | None, str | None]],
    courts: tuple[str, ...],
    low: date | None,
    high: date | None,
    as_of: date | None,
) -> None:
    """Any filters let through what asking each document in turn does."""
    documents = [make(number, *row) for number, row in enumerate(rows)]
    filters = Filters(courts=courts, decided_from=low, decided_to=high)
    with tempfile.TemporaryDirectory() as folder:
        expected = [document.doc_id for document in documents if passes(document, filters, as_of)]
        assert allowed(documents, filters, as_of, Path(folder)) == expected


def test_threads(tmp_path: Path) -> None:
    """Many threads read at once."""
    opened = store(tmp_path / "documents.sqlite", [make(number, None) for number in range(50)])
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda number: opened.read([number])[0].doc_id, list(range(50)) * 4)
        assert list(found) == [f"d{number}" for number in range(50)] * 4


@pytest.mark.parametrize("content", [b"", b"not a database" * 100])
def test_damaged_file(tmp_path: Path, content: bytes) -> None:
    """A file that is no such database is damage, and is named."""
    (tmp_path / "documents.sqlite").write_bytes(content)
    with pytest.raises(IndexDamaged, match=r"documents\.sqlite cannot be read"):
        DocumentStore(tmp_path / "documents.sqlite")


def test_awkward_path(tmp_path: Path) -> None:
    """A path with characters that mean something in a URI is a path like any other."""
    folder = tmp_path / "a b?mode=rw#é%41"
    folder.mkdir()
    assert len(store(folder / "documents.sqlite", [make(1, None)])) == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", None),
        ("docket", 7),
        ("decided", datetime(2000, 1, 1, tzinfo=UTC)),
        ("decided", "2000-01-01"),
        ("areas", None),
        ("areas", ["law"]),
        ("metadata", {"day": date(2000, 1, 1)}),
    ],
)
def test_fields_of_another_type(tmp_path: Path, field: str, value: object) -> None:
    """A document with a field of a type that it does not declare is refused, and the field named."""
    document = replace(Document(doc_id="a", text="x"), **{field: value})
    writer = DocumentStoreWriter(tmp_path / "documents.sqlite")
    with pytest.raises(InputError, match=f"document 'a' with {field} "):
        writer.add(document)
    writer.abandon()


def test_id_that_no_document_can_have(tmp_path: Path) -> None:
    """Half a surrogate pair is found nowhere."""
    writer = DocumentStoreWriter(tmp_path / "documents.sqlite")
    writer.close()
    assert DocumentStore(tmp_path / "documents.sqlite").find("\ud800") is None
