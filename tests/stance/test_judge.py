"""A judge in place of the stance model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from sicetnon.dense import Encoder
from sicetnon.search import Searcher
from sicetnon.stance import Claim, Reading, StanceModel, Verdict
from sicetnon.types import Query, SideProbabilities

PROPOSITION = "The police may search a phone without a warrant."


class LastSentence:
    """Finds that every document refutes with its last sentence, and notes what it was asked."""

    def __init__(self) -> None:
        """Note nothing yet."""
        self.asked: list[str] = []

    def judge_all(self, claim: Claim, readings: Sequence[Reading]) -> list[Verdict]:
        """Refute."""
        self.asked.append(claim.text)
        ends = [len(reading.sentences) for reading in readings]
        sides = SideProbabilities(supports=0.1, refutes=0.8, neither=0.1)
        return [Verdict(sides, end - 1, slice(max(0, end - 2), end)) for end in ends]


def test_judge_in_place_of_the_model(small_index: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge given to the searcher is shown the proposition's words and tells every side; the model is not asked."""
    monkeypatch.delattr(StanceModel, "judge")
    judge = LastSentence()
    searcher = Searcher.open(small_index, encoder=encoder, judge=judge)
    answer = searcher.search_both(Query(proposition=PROPOSITION, top_k=7))
    assert judge.asked == [PROPOSITION]
    assert (len(answer.supports), len(answer.refutes), len(answer.unclear)) == (0, 7, 0)
    for hit in answer.refutes:
        assert hit.sides.refutes == 0.8
        assert hit.document.text.endswith(hit.evidence.sentence.of(hit.document.text))
