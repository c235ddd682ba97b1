"""JSONL files: each fault names file and line, and a file is written whole or not at all."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sicetnon.errors import InputError, MalformedRow
from sicetnon.jsonl import Row, read_keyed_rows, read_rows, whole_file, write_rows

WriteLines = Callable[..., Path]
NO_SURROGATES = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | NO_SURROGATES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NO_SURROGATES, inner, max_size=3),
    max_leaves=5,
)


def test_by_hand(write_lines: WriteLines) -> None:
    """Rows come in order, each with its line, counted from 1."""
    path = write_lines('{"a": 1}', '{"b": "é"}')
    assert list(read_rows(path)) == [Row(path, 1, {"a": 1}), Row(path, 2, {"b": "é"})]


@settings(max_examples=50)
@given(st.lists(st.dictionaries(NO_SURROGATES, VALUES, max_size=4), max_size=5))
def test_round_trip(rows: list[dict[str, object]]) -> None:
    """Any rows that are written come back, one a line, whatever newlines and separators their strings hold."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        assert write_rows(path, rows) == len(rows)
        assert [row.fields for row in read_rows(path)] == rows
        assert [row.line for row in read_rows(path)] == list(range(1, len(rows) + 1))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("{", "invalid JSON"),
        ('{"a": 1} x', "invalid JSON"),
        ("[" * 100_000, "invalid JSON"),
        ('{"a": ' + "9" * 5_000 + "}", "invalid JSON"),
        ("[1]", "a list"),
        ('"text"', "a string"),
        ("null", "null"),
        ("true", "a boolean"),
        ("1.5", "a number"),
        (b'{"a": "\xff"}', r"bytes that are not UTF-8 \(byte 8 of the line\)"),
        (b'{"a": "\xed\xa0\x80"}', "bytes that are not UTF-8"),
        (r'{"a": ["\ud800"]}', "half of a surrogate pair"),
        ("\ufeff{}", "invalid JSON"),
        ('{"a": 1e999}', r"invalid JSON \(1e999 is too large a number\)"),
        ('{"a": NaN}', r"invalid JSON \(NaN is no JSON\)"),
        ('{"a": [-Infinity]}', "invalid JSON"),
    ],
)
def test_lines_that_are_no_object(write_lines: WriteLines, line: str | bytes, found: str) -> None:
    """A line that is no JSON object in UTF-8 is named with its number, in one line."""
    path = write_lines("{}", line, "{}")
    with pytest.raises(MalformedRow, match=f"rows.jsonl, line 2: {found}") as caught:
        list(read_rows(path))
    assert caught.value.path == path
    assert caught.value.line == 2
    assert "\n" not in str(caught.value)


def test_surrogate_pairs(write_lines: WriteLines) -> None:
    """An escaped pair is one character."""
    assert next(read_rows(write_lines(r'{"a": "\ud83d\ude00"}'))).fields == {"a": "\U0001f600"}


def test_byte_order_mark(write_lines: WriteLines) -> None:
    """A byte order mark at the start of the file is passed over."""
    assert next(read_rows(write_lines('\ufeff{"a": 1}'))).fields == {"a": 1}


def test_blank_line_in_the_middle(write_lines: WriteLines) -> None:
    """A blank line with rows after it is named; the rows before it have been given."""
    rows = read_rows(write_lines("{}", " \t", "", "{}"))
    assert next(rows).line == 1
    with pytest.raises(MalformedRow, match="line 2: a blank line"):
        next(rows)


def test_blank_lines_at_the_end(write_lines: WriteLines) -> None:
    """Blank lines at the end are passed over, and a last line needs no newline."""
    assert len(list(read_rows(write_lines("{}", "", "  ", "\r")))) == 1
    path = write_lines()
    path.write_text('{"a": 1}\r\n{"a": 2}')
    assert [row.fields["a"] for row in read_rows(path)] == [1, 2]


def test_rows_are_read_one_at_a_time(write_lines: WriteLines) -> None:
    """A bad line does not keep the rows before it from being used."""
    assert next(read_rows(write_lines("{}", "{"))).line == 1


