"""Rows of documents: what is read into which field, what is refused, and that everything comes back."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sicetnon.corpora import read_documents, write_documents
from sicetnon.corpora.documents import document_row
from sicetnon.errors import InputError, MalformedRow
from sicetnon.types import Document, Treatment

WriteLines = Callable[..., Path]
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
FILLED = TEXT.filter(str.strip)
OWN_FIELDS = {"doc_id", "title", "text", "contents", "body", "sections", "citation", "docket", "court", "court_id"}
OWN_FIELDS |= {"decided", "areas", "treatment"}
TREATMENTS = st.builds(Treatment, status=TEXT, by=st.none() | TEXT, by_title=TEXT, date=st.dates(), note=TEXT)
DOCUMENTS = st.builds(
    Document,
    doc_id=FILLED,
    text=FILLED,
    title=TEXT,
    citation=st.none() | TEXT,
    docket=st.none() | TEXT,
    court=st.none() | TEXT,
    court_id=st.none() | TEXT,
    decided=st.none() | st.dates(),
    areas=st.lists(TEXT, max_size=3).map(tuple),
    treatment=st.none() | TREATMENTS,
    metadata=st.dictionaries(TEXT.filter(lambda name: name not in OWN_FIELDS), st.none() | st.integers() | TEXT),
)


def read(*lines: str | bytes, write: WriteLines) -> list[Document]:
    """Read the documents of a file with these lines."""
    return list(read_documents(write(*lines)))


def test_by_hand(write_lines: WriteLines) -> None:
    """Every field that a document has is read into it."""
    row = {
        "doc_id": "us-1",
        "title": "A v. B",
        "text": "The Court held.",
        "citation": "1 U.S. 1",
        "docket": "13-132",
        "court": "Supreme Court",
        "court_id": "scotus",
        "decided": "1803-02-24",
        "areas": ["judicial review"],
        "treatment": {"status": "overruled", "by": "us-2", "by_title": "C v. D", "date": "1900-01-02", "note": "all"},
        "judges": ["Marshall"],
        "pages": 3,
    }
    assert read(json.dumps(row), write=write_lines) == [
        Document(
            doc_id="us-1",
            title="A v. B",
            text="The Court held.",
            citation="1 U.S. 1",
            docket="13-132",
            court="Supreme Court",
            court_id="scotus",
            decided=date(1803, 2, 24),
            areas=("judicial review",),
            treatment=Treatment(status="overruled", by="us-2", by_title="C v. D", date=date(1900, 1, 2), note="all"),
            metadata={"judges": ["Marshall"], "pages": 3},
        )
    ]


def test_treatment_with_more(write_lines: WriteLines) -> None:
    """A treatment with fields that are not known is read, and written back whole."""
    treatment = {"status": "overruled", "by": None, "by_title": "C v. D", "date": "1900-01-02", "pages": [3]}
    (document,) = read(json.dumps({"doc_id": "a", "text": "x", "treatment": treatment}), write=write_lines)
    assert document.treatment == Treatment(status="overruled", by=None, by_title="C v. D", date=date(1900, 1, 2))
    assert document_row(document)["treatment"] == treatment


def test_least(write_lines: WriteLines) -> None:
    """An ID and a text are enough, and a title may be null."""
    expected = [Document(doc_id="a", text="x")]
    assert read('{"doc_id": "a", "text": "x"}', write=write_lines) == expected
    assert read('{"doc_id": "a", "title": null, "text": "x"}', write=write_lines) == expected


@settings(max_examples=60)
@given(st.lists(DOCUMENTS, min_size=1, max_size=4, unique_by=lambda document: document.doc_id))
def test_round_trip(documents: list[Document]) -> None:
    """Any documents that are written come back equal, with their metadata."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.jsonl"
        assert write_documents(path, documents) == len(documents)
        assert list(read_documents(path)) == documents


def test_unknown_fields_are_written_back(write_lines: WriteLines, tmp_path: Path) -> None:
    """What a document has no field for, or of another type than its own, is kept as metadata and written back."""
    row = {
        "doc_id": "a",
        "title": "T",
        "text": "x",
        "citation": ["1 U.S. 1"],
        "court": {"name": "SCOTUS"},
        "decided": "24 February 1803",
        "areas": "privacy",
        "treatment": "overruled",
        "nested": {"a": [1, None, True, 1.5, "é"]},
    }
    (document,) = read(json.dumps(row), write=write_lines)
    assert (document.citation, document.court, document.decided, document.areas) == (None, None, None, ())
    assert document.treatment is None
    assert document.metadata == {name: value for name, value in row.items() if name not in {"doc_id", "title", "text"}}
    write_documents(tmp_path / "back.jsonl", [document])
    assert json.loads((tmp_path / "back.jsonl").read_text()) == row


@pytest.mark.parametrize("name", ["text", "contents", "body", "sections"])
def test_names_of_the_text(write_lines: WriteLines, name: str) -> None:
    """The text may stand under any accepted name, and under a later one where the earlier are null."""
    assert read(json.dumps({"doc_id": "a", name: "x"}), write=write_lines)[0].text == "x"
    row = {"doc_id": "a", "text": None, "contents": None, "body": None, name: "x"}
    assert read(json.dumps(row), write=write_lines) == [Document(doc_id="a", text="x")]


