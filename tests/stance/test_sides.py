"""Which side three probabilities tell."""

from __future__ import annotations

import pytest

from sicetnon.stance import tell_side
from sicetnon.types import SideProbabilities


@pytest.mark.parametrize(
    ("supports", "refutes", "neither", "side"),
    [
        (0.55, 0.45, 0.0, "supports"),
        (0.45, 0.55, 0.0, "refutes"),
        (0.52, 0.48, 0.0, None),
        (0.48, 0.52, 0.0, None),
        (0.40, 0.10, 0.50, None),
        (0.45, 0.10, 0.45, None),
        (0.46, 0.10, 0.44, "supports"),
    ],
)
def test_tell_side(supports: float, refutes: float, neither: float, side: str | None) -> None:
    """A side leads the other by a twentieth and is likelier than neither, or there is none."""
    assert tell_side(SideProbabilities(supports=supports, refutes=refutes, neither=neither)) == side
