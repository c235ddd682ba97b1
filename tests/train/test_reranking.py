"""What a cross-encoder reads of the candidates, and what its scores prove to be worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sicetnon.relevance.features import FEATURES
from sicetnon.relevance.reranker import NONE_KNOWN, RERANKED, Blend, Nearest
from sicetnon.train import reranking
from sicetnon.train.labelled import Labelled, LabelledQuery, list_queries
from sicetnon.train.measuring import Candidates, rank_candidates
from sicetnon.train.ranker import Described
from sicetnon.train.reranking import (
    OTHERS,
    Read,
    Tried,
    choose_scored,
    fit_blend,
    list_examples,
    order_cells,
    weigh_reranking,
)
from sicetnon.types import Stance

PASSAGES = ["first", "second", "third"]


def label(proposition: str, *documents: int) -> Labelled:
    """Make a labelled proposition."""
    return Labelled(proposition, frozenset(documents), {Stance.ALL: frozenset(documents)})


def describe(relevant: Sequence[bool], counts: Sequence[int], folds: Sequence[int] | None = None) -> Described:
    """Make candidates without features."""
    return Described(
        np.zeros((len(relevant), len(FEATURES))),
        np.array(relevant, np.bool_),
        np.array(counts, np.int64),
        np.array(folds or [0] * len(counts), np.int64),
    )


def make_read(labelled: list[Labelled], passages: list[int], propositions: list[int]) -> Read:
    """Make what is read of candidates, by the rows of their passages and known propositions."""
    texts: Any = type("Texts", (), {"passages": PASSAGES})
    return Read(texts, labelled, Nearest(np.array(passages), np.array(propositions)))


def test_what_is_read_by_hand() -> None:
    """The nearest known proposition, if there is one, and the nearest passage."""
    read = make_read([label("P", 0), label("Q", 1)], [2, 0, 1], [1, NONE_KNOWN, 0])
    assert [read.of(cell) for cell in range(3)] == ["Q third", "first", "P second"]


def test_order_by_hand() -> None:
    """Best score first, equal ones by the place of the document's ID; the places are those among all candidates."""
    candidates = Candidates([np.array([5, 3, 1]), np.array([2, 4])], np.array([0, 9, 1, 8, 2, 7], np.int32))
    described = describe([False] * 5, [3, 2])
    first, second = order_cells(described, candidates, np.array([1.0, 2.0, 1.0, 3.0, 3.0]))
    assert first.tolist() == [1, 0, 2]  # document 5 has a lower rank by ID than document 1
    assert second.tolist() == [3, 4]


@given(st.lists(st.lists(st.integers(0, 3), max_size=6), min_size=1, max_size=5))
def test_order_is_that_of_a_ranking(scores: list[list[int]]) -> None:
    """The documents in that order are those of a ranking by the same scores."""
    chance = np.random.default_rng(len(scores))
    documents = [chance.permutation(8)[: len(own)] for own in scores]
    candidates = Candidates(documents, chance.permutation(8).astype(np.int32))
    flat = np.array([score for own in scores for score in own], np.float64)
    described = describe([False] * len(flat), [len(own) for own in scores])
    ranked = rank_candidates(described, candidates, flat, 100)
    ordered = order_cells(described, candidates, flat)
    everything = np.concatenate([*documents, np.empty(0, np.int64)])
    assert [everything[cells].tolist() for cells in ordered] == ranked


def test_examples_by_hand() -> None:
    """All texts on point, and the ranker's first of the others, in its order."""
    labelled = [label("P", 0), label("Q", 1)]
    described = describe([True, False, False, True, False], [4, 1])
    read = make_read(labelled, [0, 1, 2, 1, 0], [NONE_KNOWN, NONE_KNOWN, NONE_KNOWN, 1, 0])
    ordered = [np.array([2, 3, 1, 0]), np.array([4])]
    probabilities = np.array([0.5, 0.75, 0.5, 0.2, 0.0])
    (p, q) = list_examples(described, ordered, read, probabilities)
    assert (p.proposition, q.proposition) == ("P", "Q")
    assert [text for text, _ in p.relevant] == ["Q second", "first"]
    assert [odds for _, odds in p.relevant] == pytest.approx([np.log(0.25), 0])
    assert [text for text, _ in p.others] == ["third", "second"]
    assert [odds for _, odds in p.others] == pytest.approx([0, np.log(3)])
    assert q.relevant == ()
    assert [text for text, _ in q.others] == ["P first"]
    assert np.isfinite(q.others[0].odds)


