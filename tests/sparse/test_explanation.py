"""What explain says: contributions that add up to the score, and truly what the search looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from oracle.sparse import SparseOracle, add_up

from sicetnon.errors import InputError
from sicetnon.sparse import Bm25, Budget, Evaluation, SparseIndex, SparseIndexBuilder

Build = Callable[..., SparseIndex]
Large = tuple[SparseIndex, SparseOracle, list[list[str]]]

FOUR = [("d3", ["x", "y"]), ("d1", ["x"]), ("d2", ["x"]), ("d0", ["z"])]
SOME = 40  # of the documents, explained one by one


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Large:
    """Build an index of 5,000 documents, its oracle, and queries that are worth pruning there."""
    rng = np.random.default_rng(12)
    corpus = []
    for number in rng.permutation(5_000).tolist():
        terms = [f"f{term}" for term in np.flatnonzero(rng.random(8) < 0.35)]
        corpus.append((f"d{number:04}", terms + [f"r{term}" for term in rng.integers(0, 80, rng.integers(0, 5))]))
    path = tmp_path_factory.mktemp("large") / "index"
    with SparseIndexBuilder(path) as builder:
        for doc_id, terms in corpus:
            builder.add(doc_id, terms)
        builder.commit()
    queries = [["f0", f"f{1 + n}", *(f"r{(5 * n + term) % 80}" for term in range(16))] for n in range(6)]
    return SparseIndex.open(path), SparseOracle(corpus), queries


def explained(large: Large, looks: list[Any], **options: Any) -> Iterator[tuple[float, Evaluation, Any]]:
    """Explain some documents for each query; yield the oracle's score, what explain says, and what was looked at."""
    index, oracle, queries = large
    for query in queries:
        scores = oracle.score_overlap(query)
        best = [doc_id for doc_id, _ in oracle.rank(scores, 20)]
        for doc_id in [*best, *list(scores)[:SOME]]:
            looks.clear()
            explanation = index.explain(query, doc_id, **options)
            shared = [term for term in query if term in oracle.bags[doc_id]]
            assert sorted(c.term for c in explanation.contributions) == sorted(shared)
            assert all(c.document_frequency == oracle.df[c.term] for c in explanation.contributions)
            assert add_up(c.impact for c in explanation.contributions) == explanation.score == scores[doc_id]
            (look,) = looks
            yield scores[doc_id], explanation.evaluation, look


def test_plain_by_hand(build: Build) -> None:
    """In a small index every posting is added up, and the evaluation says so."""
    evaluation = build(FOUR).explain(["y", "x", "unknown"], "d1").evaluation
    assert evaluation == Evaluation("plain", ("x", "y"), (), 4, None, is_considered=True, is_scored=True)
    assert str(evaluation) == "Every posting of the query's terms was added up: nothing was left out."


def test_pruned(large: Large, looks: list[Any]) -> None:
    """What could not be among the best is not scored: it is below the bound, which as many reach as were asked for."""
    index, oracle, queries = large
    seen = set()
    for score, evaluation, look in explained(large, looks, top_k=5):
        assert look is not None
        assert evaluation.method == "pruned"
        assert evaluation.considered == len(look.ordinals) < 5_000
        assert evaluation.is_considered == evaluation.is_scored
        assert evaluation.bound is not None
        assert evaluation.is_scored or score < evaluation.bound
        terms = index.segments[0].terms
        assert evaluation.added == tuple(terms[row] for row in look.added)
        assert evaluation.left == tuple(terms[row] for row in look.left)
        seen.add((evaluation.is_scored, bool(evaluation.left)))
        text = str(evaluation)
        assert text.startswith(f"{len(evaluation.added)} of 18 terms were added up")
        assert text.endswith("one of them." if evaluation.is_scored else "even with every term that is left.")
    assert {is_scored for is_scored, _ in seen} == {True, False}
    assert (False, True) in seen
    for query in queries:
        scores = oracle.score_overlap(query)
        bound = index.explain(query, "d0000", top_k=5).evaluation.bound
        assert bound is not None
        assert sum(score >= bound for score in scores.values()) >= 5


def test_pruned_scores_the_best(large: Large) -> None:
    """Each document that a search finds is said to have been scored."""
    index, _, queries = large
    for query in queries:
        for hit in index.search(query, top_k=5):
            assert index.explain(query, hit.doc_id, top_k=5).evaluation.is_scored


