"""An index whose bytes were altered: named in one line or answered as before, and always seen by ``verify``."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_onnx import make_reranker, make_tokenizer
from toy_model import WORDS, ToyModel, make_corpus, make_ranker

from sicetnon.errors import IndexDamaged, SicetnonError
from sicetnon.ingest import build_index
from sicetnon.relevance.reranker import Blend
from sicetnon.search import Searcher
from sicetnon.sparse import (
    Bm25,
    Budget,
    SparseIndex,
    SparseIndexBuilder,
    SparseIndexWriter,
    bitmaps,
    budget,
    pruning,
    topk,
    writer,
)
from sicetnon.storage import StoredDirectory
from sicetnon.types import Document, Query

FLIPS = 12  # places in each file


def damaged_copies(index: Path, place: Path, *, called: str = "*") -> Iterator[tuple[Path, str]]:
    """Yield copies of an index, each with one byte of one file so called flipped, and the file's name."""
    rng = np.random.default_rng(5)
    names = [file.relative_to(index) for file in sorted(index.rglob(called)) if file.is_file() and file.stat().st_size]
    assert names
    for name in names:
        size = (index / name).stat().st_size
        for at in {0, size - 1, *rng.integers(0, size, FLIPS).tolist()}:
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(index, place)
            content = bytearray((place / name).read_bytes())
            content[at] ^= 1 << int(rng.integers(8))
            (place / name).write_bytes(content)
            yield place, str(name)


def is_whole(index: Path) -> bool:
    try:
        StoredDirectory.open(index, kind=None).verify()
    except SicetnonError:
        return False
    return True


def hold(index: Path, place: Path, use: Callable[[Path], object], *, called: str = "*") -> None:
    for copy, name in damaged_copies(index, place, called=called):
        with suppress(SicetnonError):  # an answer, or an error of ours: anything else fails the test
            use(copy)
        assert not is_whole(copy), f"a flipped byte of {name} was not seen"


def test_legal_index(tmp_path: Path, small_corpus: tuple[Document, ...], cheap_encoder: Any) -> None:
    """Whatever byte of a legal index is flipped, a search ends in an answer or in an error of the tree."""
    build_index(small_corpus, tmp_path / "index", encoder=cheap_encoder)

    def use(copy: Path) -> None:
        searcher = Searcher.open(copy, encoder=cheap_encoder)
        searcher.search_both(Query(proposition="The police may search a phone."))

    hold(tmp_path / "index", tmp_path / "copy", use)


@pytest.mark.parametrize("called", ["reranker.onnx", "reranker.json", "memory-*", "documents.sqlite"])
def test_cross_encoder(tmp_path: Path, cheap_encoder: Any, called: str) -> None:
    """Whatever byte of what a cross-encoder needs is flipped, searches one at a time and many at once end so too."""
    documents, known = make_corpus(6, 8)
    model = ToyModel(
        cheap_encoder,
        known,
        make_ranker(),
        onnx=(b"not loaded", make_tokenizer(WORDS)),
        reranker=(make_reranker(WORDS, {"ship": 1.0}, {"flag": 1.0}), Blend(0.5, 1.0, -1.0).to_json()),
    )
    build_index(documents, tmp_path / "index", model=model)  # type: ignore[arg-type]

    def use(copy: Path) -> None:
        searcher = Searcher.open(copy, encoder=cheap_encoder)
        query = Query(proposition="A ship may carry a flag.")
        assert len(searcher.search(query).hits) == 6
        assert len(searcher.rank_many([query]).rankings[0].doc_ids) == 6

    use(tmp_path / "index")
    hold(tmp_path / "index", tmp_path / "copy", use, called=called)


def prune_small_indexes(patch: pytest.MonkeyPatch) -> None:
    """Have a small index pruned, and budgeted, as a large one is."""
    patch.setattr(bitmaps, "_DOCUMENTS_A_POSTING", 4)
    patch.setattr(pruning, "_LEAST_WORK", 0)
    patch.setattr(pruning, "_MOST_CANDIDATES", 1.0)
    patch.setattr(pruning, "_POSTINGS_A_SCORE", 1)
    patch.setattr(budget, "_LEAST_WORK", 0)
    patch.setattr(budget, "_FEWEST_POSTINGS", 0.0)
    patch.setattr(topk, "_GROUPS_PER_RESULT", 1)
    patch.setattr(topk, "_FEWEST_GROUPS", 4)


