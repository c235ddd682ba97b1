"""What the side is worth in a ranking, as learnt from what was left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sicetnon.ingest import build_index
from sicetnon.relevance.features import FEATURES
from sicetnon.search import Searcher
from sicetnon.stance import StanceModel
from sicetnon.train import sides
from sicetnon.train.labelled import Labelled, LabelledQuery, read_texts
from sicetnon.train.measuring import Candidates
from sicetnon.train.ranker import Described
from sicetnon.train.sides import Doubt, choose_judged, find_doubts, judge_candidates, weigh_stance
from sicetnon.types import Document, Query, Stance

CANDIDATES, PROPOSITIONS = 20, 60


def make_case(*, told: float, judged: int = PROPOSITIONS) -> tuple[list[LabelledQuery], Described, Any, Any, Any]:
    """Make propositions with ten documents on point, of which the side of five is asked, and is told so clearly."""
    chance = np.random.default_rng(4)
    queries, candidates, probabilities, told_sides = [], [], [], []
    for number in range(PROPOSITIONS):
        stance = (Stance.SUPPORTED, Stance.REFUTED)[number % 2]
        queries.append(LabelledQuery(number, f"P{number}", stance, frozenset(range(5))))
        candidates.append(chance.permutation(CANDIDATES))
        is_own, is_on_point = candidates[-1] < 5, candidates[-1] < 10
        probabilities.append(np.clip(0.3 + 0.4 * is_on_point + chance.normal(0, 0.1, CANDIDATES), 0.01, 0.99))
        asked = np.clip(0.5 + told * (is_own - 0.5) + chance.normal(0, 0.15, CANDIDATES), 0.01, 0.99)
        both = np.stack([asked, 1 - asked], axis=1)[:, :: 1 if stance is Stance.SUPPORTED else -1]
        told_sides.append(both if number < judged else np.full_like(both, np.nan))
    described = Described(
        np.zeros((PROPOSITIONS * CANDIDATES, len(FEATURES))),
        np.concatenate([own < 10 for own in candidates]),
        np.full(PROPOSITIONS, CANDIDATES),
        np.arange(PROPOSITIONS) % 10,
    )
    found = Candidates(candidates, np.arange(CANDIDATES, dtype=np.int32))
    return queries, described, found, np.concatenate(probabilities), np.concatenate(told_sides)


def test_side_that_tells() -> None:
    """Where the side tells what is asked, it counts, and what it gains is above chance."""
    weight, gain = weigh_stance(*make_case(told=0.6))
    assert weight > 0
    assert 0 < gain.low < gain.mean < gain.high
    again, fewer = weigh_stance(*make_case(told=0.6, judged=30))  # the others are not looked at
    assert again > 0
    assert fewer.high - fewer.low > gain.high - gain.low


def test_side_that_tells_nothing() -> None:
    """Where it is noise, or says the contrary, it does not count."""
    for told in (0.0, -0.6):
        assert weigh_stance(*make_case(told=told))[0] == 0


def test_gain_on_other_propositions() -> None:
    """The weight is chosen on all queries, the gain told by weights that were chosen on those of other folds.

    Of two candidates the relevant one is second by relevance in fold 0, first in fold 1; the sides turn either around.
    """
    many, few = 20, 5
    folds = np.repeat([0, 1], [many, few])
    queries = [LabelledQuery(number, "P", Stance.REFUTED, frozenset({0})) for number in range(many + few)]
    candidates = Candidates([np.array([0, 1])] * (many + few), np.arange(2, dtype=np.int32))
    described = Described(
        np.zeros((2 * len(folds), len(FEATURES))), np.tile([True, False], len(folds)), np.full(len(folds), 2), folds
    )
    probabilities = np.where(np.repeat(folds == 0, 2), np.tile([0.4, 0.5], len(folds)), np.tile([0.5, 0.4], len(folds)))
    refutes = np.where(np.repeat(folds == 0, 2), np.tile([0.9, 0.1], len(folds)), np.tile([0.1, 0.9], len(folds)))
    told = np.stack([1 - refutes, refutes], axis=1)
    weight, gain = weigh_stance(queries, described, candidates, probabilities, told)
    turn = 1 - 1 / np.log2(3)
    assert weight == 0.2  # the least that turns them: 4 / 5 is more than (1 / 9) ** 0.1, less than (1 / 9) ** 0.2
    assert gain.mean == pytest.approx(-few * turn / (many + few))  # for fold 0 nothing is best on fold 1


def test_one_fold_that_asks() -> None:
    """Where no other fold asks for a side there is nothing to choose an exponent on: the side is not said to gain."""
    queries, described, *rest = make_case(told=0.6)
    _, gain = weigh_stance([query for query in queries if query.proposition % 10 == 3], described, *rest)
    assert (gain.mean, gain.low, gain.high) == (0, 0, 0)


def test_gain_that_may_be_luck() -> None:
    """What few propositions gain does not make the side count, where it may be luck; the gain is told."""
    weight, gain = weigh_stance(*make_case(told=0.02, judged=4))
    assert weight == 0
    assert gain.low < 0 < gain.high


def test_side_that_nobody_told() -> None:
    """Where no proposition was judged, or none is asked for a side, it does not count."""
    assert weigh_stance(*make_case(told=0.6, judged=0))[0] == 0
    queries, *rest = make_case(told=0.6)
    assert weigh_stance([query._replace(stance=Stance.ALL) for query in queries], *rest)[0] == 0


def test_candidates_that_were_not_judged() -> None:
    """Those beyond the first count as the mean of those that were judged: they keep their order."""
    queries, described, candidates, probabilities, told = make_case(told=0.6)
    rest = np.tile(np.arange(CANDIDATES) >= 15, PROPOSITIONS)
    told[rest] = np.nan
    assert weigh_stance(queries, described, candidates, probabilities, told)[0] > 0


def test_doubts_by_hand() -> None:
    """Labelled documents that the model is sure are of the other side, the surest first."""
    queries = [
        LabelledQuery(0, "P", Stance.SUPPORTED, frozenset({2, 1, 7})),
        LabelledQuery(0, "P", Stance.ALL, frozenset({0})),
        LabelledQuery(1, "Q", Stance.REFUTED, frozenset({0})),
        LabelledQuery(2, "R", Stance.REFUTED, frozenset({1})),
    ]
    candidates = Candidates([np.array([2, 0, 1]), np.array([1, 0]), np.array([1])], np.arange(8, dtype=np.int32))
    told = np.array([[0.1, 0.8], [0.1, 0.9], [0.2, 0.7], [0.9, 0.0], [0.85, 0.1], [np.nan, np.nan]])
    counts = np.array([3, 2, 1])
    described = Described(np.zeros((6, len(FEATURES))), np.zeros(6, np.bool_), counts, np.zeros(3, np.int64))
    assert find_doubts(queries, described, candidates, told, ["a", "b", "c", "d", "e", "f", "g", "h"]) == [
        Doubt("Q", Stance.REFUTED, "a", 0.85),
        Doubt("P", Stance.SUPPORTED, "c", 0.8),
    ]


def test_which_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the propositions given, those that a side is asked of; not too many, drawn by the seed."""
    stances = (Stance.SUPPORTED, Stance.ALL, Stance.REFUTED)
    labelled = [Labelled("P", frozenset({0}), {stances[n % 3]: frozenset({0})}) for n in range(30)]
    own = np.arange(0, 30, 2)
    sided = [n for n in own.tolist() if n % 3 != 1]
    assert choose_judged(labelled, own, seed=0).tolist() == sided
    monkeypatch.setattr(sides, "MOST_PROPOSITIONS", 4)
    few = choose_judged(labelled, own, seed=0).tolist()
    assert len(few) == 4
    assert set(few) < set(sided)
    assert few == sorted(few) == choose_judged(labelled, own, seed=0).tolist()
    assert any(choose_judged(labelled, own, seed=seed).tolist() != few for seed in range(1, 5))


def test_told_as_in_a_search(
    tmp_path: Path, small_corpus: tuple[Document, ...], cheap_encoder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sides are those that a search would tell with the same encoder and stance model."""
    model = StanceModel.bundled()
    monkeypatch.setattr(sides, "fit_stance_model", lambda _: model)
    build_index(small_corpus, tmp_path / "index", encoder=cheap_encoder)
    searcher = Searcher.open(tmp_path / "index", encoder=cheap_encoder)
    texts = read_texts(small_corpus)
    labelled = [Labelled(p, frozenset(), {}) for p in ("A phone may be searched.", "Pupils must salute the flag.")]
    judged = [(1, np.array([3, 0, 2])), (0, np.array([0]))]
    told = judge_candidates(cheap_encoder, texts, labelled, judged)
    for (index, documents), given in zip(judged, told, strict=True):
        query = Query(proposition=labelled[index].proposition)
        hits = [searcher.judge(query, texts.doc_ids[document]) for document in documents.tolist()]
        expected = [[hit.sides.supports, hit.sides.refutes] for hit in hits]
        assert given.tolist() == [pytest.approx(pair, abs=1e-6) for pair in expected]