def test_budget(large: Large, looks: list[Any]) -> None:
    """Within a budget it says which terms were added up, how many candidates there were, and who was one."""
    index, _, _ = large
    seen = set()
    ends = {
        (True, True): "; this document is one of them.",
        (True, False): "; this document is one of them, and came behind by all terms.",
        (False, False): "; this document is not one of them, and was not looked at further.",
    }
    for _, evaluation, look in explained(large, looks, top_k=5, budget=Budget(0.4, 30)):
        assert evaluation.method == "budget"
        assert evaluation.bound is None
        assert evaluation.considered == len(look.candidates) >= 30
        terms = index.segments[0].terms
        assert evaluation.added == tuple(terms[row] for row in look.added)
        assert evaluation.left == tuple(terms[row] for row in look.left) != ()
        seen.add((evaluation.is_considered, evaluation.is_scored))
        assert f"the {evaluation.considered:,} best by them were considered" in str(evaluation)
        assert str(evaluation).endswith(ends[evaluation.is_considered, evaluation.is_scored])
    assert seen == set(ends)


def test_budget_says_who_was_a_candidate(large: Large, looks: list[Any]) -> None:
    """The documents that are said to have been candidates are those that the search chose among."""
    index, _, queries = large
    given = Budget(0.4, 30)
    index.rank(queries[0], top_k=5, budget=given)
    candidates, scored = (set(index.read_doc_ids(found)) for found in (looks[0].candidates, looks[0].ordinals))
    assert scored < candidates
    for doc_id in index.read_doc_ids(np.arange(0, 5_000, 25)):
        evaluation = index.explain(queries[0], doc_id, top_k=5, budget=given).evaluation
        assert evaluation.is_considered == (doc_id in candidates)
        assert evaluation.is_scored == (doc_id in scored)


@pytest.mark.parametrize("budget", [None, Budget(0.4, 30)])
def test_asking_for_nothing_is_plain(large: Large, budget: Budget | None) -> None:
    """Where no document is asked for there is nothing to leave out."""
    index, _, queries = large
    evaluation = index.explain(queries[0], "d0001", top_k=0, budget=budget).evaluation
    assert evaluation.method == "plain"
    assert set(evaluation.added) == set(queries[0])
    assert evaluation.is_scored


@pytest.mark.parametrize("budget", [None, Budget(0.4, 30)])
def test_bm25(large: Large, budget: Budget | None) -> None:
    """Under BM25 too, what was found was scored, and what was not scored under "pruned" is below the bound."""
    index, oracle, queries = large
    for query in queries[:3]:
        scores = index.scores(query, scoring=Bm25())
        found = index.search(query, top_k=5, scoring=Bm25(), budget=budget)
        for doc_id in [*(hit.doc_id for hit in found), *list(oracle.bags)[:SOME]]:
            explanation = index.explain(query, doc_id, top_k=5, scoring=Bm25(), budget=budget)
            evaluation = explanation.evaluation
            assert explanation.score == scores[index.find_ordinal(doc_id)]
            assert evaluation.is_scored or doc_id not in {hit.doc_id for hit in found}
            assert evaluation.method in {"plain", "pruned" if budget is None else "budget"}
            assert (evaluation.method == "pruned") == (evaluation.bound is not None)
            assert evaluation.is_scored or evaluation.bound is None or explanation.score < evaluation.bound


def test_plain_where_pruning_does_not_pay(large: Large, looks: list[Any]) -> None:
    """Where so many are asked for that pruning would save nothing, it says that the plain sum was taken."""
    for _, evaluation, look in explained(large, looks, top_k=4_000):
        assert look is None
        assert evaluation.method == "plain"


def test_bags(build: Build) -> None:
    """Frequencies are told, and impacts are those of the scoring."""
    index = build([("a", {"x": 2, "y": 300}), ("b", {"y": 2})])
    explanation = index.explain({"y": 2.0, "x": 0.5}, "a", scoring=Bm25())
    assert [(c.term, c.document_frequency, c.frequency) for c in explanation.contributions] == [
        ("x", 1, 2),
        ("y", 2, 300),
    ]
    assert add_up(c.impact for c in explanation.contributions) == explanation.score
    assert explanation.score == index.scores({"y": 2.0, "x": 0.5}, scoring=Bm25())[0]


def test_nothing_to_explain(build: Build) -> None:
    """A query of no known term has no contributions; a document that is not there is refused."""
    index = build(FOUR)
    for query in ([], ["unknown"]):
        explanation = index.explain(query, "d1", budget=Budget())
        assert (explanation.score, explanation.contributions) == (0.0, ())
        assert explanation.evaluation.method == "plain"
    with pytest.raises(InputError, match="'d9'"):
        index.explain(["x"], "d9")
