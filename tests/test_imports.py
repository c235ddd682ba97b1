"""Who may import whom: the rooms of the package, held by reading every import of every file."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sicetnon

SOURCE = Path(sicetnon.__file__).parent
VERSION = "sicetnon"  # ``from sicetnon import __version__``: the shelf itself, which loads nothing
BELOW = {"types", "errors", "jsonl"}
INDEXES = {"storage", "sparse", "collection"}
TOPS = {"train", "evaluate", "serve", "scale", "cli"}

# Room -> rooms, or files of rooms, of which it may import. A new room is not allowed anything until it stands here.
MAY_IMPORT: dict[str, set[str]] = {
    "types": set(),
    "errors": set(),
    "jsonl": {"errors"},
    "wording": set(),
    "storage": {"errors", VERSION},
    "sparse": {*BELOW, "storage"},
    "text": {"types", "errors"},
    "corpora": BELOW,
    "remote": {"errors"},
    "dense": {"types", "errors", "remote"},
    "stance": {"types", "errors", "text", "dense.encoder"},
    "collection": {"types", "errors", "storage", "sparse", "dense.encoder"},
    "relevance": {"types", "errors", "text", "dense", *INDEXES},
    "ingest": {*BELOW, "corpora", "text", "dense", "stance", *INDEXES, "relevance"},
    "search": {*BELOW, "corpora", "text", "dense", "stance", *INDEXES, "relevance"},
    "train": {*BELOW, VERSION, "corpora", "text", "dense", "stance", *INDEXES, "relevance", "ingest", "search"},
    "evaluate": {*BELOW, "corpora"},
    "serve": {
        *BELOW,
        VERSION,
        "wording",
        "corpora",
        "text",
        "dense",
        "stance",
        *INDEXES,
        "relevance",
        "ingest",
        "search",
    },
    "scale": {*BELOW, "corpora", "text", "dense", "stance", *INDEXES, "relevance", "ingest", "search"},
    "__main__": {"cli"},
}
FILES = sorted(SOURCE.rglob("*.py"))
FILE_MODULES = {"pathlib", "os", "io", "sqlite3", "tempfile", "shutil", "mmap"}


def room_of(file: Path) -> str:
    """Name the room that a file belongs to."""
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def read_imports(file: Path) -> Iterator[str]:
    """Yield the dotted name of each module that a file imports, wherever it does and for types too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively"
            module = node.module or ""
            for alias in node.names:
                inner = SOURCE / alias.name
                names_a_room = module == "sicetnon" and (inner.is_dir() or inner.with_suffix(".py").is_file())
                yield f"{module}.{alias.name}" if names_a_room else module


def own_imports(file: Path) -> set[str]:
    """Name what a file imports of ours, without the package's name before it."""
    ours = [name for name in read_imports(file) if name.partition(".")[0] == "sicetnon"]
    return {name.removeprefix("sicetnon.") for name in ours}


def foreign_imports(file: Path) -> set[str]:
    """Name the installed packages that a file imports."""
    return {name.partition(".")[0] for name in read_imports(file)} - set(sys.stdlib_module_names) - {"sicetnon"}


def is_allowed(name: str, allowed: set[str]) -> bool:
    """Whether a dotted name is one of the allowed ones or lies within one."""
    return name in allowed or any(name.startswith(f"{prefix}.") for prefix in allowed - {VERSION})


def files_of(*rooms: str) -> list[Path]:
    """List the files of these rooms."""
    return [file for file in FILES if room_of(file) in rooms]


@pytest.mark.parametrize("file", FILES, ids=[str(file.relative_to(SOURCE)) for file in FILES])
def test_rooms(file: Path) -> None:
    """A file imports of ours only what its room may; the command line may call any, the shelf loads on demand."""
    room = room_of(file)
    if room in {"cli", "__init__"}:
        return
    allowed = MAY_IMPORT[room] | {room}
    assert {name for name in own_imports(file) if not is_allowed(name, allowed)} == set()


def test_no_index_below_ingest() -> None:
    """Texts, corpora, encoders and the stance model never import an index."""
    for file in files_of("text", "corpora", "remote", "dense", "stance", "jsonl", "types", "errors", "wording"):
        assert not {name.partition(".")[0] for name in own_imports(file)} & INDEXES, file


def test_tops_do_not_know_each_other() -> None:
    """Training, evaluation, serving and the command line stand side by side; only the command line calls the rest."""
    for file in files_of(*TOPS - {"cli"}):
        others = {name.partition(".")[0] for name in own_imports(file)} - {room_of(file)}
        assert not others & TOPS, file
    for file in FILES:
        if room_of(file) not in {"cli", "__main__"}:
            assert not {name for name in own_imports(file) if name.partition(".")[0] == "cli"}, file


def test_no_ray() -> None:
    """Nothing outside the room for it imports Ray, and nothing but the command line imports that room."""
    for file in FILES:
        if room_of(file) != "scale":
            assert "ray" not in foreign_imports(file), file
            if room_of(file) != "cli":
                assert "scale" not in {name.partition(".")[0] for name in own_imports(file)}, file


def test_engine_and_records_import_numpy_at_most() -> None:
    """The engine and its storage use NumPy and the standard library; records, readers and wording not even that."""
    for file in files_of("sparse", "storage"):
        assert foreign_imports(file) <= {"numpy"}, file
    for file in files_of("types", "errors", "jsonl", "wording", "corpora"):
        assert foreign_imports(file) == set(), file


def test_network_in_one_room() -> None:
    """Only the room for it talks to other machines, and it needs nothing but its HTTP library."""
    clients = {"httpx", "httpx2", "requests", "urllib3", "http", "socket", "aiohttp", "openai"}
    for file in FILES:
        if room_of(file) not in {"remote", "serve"}:
            assert not {name.partition(".")[0] for name in read_imports(file)} & clients, file
    for file in files_of("remote"):
        assert foreign_imports(file) <= {"httpx2"}, file


def test_stance_knows_no_files() -> None:
    """The stance model reads no file but the data that ships with it."""
    for file in files_of("stance"):
        assert not {name.partition(".")[0] for name in read_imports(file)} & FILE_MODULES, file
        calls = [n.func for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Call)]
        assert not [call for call in calls if isinstance(call, ast.Name) and call.id == "open"], file


def test_shelf_imports_nothing_of_ours_when_loaded() -> None:
    """The shelf's own imports are for type checkers alone."""
    shelf = ast.parse((SOURCE / "__init__.py").read_text())
    loaded = [node for node in shelf.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {node.module for node in loaded if isinstance(node, ast.ImportFrom)} <= {"__future__", "importlib", "typing"}


def test_rule_is_held_against_a_breach(tmp_path: Path) -> None:
    """The reading of imports finds them in functions, for types, and of a room by its name."""
    file = tmp_path / "breach.py"
    file.write_text(
        "def f():\n    from sicetnon import search\n    import sicetnon.cli.app\n    from ray import data\n"
    )
    assert own_imports(file) == {"search", "cli.app"}
    assert foreign_imports(file) == {"ray"}
    assert not is_allowed("searching", {"search"})
    assert not is_allowed("cli.app", {VERSION})
