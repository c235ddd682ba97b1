"""Logistic regression's loss one row at a time, with its gradient by differences."""

from __future__ import annotations

import math

import numpy as np


def compute_loss(weights: np.ndarray, features: np.ndarray, classes: np.ndarray, penalty: float) -> float:
    """Return the penalised log loss; the last column of ``weights`` is the intercept, a thousandth as penalised."""
    loss = 0.0
    for row, wanted in zip(features, classes, strict=True):
        logits = [sum(w * x for w, x in zip(w_row, [*row, 1.0], strict=True)) for w_row in weights]
        highest = max(logits)
        loss += highest + math.log(sum(math.exp(logit - highest) for logit in logits)) - logits[int(wanted)]
    for w_row in weights:
        loss += penalty / 2 * (sum(w * w for w in w_row[:-1]) + w_row[-1] ** 2 / 1000)
    return loss


def differentiate_loss(weights: np.ndarray, features: np.ndarray, classes: np.ndarray, penalty: float) -> np.ndarray:
    """Return the gradient by central differences."""
    gradient = np.zeros_like(weights)
    step = 1e-5
    for place in np.ndindex(weights.shape):
        up, down = weights.copy(), weights.copy()
        up[place] += step
        down[place] -= step
        difference = compute_loss(up, features, classes, penalty) - compute_loss(down, features, classes, penalty)
        gradient[place] = difference / (2 * step)
    return gradient


def count_pairs_in_order(scores: list[float], positive: list[bool]) -> float:
    """Return the share of (positive, negative) pairs in which the positive scores higher, a tie counting half."""
    pairs = [
        (p, n)
        for p, is_p in zip(scores, positive, strict=True)
        if is_p
        for n, is_n in zip(scores, positive, strict=True)
        if not is_n
    ]
    return sum(1.0 if p > n else 0.5 if p == n else 0.0 for p, n in pairs) / len(pairs)


def compute_calibration_error(probabilities: np.ndarray, classes: list[int], bins: int) -> float:
    """Return the expected calibration error, one bin at a time."""
    error = 0.0
    for b in range(bins):
        inside = []
        for row, wanted in zip(probabilities.tolist(), classes, strict=True):
            confidence = max(row)
            if min(int(confidence * bins), bins - 1) == b:
                inside.append((confidence, row.index(confidence) == wanted))
        if inside:
            accuracy = sum(right for _, right in inside) / len(inside)
            confidence = sum(c for c, _ in inside) / len(inside)
            error += len(inside) / len(classes) * abs(accuracy - confidence)
    return error
