"""The trial of a local encoder: absent, broken, slow, quick."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sicetnon.dense import trial
from sicetnon.dense.encoder import Progress, Vectors
from sicetnon.errors import MissingExtra
from sicetnon.types import Stance

TEXTS = [f"Decision {number}. " + "The Court held so. " * 40 for number in range(50)]


class TimedEncoder:
    """Counts on a clock of its own how long it would have encoded."""

    name, fingerprint, dimensions = "timed", "timed 1", 2
    instructs_by_stance = False

    def __init__(self, seconds_a_text: float, seconds_a_query: float) -> None:
        """Start the clock at 0."""
        self.seconds_a_text = seconds_a_text
        self.seconds_a_query = seconds_a_query
        self.now = 0.0
        self.texts: list[str] = []

    def encode_documents(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """Let time pass."""
        del progress
        return self._encode(texts, self.seconds_a_text)

    def encode_queries(self, texts: Sequence[str], stance: Stance = Stance.ALL) -> Vectors:
        """Let another time pass."""
        del stance
        return self._encode(texts, self.seconds_a_query)

    def _encode(self, texts: Sequence[str], seconds: float) -> Vectors:
        self.texts += texts
        self.now += seconds * len(texts)
        return np.ones((len(texts), 2), np.float32)


def hold(
    monkeypatch: pytest.MonkeyPatch,
    path: Path,
    *,
    seconds_a_text: float,
    seconds_a_query: float | None = None,
    loading: float = 0,
) -> tuple[trial.Trial, TimedEncoder]:
    """Hold a trial of an encoder at ``path`` that takes so long, for queries as long as for documents if not told."""
    encoder = TimedEncoder(seconds_a_text, seconds_a_text if seconds_a_query is None else seconds_a_query)

    def load(name: str) -> TimedEncoder:
        assert name == str(path)
        encoder.now += loading
        return encoder

    monkeypatch.setattr(trial, "load_encoder", load)
    monkeypatch.setattr("time.perf_counter", lambda: encoder.now)
    return trial.hold_trial(path, TEXTS), encoder


def test_no_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no directory nothing is loaded, and the reason names the path."""
    monkeypatch.setattr(trial, "load_encoder", None)
    held = trial.hold_trial(tmp_path / "absent", TEXTS)
    assert held.encoder is None
    assert held.reason == f"no local encoder at {tmp_path / 'absent'}; the embedded one is used"


def test_directory_that_is_no_model(tmp_path: Path) -> None:
    """A directory without a model is not used, and the reason says what is missing."""
    held = trial.hold_trial(tmp_path, TEXTS)
    assert held.encoder is None
    assert "modules.json" in held.reason


def test_missing_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library is not installed the reason says how to install it."""

    def refuse(_name: str) -> None:
        raise MissingExtra("sentence-transformers", extra="train", purpose="a local encoder directory")

    monkeypatch.setattr(trial, "load_encoder", refuse)
    held = trial.hold_trial(tmp_path, TEXTS)
    assert held.encoder is None
    assert "pip install" in held.reason


def test_quick_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quick encoder is taken, with the figures."""
    held, encoder = hold(monkeypatch, tmp_path, seconds_a_text=0.001)
    assert held.encoder is encoder
    assert f"{tmp_path} is used: about " in held.reason


def test_encoder_too_slow_for_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that would take longer than a build may is refused, with the figures and the limits."""
    monkeypatch.setattr(trial, "QUERY_SECONDS", 10**9)
    held, _ = hold(monkeypatch, tmp_path, seconds_a_text=60)
    assert held.encoder is None
    assert "over 2,700 s" in held.reason


def test_encoder_too_slow_for_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that builds in time but would answer a batch too late is refused."""
    held, _ = hold(monkeypatch, tmp_path, seconds_a_text=0.03)  # 2 x 311 texts: 18.7 s
    assert held.encoder is None
    held, encoder = hold(monkeypatch, tmp_path, seconds_a_text=0.01)
    assert held.encoder is encoder


def test_queries_dearer_than_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that builds in time is refused for its queries alone, and taken where they are as quick as documents."""
    held, _ = hold(monkeypatch, tmp_path, seconds_a_text=0.0001, seconds_a_query=0.03)
    assert held.encoder is None
    assert "18.7 s for a batch" in held.reason
    held, encoder = hold(monkeypatch, tmp_path, seconds_a_text=0.03, seconds_a_query=0.0001)
    assert held.encoder is encoder


def test_instruction_by_stance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An encoder that instructs by stance encodes a text more for a query, and is refused where that is too slow."""
    held, encoder = hold(monkeypatch, tmp_path, seconds_a_text=0.0001, seconds_a_query=0.02)  # 2 x 311 texts: 12.4 s
    assert held.encoder is encoder
    monkeypatch.setattr(TimedEncoder, "instructs_by_stance", True)
    held, _ = hold(monkeypatch, tmp_path, seconds_a_text=0.0001, seconds_a_query=0.02)
    assert held.encoder is None
    assert "18.7 s for a batch" in held.reason


def test_loading_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time it takes to load counts against a batch."""
    held, _ = hold(monkeypatch, tmp_path, seconds_a_text=0.0001, loading=15)
    assert held.encoder is None


def test_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample is small, spread over the corpus, and cut to the length of a passage."""
    _, encoder = hold(monkeypatch, tmp_path, seconds_a_text=0.001)
    assert len(encoder.texts) <= 3 * trial.SAMPLE_TEXTS
    assert max(map(len, encoder.texts)) <= trial.SAMPLE_CHARACTERS
    numbers = {int(text.split(".")[0].removeprefix("Decision ")) for text in encoder.texts}
    assert max(numbers) > len(TEXTS) / 2
    assert all(b > a for a, b in itertools.pairwise(sorted(numbers)))
