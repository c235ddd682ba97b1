"""Corpus, query and result files: what is read, what is written, and how each fault is named."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from oracle.sparse import SparseOracle

from sicetnon.errors import IndexNotFound, InputError, MalformedRow
from sicetnon.sparse import __main__ as command
from sicetnon.sparse import build_index, search_file

CORPUS = [("d2", ["x", "y", "y"]), ("d1", ["x"]), ("d3", ["z"]), ("d\n\U0001d11eé", ["x"])]
QUERIES = [("q2", ["x", "y", "x"]), ("q1", ["unknown"]), ("q3", [])]


def write_rows(path: Path, id_field: str, rows: list[tuple[str, list[str]]]) -> Path:
    """Write rows as JSONL."""
    path.write_text("".join(json.dumps({id_field: i, "terms": terms}) + "\n" for i, terms in rows))
    return path


@pytest.fixture
def index_dir(tmp_path: Path) -> Path:
    """Build an index of the corpus above."""
    build_index(write_rows(tmp_path / "corpus.jsonl", "doc_id", CORPUS), tmp_path / "index")
    return tmp_path / "index"


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    """Write the queries above."""
    return write_rows(tmp_path / "queries.jsonl", "query_id", QUERIES)


def read_results(path: Path) -> list[tuple[str, list[tuple[str, float]]]]:
    """Read a results file, holding it to the contract's fields."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(list(row) == ["query_id", "results"] for row in rows)
    assert all(list(found) == ["doc_id", "score"] for row in rows for found in row["results"])
    return [(row["query_id"], [tuple(found.values()) for found in row["results"]]) for row in rows]


def test_results_against_oracle(index_dir: Path, queries: Path, tmp_path: Path) -> None:
    """One row a query in input order, each as the oracle ranks it, whatever the IDs are made of."""
    assert search_file(index_dir, queries, tmp_path / "results.jsonl") == 3
    oracle = SparseOracle(CORPUS)
    expected = [(i, oracle.rank(oracle.score_overlap(terms), 100)) for i, terms in QUERIES]
    assert read_results(tmp_path / "results.jsonl") == expected


def test_cutoff(index_dir: Path, queries: Path, tmp_path: Path) -> None:
    """At most top_k results a query."""
    search_file(index_dir, queries, tmp_path / "results.jsonl", top_k=1)
    assert [len(found) for _, found in read_results(tmp_path / "results.jsonl")] == [1, 0, 0]
    search_file(index_dir, queries, tmp_path / "results.jsonl", top_k=0)
    assert [len(found) for _, found in read_results(tmp_path / "results.jsonl")] == [0, 0, 0]


def test_cutoff_below_0(index_dir: Path, queries: Path, tmp_path: Path) -> None:
    """A negative top_k is refused before anything is written, also where no query has a known term."""
    with pytest.raises(InputError, match="top_k of -1"):
        search_file(index_dir, queries, tmp_path / "results.jsonl", top_k=-1)
    assert not (tmp_path / "results.jsonl").exists()


@pytest.mark.parametrize("ending", ["", "\n", "\n\n \n", "\r\n"])
def test_blank_last_lines(tmp_path: Path, ending: str) -> None:
    """A file may end without a newline or in blank lines; Windows line ends are fine."""
    (tmp_path / "corpus.jsonl").write_text('{"doc_id": "d", "terms": []}' + ending, newline="")
    assert build_index(tmp_path / "corpus.jsonl", tmp_path / "index").counts["documents"] == 1


BAD_ROWS = [
    (b'{"ID": "b"', "invalid JSON"),
    (b"\xff\xfe", "not UTF-8"),
    (b'{"ID": "\xe9", "terms": []}', "not UTF-8"),
    (b"[" * 100_000, "invalid JSON"),
    (b'{"ID": "b", "terms": [' + b"9" * 5000 + b"]}", "invalid JSON"),
    (b"", "a blank line"),
    (b"[]", "a list"),
    (b'{"terms": []}', 'no field "ID"'),
    (b'{"ID": 7, "terms": []}', '"ID" is a number'),
    (b'{"ID": null, "terms": []}', '"ID" is null'),
    (b'{"ID": "", "terms": []}', '"ID" is empty'),
    (b'{"ID": "b"}', 'no field "terms"'),
    (b'{"ID": "b", "terms": "abc"}', '"terms" is a string'),
    (b'{"ID": "b", "terms": 7}', '"terms" is a number'),
    (b'{"ID": "b", "terms": {"a": "1"}}', "that is no "),
    (b'{"ID": "b", "terms": {"a": -1}}', "that is no "),
    (b'{"ID": "b", "terms": {"a": true}}', "that is no "),
    (b'{"ID": "b", "terms": {"a": [1]}}', "that is no "),
    (b'{"ID": "b", "terms": ["a", 1]}', "terms that are no strings"),
    (b'{"ID": "b", "terms": [["a"]]}', "terms that are no strings"),
    (b'{"ID": "b", "terms": [NaN]}', "invalid JSON (NaN is no JSON)"),
]


@pytest.mark.parametrize(("row", "fault"), [*BAD_ROWS, (b'{"ID": "a", "terms": []}', "document ID 'a' a second time")])
def test_bad_corpus_row(tmp_path: Path, row: bytes, fault: str) -> None:
    """Each fault of a corpus row is named with file and line, and nothing is left."""
    good = b'{"doc_id": "%s", "terms": ["a"]}\n'
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_bytes(good % b"a" + row.replace(b"ID", b"doc_id") + b"\n" + good % b"c")
    with pytest.raises(MalformedRow) as caught:
        build_index(corpus, tmp_path / "index")
    assert (caught.value.path, caught.value.line) == (corpus, 2)
    assert fault.replace('"ID"', '"doc_id"') in str(caught.value)
    assert list(tmp_path.iterdir()) == [corpus]


