"""What tells the sides of documents: the stance model, or whatever else does the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from sicetnon.stance.model import Verdict
from sicetnon.stance.reading import Claim, Reading


class StanceJudge(Protocol):
    """Documents and a proposition -> the side of each. Used by many threads."""

    def judge_all(self, claim: Claim, readings: Sequence[Reading]) -> Iterable[Verdict]:
        """The side of each document, which has at least one sentence, in the order given."""
