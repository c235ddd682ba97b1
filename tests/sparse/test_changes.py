"""Changes from the shell: what the commands add, delete, merge and tune, and what they leave after an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sicetnon.sparse import Budget, SparseIndex
from sicetnon.sparse.__main__ import main


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def index_dir(tmp_path: Path) -> Path:
    corpus = write(tmp_path / "corpus.jsonl", [{"doc_id": f"d{n}", "terms": ["x", f"t{n}"]} for n in range(9)])
    assert main(["build", "--corpus", str(corpus), "--index-dir", str(tmp_path / "index")]) == 0
    return tmp_path / "index"


def find(index_dir: Path, *terms: str) -> list[str]:
    return [found.doc_id for found in SparseIndex.open(index_dir).search(terms)]


def test_add_replace_delete_merge(index_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command changes the index as its name says, and tells the counts of what is left."""
    more = write(tmp_path / "more.jsonl", [{"doc_id": "e", "terms": ["x", "y"]}, {"doc_id": "d1", "terms": ["y"]}])
    assert main(["add", "--corpus", str(more), "--index-dir", str(index_dir), "--replace"]) == 0
    assert find(index_dir, "y") == ["d1", "e"]
    assert find(index_dir, "t1") == []
    assert SparseIndex.open(index_dir).segment_count == 2
    assert main(["delete", "--index-dir", str(index_dir), "d0", "e"]) == 0
    assert find(index_dir, "x") == [f"d{n}" for n in range(2, 9)]
    capsys.readouterr()
    assert main(["merge", "--index-dir", str(index_dir)]) == 0
    shown = capsys.readouterr()
    assert (shown.out, "8 documents" in shown.err, "segment" in shown.err) == ("", True, False)
    index = SparseIndex.open(index_dir)
    assert (index.segment_count, index.ordinal_count) == (1, 8)


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (["add", "--corpus", "{more}"], "more.jsonl, line 2: document ID 'd1', which the index has already"),
        (["delete", "d0", "absent"], "document ID 'absent'"),
    ],
)
def test_error_changes_nothing(
    index_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str], error: str
) -> None:
    """One bad row or ID, and the index is as it was, what came before it included."""
    more = write(tmp_path / "more.jsonl", [{"doc_id": "e", "terms": ["x"]}, {"doc_id": "d1", "terms": ["y"]}])
    before = find(index_dir, "x", "y")
    arguments = [part.format(more=more) for part in command]
    assert main([arguments[0], "--index-dir", str(index_dir), *arguments[1:]]) == 1
    assert error in capsys.readouterr().err
    assert find(index_dir, "x", "y") == before


def test_tune(index_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The budget is told as JSON, kept in the manifest, and outlives changes of the index."""
    queries = write(tmp_path / "queries.jsonl", [{"query_id": "q", "terms": ["x", "t1"]}])
    capsys.readouterr()
    assert main(["tune", "--index-dir", str(index_dir), "--queries", str(queries), "--top-k", "5"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["queries"], told["top_k"], told["overlap"], told["overlap_top"]) == (1, 5, 1.0, 1.0)
    budget = Budget(**told["budget"])
    assert SparseIndex.open(index_dir).budget == budget
    assert main(["delete", "--index-dir", str(index_dir), "d0"]) == 0
    index = SparseIndex.open(index_dir)
    assert index.budget == budget
    index.stored.verify()
