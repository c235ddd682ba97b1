"""What the tests of both contracts share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def read_only_contracts(tmp_path: Path) -> Iterator[Path]:
    """Give a link to the contracts of a read-only copy of the tree, and see that nothing was written into it."""
    tree = tmp_path / "a tree"
    shutil.copytree(
        REPOSITORY / "src" / "sicetnon", tree / "src" / "sicetnon", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copytree(REPOSITORY / "contracts", tree / "contracts")
    before = sorted(tree.rglob("*"))
    for path in [tree, *before]:
        path.chmod(path.stat().st_mode & ~0o222)
    (tmp_path / "scripts").symlink_to(tree / "contracts")
    try:
        yield tmp_path / "scripts"
        assert sorted(tree.rglob("*")) == before
    finally:
        for path in [tree, *before]:
            path.chmod(path.stat().st_mode | 0o700)
