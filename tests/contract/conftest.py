"""What the tests of both contracts share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def is_byte_code(path: Path) -> bool:
    """Tell whether a path is one that Python itself writes beside the modules it imports."""
    if path.name == "__pycache__":
        return path.is_dir() and any(path.parent.glob("*.py"))
    if path.parent.name != "__pycache__" or path.suffix != ".pyc":
        return False
    return (path.parents[1] / f"{path.name.partition('.')[0]}.py").is_file()


@pytest.fixture
def read_only_contracts(tmp_path: Path) -> Iterator[Path]:
    """Give a link to the contracts of a read-only copy of the tree, and see that nothing was written into it.

    A user who may write anywhere still has Python keep its byte code there: that, and nothing else, is allowed.
    """
    tree = tmp_path / "a tree"
    shutil.copytree(
        REPOSITORY / "src" / "sicetnon", tree / "src" / "sicetnon", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copytree(REPOSITORY / "contracts", tree / "contracts")
    before = sorted(tree.rglob("*"))
    contents = {path: path.read_bytes() for path in before if path.is_file()}
    for path in [tree, *before]:
        path.chmod(path.stat().st_mode & ~0o222)
    (tmp_path / "scripts").symlink_to(tree / "contracts")
    try:
        yield tmp_path / "scripts"
        after = [path for path in sorted(tree.rglob("*")) if not is_byte_code(path)]
        assert after == before
        assert all(path.read_bytes() == content for path, content in contents.items())
    finally:
        for path in [tree, *before]:
            path.chmod(path.stat().st_mode | 0o700)
