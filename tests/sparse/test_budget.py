"""Fast search: how much is looked at is bounded, scores are exact, and k does not change what is found."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.sparse import SparseOracle

from sicetnon.errors import InputError
from sicetnon.sparse import Budget, ScoredDocument, SparseIndex, SparseIndexBuilder, budget

Build = Callable[..., SparseIndex]
Corpus = list[tuple[str, list[str]]]

BUDGETS = [Budget(0.3, 5), Budget(0.6, 20), Budget(0.8, 200), Budget(1e-9, 1)]


def draw_corpus(seed: int, documents: int, terms: int, length: int) -> Corpus:
    """Draw documents with Zipf-like terms, in no order of their IDs."""
    rng = np.random.default_rng(seed)
    ranks = np.minimum(rng.zipf(1.3, (documents, length)), terms)
    ids = rng.permutation(documents)
    return [(f"d{i:05d}", [f"t{r}" for r in row]) for i, row in zip(ids.tolist(), ranks.tolist(), strict=True)]


def draw_queries(seed: int, count: int, terms: int, length: int) -> list[list[str]]:
    """Draw queries that have frequent terms and rare ones, none twice."""
    rng = np.random.default_rng(seed)
    queries = [rng.permutation(np.minimum(rng.zipf(1.3, 3 * length), terms)) for _ in range(count)]
    return [list(dict.fromkeys(f"t{r}" for r in query))[:length] for query in queries]


def pairs(found: Iterable[ScoredDocument]) -> list[tuple[str, float]]:
    """Return (ID, score) of each."""
    return [(hit.doc_id, hit.score) for hit in found]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[SparseIndex, SparseOracle, list[list[str]]]:
    """Build an index of 5,000 documents, where nothing need be patched, its oracle, and queries."""
    corpus = draw_corpus(1, 5_000, 800, 14)
    path = tmp_path_factory.mktemp("large") / "index"
    with SparseIndexBuilder(path) as builder:
        for doc_id, terms in corpus:
            builder.add(doc_id, terms)
        builder.commit()
    return SparseIndex.open(path), SparseOracle(corpus), draw_queries(2, 25, 800, 12)


@pytest.mark.parametrize("fields", [(0, 5), (-0.1, 5), (1.01, 5), (float("nan"), 5), (0.5, 0), (0.5, -3)])
def test_budgets_that_bound_nothing(fields: tuple[float, int]) -> None:
    """A share of nothing or of more than all, or no candidate at all, is refused."""
    with pytest.raises(InputError, match="budget"):
        Budget(*fields)


def test_budget_as_json() -> None:
    """A budget survives as JSON values."""
    assert Budget.from_json(Budget(0.25, 70).to_json()) == Budget(0.25, 70)
    assert Budget(1, 1).weight == 1


def test_by_hand(build: Build, no_cost: pytest.MonkeyPatch, looks: list[Any]) -> None:
    """The rarest term chooses two candidates, which are ranked by all terms; the others follow by their scores."""
    del no_cost
    corpus: Corpus = [(f"d{number}", ["all"]) for number in range(8)]
    corpus[2:3] = [("d2", ["all", "half", "rare"])]
    corpus[5:6] = [("d5", ["rare"])]
    corpus[6:8] = [("d6", ["all", "half"]), ("d7", ["half"])]
    index, oracle = build(corpus), SparseOracle(corpus)
    query = ["all", "half", "rare"]
    scores = oracle.score_overlap(query)
    found = index.search(query, top_k=2, budget=Budget(0.5, 2))
    assert [hit.doc_id for hit in found] == ["d2", "d5"]
    (look,) = looks
    assert look.candidates.tolist() == [2, 5]
    assert [index.segments[0].terms[row] for row in look.added] == ["rare"]
    assert [index.segments[0].terms[row] for row in look.left] == ["all", "half"]
    everything = index.search(query, top_k=9, budget=Budget(0.5, 2))
    assert pairs(everything[:2]) == pairs(found)
    assert [hit.doc_id for hit in everything[2:]] == ["d6", "d7", "d0", "d1", "d3", "d4"]
    assert dict(pairs(everything)) == scores


@pytest.mark.parametrize("given", BUDGETS)
def test_scores_are_exact(
    large: tuple[SparseIndex, SparseOracle, list[list[str]]], looks: list[Any], given: Budget
) -> None:
    """Whatever the budget, each document's score is the oracle's; none comes twice; the best looked at come first."""
    index, oracle, queries = large
    for query in queries:
        scores = oracle.score_overlap(query)
        looks.clear()
        for k in (1, 2, 10, 60):
            found = index.search(query, top_k=k, budget=given)
            assert all(scores[hit.doc_id] == hit.score > 0 for hit in found)
            assert len({hit.doc_id for hit in found}) == len(found)
            assert len(found) == min(k, sum(score > 0 for score in scores.values()))
            candidates = set(index.read_doc_ids(looks[-1].candidates))
            ranked = oracle.rank({doc_id: score for doc_id, score in scores.items() if doc_id in candidates}, k)
            rest = oracle.rank({doc_id: score for doc_id, score in scores.items() if doc_id not in candidates}, k)
            assert pairs(found) == (ranked + rest)[:k]
        assert all(look.candidates.tolist() == looks[0].candidates.tolist() for look in looks)


@pytest.mark.parametrize("given", BUDGETS)
def test_the_budget_bounds_what_is_looked_at(
    large: tuple[SparseIndex, SparseOracle, list[list[str]]], looks: list[Any], given: Budget
) -> None:
    """No more candidates than the budget names are scored, but for ties; the rarest terms are those added up."""
    index, oracle, queries = large
    for query in queries:
        index.search(query, top_k=5, budget=given)
        look = looks.pop()
        assert look is not None
        assert len(look.candidates) <= budget._MOST_OVER * given.candidates
        terms = index.segments[0].terms
        added, left = ([oracle.df[terms[row]] for row in rows.tolist()] for rows in (look.added, look.left))
        assert not left or max(added) <= min(left)
        assert sorted([*look.added, *look.left]) == sorted(row for row in terms.find_rows(query) if row >= 0)


@pytest.mark.parametrize("given", [*BUDGETS, Budget(1.0, 10), Budget(1.0, 10_000)])
def test_a_smaller_k_gives_a_prefix(large: tuple[SparseIndex, SparseOracle, list[list[str]]], given: Budget) -> None:
    """The answer to k is the beginning of the answer to any larger k, also where that has all documents."""
    index, _, queries = large
    for query in queries[:8]:
        longest = index.search(query, top_k=5_000, budget=given)
        for k in (0, 1, 2, 3, 4, 5, 6, 19, 20, 21, 200, 1_000):
            assert index.search(query, top_k=k, budget=given) == longest[:k]


def test_a_budget_of_everything_is_exact(
    large: tuple[SparseIndex, SparseOracle, list[list[str]]], looks: list[Any]
) -> None:
    """With all weight and a candidate for each document, the ranking is the oracle's."""
    index, oracle, queries = large
    for query in queries:
        for k in (1, 2, 10, 5_000):
            found = index.search(query, top_k=k, budget=Budget(1.0, 5_000))
            assert pairs(found) == oracle.rank(oracle.score_overlap(query), k)
    assert all(look is not None for look in looks)


