"""Pruned search: the same documents, scores and ties as the plain sum, whatever it leaves out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle.sparse import SparseOracle

from sicetnon.sparse import SparseIndex, SparseIndexBuilder, bitmaps, pruning, topk
from sicetnon.sparse.bitmaps import TermBitmaps

Corpus = list[tuple[str, list[str]]]


def build(path: Path, corpus: Corpus) -> SparseIndex:
    with SparseIndexBuilder(path) as builder:
        for doc_id, terms in corpus:
            builder.add(doc_id, terms)
        builder.commit()
    return SparseIndex.open(path)


def make_corpus(rng: np.random.Generator, documents: int, frequent: int, rare: int) -> Corpus:
    """Documents in no order of their IDs; each frequent term is in a third of them, each rare one in a few."""
    corpus = []
    for number in rng.permutation(documents).tolist():
        terms = [f"f{term}" for term in np.flatnonzero(rng.random(frequent) < 0.35)]
        terms += [f"r{term}" for term in rng.integers(0, rare, rng.integers(0, 4))]
        corpus.append((f"d{number:05d}", terms))
    return corpus


def count_pruned(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Note for every search whether it was pruned."""
    pruned: list[bool] = []

    def find_best(*arguments: Any, **options: Any) -> Any:
        found = pruning.find_best(*arguments, **options)
        pruned.append(found is not None)
        return found

    monkeypatch.setattr("sicetnon.sparse.index.find_best", find_best)
    return pruned


def test_bitmaps_by_hand(tmp_path: Path) -> None:
    """Terms of more than one document in 32 have a bitmap, of one bit a document; others have none."""
    corpus = [(f"d{number}", ["all", "one"] if number == 9 else ["all"]) for number in range(40)]
    corpus[0] = ("d0", ["all", "two"])
    corpus[1] = ("d1", ["all", "two"])
    index = build(tmp_path / "index", corpus)
    maps = index._sets.bitmaps
    places = maps.find(np.array([0, 1, 2]))  # the rows of "all", "two" and "one", in the order of appearance
    assert (places >= 0).tolist() == [True, True, False]
    assert maps.test(places[:2], np.array([0, 1, 2, 39])).tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]


def test_no_bitmaps() -> None:
    """Where no term is frequent, none is found."""
    maps = TermBitmaps(np.zeros(0, np.int32), np.zeros((0, 5), np.uint8))
    assert maps.find(np.array([0, 7])).tolist() == [-1, -1]


@pytest.mark.parametrize("seed", range(6))
def test_small_corpora_against_oracle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """With every bound of cost out of the way, small corpora with many ties rank as the slow oracle has it."""
    monkeypatch.setattr(bitmaps, "_DOCUMENTS_A_POSTING", 1_000_000)
    monkeypatch.setattr(pruning, "_FEWEST_DOCUMENTS", 8)
    monkeypatch.setattr(topk, "_GROUPS_PER_RESULT", 1)
    monkeypatch.setattr(topk, "_FEWEST_GROUPS", 4)
    monkeypatch.setattr(pruning, "_LEAST_SAVED", 0.0)
    monkeypatch.setattr(pruning, "_MOST_CANDIDATES", 1.0)
    monkeypatch.setattr(pruning, "_LEFT_SHARE", [0.1, 0.5, 0.9][seed % 3])
    rng = np.random.default_rng(seed)
    corpus = make_corpus(rng, documents=60, frequent=5, rare=12)
    index, oracle = build(tmp_path / "index", corpus), SparseOracle(corpus)
    pruned = count_pruned(monkeypatch)
    names = [*(f"f{n}" for n in range(5)), *(f"r{n}" for n in range(12)), "unknown"]
    for _ in range(150):
        terms = rng.choice(names, rng.integers(1, 9), replace=False).tolist()
        k = int(rng.integers(1, 5))
        found = [(hit.doc_id, hit.score) for hit in index.search(terms, top_k=k)]
        assert found == oracle.rank(oracle.score_overlap(terms), k)
    assert sum(pruned) > 20


def test_longest_query_cannot_overflow() -> None:
    """With every term rounded up by half a unit, the largest sum still fits the type it is kept in."""
    assert np.iinfo(np.uint16).max >= pruning._LARGEST_SUM + pruning._MOST_TERMS / 2


def test_query_with_too_many_terms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query with more terms than whole numbers can tell apart is summed plainly."""
    monkeypatch.setattr(pruning, "_MOST_TERMS", 3)
    monkeypatch.setattr(pruning, "_FEWEST_DOCUMENTS", 8)
    monkeypatch.setattr(topk, "_GROUPS_PER_RESULT", 1)
    monkeypatch.setattr(topk, "_FEWEST_GROUPS", 4)
    corpus = make_corpus(np.random.default_rng(3), documents=60, frequent=5, rare=12)
    index, oracle = build(tmp_path / "index", corpus), SparseOracle(corpus)
    pruned = count_pruned(monkeypatch)
    terms = ["f0", "f1", "r0", "r1", "r2"]
    found = [(hit.doc_id, hit.score) for hit in index.search(terms, top_k=5)]
    assert found == oracle.rank(oracle.score_overlap(terms), 5)
    assert pruned == [False]


def test_large_corpus_as_the_plain_sum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it pays, in a larger corpus, the answer is the plain sum's to the last bit."""
    rng = np.random.default_rng(11)
    corpus = make_corpus(rng, documents=12_000, frequent=12, rare=100)
    index = build(tmp_path / "index", corpus)
    pruned = count_pruned(monkeypatch)
    queries = [
        [*(f"f{n}" for n in rng.choice(12, 2, replace=False)), *(f"r{n}" for n in rng.choice(100, 14, replace=False))]
        for _ in range(40)
    ]
    quick = [index.rank(terms, top_k=10) for terms in queries]
    assert any(pruned)
    monkeypatch.setattr(SparseIndex, "_find_best", lambda *_: None)
    for terms, (ordinals, scores) in zip(queries, quick, strict=True):
        plain_ordinals, plain_scores = index.rank(terms, top_k=10)
        assert ordinals.tolist() == plain_ordinals.tolist()
        assert scores.tolist() == plain_scores.tolist()
