"""JSONL rows <-> Documents.

A row needs ``doc_id`` and a text under one of ``TEXT_FIELDS``: a string, or a list of sections, each a string or an
object with ``text`` and perhaps ``heading``. What a Document has a field for is read into it where its type fits;
everything else is kept as metadata, so that nothing of the source is lost: of sections their headings and the like,
under "sections", each with its start and end in the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, cast

from sicetnon.jsonl import Row, read_keyed_rows, tell_kind, write_rows
from sicetnon.types import Document, Json, Treatment

TEXT_FIELDS = ("text", "contents", "body", "sections")
TREATMENT_FIELDS = {"status", "by", "by_title", "date", "note"}
OPTIONAL_STRINGS = ("citation", "docket", "court", "court_id")


def read_documents(path: Path) -> Iterator[Document]:
    """Yield the documents of ``path`` in order, one at a time.

    Raises:
        MalformedRow: bad JSON or UTF-8, a missing or wrongly typed field, an empty text, an ID seen before.
        InputError: the file cannot be opened or holds no document.
    """
    for doc_id, row in read_keyed_rows(path, "doc_id"):
        yield _parse_document(doc_id, row)


def _parse_document(doc_id: str, row: Row) -> Document:
    text_field = row.present(TEXT_FIELDS)
    text, sections = _parse_text(row, text_field)
    title = row.fields.get("title")
    if title is not None and not isinstance(title, str):
        raise row.fault(f'"title" is {tell_kind(title)}', expected="a string or null")
    known: dict[str, object] = {}
    used = {"doc_id", "title", text_field}
    used |= {name for name in TEXT_FIELDS if row.fields.get(name) is None}  # a null there says nothing
    for name in OPTIONAL_STRINGS:
        if isinstance(value := row.fields.get(name), str):
            known[name] = value
            used.add(name)
    if (decided := _parse_date(row.fields.get("decided"))) is not None:
        known["decided"] = decided
        used.add("decided")
    areas = row.fields.get("areas")
    if isinstance(areas, list) and all(isinstance(area, str) for area in areas):
        known["areas"] = tuple(areas)
        used.add("areas")
    raw_treatment = row.fields.get("treatment")
    if isinstance(raw_treatment, dict) and (treatment := _parse_treatment(raw_treatment)) is not None:
        known["treatment"] = treatment
        if raw_treatment.keys() <= TREATMENT_FIELDS:
            used.add("treatment")
    metadata = {name: cast("Json", value) for name, value in row.fields.items() if name not in used}
    if sections:
        metadata["sections"] = sections
    return Document(doc_id=doc_id, text=text, title=title or "", metadata=metadata, **known)  # type: ignore[arg-type]


def write_documents(path: Path, documents: Iterable[Document]) -> int:
    """Write ``documents`` so that ``read_documents`` gives equal ones back; return how many."""
    return write_rows(path, map(document_row, documents))


def document_row(document: Document) -> dict[str, object]:
    """The JSON row of a document; fields that it lacks are left out, metadata stand for what they were read from."""
    row: dict[str, object] = {"doc_id": document.doc_id, "title": document.title, "text": document.text}
    for name in OPTIONAL_STRINGS:
        if (value := getattr(document, name)) is not None:
            row[name] = value
    if document.decided is not None:
        row["decided"] = document.decided.isoformat()
    if document.areas:
        row["areas"] = list(document.areas)
    if document.treatment is not None:
        row["treatment"] = document.treatment.as_row()
    return row | dict(document.metadata)


def _parse_text(row: Row, name: str) -> tuple[str, list[Json]]:
    """The text, and what else the sections say, each with its start and end in the text (empty if they say nothing)."""
    if not isinstance(row.fields[name], list):
        return row.string(name), []
    text = ""
    sections: list[dict[str, Json]] = []
    expected = 'strings, or objects with a string under "text"'
    for number, section in enumerate(row.items(name, expected=expected), 1):
        part = section.get("text") if isinstance(section, dict) else section
        if not isinstance(part, str):
            raise row.fault(f'section {number} of "{name}" has no text', expected=expected)
        if part.strip():
            text += "\n\n" * bool(text)
            others = dict(section) if isinstance(section, dict) else {}
            others.pop("text", None)
            sections.append(others | {"start": len(text), "end": len(text) + len(part.strip())})
            text += part.strip()
    if not text:
        raise row.fault(f'"{name}" is empty', expected="at least one section with text")
    told = any(section.keys() - {"start", "end"} for section in sections)
    return text, list(sections) if told else []


def _parse_date(value: object) -> date | None:
    if not isinstance(value, str):
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None


def _parse_treatment(value: dict[str, Any]) -> Treatment | None:
    """A treatment where the value is one, else None: a field of that name from elsewhere stays metadata."""
    strings = ("status", "by_title", "date", "note") if "note" in value else ("status", "by_title", "date")
    by = value.get("by")
    if not all(isinstance(value.get(name), str) for name in strings) or not (by is None or isinstance(by, str)):
        return None
    if _parse_date(value["date"]) is None:
        return None
    return Treatment.of_row({"by": None} | value)
