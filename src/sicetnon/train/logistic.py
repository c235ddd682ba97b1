"""Multinomial logistic regression with an L2 penalty, by Newton's method: small, exact, the same on every machine.

Boehning (1992, "Multinomial logistic regression algorithm", section 2) gives gradient and Hessian.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sicetnon.stance.model import softmax

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MAX_STEPS = 50
TOLERANCE = 1e-10  # of the largest change of a weight


def fit_multinomial(features: Floats, classes: Ints, *, class_count: int, penalty: float) -> Floats:
    """Weights float64 [class_count, f + 1] that minimise log loss + penalty / 2 x the sum of squared weights.

    ``features`` float64 [n, f]; ``classes`` int64 [n] from 0 to ``class_count`` - 1. The last column is the intercept,
    penalised as the rest by a thousandth, which makes the minimum unique. ``penalty`` must be positive.
    """
    design = np.hstack([features, np.ones((len(features), 1))])
    width = design.shape[1]
    ridge = np.tile(np.append(np.full(width - 1, penalty), penalty / 1000), class_count)
    wanted = np.eye(class_count)[classes]
    weights = np.zeros(class_count * width)
    for _ in range(MAX_STEPS):
        probabilities = softmax(design @ weights.reshape(class_count, width).T)
        gradient = ((probabilities - wanted).T @ design).ravel() + ridge * weights
        hessian = np.diag(ridge)
        for a in range(class_count):
            for b in range(class_count):
                curvature = probabilities[:, a] * ((a == b) - probabilities[:, b])
                block = design.T @ (design * curvature[:, None])
                hessian[a * width : (a + 1) * width, b * width : (b + 1) * width] += block
        step = np.linalg.solve(hessian, gradient)
        weights = weights - step
        if np.abs(step).max() < TOLERANCE:
            break
    return weights.reshape(class_count, width)


def log_loss(probabilities: Floats, classes: Ints) -> float:
    """Mean negative log-likelihood, in nats."""
    return float(-np.log(probabilities[np.arange(len(classes)), classes]).mean())


def fit_temperature(logits: Floats, classes: Ints) -> float:
    """The divisor of ``logits`` float64 [n, k] with the lowest log loss, to within a hundredth, from 0.2 to 5."""
    candidates = np.geomspace(0.2, 5, 324)
    losses = [log_loss(softmax(logits / temperature), classes) for temperature in candidates]
    return float(candidates[int(np.argmin(losses))])
