"""A budget of time: tuning is shortened to keep it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sicetnon.train.contrastive import TuningSettings
from sicetnon.train.retrieval import ENCODINGS, EPOCH_STEP, GROUP_COST, PAIR_COST, SPENT, _fit_budget
from sicetnon.train.training import TrainingSettings

seconds = st.floats(0.1, 1e5)


def fit(budget: float | None, *, pairs: int = 1_000, passages: int = 5_000, encoding: float = 10.0) -> TuningSettings:
    """The tuning that a budget leaves."""
    settings = TrainingSettings(budget=budget, tuning=TuningSettings(epochs=3.0, seed=5))
    return _fit_budget(settings, pairs, passages, encoding).tuning


def test_no_budget() -> None:
    """Without one, tuning is as it was asked for; so it is with one that is large enough."""
    assert fit(None) == fit(1e9) == TuningSettings(epochs=3.0, seed=5)


@pytest.mark.parametrize("budget", [0.0, 1.0, 50.0])
def test_too_small(budget: float) -> None:
    """Where encoding alone takes the budget, nothing is tuned."""
    assert fit(budget).epochs == 0


@given(seconds, seconds, st.integers(2, 10_000), st.integers(1, 100_000))
def test_is_kept(budget: float, encoding: float, pairs: int, passages: int) -> None:
    """Encoding and tuning, by what was measured, stay within what may be spent, as near as a step of epochs allows."""
    epochs = fit(budget, pairs=pairs, passages=passages, encoding=encoding).epochs
    assert 0 <= epochs <= 3.0
    assert epochs % EPOCH_STEP == 0
    an_epoch = 2 * pairs * PAIR_COST * encoding / passages
    left = SPENT * budget - ENCODINGS * encoding
    assert epochs == 0 or epochs * an_epoch <= left * (1 + 1e-9)
    assert epochs == 3.0 or (epochs + EPOCH_STEP) * an_epoch > left * (1 - 1e-9)


@given(seconds, seconds)
def test_more_time_is_more_tuning(one: float, other: float) -> None:
    """A larger budget never tunes less."""
    fewer, more = sorted([one, other])
    assert fit(fewer).epochs <= fit(more).epochs


@given(seconds, seconds, st.integers(2, 10_000), st.integers(1, 100_000))
def test_cross_encoder_comes_last(budget: float, encoding: float, pairs: int, passages: int) -> None:
    """It is tried where an epoch of tuning is left beside it, and its time is then not spent on tuning."""
    settings = TrainingSettings(budget=budget, tuning=TuningSettings(epochs=3.0), reranks=True)
    fitted = _fit_budget(settings, pairs, passages, encoding)
    an_epoch = 2 * pairs * PAIR_COST * encoding / passages
    reading = 2 * pairs * GROUP_COST * encoding / passages * settings.reranker.epochs
    left = max(SPENT * budget - ENCODINGS * encoding, 0)
    if fitted.reranks:
        assert 1 <= fitted.tuning.epochs <= 3.0
        assert fitted.tuning.epochs * an_epoch + reading <= left * (1 + 1e-9)
    else:
        assert left < (an_epoch + reading) * (1 + 1e-9)
        alone = fit(budget, pairs=pairs, passages=passages, encoding=encoding)
        assert fitted.tuning.epochs == alone.epochs
    assert not _fit_budget(TrainingSettings(budget=1e9), pairs, passages, encoding).reranks
