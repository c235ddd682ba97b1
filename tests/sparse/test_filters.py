"""Filters: who comes back is narrowed, what a term weighs is not, and no bound counts who is not allowed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.sparse import SparseOracle

from sicetnon.errors import InputError
from sicetnon.sparse import Bm25, Budget, SparseIndex, SparseIndexBuilder

Build = Callable[..., SparseIndex]

FOUR = [("d3", ["x", "y"]), ("d1", ["x"]), ("d2", ["x"]), ("d0", ["z"])]


def test_by_hand(build: Build) -> None:
    """Only allowed documents come back, with the scores and in the order they have without a filter."""
    index = build(FOUR)
    plain = index.search(["x", "y"])
    allowed = np.array([False, True, True, True])
    assert index.search(["x", "y"], allowed=allowed) == plain[1:]
    assert index.search(["x", "y"], allowed=allowed, top_k=1) == plain[1:2]
    assert index.search(["x", "y"], allowed=np.zeros(4, np.bool_)) == []
    assert index.search(["x", "y"], allowed=np.ones(4, np.bool_)) == plain
    assert index.scores(["x", "y"], allowed=allowed).tolist() == [0, *index.scores(["x", "y"]).tolist()[1:]]


def test_selecting(build: Build) -> None:
    """Documents are selected by their IDs, in any order and repeated, or by what a function says of each ID."""
    index = build(FOUR)
    assert index.select(["d0", "d3", "d0"]).tolist() == [True, False, False, True]
    assert index.select(iter(["d1"])).tolist() == [False, True, False, False]
    assert index.select(lambda doc_id: doc_id > "d1").tolist() == [True, False, True, False]
    assert index.select(lambda doc_id: 1 if doc_id == "d2" else "").tolist() == [False, False, True, False]
    for filtered in (index.select([]), index.select(lambda _: False)):
        assert filtered.dtype == np.bool_
        assert filtered.tolist() == [False] * 4


def test_selecting_what_is_not_there(build: Build) -> None:
    """An ID of no document is an error that names it."""
    with pytest.raises(InputError, match="'d9'"):
        build(FOUR).select(["d1", "d9"])


@pytest.mark.parametrize(
    "allowed",
    [
        np.ones(3, np.bool_),
        np.ones(5, np.bool_),
        np.ones((4, 1), np.bool_),
        np.ones((), np.bool_),
        np.ones(4, np.uint8),
        np.ones(4, np.float64),
        np.arange(4),
    ],
)
def test_filters_that_do_not_fit(build: Build, allowed: np.ndarray) -> None:
    """A filter of another shape or type is an error, for every way to search and where nothing matches."""
    index = build(FOUR)
    for query in (["x"], ["unknown"], []):
        for search in (index.search, index.rank, index.scores):
            with pytest.raises(InputError, match=r"a filter of .*expected bool\[4\]"):
                search(query, allowed=allowed)
        with pytest.raises(InputError, match="a filter of"):
            index.search(query, allowed=allowed, budget=Budget())
        with pytest.raises(InputError, match="a filter of"):
            index.explain(query, "d1", allowed=allowed)


def test_batches(build: Build) -> None:
    """A filter holds for each query of a batch."""
    index = build(FOUR)
    allowed = index.select(["d1", "d0"])
    found = index.search_batch([["x"], ["z"], ["y"]], allowed=allowed)
    assert [[hit.doc_id for hit in hits] for hits in found] == [["d1"], ["d0"], []]


def test_bags(build: Build) -> None:
    """A scoring that is not over sets is filtered too, and its statistics stay the collection's."""
    index = build([(doc_id, dict.fromkeys(terms, 2)) for doc_id, terms in FOUR])
    allowed = index.select(["d1", "d2"])
    plain = index.search(["x", "y"], scoring=Bm25())
    kept = [hit for hit in plain if hit.doc_id != "d3"]
    assert index.search(["x", "y"], scoring=Bm25(), allowed=allowed) == kept