@pytest.mark.parametrize(
    ("row", "fault"), [*BAD_ROWS, (b'{"ID": "a", "terms": []}', 'query_id "a" again (first on line 1)')]
)
def test_bad_query_row(index_dir: Path, tmp_path: Path, row: bytes, fault: str) -> None:
    """Each fault of a query row is named with file and line, and results that were there stay."""
    good = b'{"query_id": "%s", "terms": ["a"]}\n'
    queries, output = tmp_path / "queries.jsonl", tmp_path / "results.jsonl"
    queries.write_bytes(good % b"a" + row.replace(b"ID", b"query_id") + b"\n" + good % b"c")
    output.write_text("older results")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(MalformedRow) as caught:
        search_file(index_dir, queries, output)
    assert (caught.value.path, caught.value.line) == (queries, 2)
    assert fault.replace('"ID"', '"query_id"') in str(caught.value)
    assert output.read_text() == "older results"
    assert sorted(tmp_path.iterdir()) == before


def test_files_that_are_not_there(index_dir: Path, queries: Path, tmp_path: Path) -> None:
    """A missing corpus, queries file, index or folder for the output is named."""
    nowhere = tmp_path / "nowhere"
    with pytest.raises(InputError, match=r"nowhere cannot be read \(No such file"):
        build_index(nowhere, tmp_path / "other")
    assert not (tmp_path / "other").exists()
    with pytest.raises(InputError, match="nowhere cannot be read"):
        search_file(index_dir, nowhere, tmp_path / "results.jsonl")
    with pytest.raises(IndexNotFound, match="nowhere"):
        search_file(nowhere, queries, tmp_path / "results.jsonl")
    with pytest.raises(InputError, match="cannot be written"):
        search_file(index_dir, queries, nowhere / "results.jsonl")
    with pytest.raises(InputError, match=r"index cannot be written \(Is a directory\)"):
        search_file(index_dir, queries, index_dir)
    assert not (tmp_path / "results.jsonl").exists()


def test_empty_files(index_dir: Path, tmp_path: Path) -> None:
    """A corpus and a queries file of no rows are refused, and results that were there stay."""
    (tmp_path / "empty").touch()
    with pytest.raises(InputError, match="no document"):
        build_index(tmp_path / "empty", tmp_path / "other")
    with pytest.raises(InputError, match="empty holds no row"):
        search_file(index_dir, tmp_path / "empty", tmp_path / "results.jsonl")
    assert not (tmp_path / "results.jsonl").exists()
    (tmp_path / "results.jsonl").write_text("older results")
    with pytest.raises(InputError, match="empty holds no row"):
        search_file(index_dir, tmp_path / "empty", tmp_path / "results.jsonl")
    assert (tmp_path / "results.jsonl").read_text() == "older results"


def test_output_through_link_and_pipe(index_dir: Path, queries: Path, tmp_path: Path) -> None:
    """A link to a file stays a link; a pipe is written to, not replaced."""
    search_file(index_dir, queries, tmp_path / "results.jsonl")
    expected = (tmp_path / "results.jsonl").read_bytes()
    (tmp_path / "link").symlink_to("target")
    search_file(index_dir, queries, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == expected
    os.mkfifo(tmp_path / "pipe")
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    search_file(index_dir, queries, tmp_path / "pipe")
    reader.join()
    assert received == [expected]
    assert (tmp_path / "pipe").is_fifo()


def test_progress_is_reported(tmp_path: Path) -> None:
    """The caller hears every 10,000 documents."""
    corpus = write_rows(tmp_path / "corpus.jsonl", "doc_id", [(f"d{n}", []) for n in range(20_001)])
    heard: list[int] = []
    build_index(corpus, tmp_path / "index", report=heard.append)
    assert heard == [10_000, 20_000]


def test_commands(tmp_path: Path, queries: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both commands do what the functions do, say so on standard error, and exit with 0."""
    corpus = write_rows(tmp_path / "corpus.jsonl", "doc_id", CORPUS)
    index, output = tmp_path / "index", tmp_path / "results.jsonl"
    assert command.main(["build", "--corpus", str(corpus), "--index-dir", str(index)]) == 0
    arguments = ["search", "--index-dir", str(index), "--queries", str(queries), "--output", str(output)]
    assert command.main([*arguments, "--top-k", "2"]) == 0
    assert [len(found) for _, found in read_results(output)] == [2, 0, 0]
    said = capsys.readouterr()
    assert said.out == ""
    assert "4 documents" in said.err
    assert "3 queries" in said.err


def test_command_errors(tmp_path: Path, index_dir: Path, queries: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An error is one line on standard error and exit status 1, also where a name has line breaks in it."""
    arguments = ["search", "--queries", str(queries), "--output", str(tmp_path / "r"), "--index-dir"]
    assert command.main(["build", "--corpus", str(tmp_path / "no\nfile"), "--index-dir", str(tmp_path / "o")]) == 1
    assert command.main([*arguments, str(tmp_path / "no\nindex")]) == 1
    (tmp_path / "r").mkdir()
    assert command.main([*arguments, str(index_dir)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("error: ") for line in lines)


@pytest.mark.parametrize("arguments", [[], ["build"], ["search", "--top-k", "many"], ["destroy"]])
def test_usage(arguments: list[str]) -> None:
    """A wrong call exits with 2."""
    with pytest.raises(SystemExit) as caught:
        command.main(arguments)
    assert caught.value.code == 2
