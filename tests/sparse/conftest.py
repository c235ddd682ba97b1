"""What the tests of the engine share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sicetnon.sparse import SparseIndex, SparseIndexBuilder, bitmaps, budget, pruning, segment, topk, weighted
from sicetnon.sparse.bitmaps import TermBitmaps
from sicetnon.sparse.forward import ForwardIndex
from sicetnon.sparse.layout import choose_row_dtype, pad_width
from sicetnon.sparse.sums import SetPostings

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the package `oracle`

LOOKS = ("find_best", "find_good", "find_heaviest", "find_heavy")

Documents = Iterable[tuple[str, list[str] | Mapping[str, int]]]


@pytest.fixture(autouse=True, scope="session")
def no_fsync() -> Iterator[None]:
    """Do not wait for the disk, some milliseconds a file: in these tests no power fails (children do wait)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(autouse=True)
def little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the engine leave things out of some thousand documents already: that this is slower does not matter here."""
    monkeypatch.setattr(pruning, "_LEAST_WORK", 4_096)
    monkeypatch.setattr(budget, "_LEAST_WORK", 4_096)


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


@pytest.fixture(scope="session")
def make_forward() -> Callable[..., ForwardIndex]:
    """Make a forward index in memory, of documents given as lists of term rows."""

    def make(documents: Sequence[Sequence[int]], term_count: int) -> ForwardIndex:
        lengths = [len(rows) for rows in documents]
        padding = [0] * pad_width(max(lengths))
        rows = np.array([row for rows in documents for row in rows] + padding, choose_row_dtype(term_count))
        return ForwardIndex(rows, np.cumsum([0, *lengths]), term_count=term_count)

    return make


@pytest.fixture(scope="session")
def make_sets(make_forward: Callable[..., ForwardIndex]) -> Callable[..., SetPostings]:
    """Make what a search over sets needs, in memory, of documents given as a matrix of bool: documents by terms."""

    def make(has: np.ndarray, with_bitmap: np.ndarray) -> SetPostings:
        count, term_count = has.shape
        postings = np.concatenate([np.flatnonzero(column) for column in has.T]).astype(np.int32)
        offsets = np.cumsum([0, *has.sum(axis=0)])
        rows = np.flatnonzero(with_bitmap)
        bits = np.packbits(has.T[rows], axis=1, bitorder="little")
        maps = TermBitmaps(rows.astype(np.int32), bits, document_count=count)
        forward = make_forward([np.flatnonzero(row).tolist() for row in has], term_count)
        return SetPostings(postings, offsets, maps, forward, count)

    return make


@pytest.fixture
def no_cost(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Take every bound of cost out of the way, so that small corpora are pruned, and budgeted, as large ones are."""
    set_no_cost(monkeypatch)
    return monkeypatch


@pytest.fixture(scope="session")
def free_of_cost() -> Callable[[pytest.MonkeyPatch], None]:
    """Give what `no_cost` does, for tests that run many examples."""
    return set_no_cost


def set_no_cost(patch: pytest.MonkeyPatch) -> None:
    """Patch all that makes the engine take the plain sum where that is quicker."""
    patch.setattr(bitmaps, "_DOCUMENTS_A_POSTING", 1_000_000)
    patch.setattr(pruning, "_LEAST_WORK", 0)
    patch.setattr(pruning, "_MOST_CANDIDATES", 1.0)
    patch.setattr(pruning, "_POSTINGS_A_SCORE", 1)
    patch.setattr(budget, "_LEAST_WORK", 0)
    patch.setattr(weighted, "_FEWEST_DOCUMENTS", 1)
    patch.setattr(weighted, "_POSTINGS_A_SCORE", 1)
    patch.setattr(budget, "_FEWEST_POSTINGS", 0.0)
    patch.setattr(topk, "_GROUPS_PER_RESULT", 1)
    patch.setattr(topk, "_FEWEST_GROUPS", 4)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Note what each look for some documents, exact or within a budget, gave: None where the plain sum was taken."""
    noted: list[Any] = []
    for name in LOOKS:
        real = getattr(segment, name)

        def look(*arguments: Any, real: Callable[..., Any] = real, **options: Any) -> Any:
            noted.append(real(*arguments, **options))
            return noted[-1]

        monkeypatch.setattr(segment, name, look)
    return noted


@pytest.fixture
def plainly(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Have every later search of the test add up all postings."""

    def search_plainly() -> None:
        for name in LOOKS:
            monkeypatch.setattr(segment, name, lambda *_, **__: None)

    return search_plainly