def test_others_are_not_too_many() -> None:
    """No more of the others are kept than steps draw from."""
    read = make_read([label("P", 0)], [0] * 40, [NONE_KNOWN] * 40)
    described = describe([number == 35 for number in range(40)], [40])
    (example,) = list_examples(described, [np.arange(40)], read, np.full(40, 0.5))
    assert (example.relevant, example.others) == ((("first", 0.0),), (("first", 0.0),) * OTHERS)


def test_scored_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first candidates of the given propositions; of some of them by chance where there are many."""
    ordered = [np.arange(100 * n, 100 * n + 30) for n in range(20)]
    own = np.array([1, 4, 5, 9])
    expected = [100 * n + place for n in own.tolist() for place in range(RERANKED)]
    assert choose_scored(ordered, own, seed=0).tolist() == expected
    monkeypatch.setattr(reranking, "MOST_SCORED", 2)
    chosen = {tuple(np.unique(choose_scored(ordered, own, seed=seed) // 100)) for seed in range(30)}
    assert all(len(some) == 2 and set(some) <= set(own.tolist()) for some in chosen)
    assert len(chosen) > 2
    assert choose_scored(ordered, own, seed=3).tolist() == choose_scored(ordered, own, seed=3).tolist()
    assert choose_scored([np.arange(3), np.arange(3, 5)], np.array([0, 1]), seed=0).tolist() == [0, 1, 2, 3, 4]


def test_blend_is_found_again() -> None:
    """From outcomes that follow a blend, about that blend is fitted."""
    chance = np.random.default_rng(1)
    true = Blend(0.7, 1.5, -0.5)
    probabilities, scores = chance.uniform(0.02, 0.98, 40_000), chance.normal(size=40_000)
    relevant = chance.random(40_000) < true.probability(probabilities, scores)
    assert fit_blend(probabilities, scores, relevant) == pytest.approx(true, abs=0.1)


def test_blend_without_a_sign() -> None:
    """Scores that say nothing get about no weight; probabilities that are right stay as they are."""
    chance = np.random.default_rng(1)
    probabilities, scores = chance.uniform(0.02, 0.98, 40_000), chance.normal(size=40_000)
    relevant = chance.random(40_000) < probabilities
    assert fit_blend(probabilities, scores, relevant) == pytest.approx(Blend(1.0, 0.0, 0.0), abs=0.1)


COUNT, EACH = 400, 15


class Case:
    """Propositions with a relevant document each, at the place that the ranker's probabilities draw; in two halves."""

    def __init__(self, seed: int = 0) -> None:
        """Draw it."""
        chance = np.random.default_rng(seed)
        self.halves = np.arange(COUNT) % 2
        likely = 0.7 ** np.arange(EACH)
        own = chance.choice(RERANKED, COUNT, p=likely[:RERANKED] / likely[:RERANKED].sum())  # the relevant one's place
        self.relevant = np.arange(EACH)[None] == own[:, None]
        self.probabilities = np.tile(likely / likely.sum(), COUNT)
        labelled = [label(f"P{number}", int(place)) for number, place in enumerate(own.tolist())]
        self.queries = list_queries(labelled)
        self.described = describe(self.relevant.ravel().tolist(), [EACH] * COUNT)
        self.candidates = Candidates([np.arange(EACH)] * COUNT, np.arange(EACH, dtype=np.int32))
        self.noise = chance.normal(size=(COUNT, EACH))
        self.places = own

    def weigh(self, scores: np.ndarray) -> Tried:
        """Weigh scores float64 [COUNT, EACH], of which the first of each proposition are read."""
        read = np.where(np.arange(EACH) < RERANKED, scores, np.nan)
        return weigh_reranking(
            self.queries,
            self.described,
            self.candidates,
            self.probabilities,
            read.ravel(),
            halves=self.halves,
        )

    @property
    def without(self) -> float:
        """The nDCG@10 of the ranker alone."""
        return float((1 / np.log2(self.places + 2)).mean())


