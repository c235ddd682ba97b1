"""Search by frequencies and weights: pruned, within a budget and filtered, held to the plain sum to the last bit."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.sparse import SparseOracle

from sicetnon.sparse import Bm25, Budget, ScoredDocument, SparseIndex, SparseIndexBuilder
from sicetnon.sparse.scoring import DotProduct, Scoring

SCORINGS = [Bm25(), Bm25(1.2, 1.0), Bm25(0.0, 0.0), DotProduct()]
CASES = [*(("counts", scoring) for scoring in SCORINGS), ("weights", DotProduct())]  # BM25 is for counts alone


def sort_all(
    index: SparseIndex, terms: Any, scoring: Scoring, k: int, allowed: np.ndarray | None = None
) -> list[ScoredDocument]:
    """Return the best by adding up every posting and sorting every document."""
    scores = index.scores(terms, scoring=scoring).tolist()
    doc_ids = index.read_doc_ids(np.arange(len(scores)))
    rows = enumerate(zip(doc_ids, scores, strict=True))
    found = [ScoredDocument(*row, n) for n, row in rows if row[1] > 0 and (allowed is None or allowed[n])]
    return sorted(found, key=lambda hit: (-hit.score, hit.doc_id))[:k]


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, SparseIndex]:
    """Build two indexes of 5,000 bags, of counts and of weights, with terms from frequent to rare."""
    opened = {}
    for kind, factor in (("counts", 1), ("weights", 0.37)):
        rng = np.random.default_rng(3)
        path = tmp_path_factory.mktemp(kind) / "index"
        with SparseIndexBuilder(path) as builder:
            for number in rng.permutation(5_000).tolist():
                ranks = np.minimum(rng.zipf(1.4, int(rng.integers(3, 40))), 900)
                names, counts = np.unique(ranks, return_counts=True)
                bag = zip(names, (counts * factor).tolist(), strict=True)
                builder.add(f"d{number:04}", {f"t{name}": value for name, value in bag})
            builder.commit()
        opened[kind] = SparseIndex.open(path)
    return opened


def draw_queries(seed: int) -> list[Mapping[str, float]]:
    """Draw queries of a dozen terms with weights, frequent terms and rare ones."""
    rng = np.random.default_rng(seed)
    queries = []
    for _ in range(15):
        names = np.unique(np.minimum(rng.zipf(1.25, 24), 900))
        queries.append({f"t{name}": float(weight) for name, weight in zip(names, rng.gamma(2, 1, 24), strict=False)})
    return queries


@pytest.mark.parametrize(("kind", "scoring"), CASES)
def test_exact(indexes: Mapping[str, SparseIndex], looks: list[Any], kind: str, scoring: Scoring) -> None:
    """In a corpus where nothing need be patched, what is found is what adding everything up finds."""
    large = indexes[kind]
    for terms in draw_queries(1):
        for k in (1, 2, 10):
            assert large.search(terms, top_k=k, scoring=scoring) == sort_all(large, terms, scoring, k)
    assert sum(look is not None for look in looks) > 5


@pytest.mark.parametrize(("kind", "scoring"), CASES)
def test_filtered(indexes: Mapping[str, SparseIndex], looks: list[Any], kind: str, scoring: Scoring) -> None:
    """Only what is allowed comes back, as many and as high as there are, also where all that is barred is higher."""
    large = indexes[kind]
    for terms in draw_queries(2)[:6]:
        scores = large.scores(terms, scoring=scoring)
        low = scores <= np.quantile(scores, 0.2)
        for allowed in (low, np.arange(len(scores)) % 2 == 0):
            for budget in (None, Budget(0.3, 20)):
                found = large.search(terms, top_k=5, scoring=scoring, allowed=allowed, budget=budget)
                assert all(allowed[hit.ordinal] and hit.score == scores[hit.ordinal] for hit in found)
                assert len(found) == min(5, np.count_nonzero(allowed & (scores > 0)))
                assert budget is not None or found == sort_all(large, terms, scoring, 5, allowed)
    assert any(look is not None for look in looks)


@pytest.mark.parametrize(("kind", "scoring"), CASES)
def test_budget(indexes: Mapping[str, SparseIndex], looks: list[Any], kind: str, scoring: Scoring) -> None:
    """Within a budget scores are exact, nothing comes twice, and a smaller k gives a prefix."""
    large = indexes[kind]
    for terms in draw_queries(3)[:8]:
        scores = large.scores(terms, scoring=scoring)
        for budget in (Budget(0.3, 20), Budget(0.8, 100)):
            everything = large.search(terms, top_k=5_000, scoring=scoring, budget=budget)
            assert all(hit.score == scores[hit.ordinal] for hit in everything)
            assert len({hit.ordinal for hit in everything}) == len(everything) == np.count_nonzero(scores)
            for k in (1, 2, 3, 10, 50):
                assert large.search(terms, top_k=k, scoring=scoring, budget=budget) == everything[:k]
    assert sum(look is not None for look in looks) > 40


def test_property(free_of_cost: Callable[..., None], looks: list[Any]) -> None:
    """For any bags and any scoring the best are those of the plain sum, which agrees with the oracle's."""
    terms = st.sampled_from([*"abcdef", "é"])
    bags = st.dictionaries(terms, st.integers(1, 9))

    @settings(max_examples=120, derandomize=True)
    @given(
        st.lists(bags, min_size=1, max_size=9) | st.lists(bags, min_size=10, max_size=40),
        st.lists(st.dictionaries(terms | st.just("unknown"), st.floats(0.01, 100)), min_size=1, max_size=4),
        st.sampled_from([1, 2, 3, 100]),
        st.sampled_from(SCORINGS),
    )
    def hold(documents: list[dict[str, int]], queries: list[dict[str, float]], k: int, scoring: Scoring) -> None:
        corpus = [(f"d{number:02}", bag) for number, bag in enumerate(documents)]
        with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
            free_of_cost(patch)
            with SparseIndexBuilder(folder) as builder:
                for doc_id, bag in corpus:
                    builder.add(doc_id, bag)
                builder.commit()
            index = SparseIndex.open(folder)
            for query in queries:
                assert index.search(query, top_k=k, scoring=scoring) == sort_all(index, query, scoring, k)
                if isinstance(scoring, Bm25):
                    expected = SparseOracle(corpus).score_bm25(query, scoring.k1, scoring.b)
                    assert index.scores(query, scoring=scoring).tolist() == pytest.approx(list(expected.values()))

    hold()
    assert sum(look is not None for look in looks) > 50