@pytest.fixture(scope="module")
def layered(tmp_path_factory: pytest.TempPathFactory) -> tuple[SparseIndex, SparseOracle]:
    """Build an index of thousands of documents that score high, and a few, among them, that score low."""
    rng = np.random.default_rng(9)
    corpus = []
    for number in range(6_000):
        is_low = number % 500 == 7
        terms = ["all"] if is_low else ["all", "b", "c", *(f"r{term}" for term in rng.integers(0, 400, 6))]
        if number % 1_000 == 7:
            terms.append("r5")
        corpus.append((f"{'low' if is_low else 'high'}{number:04}", terms))
    path = tmp_path_factory.mktemp("layered") / "index"
    with SparseIndexBuilder(path) as builder:
        for doc_id, names in corpus:
            builder.add(doc_id, names)
        builder.commit()
    return SparseIndex.open(path), SparseOracle(corpus)


@pytest.mark.parametrize("budget", [None, Budget(0.5, 50), Budget(1.0, 10)])
def test_low_scores_are_found_below_thousands_of_high_ones(
    layered: tuple[SparseIndex, SparseOracle], looks: list[Any], budget: Budget | None
) -> None:
    """What thousands of barred documents score sets no bound for those that are allowed."""
    index, oracle = layered
    query = ["all", "b", "c", *(f"r{term}" for term in range(10))]
    scores = {doc_id: score for doc_id, score in oracle.score_overlap(query).items() if doc_id.startswith("low")}
    allowed = index.select(lambda doc_id: doc_id.startswith("low"))
    assert np.count_nonzero(allowed) == 12
    for k in (1, 2, 6, 7, 12, 100):
        found = [(hit.doc_id, hit.score) for hit in index.search(query, top_k=k, allowed=allowed, budget=budget)]
        assert found == oracle.rank(scores, k)
    assert sum(look is not None for look in looks) >= 2


def test_a_large_filtered_corpus_is_pruned(
    layered: tuple[SparseIndex, SparseOracle], looks: list[Any], plainly: Callable[[], None]
) -> None:
    """With every second document allowed, pruning happens, and gives the plain ranking filtered afterwards."""
    index, _ = layered
    allowed = np.arange(6_000) % 2 == 0
    queries = [["all", "b", "c", *(f"r{10 * number + term}" for term in range(10))] for number in range(39)]
    found = [index.search(query, top_k=3, allowed=allowed) for query in queries]
    assert sum(look is not None for look in looks) > 20
    assert all(allowed[look.ordinals].all() for look in looks if look is not None)
    plainly()
    for query, hits in zip(queries, found, strict=True):
        assert hits == [hit for hit in index.search(query, top_k=6_000) if allowed[hit.ordinal]][:3]


def test_property(free_of_cost: Callable[..., None], looks: list[Any]) -> None:
    """For any corpus, query and filter: the plain ranking filtered afterwards, or, in a budget, what is allowed."""
    terms = st.sampled_from([*"abcdef", "é"])

    @settings(max_examples=150, derandomize=True)
    @given(
        st.lists(st.lists(terms), min_size=8, max_size=40),
        st.lists(st.lists(terms, min_size=1), min_size=1, max_size=4),
        st.lists(st.booleans(), min_size=40, max_size=40),
        st.sampled_from([1, 2, 3, 100]),
    )
    def hold(documents: list[list[str]], queries: list[list[str]], flags: list[bool], k: int) -> None:
        corpus = [(f"d{number:02}", names) for number, names in enumerate(documents)]
        oracle = SparseOracle(corpus)
        allowed = np.array(flags[: len(corpus)])
        kept = {doc_id for (doc_id, _), flag in zip(corpus, flags, strict=False) if flag}
        with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
            free_of_cost(patch)
            with SparseIndexBuilder(folder) as builder:
                for doc_id, names in corpus:
                    builder.add(doc_id, names)
                builder.commit()
            index = SparseIndex.open(folder)
            for query in queries:
                scores = {doc_id: score for doc_id, score in oracle.score_overlap(query).items() if doc_id in kept}
                found = index.search(query, top_k=k, allowed=allowed)
                assert [(hit.doc_id, hit.score) for hit in found] == oracle.rank(scores, k)
                fast = index.search(query, top_k=100, allowed=allowed, budget=Budget(0.4, 3))
                assert {hit.doc_id: hit.score for hit in fast} == {d: s for d, s in scores.items() if s > 0}
                assert index.search(query, top_k=k, allowed=allowed, budget=Budget(0.4, 3)) == fast[:k]

    hold()
    assert sum(look is not None for look in looks) > 300
