"""The report on propositions left out: slices, ablation and calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sicetnon.relevance.features import FEATURES
from sicetnon.train import report
from sicetnon.train.labelled import Labelled, list_queries
from sicetnon.train.measuring import Candidates, Estimate
from sicetnon.train.page import write_page
from sicetnon.train.ranker import Described, RankerSettings
from sicetnon.train.report import PARTS, CalibrationBin, CrossEncoder, _bin, _find_seen, make_report, word_unknown
from sicetnon.types import Stance

NOTHING = Estimate(0.0, 0.0, 0.0)


def label(*documents: int, stance: Stance = Stance.ALL) -> Labelled:
    """Make a labelled proposition."""
    return Labelled("P", frozenset(documents), {stance: frozenset(documents)})


def test_seen_by_hand() -> None:
    """A proposition is seen where one of another fold, not of its own, names one of its documents."""
    labelled = [label(1), label(1), label(1, 2), label(3), label(4, 2)]
    assert _find_seen(labelled, np.array([0, 0, 1, 1, 1])).tolist() == [True, True, True, False, False]


def test_bins_by_hand() -> None:
    """Probabilities in tenths, the last with both ends; of each the mean and the share that is relevant."""
    probabilities = np.array([0.0, 0.05, 0.95, 1.0, 0.5])
    relevant = np.array([False, True, True, True, False])
    assert _bin(probabilities, relevant) == [
        CalibrationBin(2, 0.025, 0.5),
        CalibrationBin(1, 0.5, 0.0),
        CalibrationBin(2, 0.975, 1.0),
    ]


def test_parts_are_features() -> None:
    """Every part names features that there are; every feature but the sum belongs to one."""
    names = {name.partition(",")[0] for name in FEATURES}
    taken = {name for part in PARTS.values() for name in part}
    assert taken == names - {"sum"}


@pytest.fixture
def denied(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """Have rankers without a part rank as the sum does; return what each was denied."""
    asked: list[set[str]] = []

    def fit(described: Described, *, columns: np.ndarray, settings: Any) -> Any:
        assert settings == RankerSettings()
        asked.append({name for number, name in enumerate(FEATURES) if number not in columns})
        return described.features[:, 0]

    monkeypatch.setattr(report, "score_left_out", fit)
    return asked


def test_by_hand(denied: list[set[str]]) -> None:
    """Three propositions of three candidates: what the ranker, and what the sum put first."""
    labelled = [label(0, stance=Stance.SUPPORTED), label(0, 9), label(5)]
    documents = [np.array([0, 1, 2]), np.array([0, 1, 2]), np.array([3, 4, 5])]
    candidates = Candidates(documents, np.arange(10, dtype=np.int32))
    relevant = np.array([True, False, False, True, False, False, False, False, True])
    features = np.zeros((9, len(FEATURES)))
    features[:, 0] = [2, 3, 1, 3, 2, 1, 3, 2, 1]  # the sum finds them at the ranks 2, 1 and 3
    left_out = np.array([3.0, 2, 1, 3, 2, 1, 1, 2, 3])  # the ranker finds all of them first
    described = Described(features, relevant, np.array([3, 3, 3]), np.array([0, 1, 1]))
    probabilities = 1 / (1 + np.exp(2 - left_out))
    made = make_report(
        labelled,
        list_queries(labelled),
        described,
        candidates,
        left_out,
        probabilities=probabilities,
        settings=RankerSettings(),
        stance_weight=0.3,
        stance_gain=NOTHING,
        cross_encoder=CrossEncoder(2, 0.5, Estimate(0.01, -0.002, 0.02), kept=False),
        doubts=[],
        unknown=["gone", "lost"],
        seconds=1.26,
    )
    best_of_two = 1 / (1 + 1 / np.log2(3))  # document 9 is no candidate
    by_sum = [1 / np.log2(3), best_of_two, 0.5]
    assert made.slices["all"].ndcg.mean == pytest.approx((1 + best_of_two + 1) / 3)
    assert made.slices["all"].recall == pytest.approx((1 + 0.5 + 1) / 3)
    assert {name: held.queries for name, held in made.slices.items()} == {
        "all": 3,
        "stance supported": 1,
        "stance all": 2,
        "seen": 2,
        "unseen": 1,
    }
    assert made.slices["unseen"].ndcg.mean == 1
    assert made.ablation.keys() == {"the ranker", *PARTS}
    for held in made.ablation.values():
        assert held.ndcg == pytest.approx(np.mean(by_sum))
        assert held.gain.mean == pytest.approx((2 + best_of_two) / 3 - np.mean(by_sum))
    assert len(denied) == len(PARTS)
    assert denied[0] == {name for name in FEATURES if name.startswith("expanded words")}
    errors = [abs(probabilities[left_out == value].mean() - relevant[left_out == value].mean()) for value in (1, 2, 3)]
    assert made.calibration_error == pytest.approx(np.mean(errors))
    assert (made.propositions, made.stance_weight, made.seconds) == (3, 0.3, 1.3)
    assert made.unknown == ["gone", "lost"]
    assert "2 labelled documents are not in the corpus, and nothing was learned of them: gone, lost" in write_page(made)
    assert made.cross_encoder is not None
    page = write_page(made)
    assert "a cross-encoder over the first candidates adds +0.010 (-0.002 to +0.020) to 0.500 on 2 queries" in page
    assert "left out, since that may be luck" in page


def test_few_of_many_unknown_are_named() -> None:
    """A long list of unknown documents is told by its first."""
    assert word_unknown([f"d{number}" for number in range(1_234)]) == (
        "1,234 labelled documents are not in the corpus, and nothing was learned of them: d0, d1, d2, ..."
    )
