"""What the tests of the engine share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from sicetnon.sparse import SparseIndex, SparseIndexBuilder

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the package `oracle`

Documents = Iterable[tuple[str, list[str] | Mapping[str, int]]]


@pytest.fixture(autouse=True, scope="session")
def no_fsync() -> Iterator[None]:
    """Do not wait for the disk, some milliseconds a file: in these tests no power fails (children do wait)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture
def build(tmp_path: Path) -> Callable[[Documents], SparseIndex]:
    """Build an index of documents given as (ID, terms) and open it."""

    def build_index(documents: Documents) -> SparseIndex:
        with SparseIndexBuilder(tmp_path / "index") as builder:
            for doc_id, terms in documents:
                builder.add(doc_id, terms)
            builder.commit()
        return SparseIndex.open(tmp_path / "index")

    return build_index
