"""The scripts of the sparse contract, as an evaluator calls them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
SCRIPTS = REPOSITORY / "contracts" / "sparse-pruning"

# Modules that may be loaded: NumPy, the standard library and the engine with what it stands on.
LIST_FOREIGN_MODULES = """
import sys
import sicetnon.sparse, sicetnon.sparse.__main__
names = {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names) - {"__main__"}
names |= {name for name in sys.modules if name.startswith("sicetnon.")}
print("\\n".join(sorted(names)))
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Make a folder, with a space in its name, that holds a corpus and queries."""
    folder = tmp_path / "some data"
    folder.mkdir()
    documents = [{"doc_id": f"d{n:03}", "terms": [f"t{n % 7}", f"t{n % 11}", "all"]} for n in range(300)]
    queries = [{"query_id": "q1", "terms": ["all", "t3"]}, {"query_id": "q0", "terms": ["none"]}]
    for name, rows in (("corpus", documents), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def run(
    script: Path, *arguments: str, cwd: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script with next to nothing in its environment but the interpreter."""
    bare = {"PATH": "/usr/bin:/bin", "SICETNON_PYTHON": sys.executable, **(environment or {})}
    if "LD_LIBRARY_PATH" in os.environ:  # where the interpreter may find its own library
        bare["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
    return subprocess.run([script, *arguments], cwd=cwd, env=bare, capture_output=True, text=True, check=False)


def build_and_search(scripts: Path, cwd: Path) -> list[dict[str, Any]]:
    """Run both scripts with paths relative to `cwd` and return the result rows."""
    built = run(scripts / "build.sh", "--corpus", "corpus.jsonl", "--index-dir", "an index", cwd=cwd)
    assert built.returncode == 0, built.stderr
    arguments = ["--index-dir", "an index", "--queries", "queries.jsonl", "--output", "results.jsonl"]
    ran = run(scripts / "run.sh", *arguments, cwd=cwd)
    assert ran.returncode == 0, ran.stderr
    assert built.stdout == ran.stdout == ""
    return [json.loads(line) for line in (cwd / "results.jsonl").read_text().splitlines()]


def test_build_and_run(data: Path) -> None:
    """Relative paths are the caller's; there is one row a query in input order, at most 100 results each."""
    rows = build_and_search(SCRIPTS, data)
    assert [row["query_id"] for row in rows] == ["q1", "q0"]
    assert [len(row["results"]) for row in rows] == [100, 0]


def test_top_k(data: Path) -> None:
    """The cutoff can be chosen."""
    build_and_search(SCRIPTS, data)
    arguments = ["--index-dir", "an index", "--queries", "queries.jsonl", "--output", "two.jsonl", "--top-k", "2"]
    assert run(SCRIPTS / "run.sh", *arguments, cwd=data).returncode == 0
    assert len(json.loads((data / "two.jsonl").read_text().splitlines()[0])["results"]) == 2


def test_read_only_tree_elsewhere(data: Path, read_only_contracts: Path) -> None:
    """The scripts work from a read-only copy of the tree, also through a link, and write nothing into it."""
    assert build_and_search(read_only_contracts / "sparse-pruning", data)


def test_callers_modules_are_not_imported(data: Path) -> None:
    """Files of the caller's that are named like modules are left alone."""
    for name in ("numpy", "json", "sicetnon"):
        (data / f"{name}.py").write_text("raise SystemExit('imported the wrong one')")
    assert build_and_search(SCRIPTS, data)


def test_errors(data: Path) -> None:
    """An error is one line on standard error and exit status 1; a wrong call exits with 2."""
    (data / "corpus.jsonl").write_text('{"doc_id": "a", "terms": ["x"]}\n{"doc_id": "a", "terms": []}\n')
    failed = run(SCRIPTS / "build.sh", "--corpus", "corpus.jsonl", "--index-dir", "index", cwd=data)
    assert failed.returncode == 1
    assert failed.stderr.startswith("error: corpus.jsonl, line 2: document ID 'a' a second time")
    assert failed.stderr.count("\n") == 1
    assert not (data / "index").exists()
    assert run(SCRIPTS / "run.sh", "--index-dir", "index", cwd=data).returncode == 2


def test_cdpath_of_the_caller(data: Path) -> None:
    """A CDPATH of the caller's does not lead the scripts astray."""
    arguments = ["--corpus", "corpus.jsonl", "--index-dir", "index"]
    ran = run(SCRIPTS / "build.sh", *arguments, cwd=data, environment={"CDPATH": "/usr:/"})
    assert ran.returncode == 0, ran.stderr


def test_engine_loads_numpy_alone() -> None:
    """Importing the engine loads NumPy, the standard library, and of ours only errors and storage."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    ran = subprocess.run(
        [sys.executable, "-c", LIST_FOREIGN_MODULES], env=environment, capture_output=True, text=True, check=True
    )
    allowed = ("numpy", "sicetnon", "sicetnon.errors", "sicetnon.jsonl", "sicetnon.storage", "sicetnon.sparse")
    loaded = ran.stdout.split()
    foreign = [n for n in loaded if n not in allowed and not n.startswith(("sicetnon.storage.", "sicetnon.sparse."))]
    # Start-up hooks of installed packages (.pth files) are not the engine's doing.
    baseline = subprocess.run(
        [sys.executable, "-c", "import sys, numpy; print('\\n'.join(n.partition('.')[0] for n in sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert "numpy" in loaded
    assert set(foreign) - set(baseline) == set()