def build_bags(path: Path) -> None:
    with SparseIndexBuilder(path) as builder:
        for number in range(40):
            builder.add(f"d{number}", {f"t{term}": 1 + number % 3 for term in range(number % 7 + 1)})
        builder.commit()


def use_sparse(index_dir: Path) -> None:
    """Search in every way there is, and explain."""
    index = SparseIndex.open(index_dir)
    terms = ["t1", "t5", "t6", "nothing"]
    allowed = index.select(lambda doc_id: doc_id > "d2")
    for chosen in (None, Budget(0.4, 5)):
        for top_k in (1, 2, 100):
            index.search(terms, top_k=top_k, budget=chosen)
            index.search(terms, top_k=top_k, budget=chosen, allowed=allowed)
    index.search({"t1": 2.0}, scoring=Bm25())
    index.explain(terms, "d8", top_k=2)
    index.explain(terms, "d8", top_k=2, budget=Budget(0.4, 5))


def test_sparse_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever byte of a sparse index is flipped, search and explanation end in an answer or an error of the tree."""
    prune_small_indexes(monkeypatch)
    build_bags(tmp_path / "index")
    hold(tmp_path / "index", tmp_path / "copy", use_sparse)


def test_sparse_index_of_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever byte of an index of several segments with deleted documents is flipped, it ends so too."""
    prune_small_indexes(monkeypatch)
    monkeypatch.setattr(writer, "_MOST_TIMES", 0)
    build_bags(tmp_path / "index")
    with SparseIndexWriter(tmp_path / "index") as changing:
        for number in range(0, 40, 3):
            changing.delete(f"d{number}")
        for number in range(12):
            changing.add(f"e{number}", [f"t{term}" for term in range(number % 5, 9)])
        changing.commit()
    assert SparseIndex.open(tmp_path / "index").segment_count == 2
    hold(tmp_path / "index", tmp_path / "copy", use_sparse)


@pytest.mark.parametrize("offset", [-1, 1, 60, 2**40, 2**63 - 1, -(2**63)])
def test_altered_offsets_of_document_ids(tmp_path: Path, offset: int) -> None:
    """Wherever the ID of the one hit is said to start, the search ends in an ID or in an error of the tree."""
    build_bags(tmp_path)
    file = tmp_path / "generation-000001" / "segment-000001" / "documents-offsets.npy"
    offsets = np.load(file)
    for place in (6, 7):
        np.save(file, np.insert(np.delete(offsets, place), place, offset))
        index = SparseIndex.open(tmp_path)
        with suppress(IndexDamaged):
            assert len(index.search(["t6"], top_k=1)) == 1
        with suppress(IndexDamaged):
            index.read_doc_id_bytes(np.array([6]))
    np.save(file, offsets)
    assert SparseIndex.open(tmp_path).search(["t6"], top_k=1)[0].ordinal == 13


def test_damaged_manifest_is_built_over(tmp_path: Path, small_corpus: tuple[Document, ...], cheap_encoder: Any) -> None:
    """An index whose manifest is damaged can be built again in its place; until then its files stay."""
    index = tmp_path / "index"
    build_index(small_corpus, index, encoder=cheap_encoder)
    (index / "manifest.json").write_text("{")
    with pytest.raises(IndexDamaged):
        Searcher.open(index, encoder=cheap_encoder)
    kept = sorted((index / "generation-000001").iterdir())
    with pytest.raises(SicetnonError):
        build_index([], index, encoder=cheap_encoder)
    assert sorted((index / "generation-000001").iterdir()) == kept
    build_index(small_corpus, index, encoder=cheap_encoder)
    assert Searcher.open(index, encoder=cheap_encoder).find("d-phone") == small_corpus[0]
    assert sorted(entry.name for entry in index.iterdir()) == ["generation-000002", "manifest.json", "write.lock"]