class TestWeighing:
    """What scores gain, where that is known beforehand."""

    def test_noise(self) -> None:
        """Pure noise gains about nothing, and no gain is claimed."""
        gains = []
        for seed in range(4):
            case = Case(seed)
            tried = case.weigh(case.noise)
            assert tried.without == pytest.approx(case.without)
            assert tried.gain.low <= 0
            gains.append(tried.gain.mean)
        assert np.mean(gains) == pytest.approx(0, abs=0.005)

    def test_truth(self) -> None:
        """Scores that tell what is relevant put it first: the gain is all that was missing."""
        case = Case()
        tried = case.weigh(case.relevant + 0.05 * case.noise)
        assert tried.gain.mean == pytest.approx(1 - case.without, abs=1e-6)
        assert 0 < tried.gain.low <= tried.gain.mean <= tried.gain.high
        assert tried.blend.reranked > 0
        assert tried.queries == COUNT

    def test_half_a_truth(self) -> None:
        """Scores that say something gain something."""
        case = Case()
        gains = [case.weigh(share * case.relevant + case.noise).gain.mean for share in (0.5, 1.0, 2.0)]
        assert 0.02 < gains[0] < gains[1] < gains[2] < 1 - case.without

    def test_gain_is_measured_where_the_blend_was_not_fitted(self) -> None:
        """Scores that mean the opposite in the other half harm both: each is ranked by what fits the other."""
        case = Case()
        sign = np.where(case.halves == 0, 1.0, -1.0)[:, None]
        tried = case.weigh(sign * case.relevant + 0.05 * case.noise)
        assert tried.gain.high < 0
        assert tried.gain.mean < -0.2

    def test_blend_is_fitted_on_both_halves(self) -> None:
        """What is shipped is the blend of all that was scored."""
        case = Case()
        scores = case.relevant + case.noise
        known = np.broadcast_to(np.arange(EACH) < RERANKED, scores.shape).ravel()
        expected = fit_blend(case.probabilities[known], scores.ravel()[known], case.relevant.ravel()[known])
        assert case.weigh(scores).blend == expected

    def test_only_what_was_scored_counts(self) -> None:
        """Propositions without scores are no part of the comparison, whatever the ranker does on them."""
        case = Case()
        scores = case.relevant + 0.05 * case.noise
        scored = np.arange(COUNT) % 4 < 2
        tried = case.weigh(np.where(scored[:, None], scores, np.nan))
        assert tried.queries == COUNT // 2
        without = (1 / np.log2(case.places[scored] + 2)).mean()
        assert tried.without == pytest.approx(without)
        assert tried.gain.mean == pytest.approx(1 - without, abs=1e-6)

    def test_what_was_not_read_keeps_its_probability(self) -> None:
        """A candidate behind those that are read comes before them where they turn out worse than it."""
        case = Case()
        case.relevant = np.broadcast_to(np.arange(EACH) == RERANKED + 1, (COUNT, EACH))
        case.described = describe(case.relevant.ravel().tolist(), [EACH] * COUNT)
        case.queries = [
            LabelledQuery(number, f"P{number}", Stance.ALL, frozenset({RERANKED + 1})) for number in range(COUNT)
        ]
        tried = case.weigh(case.noise)  # none that is read is relevant: they become all but impossible
        assert tried.without == 0
        assert tried.gain.mean == pytest.approx(1 / np.log2(2 + 1), abs=1e-6)
