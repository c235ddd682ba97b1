"""Pruned search: the same documents, scores and ties as the slow oracle's and the plain sum, whatever it leaves out."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.sparse import GivenWeights, SparseOracle, add_up

from sicetnon.sparse import Budget, SparseIndex, SparseIndexBuilder, pruning, sums, topk
from sicetnon.sparse.pruning import find_best
from sicetnon.sparse.sums import SetPostings

Corpus = list[tuple[str, list[str]]]
Build = Callable[..., SparseIndex]


def make_corpus(rng: np.random.Generator, documents: int, frequent: int, rare: int) -> Corpus:
    """Documents in no order of their IDs; each frequent term is in a third of them, each rare one in a few."""
    corpus = []
    for number in rng.permutation(documents).tolist():
        terms = [f"f{term}" for term in np.flatnonzero(rng.random(frequent) < 0.35)]
        terms += [f"r{term}" for term in rng.integers(0, rare, rng.integers(0, 4))]
        corpus.append((f"d{number:05d}", terms))
    return corpus


def search(index: SparseIndex, terms: Sequence[str], k: int, **options: Any) -> list[tuple[str, float]]:
    """Return the IDs and scores found."""
    return [(hit.doc_id, hit.score) for hit in index.search(terms, top_k=k, **options)]


@pytest.mark.parametrize("seed", range(6))
def test_small_corpora_against_oracle(build: Build, no_cost: pytest.MonkeyPatch, looks: list[Any], seed: int) -> None:
    """With every bound of cost out of the way, small corpora with many ties rank as the slow oracle has it."""
    no_cost.setattr(pruning, "_LEFT_SHARE", [0.1, 0.5, 0.9][seed % 3])
    rng = np.random.default_rng(seed)
    corpus = make_corpus(rng, documents=60, frequent=5, rare=12)
    index, oracle = build(corpus), SparseOracle(corpus)
    names = [*(f"f{n}" for n in range(5)), *(f"r{n}" for n in range(12)), "unknown"]
    for _ in range(150):
        terms = rng.choice(names, rng.integers(1, 13), replace=False).tolist()
        k = int(rng.integers(1, 5))
        assert search(index, terms, k) == oracle.rank(oracle.score_overlap(terms), k)
    assert sum(found is not None for found in looks) > 100


TERMS = st.sampled_from([*"abcdefgh", "é"])
CORPORA = st.lists(st.lists(TERMS), min_size=1, max_size=15) | st.lists(st.lists(TERMS), min_size=16, max_size=40)
DEGENERATE = st.sampled_from(
    [
        [["a"]],  # one document
        [["a"]] * 40,  # all tied
        [["a", "b", "c"]] * 40,
        [[]] * 20 + [["a"]],  # nearly all empty
        [["a", letter] for letter in "bcdefg"] * 6,  # a term of every document, and six that tie
        [list("abcdefg")[:length] for length in range(8)] * 5,  # each better than the one before
        [list("abcdefg")] * 7 + [["a"]] * 33,
    ]
)


def test_any_corpus_against_oracle(free_of_cost: Callable[..., None], looks: list[Any]) -> None:
    """However terms are shared, and however they are split among the ways to add them up, the oracle's ranking comes.

    Queries repeat terms, have unknown ones and none at all; as many are asked for as none, and as more than there are.
    """

    @settings(max_examples=250, derandomize=True)
    @given(
        CORPORA | DEGENERATE,
        st.lists(st.lists(TERMS | st.just("unknown")), min_size=1, max_size=6),
        st.sampled_from([0, 1, 1, 2, 2, 3, 7, 1_000]),
        st.fixed_dictionaries(
            {
                "_LEFT_SHARE": st.sampled_from([0.0, 0.1, 0.5, 0.95]),
                "_MOST_UNPACKED": st.sampled_from([1, 2, 28]),
                "_TERMS_AT_ONCE": st.sampled_from([1, 4]),
            }
        ),
        st.sampled_from([0.0, 1 / 13, 1.0]),
        st.randoms(),
    )
    def hold(  # noqa: PLR0917 - each is drawn
        documents: list[list[str]],
        queries: list[list[str]],
        k: int,
        ways: dict[str, float],
        unpacked: float,
        random: Any,
    ) -> None:
        ids = [f"d{number}" for number in range(len(documents))]
        random.shuffle(ids)
        corpus = list(zip(ids, documents, strict=True))
        oracle = SparseOracle(corpus)
        with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
            free_of_cost(patch)
            for name, value in ways.items():
                patch.setattr(pruning, name, value)
            patch.setattr(sums, "_UNPACKED_SHARE", unpacked)
            with SparseIndexBuilder(folder) as builder:
                for doc_id, terms in corpus:
                    builder.add(doc_id, terms)
                builder.commit()
            index = SparseIndex.open(folder)
            for query in queries:
                assert search(index, query, k) == oracle.rank(oracle.score_overlap(query), k)

    hold()
    assert sum(found is not None for found in looks) > 100
    assert sum(found is not None and len(found.left) > 0 for found in looks) > 30


def hold_to(
    sets: SetPostings, has: np.ndarray, weights: np.ndarray, k: int, allowed: np.ndarray | None = None
) -> pruning.Pruned | None:
    """Check what is found against sums that Python adds up one by one; return it."""
    rows = np.arange(has.shape[1])
    found = find_best(sets, rows, weights, k=k, allowed=allowed)
    if found is None:
        return None
    values = weights.tolist()
    scores = np.array([add_up(values[row] for row in np.flatnonzero(document)) for document in has])
    eligible = scores > 0 if allowed is None else (scores > 0) & allowed
    wanted = np.flatnonzero(eligible)
    if len(wanted) > k:
        wanted = wanted[scores[wanted] >= np.sort(scores[wanted])[-k]]
    assert np.isin(wanted, found.ordinals).all()
    assert found.scores.tolist() == scores[found.ordinals].tolist()
    assert (np.diff(found.ordinals) > 0).all()
    assert eligible[found.ordinals].all()
    assert np.count_nonzero(found.scores >= found.bound) >= k
    assert np.sort(np.concatenate([found.added, found.left])).tolist() == rows.tolist()
    return found


# Scaled to a sum of 58,000 these are whole numbers, or just below or above the half where rounding turns.
UNITS = st.sampled_from([1.0, 1.49, 1.51, 2.5, 100.49, 100.51, 7_000.49, 7_000.51])


def test_rounding_property(
    free_of_cost: Callable[..., None],
    make_sets: Callable[..., SetPostings],
) -> None:
    """Weights that round as badly as can be leave out none of the best, nor any that ties with them."""
    counts = {"all": 0, "left": 0, "dropped": 0}

    @settings(max_examples=500, derandomize=True)
    @given(st.data())
    def hold(data: st.DataObject) -> None:
        count = data.draw(st.integers(4, 24))
        units = data.draw(st.lists(UNITS, min_size=1, max_size=40))
        units = [58_000 - sum(units), *units] if sum(units) < 57_000 and data.draw(st.booleans()) else units
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
        has = rng.random((count, len(units))) < data.draw(st.sampled_from([0.2, 0.5, 0.9, 1.0]))
        has[rng.integers(count), :] = True
        with_bitmap = rng.random(len(units)) < data.draw(st.sampled_from([0.5, 1.0]))
        k = data.draw(st.integers(1, count))
        allowed = rng.random(count) < 0.5 if data.draw(st.booleans()) else None
        sets = make_sets(has, with_bitmap)
        with pytest.MonkeyPatch.context() as patch:
            free_of_cost(patch)
            patch.setattr(topk, "_FEWEST_GROUPS", data.draw(st.sampled_from([2, 4])))
            patch.setattr(pruning, "_LEFT_SHARE", data.draw(st.sampled_from([0.1, 0.5, 0.95])))
            patch.setattr(sums, "_UNPACKED_SHARE", data.draw(st.sampled_from([0.0, 1 / 13, 1.0])))
            patch.setattr(pruning, "_MOST_UNPACKED", data.draw(st.sampled_from([1, 5, 28])))
            patch.setattr(pruning, "_TERMS_AT_ONCE", data.draw(st.sampled_from([1, 4])))
            found = hold_to(sets, has, np.array(units), k, allowed)
        if found is not None:
            counts["all"] += 1
            counts["left"] += len(found.left) > 0
            counts["dropped"] += len(found.ordinals) < count

    hold()
    assert counts["all"] > 150
    assert counts["left"] > 50
    assert counts["dropped"] > 50


def test_rounding_turns_the_order(no_cost: pytest.MonkeyPatch, make_sets: Callable[..., SetPostings]) -> None:
    """Of two documents the one whose whole numbers add up to less is better: both are found, and which is the better.

    One has 40 terms that are each rounded down by nearly a half, the other as many that are rounded up.
    """
    weights = np.array([100.49] * 40 + [100.489] * 40)
    weights[40:] += 0.02
    weights[40] -= 1.0  # now the other document is worse by 0.1, though its whole numbers are better by 39
    weights = np.append(weights, 58_000 - weights.sum())
    has = np.zeros((16, 81), np.bool_)
    has[3, :40] = has[5, 40:80] = True
    has[:, 80] = True
    whole = np.rint(weights * (58_000 / weights.sum())).astype(int)
    scores, rounded = has @ weights, has @ whole
    assert scores[3] > scores[5]
    assert rounded[3] < rounded[5] - 30
    for share in (0.0, 1.0):
        no_cost.setattr(sums, "_UNPACKED_SHARE", share)
        found = hold_to(make_sets(has, np.ones(81, np.bool_)), has, weights, 2)
        assert found is not None
        assert {3, 5} <= set(found.ordinals.tolist())
        best = find_best(make_sets(has, np.ones(81, np.bool_)), np.arange(81), weights, k=1)
        assert best is not None
        assert 3 in best.ordinals.tolist()


@pytest.mark.parametrize("unpacked", [0.0, 1.0])
@pytest.mark.parametrize("excess", [0.49, 0.51])
def test_largest_sums(
    no_cost: pytest.MonkeyPatch, make_sets: Callable[..., SetPostings], unpacked: float, excess: float
) -> None:
    """A document that has all 4,000 terms, each rounded up by a half, does not overflow the type of the sums."""
    no_cost.setattr(sums, "_UNPACKED_SHARE", unpacked)
    weights = np.full(pruning._MOST_TERMS, 13.0 + excess)
    weights[:100] = np.linspace(1, 60, 100).round() + excess
    weights[-1] += 58_000 - weights.sum()  # then they are scaled by 1
    has = np.zeros((32, len(weights)), np.bool_)
    has[7] = True
    has[9, 1:] = True
    has[11, :1_000] = True
    found = hold_to(make_sets(has, np.ones(len(weights), np.bool_)), has, weights, 2)
    assert found is not None
    assert 7 in found.ordinals
    assert 9 in found.ordinals


def test_longest_query_cannot_overflow() -> None:
    """With every term rounded up by half a unit, the largest sum still fits the type it is kept in.

    So it does with the further half step of each term that is unpacked, 28 at a time.
    """
    largest = pruning._LARGEST_SUM + pruning._MOST_TERMS / 2
    half_steps = pruning._MOST_UNPACKED / 2
    groups = pruning._MOST_TERMS / pruning._MOST_UNPACKED
    over = half_steps * (largest / pruning._LARGEST_STEPS + groups)
    assert np.iinfo(np.uint16).max >= largest + over
    assert np.iinfo(np.uint8).max >= pruning._LARGEST_STEPS + half_steps


@pytest.mark.parametrize("count", [3, 4])
def test_query_with_too_many_terms(build: Build, no_cost: pytest.MonkeyPatch, looks: list[Any], count: int) -> None:
    """A query with more terms than whole numbers can tell apart is summed plainly."""
    no_cost.setattr(pruning, "_MOST_TERMS", 3)
    corpus = make_corpus(np.random.default_rng(3), documents=60, frequent=5, rare=12)
    index, oracle = build(corpus), SparseOracle(corpus)
    terms = ["f0", "f1", "r0", "r1"][:count]
    assert search(index, terms, 5) == oracle.rank(oracle.score_overlap(terms), 5)
    assert [found is not None for found in looks] == [count == 3]


def test_weights_of_nothing(build: Build, no_cost: pytest.MonkeyPatch, looks: list[Any]) -> None:
    """A weight of 0 has no whole number that says enough: then the plain sum is taken."""
    del no_cost
    corpus = make_corpus(np.random.default_rng(4), documents=60, frequent=5, rare=12)
    index, oracle = build(corpus), SparseOracle(corpus)
    weights = (0.5, 0.0, 2.0)
    found = search(index, ["f0", "f1", "f2"], 9, scoring=GivenWeights(weights))
    assert found == oracle.rank(oracle.score_given(["f0", "f1", "f2"], weights), 9)
    assert looks == [None]


@pytest.mark.parametrize("weights", [(1e-300,) * 5, (1e300,) * 5, (1e9, 1.0, 1e-9, 1e9, 1e-3)])
def test_any_magnitude(build: Build, no_cost: pytest.MonkeyPatch, looks: list[Any], weights: tuple[float, ...]) -> None:
    """Weights of any magnitude, also those that round to 0 beside others, rank as the oracle has it."""
    corpus = make_corpus(np.random.default_rng(5), documents=80, frequent=5, rare=3)
    index, oracle = build(corpus), SparseOracle(corpus)
    terms = [f"f{n}" for n in range(5)]
    for left in (0.1, 0.9):
        no_cost.setattr(pruning, "_LEFT_SHARE", left)
        for k in (1, 5, 100):
            found = search(index, terms, k, scoring=GivenWeights(weights))
            assert found == oracle.rank(oracle.score_given(terms, weights), k)
    assert any(found is not None for found in looks)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[SparseIndex, list[list[str]]]:
    """Build an index of 12,000 documents, and queries of two frequent and fourteen rare terms."""
    rng = np.random.default_rng(11)
    path: Path = tmp_path_factory.mktemp("large") / "index"
    with SparseIndexBuilder(path) as builder:
        for doc_id, terms in make_corpus(rng, documents=12_000, frequent=12, rare=100):
            builder.add(doc_id, terms)
        builder.commit()
    queries = [
        [*(f"f{n}" for n in rng.choice(12, 2, replace=False)), *(f"r{n}" for n in rng.choice(100, 14, replace=False))]
        for _ in range(40)
    ]
    return SparseIndex.open(path), queries


@pytest.mark.parametrize("k", [1, 2, 10])
def test_large_corpus_as_the_plain_sum(
    large: tuple[SparseIndex, list[list[str]]], looks: list[Any], plainly: Callable[[], None], k: int
) -> None:
    """Where it pays, in a larger corpus, the answer is the plain sum's to the last bit."""
    index, queries = large
    quick = [index.rank(terms, top_k=k) for terms in queries]
    assert sum(found is not None for found in looks) > 20
    assert any(found is not None and len(found.left) for found in looks)
    plainly()
    for terms, (ordinals, scores) in zip(queries, quick, strict=True):
        plain_ordinals, plain_scores = index.rank(terms, top_k=k)
        assert ordinals.tolist() == plain_ordinals.tolist()
        assert scores.tolist() == plain_scores.tolist()


def test_single_best_document(build: Build, no_cost: pytest.MonkeyPatch, looks: list[Any]) -> None:
    """The best document, found alone, has the plain sum's score to the last bit."""
    del no_cost
    corpus = [(f"d{n:02}", [f"t{i}" for i in range(2, 2 + n % 4)]) for n in range(40)]
    corpus[7] = ("d07", [f"t{i}" for i in range(12)])
    index, oracle = build(corpus), SparseOracle(corpus)
    query, weights = corpus[7][1], tuple(0.1 * n for n in range(1, 13))
    for budget in (None, Budget(0.5, 1)):
        found = search(index, query, 1, scoring=GivenWeights(weights), budget=budget)
        assert found == oracle.rank(oracle.score_given(query, weights), 1)
        assert len(looks[-1].ordinals) == 1


def test_below_4096_documents(build: Build, looks: list[Any]) -> None:
    """A small corpus is summed plainly: nothing is saved there."""
    build(make_corpus(np.random.default_rng(6), 4_095, 5, 12)).search(["f0", "r1"], top_k=3)
    assert looks == [None]