def test_batches_and_threads_change_nothing(large: tuple[SparseIndex, SparseOracle, list[list[str]]]) -> None:
    """Eight threads at once, or a batch, give what one query at a time gives, exactly and within a budget."""
    index, _, queries = large
    for bounds in (None, Budget(0.5, 30)):

        def search(query: list[str], bounds: Budget | None = bounds) -> list[ScoredDocument]:
            return index.search(query, top_k=20, budget=bounds)

        one_by_one = [search(query) for query in queries]
        assert index.search_batch(queries, top_k=20, budget=bounds) == one_by_one
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(search, queries * 4)) == one_by_one * 4


def test_many_ties(build: Build, looks: list[Any]) -> None:
    """Where too many documents look the same by the terms added, more terms are added; with none left, the plain sum.

    Then ties at the edge do not decide who is found.
    """
    corpus: Corpus = [(f"d{number:04}", ["a", "b"]) for number in range(4_500)]
    corpus += [(f"e{number:04}", ["a", "b", "c"]) for number in range(600)]
    corpus += [(f"f{number}", ["b", "c", "d"]) for number in range(4)]
    index, oracle = build(corpus), SparseOracle(corpus)
    found = index.search(["a", "b", "c", "d"], top_k=3, budget=Budget(0.05, 10))
    assert pairs(found) == oracle.rank(oracle.score_overlap(["a", "b", "c", "d"]), 3)
    found = index.search(["a", "b", "c"], top_k=3, budget=Budget(0.05, 10))
    assert pairs(found) == oracle.rank(oracle.score_overlap(["a", "b", "c"]), 3)
    assert looks[-1] is None  # 600 look the same whatever is added
    found = index.search(["a", "b", "c"], top_k=3, budget=Budget(0.05, 200))
    assert pairs(found) == oracle.rank(oracle.score_overlap(["a", "b", "c"]), 3)
    assert len(looks[-1].candidates) == 604
    assert pairs(index.search(["a"], top_k=3, budget=Budget(0.05, 10))) == oracle.rank(oracle.score_overlap(["a"]), 3)