def test_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file and a directory are named."""
    with pytest.raises(InputError, match=r"absent\.jsonl cannot be read \(No such file"):
        list(read_rows(tmp_path / "absent.jsonl"))
    with pytest.raises(InputError, match="cannot be read"):
        list(read_rows(tmp_path))


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, r'no field "name" \(found an empty object\)'),
        ({"x": 1, "y": 2}, r'no field "name" \(found "x", "y"\)'),
        ({"name": None}, '"name" is null'),
        ({"name": 3}, '"name" is a number'),
        ({"name": True}, '"name" is a boolean'),
        ({"name": ["a"]}, '"name" is a list'),
        ({"name": {}}, '"name" is an object'),
        ({"name": " \n"}, '"name" is empty'),
    ],
)
def test_string_field(fields: dict[str, object], found: str) -> None:
    """A field that is missing, of another type or blank is a fault that says what is there."""
    with pytest.raises(MalformedRow, match=found):
        Row(Path("rows.jsonl"), 7, fields).string("name")


def test_string_field_is_kept_as_it_is() -> None:
    """White space around a string is part of it."""
    assert Row(Path("rows.jsonl"), 1, {"name": " a "}).string("name") == " a "


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"x": 1}, 'no field "names"'),
        ({"names": None}, '"names" is null'),
        ({"names": "a"}, '"names" is a string'),
        ({"names": 3}, '"names" is a number'),
        ({"names": False}, '"names" is a boolean'),
        ({"names": {"a": 1}}, '"names" is an object'),
    ],
)
def test_list_field(fields: dict[str, object], found: str) -> None:
    """A list that is missing or of another type is a fault that says what is there and what of was expected."""
    with pytest.raises(MalformedRow, match=f"rows.jsonl, line 7: {found}; expected a list of names; correct that line"):
        Row(Path("rows.jsonl"), 7, fields).items("names", expected="a list of names")


def test_list_field_is_kept_as_it_is() -> None:
    """A list comes as it is, whatever is in it, also where it is empty."""
    for value in ([], ["a", 1, None]):
        assert Row(Path("r"), 1, {"names": value}).items("names", expected="a list") == value


def test_keyed_rows(write_lines: WriteLines) -> None:
    """Rows come in order and one at a time, each with the string under its key."""
    path = write_lines('{"id": "b", "x": 1}', '{"id": "a"}', "{")
    rows = read_keyed_rows(path, "id")
    assert next(rows) == ("b", Row(path, 1, {"id": "b", "x": 1}))
    assert next(rows) == ("a", Row(path, 2, {"id": "a"}))
    with pytest.raises(MalformedRow, match="line 3: invalid JSON"):
        next(rows)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('{"id": "a"}', r'id "a" again \(first on line 1\); expected each id once; remove or rename one of the two'),
        ('{"x": 1}', r'no field "id" \(found "x"\)'),
        ('{"id": null}', '"id" is null'),
        ('{"id": ["c"]}', '"id" is a list'),
        ('{"id": " "}', '"id" is empty'),
    ],
)
def test_keys_that_are_refused(write_lines: WriteLines, line: str, found: str) -> None:
    """A key that repeats names the line where it stood first; one that is missing or no string is named too."""
    rows = read_keyed_rows(write_lines('{"id": "a"}', '{"id": "b"}', line), "id")
    assert [key for key, _ in (next(rows), next(rows))] == ["a", "b"]
    with pytest.raises(MalformedRow, match=f"rows.jsonl, line 3: {found}"):
        next(rows)


def test_no_keyed_row(write_lines: WriteLines) -> None:
    """A file without rows is an error that names it and the key."""
    with pytest.raises(InputError, match=r'rows\.jsonl holds no row; expected at least one with "id"'):
        list(read_keyed_rows(write_lines("", " "), "id"))


def test_first_present_name() -> None:
    """The first accepted name that is not null is taken; where none is, the fault lists all of them."""
    assert Row(Path("r"), 1, {"c": 1, "b": 2, "a": None}).present(("a", "b", "c")) == "b"
    with pytest.raises(MalformedRow, match=r'found "d"\); expected one of "a", "b"'):
        Row(Path("r"), 1, {"d": 1}).present(("a", "b"))


def write_then_fail(path: Path) -> None:
    """Write half a file and fail."""
    with whole_file(path) as sink:
        sink.write("half")
        raise KeyboardInterrupt


def test_failure_leaves_the_old_file(tmp_path: Path) -> None:
    """When the block fails, the old file stands and nothing else does; where there was none, there is none."""
    path = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        write_then_fail(path)
    assert list(tmp_path.iterdir()) == []
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_then_fail(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_file_appears_at_the_end(tmp_path: Path) -> None:
    """Until the block ends the old file is what is read."""
    path = tmp_path / "out.jsonl"
    path.write_text("old")
    with whole_file(path) as sink:
        sink.write("né\n")
        sink.flush()
        assert path.read_text() == "old"
    assert path.read_bytes() == "né\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_ordinary_permissions(tmp_path: Path) -> None:
    """The file has the permissions that the umask gives any new file."""
    mask = os.umask(0o027)
    try:
        write_rows(tmp_path / "out.jsonl", [])
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "out.jsonl").stat().st_mode) == 0o640


def test_links_stay_links(tmp_path: Path) -> None:
    """Writing through a link replaces what it points to."""
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_rows(tmp_path / "link", [{"a": 1}])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == '{"a": 1}\n'


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    """A directory, and a file in a folder that is not there, are refused."""
    with pytest.raises(InputError, match=r"cannot be written \(Is a directory\)"):
        write_rows(tmp_path, [])
    with pytest.raises(InputError, match=r"cannot be written \(No such file"):
        write_rows(tmp_path / "absent" / "out.jsonl", [])


def test_device(tmp_path: Path) -> None:
    """A device or pipe is written to, not replaced."""
    write_rows(Path("/dev/null"), [{"a": 1}])
    assert not Path("/dev/null").is_file()
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_rows(tmp_path / "pipe", [{"a": 1}])
        assert os.read(reader, 100) == b'{"a": 1}\n'
    finally:
        os.close(reader)


def test_rows_that_are_no_json(tmp_path: Path) -> None:
    """A figure that is not a number is not written, and no file either."""
    with pytest.raises(ValueError, match="JSON"):
        write_rows(tmp_path / "out.jsonl", [{"a": 1.0}, {"a": float("nan")}])
    assert list(tmp_path.iterdir()) == []


def test_one_line_a_row(tmp_path: Path) -> None:
    """A row is one line of UTF-8 that is not escaped."""
    write_rows(tmp_path / "out.jsonl", [{"a": "é\n\u2028"}, {"b": []}])
    first, second = (tmp_path / "out.jsonl").read_bytes().split(b"\n")[:2]
    assert first == '{"a": "é\\n\u2028"}'.encode()
    assert json.loads(second) == {"b": []}


def test_streams_are_written_as_they_are(tmp_path: Path) -> None:
    """/dev/stdout appends to what the shell has opened for the program, and leaves no file of its own."""
    program = "from pathlib import Path; from sicetnon.jsonl import write_rows; write_rows(Path('/dev/stdout'), [{}])"
    with (tmp_path / "kept.txt").open("w") as kept:
        kept.write("before\n")
        kept.flush()
        subprocess.run([sys.executable, "-c", program], stdout=kept, check=True)
    assert (tmp_path / "kept.txt").read_text() == "before\n{}\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept.txt"]


def test_full_device_is_told() -> None:
    """A device without room is an error of the tree that names it."""
    with pytest.raises(InputError, match=r"/dev/full cannot be written \(No space left on device\)"):
        write_rows(Path("/dev/full"), [{"a": 1}])


def test_file_that_cannot_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is mounted where it stands is overwritten, once the rows are whole."""

    def refuse(*_: object) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(Path, "replace", refuse)
    (tmp_path / "out.jsonl").write_text("old")
    write_rows(tmp_path / "out.jsonl", [{"a": 1}])
    assert (tmp_path / "out.jsonl").read_text() == '{"a": 1}\n'
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.jsonl"]


