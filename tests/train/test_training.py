"""The encoders of a training: each is tuned once, kept in the folder of the work, and read from there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import needs_exact_torch

from sicetnon.train import training
from sicetnon.train.checkpoint import Checkpoint
from sicetnon.train.contrastive import TuningPair, TuningSettings, tune_encoder
from sicetnon.train.labelled import Texts
from sicetnon.train.training import HALVES, Training, TrainingSettings
from sicetnon.train.tunable import TunableEncoder
from sicetnon.train.work import Work

TOPICS = ["phone", "car", "flag", "fence"]
PASSAGES = [f"the court held that a {topic} rule" for topic in TOPICS]
PAIRS = [
    TuningPair(f"police may not search a {topic}", frozenset({n}), ((n,),), ((n + 1) % len(TOPICS),))
    for n, topic in enumerate(TOPICS)
]
SETTINGS = TuningSettings(epochs=4, batch=2, learning_rate=1e-3)
STEPS = 8


class Killed(BaseException):
    """The training is stopped."""


def begin(folder: Path, base: Path, progress: Callable[[str, int, int], None] | None = None) -> Training:
    """Begin, or go on."""
    rows = np.arange(len(TOPICS))
    texts = Texts([], [], [], PASSAGES, rows, rows, [])
    settings = TrainingSettings(base=str(base), tuning=SETTINGS)
    work = Work(folder, {})
    work.once("before", lambda: {"some": rows})  # what is finished keeps the folder
    lexical: Any = None
    return Training(texts, [], np.arange(7), lexical, work, settings, progress or (lambda *_: None))


def refuse(*_: object, **__: object) -> None:
    """Fail: what is finished must not be made again."""
    raise AssertionError("tuned again")


def encode(encoder: TunableEncoder) -> bytes:
    """The vectors of the passages."""
    return encoder.encode_documents(PASSAGES).tobytes()


def test_halves() -> None:
    """Every other fold makes a half."""
    lexical: Any = None
    halves = Training(lexical, [], np.array([0, 1, 2, 3, 9, 4]), lexical, lexical, TrainingSettings(), lexical).halves
    assert halves.tolist() == [0, 1, 0, 1, 1, 0]
    assert set(halves.tolist()) == set(range(HALVES))


class TestTuning:
    """Tunings of a tiny BERT."""

    pytestmark = needs_exact_torch

    def test_kept_and_read(self, bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What was tuned is tuned as by itself, is read the next time, and is another for another name."""
        told: list[tuple[str, int, int]] = []
        begun = begin(tmp_path / "w", bert, lambda *step: told.append(step))
        with begun.work:
            vectors = encode(begun.tune("half 1", PAIRS))
            assert told == [("tuning half 1", step, STEPS) for step in range(1, STEPS + 1)]
            by_itself = TunableEncoder(bert)
            tune_encoder(
                by_itself,
                PAIRS,
                PASSAGES,
                np.arange(4),
                settings=SETTINGS,
                checkpoint=Checkpoint(None),
                progress=lambda *_: None,
            )
            assert vectors == encode(by_itself) != encode(TunableEncoder(bert))
            assert encode(begun.tune("half 2", PAIRS[:2])) != vectors
        monkeypatch.setattr(training, "tune_encoder", refuse)
        again = begin(tmp_path / "w", bert)
        with again.work:
            assert encode(again.tune("half 1", [])) == vectors
            with pytest.raises(AssertionError, match="tuned again"):
                again.tune("encoder", PAIRS)

    @pytest.mark.parametrize("seconds", [0.0, 60.0])
    def test_stopped_as_it_is_kept(
        self, bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
    ) -> None:
        """Stopped as the finished encoder is written, a training goes on from its checkpoint and ends in the same."""
        monkeypatch.setattr(Checkpoint.__init__, "__kwdefaults__", {"seconds_between": seconds})
        straight = begin(tmp_path / "straight", bert)
        with straight.work:
            expected = encode(straight.tune("half 1", PAIRS))
        save = TunableEncoder.save

        def save_half(encoder: TunableEncoder, folder: Path) -> None:
            save(encoder, folder)
            (folder / "model.safetensors").write_bytes(b"half")
            raise Killed

        stopped = begin(tmp_path / "w", bert)
        with monkeypatch.context() as patch, stopped.work:
            patch.setattr(TunableEncoder, "save", save_half)
            with pytest.raises(Killed):
                stopped.tune("half 1", PAIRS)
        # Half a checkpoint, as a kill may leave one beside.
        (tmp_path / "w" / "half 1.unfinished").write_bytes(b"half")
        told: list[int] = []
        again = begin(tmp_path / "w", bert, lambda _, done, __: told.append(done))
        with again.work:
            assert encode(again.tune("half 1", PAIRS)) == expected
        assert told == ([] if seconds == 0 else list(range(1, STEPS + 1)))