def test_bytes_and_larger_sums(build: Build, no_cost: pytest.MonkeyPatch, looks: list[Any]) -> None:
    """However sums are kept, in bytes or larger, and the rest looked up, in bitmaps or documents, scores are exact."""
    corpus = draw_corpus(3, 400, 300, 60)
    oracle = SparseOracle(corpus)
    queries = draw_queries(4, 10, 300, 100)
    for documents_a_posting in (0, 4, 1_000):
        no_cost.setattr("sicetnon.sparse.bitmaps._DOCUMENTS_A_POSTING", documents_a_posting)
        index = build(corpus)
        for byte_terms in (0, 64):
            no_cost.setattr(budget, "_MOST_BYTE_TERMS", byte_terms)
            for query in queries:
                scores = oracle.score_overlap(query)
                found = index.search(query, top_k=7, budget=Budget(0.4, 25))
                chosen = set(index.read_doc_ids(looks[-1].candidates))
                assert pairs(found) == oracle.rank({d: s for d, s in scores.items() if d in chosen}, 7)


def test_property(free_of_cost: Callable[..., None], looks: list[Any]) -> None:
    """For any corpus, query and budget: exact scores, no document twice, none missing, and prefixes."""
    terms = st.sampled_from([*"abcdef", "é"])

    @settings(max_examples=150, derandomize=True)
    @given(
        st.lists(st.lists(terms), min_size=1, max_size=40),
        st.lists(st.lists(terms | st.just("unknown")), min_size=1, max_size=5),
        st.builds(Budget, st.sampled_from([0.01, 0.3, 0.7, 1.0]), st.sampled_from([1, 2, 5, 100])),
    )
    def hold(documents: list[list[str]], queries: list[list[str]], given: Budget) -> None:
        corpus = [(f"d{number:02}", names) for number, names in enumerate(documents)]
        oracle = SparseOracle(corpus)
        with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
            free_of_cost(patch)
            with SparseIndexBuilder(folder) as builder:
                for doc_id, names in corpus:
                    builder.add(doc_id, names)
                builder.commit()
            index = SparseIndex.open(folder)
            for query in queries:
                everything = index.search(query, top_k=100, budget=given)
                scores = {doc_id: score for doc_id, score in oracle.score_overlap(query).items() if score > 0}
                assert dict(pairs(everything)) == scores
                assert len(everything) == len(scores)
                for k in range(5):
                    assert index.search(query, top_k=k, budget=given) == everything[:k]
                if given == Budget(1.0, 100):
                    assert pairs(everything) == oracle.rank(scores, 100)

    hold()
    assert sum(look is not None for look in looks) > 300


@pytest.mark.parametrize("bitmaps_of", ["all", "the frequent half"])
def test_rounding_does_not_hide_the_best(no_cost, make_sets, bitmaps_of: str) -> None:
    """The best document's terms are all rounded down, another's all up: whole numbers alone would swap the two."""
    del no_cost
    weights = np.array([1000.49] * 20 + [999.51] * 20 + [5.0, 0.0, 0.0])
    weights[41:] = (60_000 - weights.sum()) / 2  # so that one unit is 1
    has = np.zeros((16, 43), np.bool_)
    has[0, :20] = True  # 20,009.8, in whole numbers 20,000
    has[1, 20:41] = True  # 19,995.2, in whole numbers 20,005
    has[14, 41] = has[15, 42] = True
    with_bitmap = np.ones(43, np.bool_)
    if bitmaps_of != "all":
        with_bitmap[::2] = False
    found = budget.find_good(make_sets(has, with_bitmap), np.arange(43), weights, Budget(0.01, 2), k=1)
    assert found is not None
    assert found.ordinals[np.argmax(found.scores)] == 0
    assert found.scores.max() == pytest.approx(20_009.8)
