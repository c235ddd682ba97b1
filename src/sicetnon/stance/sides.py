"""Which side three probabilities tell, if they tell one."""

from __future__ import annotations

from sicetnon.types import Side, SideProbabilities

CLEAR_LEAD = 0.05  # of one side's probability over the other's; a smaller one is next to a coin toss


def tell_side(sides: SideProbabilities) -> Side | None:
    """The side that leads the other by ``CLEAR_LEAD`` and is likelier than neither; None where no side does.

    Where "neither" is likeliest, the document bears on the matter without deciding it.
    """
    lead = sides.supports - sides.refutes
    if abs(lead) < CLEAR_LEAD or sides.neither >= max(sides.supports, sides.refutes):
        return None
    return Side.SUPPORTS if lead > 0 else Side.REFUTES
