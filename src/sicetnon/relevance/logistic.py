"""Log-odds -> probabilities."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def to_probability(odds: Floats) -> Floats:
    """The probabilities of log-odds, float64 of any shape: the logistic function."""
    with np.errstate(over="ignore"):  # of odds that say 0 for sure
        probability: Floats = 1 / (1 + np.exp(-odds))
    return probability