def test_mode_of_a_file_is_kept(tmp_path: Path) -> None:
    """A file that was private stays so when it is written anew."""
    (tmp_path / "out.jsonl").touch(mode=0o600)
    write_rows(tmp_path / "out.jsonl", [])
    assert (tmp_path / "out.jsonl").stat().st_mode & 0o777 == 0o600


def test_blank_string_gives_way(tmp_path: Path) -> None:
    """Of several accepted fields a blank one counts only where there is no other."""
    row = Row(tmp_path, 1, {"text": " ", "body": "x"})
    assert row.present(("text", "body")) == "body"
    assert Row(tmp_path, 1, {"text": " "}).present(("text", "body")) == "text"


def test_terminated_program_leaves_nothing(tmp_path: Path) -> None:
    """A program that is told to end removes what it had not finished, and keeps what stood there."""
    (tmp_path / "corpus.jsonl").write_text('{"doc_id": "a", "terms": ["x"]}\n')
    (tmp_path / "out.jsonl").write_text("old")
    os.mkfifo(tmp_path / "queries.jsonl")
    command = [sys.executable, "-m", "sicetnon.sparse"]
    subprocess.run([*command, "build", "--corpus", "corpus.jsonl", "--index-dir", "i"], cwd=tmp_path, check=True)
    arguments = ["search", "--index-dir", "i", "--queries", "queries.jsonl", "--output", "out.jsonl"]
    running = subprocess.Popen([*command, *arguments], cwd=tmp_path)
    with (tmp_path / "queries.jsonl").open("w") as queries:  # opens when the program reads, with its output open
        queries.write('{"query_id": "q", "terms": ["x"]}\n')
        queries.flush()
        running.terminate()
        assert running.wait(30) == 128 + 15
    assert (tmp_path / "out.jsonl").read_text() == "old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["corpus.jsonl", "i", "out.jsonl", "queries.jsonl"]
