"""Where rounding, filters and errors meet: cases that once went wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from oracle.sparse import GivenWeights, SparseOracle

from sicetnon.errors import IndexDirectoryError
from sicetnon.sparse import Budget, SparseIndexBuilder, pruning, segment_builder
from sicetnon.sparse.spill import NumberSpill


def test_all_weight_is_all_terms(build) -> None:
    """A budget of all weight leaves no term out: with candidates enough the ranking is the exact one, ties too."""
    corpus = [(f"d{n:04}", [f"t{n // 8}"] if n < 192 else ["x"]) for n in range(4_096)][::-1]
    corpus.sort(key=lambda row: row[1] == ["t0"])  # the term whose documents come first by ID is the last one added
    index = build(corpus)
    query = [f"t{n}" for n in range(24)]
    assert index.explain(query, "d0000", budget=Budget(1.0, 10_000)).evaluation.left == ()
    exact = index.search(query, top_k=5)
    assert index.search(query, top_k=5, budget=Budget(1.0, 10_000)) == exact


def test_bound_of_what_was_not_scored(no_cost, make_sets) -> None:
    """What was not scored is below the bound, also where its terms are all rounded down and those of the best up."""
    del no_cost
    weights = np.array([1000.49] * 20 + [1000.51] * 20 + [0.0, 43.0])
    weights[40] = 58_000 - weights.sum()
    has = np.zeros((16, 42), np.bool_)
    has[:, 40] = True
    has[0, 20:] = has[1, :20] = True
    found = pruning.find_best(make_sets(has, np.ones(42, np.bool_)), np.arange(42), weights, k=1)
    assert found is not None
    scores = has @ weights
    assert (np.delete(scores, found.ordinals) < found.bound).all()


def test_weights_that_all_round_to_nothing(build, no_cost) -> None:
    """Terms that weigh next to nothing beside another are added up without a warning."""
    corpus = [(f"d{n:02}", [f"t{i}" for i in range(5) if n % (i + 2) == 0]) for n in range(80)]
    index, oracle = build(corpus), SparseOracle(corpus)
    no_cost.setattr(pruning, "_LEFT_SHARE", 0.1)
    query, weights = [f"t{n}" for n in range(5)], (1.0, 1.0, 1.0, 1.0, 1e6)
    found = [(hit.doc_id, hit.score) for hit in index.search(query, top_k=30, scoring=GivenWeights(weights))]
    assert found == oracle.rank(oracle.score_given(query, weights), 30)


def test_unwritable_second_spill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the second spill file cannot be made, the first is closed."""
    monkeypatch.setattr(segment_builder, "NumberSpill", lambda path: NumberSpill(path / "no" / "such" / "folder"))
    with pytest.raises(IndexDirectoryError), SparseIndexBuilder(tmp_path / "index"):
        pass


def test_explaining_a_barred_document(build, no_cost) -> None:
    """A document that the filter bars is said to be barred, whichever way the others are found."""
    for patched in (True, False):
        index = build([(f"d{n}", ["a", "b"] if n == 0 else ["a"]) for n in range(40)])
        explanation = index.explain(["a", "b"], "d0", top_k=1, allowed=np.arange(40) > 0)
        assert (explanation.evaluation.method == "pruned") == patched
        assert (explanation.evaluation.is_allowed, explanation.evaluation.is_scored) == (False, False)
        assert str(explanation.evaluation) == "The filter does not let this document through."
        no_cost.undo()
