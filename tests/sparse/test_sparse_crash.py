"""A build or change that dies, at any moment, leaves the index that was there; the next writer cleans up."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sicetnon
from sicetnon.errors import IndexNotFound, MalformedRow
from sicetnon.sparse import SparseIndex, SparseIndexWriter, build_index
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

# Changes an index: documents replaced, added and deleted, and merged where so asked. Done twice, it is as if once.
CHANGE = """
import sys
from sicetnon.sparse import SparseIndexWriter
def change(path, count, merges):
    writer = SparseIndexWriter(path)
    with writer:
        for n in range(count):
            writer.update(f"e{n}", ["new", f"t{n}"])
        for n in range(0, count, 2):
            if f"d{n}" in writer:
                writer.delete(f"d{n}")
        if merges:
            writer.merge()
        yield
        writer.commit()
"""

# Makes the change again and again, in a copy of the index each time, and kills itself before the n-th thing that the
# commit does to the file system: copy n is what that leaves.
KILL_AT_EACH_STEP = (
    CHANGE
    + """
import itertools, os, shutil
STEPS = {"fsync", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir"}
left, real = 0, os.fsync
def step(event, arguments=()):
    global left
    if left and (event in STEPS or event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
        left -= 1
        if not left:
            os.kill(os.getpid(), 9)
def fsync(descriptor):
    step("fsync")
    real(descriptor)
index, place, merges = sys.argv[1], sys.argv[2], sys.argv[3] == "merged"
for n in itertools.count(1):
    copy = os.path.join(place, f"{n:04d}")
    shutil.copytree(index, copy)
    if (child := os.fork()) == 0:
        sys.addaudithook(step)
        os.fsync = fsync
        changing = change(copy, 6, merges)
        next(changing)
        left = n
        next(changing, None)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
"""
)


def write_corpus(path: Path, count: int, term: str) -> Path:
    """Write documents that share a term and have one of their own."""
    rows = ({"doc_id": f"d{n}", "terms": [term, f"t{n}"]} for n in range(count))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def start_python(*arguments: str | Path) -> subprocess.Popen[bytes]:
    """Start another interpreter on this source tree."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen([sys.executable, *arguments], env=environment, stderr=subprocess.DEVNULL)


def answer(index_dir: Path) -> list[tuple[str, float]]:
    """Return all that an index finds, and the scores."""
    found = SparseIndex.open(index_dir).search(["old", "new", "t3", "t8"], top_k=2 * DOCUMENTS)
    return [(document.doc_id, document.score) for document in found]


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


@pytest.mark.parametrize("way", ["linked", "merged"])
def test_killed_at_every_step_of_a_change(tmp_path: Path, way: str) -> None:
    """Killed before each step of a commit of changes, one of the two indexes is there; the next writer cleans up."""
    build_index(write_corpus(tmp_path / "old.jsonl", 20, "old"), tmp_path / "index")
    with SparseIndexWriter(tmp_path / "index") as writer:
        writer.add("e1", ["old"])
        writer.delete("d19")
        writer.commit()
    old = answer(tmp_path / "index")
    (tmp_path / "copies").mkdir()
    assert start_python("-c", KILL_AT_EACH_STEP, tmp_path / "index", tmp_path / "copies", way).wait() == 0
    *killed, whole = sorted((tmp_path / "copies").iterdir())
    new = answer(whole)
    assert new != old
    assert_clean(whole)
    assert SparseIndex.open(whole).segment_count == (1 if way == "merged" else 2)
    answers = []
    for copy in killed:
        StoredDirectory.open(copy, kind="sparse").verify()
        answers.append(answer(copy))
        with SparseIndexWriter(copy) as writer:
            writer.add("last", ["new"])
            writer.commit()
        assert_clean(copy)
        assert "last" in [found.doc_id for found in SparseIndex.open(copy).search(["new"])]
    switch = answers.index(new)
    assert answers == [old] * switch + [new] * (len(killed) - switch)
    assert min(switch, len(killed) - switch) >= 10


def test_changes_killed_at_random_moments(tmp_path: Path) -> None:
    """Killed again and again while it changes an index, the old one answers as before or the new one as it should."""
    index_dir = tmp_path / "index"
    build_index(write_corpus(tmp_path / "old.jsonl", DOCUMENTS, "old"), index_dir)
    shutil.copytree(index_dir, tmp_path / "changed")
    change = CHANGE + "for _ in change(sys.argv[1], 8_000, sys.argv[2] == 'merged'): pass\n"
    assert start_python("-c", change, tmp_path / "changed", "merged").wait() == 0
    old, new = answer(index_dir), answer(tmp_path / "changed")
    moments = random.Random(4)
    for number in range(8):
        child = start_python("-c", change, index_dir, "merged" if number % 2 else "linked")
        time.sleep(moments.uniform(0.1, 1.0))
        child.kill()
        child.wait()
        StoredDirectory.open(index_dir, kind="sparse").verify()
        assert answer(index_dir) in (old, new)
    assert start_python("-c", change, index_dir, "merged").wait() == 0
    assert answer(index_dir) == new
    assert_clean(index_dir)


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
