"""A build that dies, at any moment, leaves the index that was there; the next build cleans up."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sicetnon
from sicetnon.errors import IndexNotFound, MalformedRow
from sicetnon.sparse import SparseIndex, build_index
from sicetnon.storage import StoredDirectory

SOURCE = Path(sicetnon.__file__).parents[1]
DOCUMENTS = 20_000

# Kills itself at the n-th time that something is forced to disk: before, between and after the steps of a commit.
KILL_AT_FSYNC = """
import os, sys
from pathlib import Path
from sicetnon.sparse import build_index
real, left = os.fsync, int(sys.argv[3])
def fsync(descriptor):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), 9)
    real(descriptor)
os.fsync = fsync
build_index(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def write_corpus(path: Path, count: int, term: str) -> Path:
    """Write documents that share a term and have one of their own."""
    rows = ({"doc_id": f"d{n}", "terms": [term, f"t{n}"]} for n in range(count))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def start_python(*arguments: str | Path) -> subprocess.Popen[bytes]:
    """Start another interpreter on this source tree."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen([sys.executable, *arguments], env=environment, stderr=subprocess.DEVNULL)


def assert_clean(index_dir: Path) -> None:
    """Check that there is one generation and nothing unfinished."""
    stored = StoredDirectory.open(index_dir, kind="sparse")
    stored.verify()
    assert sorted(p.name for p in index_dir.iterdir()) == [stored.folder.name, "manifest.json", "write.lock"]
    files = (path for path in stored.folder.rglob("*") if path.is_file())
    assert sorted(path.relative_to(stored.folder).as_posix() for path in files) == sorted(stored.manifest.files)


def test_killed_at_random_moments(tmp_path: Path) -> None:
    """Killed again and again while it builds, the old index answers as before or the new one is whole."""
    index_dir = tmp_path / "index"
    build_index(write_corpus(tmp_path / "old.jsonl", 100, "old"), index_dir)
    expected = SparseIndex.open(index_dir).search(["old", "t7"])
    corpus = write_corpus(tmp_path / "new.jsonl", DOCUMENTS, "new")
    moments = random.Random(3)
    for _ in range(8):
        child = start_python("-m", "sicetnon.sparse", "build", "--corpus", corpus, "--index-dir", index_dir)
        time.sleep(moments.uniform(0.1, 0.5))
        child.kill()
        child.wait()
        StoredDirectory.open(index_dir, kind="sparse").verify()
        index = SparseIndex.open(index_dir)
        if len(index) == DOCUMENTS:
            assert len(index.search(["new"], top_k=DOCUMENTS)) == DOCUMENTS
        else:
            assert index.search(["old", "t7"]) == expected
    build_index(corpus, index_dir)
    assert_clean(index_dir)


def test_killed_at_every_step_of_a_commit(tmp_path: Path) -> None:
    """Killed at each point where the commit forces something to disk, one of the two indexes is there and whole."""
    index_dir = tmp_path / "index"
    old = write_corpus(tmp_path / "old.jsonl", 10, "old")
    new = write_corpus(tmp_path / "new.jsonl", 20, "new")
    build_index(old, index_dir)
    sizes = []
    for step in range(1, 100):
        child = start_python("-c", KILL_AT_FSYNC, new, index_dir, str(step))
        if child.wait() == 0:
            break
        assert child.returncode == -signal.SIGKILL
        StoredDirectory.open(index_dir, kind="sparse").verify()
        sizes.append(len(SparseIndex.open(index_dir)))
        build_index(old, index_dir)
        assert_clean(index_dir)
    assert sizes[0] == 10
    assert sizes[-1] == 20
    assert sizes == sorted(sizes)


def test_killed_first_build(tmp_path: Path) -> None:
    """A first build that is killed leaves no index; the next one succeeds and cleans up."""
    corpus = write_corpus(tmp_path / "corpus.jsonl", 10, "x")
    assert start_python("-c", KILL_AT_FSYNC, corpus, tmp_path / "index", "1").wait() == -signal.SIGKILL
    assert (tmp_path / "index" / "generation-000001").is_dir()
    with pytest.raises(IndexNotFound):
        SparseIndex.open(tmp_path / "index")
    build_index(corpus, tmp_path / "index")
    assert_clean(tmp_path / "index")


@pytest.mark.parametrize("is_rebuild", [False, True])
def test_bad_row_far_down(tmp_path: Path, *, is_rebuild: bool) -> None:
    """A bad row at line 70,001 is named; no half-built index remains, and an older one stays as it was."""
    index_dir = tmp_path / "index"
    if is_rebuild:
        build_index(write_corpus(tmp_path / "old.jsonl", 10, "old"), index_dir)
        expected = SparseIndex.open(index_dir).search(["old"])
    corpus = write_corpus(tmp_path / "corpus.jsonl", 70_000, "x")
    with corpus.open("a") as sink:
        sink.write('{"doc_id": "last", "terms": ["a", 5]}\n')
    with pytest.raises(MalformedRow, match=r"corpus\.jsonl, line 70001: document 'last' with terms that are no"):
        build_index(corpus, index_dir)
    if is_rebuild:
        assert SparseIndex.open(index_dir).search(["old"]) == expected
        assert_clean(index_dir)
    else:
        assert not index_dir.exists()