def test_second_text_is_metadata(write_lines: WriteLines) -> None:
    """Of two texts the first accepted name wins; the other is kept."""
    (document,) = read('{"doc_id": "a", "body": "y", "text": "x"}', write=write_lines)
    assert (document.text, document.metadata) == ("x", {"body": "y"})


def test_null_text_is_not_written_back(write_lines: WriteLines, tmp_path: Path) -> None:
    """A null under one name of the text does not hide the text when the document is written."""
    documents = read('{"doc_id": "a", "text": null, "contents": "x"}', write=write_lines)
    write_documents(tmp_path / "back.jsonl", documents)
    assert list(read_documents(tmp_path / "back.jsonl")) == documents


def test_sections(write_lines: WriteLines) -> None:
    """Sections are strings, or objects with a text; they are joined by a blank line and empty ones left out."""
    row = {"doc_id": "a", "sections": [" One. ", {"heading": "H", "text": "Two.\n"}, "", {"text": " "}]}
    assert read(json.dumps(row), write=write_lines)[0].text == "One.\n\nTwo."


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("{", "invalid JSON"),
        ("[]", "a list"),
        (b'{"doc_id": "b", "text": "\xff"}', "bytes that are not UTF-8"),
        ("", "a blank line"),
        ('{"text": "x"}', 'no field "doc_id"'),
        ('{"doc_id": 7, "text": "x"}', '"doc_id" is a number'),
        ('{"doc_id": "", "text": "x"}', '"doc_id" is empty'),
        ('{"doc_id": "b"}', r'found "doc_id"\); expected one of "text", "contents", "body", "sections"'),
        ('{"doc_id": "b", "text": null}', "none of the accepted fields"),
        ('{"doc_id": "b", "text": " \\n"}', '"text" is empty'),
        ('{"doc_id": "b", "text": 7}', '"text" is a number'),
        ('{"doc_id": "b", "body": {}}', '"body" is an object'),
        ('{"doc_id": "b", "sections": []}', '"sections" is empty'),
        ('{"doc_id": "b", "sections": ["", {"text": " "}]}', '"sections" is empty'),
        ('{"doc_id": "b", "sections": ["x", {"heading": "H"}]}', 'section 2 of "sections" has no text'),
        ('{"doc_id": "b", "sections": [7]}', 'section 1 of "sections" has no text'),
        ('{"doc_id": "b", "text": "x", "title": 7}', '"title" is a number'),
        ('{"doc_id": "a", "text": "x"}', r'doc_id "a" again \(first on line 1\)'),
    ],
)
def test_rows_that_are_refused(write_lines: WriteLines, line: str | bytes, found: str) -> None:
    """A bad row is named with its line; the rows before it have been given."""
    good = '{"doc_id": "a", "text": "x"}'
    documents = read_documents(write_lines(good, line, '{"doc_id": "c", "text": "x"}'))
    assert next(documents).doc_id == "a"
    with pytest.raises(MalformedRow, match=f"rows.jsonl, line 2: .*{found}"):
        next(documents)


def test_no_document(write_lines: WriteLines, tmp_path: Path) -> None:
    """A file without rows, and one that is not there, are errors that name it."""
    with pytest.raises(InputError, match=r"rows\.jsonl holds no row"):
        read("", " ", write=write_lines)
    with pytest.raises(InputError, match=r"absent\.jsonl cannot be read"):
        list(read_documents(tmp_path / "absent.jsonl"))


@pytest.mark.parametrize(
    "change",
    [
        {"date": "soon"},
        {"date": None},
        {"by": 7},
        {"status": None},
        {"by_title": ["x"]},
        {"note": 1},
    ],
)
def test_treatments_that_are_none(write_lines: WriteLines, change: dict[str, object]) -> None:
    """A treatment without a date, or with another type, is no treatment and stays metadata."""
    value = {"status": "overruled", "by": None, "by_title": "An amendment", "date": "1933-12-05"}
    (fits,) = read(json.dumps({"doc_id": "a", "text": "x", "treatment": value}), write=write_lines)
    assert fits.treatment == Treatment(status="overruled", by=None, by_title="An amendment", date=date(1933, 12, 5))
    (document,) = read(json.dumps({"doc_id": "a", "text": "x", "treatment": value | change}), write=write_lines)
    assert document.treatment is None
    assert document.metadata == {"treatment": value | change}


def test_sections_keep_what_they_say(write_lines: WriteLines) -> None:
    """Headings and the like of sections are kept, with where each section stands in the text."""
    sections = [{"heading": "Facts", "text": " He ran. ", "page": 7}, {"text": " "}, "He fell."]
    (document,) = read(json.dumps({"doc_id": "a", "sections": sections}), write=write_lines)
    assert document.text == "He ran.\n\nHe fell."
    assert document.metadata == {
        "sections": [{"heading": "Facts", "page": 7, "start": 0, "end": 7}, {"start": 9, "end": 17}]
    }
    assert read(json.dumps(document_row(document)), write=write_lines) == [document]
