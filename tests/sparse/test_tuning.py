"""The budget found by sample queries: it reaches what is wanted, and none that does costs less."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from sicetnon.errors import InputError
from sicetnon.sparse import Budget, SparseIndex, SparseIndexBuilder, budget, tune, tuning

WORDS = 400


def make_documents(count: int) -> list[tuple[str, list[str]]]:
    """Documents of one of 40 topics each, and of words that any has; the lower a word's number, the more have it."""
    rng = np.random.default_rng(5)
    topics = rng.integers(0, WORDS, (40, 20))
    documents = []
    for number in range(count):
        common = (rng.random(25) ** 2 * WORDS).astype(int)
        topical = rng.choice(topics[number % 40], 8)
        documents.append((f"d{number:04d}", [f"t{word}" for word in np.unique(np.append(common, topical))]))
    return documents


def build(path: Path, documents: list[tuple[str, list[str]]], *, tunes: bool = False) -> SparseIndex:
    with SparseIndexBuilder(path) as builder:
        for doc_id, terms in documents:
            builder.add(doc_id, terms)
        builder.commit(tunes=tunes)
    return SparseIndex.open(path)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> SparseIndex:
    return build(tmp_path_factory.mktemp("tuning"), make_documents(6_000))


@pytest.fixture(scope="module")
def queries() -> list[list[str]]:
    return [terms[::2] for _, terms in make_documents(6_000)[::400]]


@pytest.fixture(autouse=True)
def small_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "_SHARES", (0.3, 0.5, 0.7, 0.9))
    monkeypatch.setattr(tuning, "_CANDIDATES", (20, 40, 80, 160, 320))


def measure(index: SparseIndex, queries: list[list[str]], given: Budget, top_k: int) -> float:
    """Return the mean share of the exact best documents found, by plain sets."""
    shares = []
    for terms in queries:
        exact = {hit.doc_id for hit in index.search(terms, top_k=top_k)}
        shares.append(len(exact & {hit.doc_id for hit in index.search(terms, top_k=top_k, budget=given)}) / len(exact))
    return float(np.mean(shares))


@pytest.mark.parametrize("wanted", [0.5, 0.7, 0.9])
def test_the_cheapest_that_reaches(index: SparseIndex, queries: list[list[str]], wanted: float) -> None:
    """Of all budgets of the grid, none that reaches the overlap costs less; what is told of it is so."""
    found = tune(index, queries, top_k=20, overlap=wanted, overlap_top=wanted)
    assert found.overlap == pytest.approx(measure(index, queries, found.budget, 20))
    assert found.overlap_top == pytest.approx(measure(index, queries, found.budget, 10), abs=0.2)
    assert min(found.overlap, found.overlap_top) >= wanted
    samples = [(index.plan(terms), index.rank(terms, top_k=20)[0]) for terms in queries]
    cost = tuning._reckon(samples, found.budget)
    for share, size in product(tuning._SHARES, tuning._CANDIDATES):
        other = tuning._measure(index, samples, Budget(share, size), 20)
        if min(other.overlap, other.overlap_top) >= wanted:
            assert tuning._reckon(samples, other.budget) >= cost


def test_more_is_wanted_more_is_looked_at(index: SparseIndex, queries: list[list[str]]) -> None:
    """A higher overlap never costs less, and the lowest less than the highest."""
    samples = [(index.plan(terms), index.rank(terms, top_k=20)[0]) for terms in queries]
    costs = [
        tuning._reckon(samples, tune(index, queries, top_k=20, overlap=wanted, overlap_top=0.1).budget)
        for wanted in (0.3, 0.6, 0.8, 0.95)
    ]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]


def test_the_widest_where_none_reaches(
    index: SparseIndex, queries: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing reaches what is wanted, the widest budget of the grid is returned, with what it does reach."""
    monkeypatch.setattr(tuning, "_SHARES", (0.1, 0.2))
    monkeypatch.setattr(tuning, "_CANDIDATES", (20, 25))
    found = tune(index, queries, top_k=20, overlap=1.0, overlap_top=1.0)
    assert found.budget == Budget(0.2, 25)
    assert found.overlap < 1


def test_where_every_answer_is_exact(index: SparseIndex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Queries that any budget answers exactly tell nothing: the budget is the one for any index, and is not kept."""
    monkeypatch.setattr(budget, "_LEAST_WORK", 10**9)
    found = tune(index, [["t1", "t2"]], top_k=20)
    assert (found.budget, found.overlap, found.overlap_top) == (Budget(), 1.0, 1.0)
    assert "budget" not in build(tmp_path, make_documents(50), tunes=True).settings


def test_build_keeps_a_budget(tmp_path: Path, index: SparseIndex) -> None:
    """Tuned at the build, an index has a budget that reaches far on its own documents, and the same every time."""
    first, second = (build(tmp_path / name, make_documents(6_000), tunes=True) for name in ("a", "b"))
    assert first.settings == second.settings == {"budget": first.budget.to_json()}
    assert first.budget.candidates in tuning._CANDIDATES
    assert measure(index, [terms[::2] for _, terms in make_documents(6_000)[::300]], first.budget, 100) > 0.8


@pytest.mark.parametrize("wrong", [{"overlap": 0}, {"overlap": 1.1}, {"overlap_top": -1}, {"top_k": 0}])
def test_wrong_wishes(index: SparseIndex, wrong: dict[str, float]) -> None:
    """Shares that are none, and no documents at all."""
    with pytest.raises(InputError, match="wanted overlap"):
        tune(index, [["t1"]], **wrong)


def test_no_sample_that_matches(index: SparseIndex) -> None:
    """Queries of unknown terms, or none, are no samples."""
    for queries in ([], [["unknown"], []]):
        with pytest.raises(InputError, match="no query that matches"):
            tune(index, queries)


def test_only_so_many_are_read(index: SparseIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endless iterator of queries is read as far as is looked at."""

    def endless() -> object:
        while True:
            yield ["t1", "t200", "t300"]

    monkeypatch.setattr(tuning, "_MOST_QUERIES", 3)
    assert tune(index, endless(), top_k=5).queries == 3


@pytest.mark.parametrize("kept", [5, None, {}, {"weight": "0.5", "candidates": 7}, {"weight": 0.5, "candidates": 2.5}])
def test_a_setting_that_is_no_budget(tmp_path: Path, kept: object) -> None:
    """Somebody's own setting under that name is told apart from a budget."""
    with SparseIndexBuilder(tmp_path) as builder:
        builder.add("a", ["x"])
        builder.commit({"budget": kept})
    index = SparseIndex.open(tmp_path)
    assert [hit.doc_id for hit in index.search(["x"])] == ["a"]
    with pytest.raises(InputError, match="the setting 'budget'"):
        _ = index.budget
