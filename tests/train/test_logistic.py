"""Logistic regression, temperature, and the figures of a report, against slow ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.logistic import compute_calibration_error, compute_loss, count_pairs_in_order, differentiate_loss

from sicetnon.train.logistic import fit_multinomial, fit_temperature, log_loss, softmax
from sicetnon.train.stance import BINS, area_under_roc, calibration_error


def make_examples(seed: int, count: int, width: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Make random features and classes."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, width)), rng.integers(0, classes, count)


def test_fit_by_hand() -> None:
    """Without features only the intercepts are fitted, to the shares of the classes: 3 of 4 and 1 of 4."""
    weights = fit_multinomial(np.zeros((4, 0)), np.array([0, 0, 0, 1]), class_count=2, penalty=1e-6)
    assert weights[0, 0] - weights[1, 0] == pytest.approx(math.log(3), abs=1e-6)


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(0, 3), st.integers(2, 3), st.sampled_from([0.1, 1, 100]))
def test_fit_against_the_gradient(seed: int, count: int, width: int, classes: int, penalty: float) -> None:
    """At the weights the numeric gradient of the loss is zero, and no weights nearby have a lower loss."""
    features, wanted = make_examples(seed, count, width, classes)
    weights = fit_multinomial(features, wanted, class_count=classes, penalty=penalty)
    assert weights.shape == (classes, width + 1)
    assert np.abs(differentiate_loss(weights, features, wanted, penalty)).max() < 1e-4
    nearby = weights + np.random.default_rng(seed).standard_normal(weights.shape) * 0.01
    assert compute_loss(weights, features, wanted, penalty) <= compute_loss(nearby, features, wanted, penalty)


def test_fit_of_classes_that_separate() -> None:
    """Examples that a line parts have finite weights too, thanks to the penalty."""
    weights = fit_multinomial(np.array([[-1.0], [1.0]]), np.array([0, 1]), class_count=2, penalty=1e-3)
    assert np.isfinite(weights).all()
    assert weights[1, 0] > 0 > weights[0, 0]


def test_fit_twice() -> None:
    """The same examples give the same bits."""
    features, wanted = make_examples(5, 40, 4, 3)
    one, two = (fit_multinomial(features, wanted, class_count=3, penalty=1) for _ in range(2))
    assert one.tobytes() == two.tobytes()


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.floats(-1e4, 1e4))
def test_softmax(seed: int, size: float) -> None:
    """Rows sum to 1, and adding to a whole row changes nothing."""
    logits = np.random.default_rng(seed).standard_normal((4, 3)) * 10
    probabilities = softmax(logits)
    assert probabilities.sum(axis=1) == pytest.approx(1)
    assert softmax(logits + size) == pytest.approx(probabilities, abs=1e-9)


def test_log_loss() -> None:
    """The mean of -ln of the probability of what was right."""
    probabilities = np.array([[0.5, 0.5], [0.25, 0.75]])
    assert log_loss(probabilities, np.array([0, 0])) == pytest.approx((math.log(2) + math.log(4)) / 2)


def test_temperature() -> None:
    """Logits that were multiplied are divided again; too sure ones are cooled, to within the range."""
    rng = np.random.default_rng(6)
    logits = rng.standard_normal((4_000, 3)) * 2
    classes = np.array([rng.choice(3, p=row) for row in softmax(logits)])
    assert fit_temperature(logits, classes) == pytest.approx(1, abs=0.1)
    assert fit_temperature(logits * 3, classes) == pytest.approx(3 * fit_temperature(logits, classes), rel=0.02)
    wrong = np.array([[10.0, 0.0]] * 4)
    assert fit_temperature(wrong, np.array([1, 1, 1, 0])) == pytest.approx(5)


def test_area_under_roc_by_hand() -> None:
    """Of 2 x 2 pairs one is in order, one tied, two are not."""
    scores, positive = np.array([0.9, 0.2, 0.9, 0.95]), np.array([True, True, False, False])
    assert area_under_roc(scores, positive) == pytest.approx(0.5 / 4)
    assert area_under_roc(np.array([1.0, 0.0]), np.array([True, False])) == 1
    assert area_under_roc(np.array([0.5, 0.5]), np.array([True, False])) == 0.5


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.booleans()), max_size=12))
def test_area_under_roc_against_oracle(pairs: list[tuple[float, bool]]) -> None:
    """Any scores give the share of pairs in order, counted one by one."""
    pairs += [(0.5, True), (0.25, False)]
    scores, positive = [s for s, _ in pairs], [p for _, p in pairs]
    found = area_under_roc(np.array(scores), np.array(positive))
    assert found == pytest.approx(count_pairs_in_order(scores, positive))


def test_calibration_error_by_hand() -> None:
    """Two bins: 0.95 sure and right half the time, 0.55 sure and always right."""
    probabilities = np.array([[0.95, 0.05], [0.95, 0.05], [0.45, 0.55], [0.45, 0.55]])
    expected = 0.5 * (0.95 - 0.5) + 0.5 * (1 - 0.55)
    assert calibration_error(probabilities, np.array([0, 1, 1, 1])) == pytest.approx(expected)
    assert calibration_error(np.array([[1.0, 0.0]]), np.array([0])) == 0


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 30))
def test_calibration_error_against_oracle(seed: int, count: int) -> None:
    """Any probabilities give the error computed one bin at a time."""
    rng = np.random.default_rng(seed)
    probabilities, classes = softmax(rng.standard_normal((count, 3)) * 3), rng.integers(0, 3, count)
    expected = compute_calibration_error(probabilities, classes.tolist(), BINS)
    assert calibration_error(probabilities, classes) == pytest.approx(expected)
