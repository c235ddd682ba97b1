"""Whole runs of tuning on eight topics: where they lead, and that one that was stopped leads there too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tiny_models import make_qwen3, needs_exact_torch

from sicetnon.dense.local import LocalEncoder
from sicetnon.train.checkpoint import Checkpoint
from sicetnon.train.contrastive import (
    TuningPair,
    TuningSettings,
    _Drawn,
    _loss,
    tune_encoder,
)
from sicetnon.train.tunable import TunableEncoder
from sicetnon.types import Stance

TOPICS = ["phone", "car", "flag", "fence", "school", "ship", "vote", "land"]
PASSAGES = [f"the court held that a {topic} rule" for topic in TOPICS]
OWNERS = np.arange(len(TOPICS))
PAIRS = [
    TuningPair(f"police may not search a {topic}", frozenset({n}), ((n,),), ((n + 1) % len(TOPICS),))
    for n, topic in enumerate(TOPICS)
]
SETTINGS = TuningSettings(epochs=10, batch=4, learning_rate=3e-3)


class Killed(Exception):
    """The run is stopped."""


def tune(
    encoder: TunableEncoder,
    *,
    settings: TuningSettings = SETTINGS,
    checkpoint: Checkpoint | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> TunableEncoder:
    """Tune on the toy pairs."""
    tune_encoder(
        encoder,
        PAIRS,
        PASSAGES,
        OWNERS,
        settings=settings,
        checkpoint=checkpoint or Checkpoint(None),
        progress=progress,
    )
    return encoder


def loss_of(encoder: TunableEncoder) -> float:
    """The loss over all toy pairs at once."""
    drawn = _Drawn(PAIRS, [pair.positives[0][0] for pair in PAIRS], [])
    return float(_loss(encoder, drawn, PASSAGES, OWNERS, SETTINGS))


def same(one: TunableEncoder, two: TunableEncoder) -> bool:
    """Whether two encoders have the same weights, bit by bit."""
    return all(bool((weight == two.weights[name]).all()) for name, weight in one.weights.items())


class TestTuning:
    """Whole runs on eight topics."""

    pytestmark = needs_exact_torch

    def test_learns(self, bert: Path) -> None:
        """The loss falls, and each proposition comes to lie nearest to its own passage."""
        encoder = TunableEncoder(bert)
        before = loss_of(encoder)
        told: list[tuple[int, int]] = []
        tune(encoder, progress=lambda done, total: told.append((done, total)))
        assert loss_of(encoder) < before / 4
        cosines = encoder.encode_queries([pair.proposition for pair in PAIRS]) @ encoder.encode_documents(PASSAGES).T
        assert cosines.argmax(axis=1).tolist() == list(range(len(PAIRS)))
        assert told == [(step, 20) for step in range(1, 21)]

    def test_same_seed_same_weights(self, bert: Path) -> None:
        """The same run ends in the same bits, one of another seed in others."""
        one, two = tune(TunableEncoder(bert)), tune(TunableEncoder(bert))
        assert same(one, two)
        other = TuningSettings(epochs=10, batch=4, learning_rate=3e-3, seed=1)
        assert not same(one, tune(TunableEncoder(bert), settings=other))

    @pytest.mark.parametrize("stops", [[1], [7], [3, 4, 19], [20]])
    def test_resumed_run(self, bert: Path, tmp_path: Path, stops: list[int]) -> None:
        """A run that is stopped, perhaps again and again, ends in the bits of one that was not."""
        expected = tune(TunableEncoder(bert))
        for stop in stops:
            began: list[int] = []

            def kill(done: int, _: int, stop: int = stop, began: list[int] = began) -> None:
                began.append(done)
                if done == stop:
                    raise Killed

            with pytest.raises(Killed):
                tune(TunableEncoder(bert), checkpoint=Checkpoint(tmp_path / "c", seconds_between=0), progress=kill)
        began = []
        resumed = TunableEncoder(bert)
        tune(
            resumed,
            checkpoint=Checkpoint(tmp_path / "c", seconds_between=0),
            progress=lambda done, _: began.append(done),
        )
        assert began == list(range(stops[-1] + 1, 21))
        assert same(resumed, expected)

    def test_resumed_run_is_mixed_with_the_base(self, bert: Path, tmp_path: Path) -> None:
        """Where weights are mixed, those before are the base's, also of a run that was resumed."""
        settings = TuningSettings(epochs=10, batch=4, learning_rate=3e-3, mix=0.5)

        def kill(done: int, _: int) -> None:
            if done == 7:
                raise Killed

        with pytest.raises(Killed):
            tune(
                TunableEncoder(bert),
                settings=settings,
                checkpoint=Checkpoint(tmp_path / "c", seconds_between=0),
                progress=kill,
            )
        resumed = tune(TunableEncoder(bert), settings=settings, checkpoint=Checkpoint(tmp_path / "c"))
        assert same(resumed, tune(TunableEncoder(bert), settings=settings))

    def test_mix(self, bert: Path) -> None:
        """A mix of 0 gives the weights before, to the bit; one of a half what lies between."""
        base, tuned = TunableEncoder(bert), tune(TunableEncoder(bert))
        nothing, half = (
            tune(TunableEncoder(bert), settings=TuningSettings(epochs=10, batch=4, learning_rate=3e-3, mix=mix))
            for mix in (0.0, 0.5)
        )
        assert same(nothing, base)
        for name, weight in half.weights.items():
            between = (base.weights[name] + tuned.weights[name]) / 2
            assert weight.numpy() == pytest.approx(between.numpy(), abs=1e-6)

    def test_no_epoch(self, bert: Path) -> None:
        """No epoch leaves the weights as they were."""
        assert same(tune(TunableEncoder(bert), settings=TuningSettings(epochs=0)), TunableEncoder(bert))

    def test_killed_write_of_a_checkpoint(self, bert: Path, tmp_path: Path) -> None:
        """Half a checkpoint is not read, and does not stand in the way of the next one."""
        (tmp_path / "c.unfinished").write_bytes(b"half")
        told: list[int] = []
        checkpoint = Checkpoint(tmp_path / "c.safetensors", seconds_between=0)
        tune(TunableEncoder(bert), checkpoint=checkpoint, progress=lambda done, _: told.append(done))
        assert told[0] == 1
        assert [path.name for path in tmp_path.iterdir()] == ["c.safetensors"]

    def test_checkpoint_now_and_then(self, bert: Path, tmp_path: Path) -> None:
        """Nothing is written before its time has come."""
        tune(TunableEncoder(bert), checkpoint=Checkpoint(tmp_path / "c"))
        assert not (tmp_path / "c").exists()

    def test_stances_come_apart(self, tmp_path: Path) -> None:
        """By its instruction alone a stance comes to lie nearest to another passage than the other stance."""
        encoder = TunableEncoder(make_qwen3(tmp_path, PASSAGES))
        pairs = [
            TuningPair("police may not search", frozenset({row}), ((row,),), (2, 3, 4), stance)
            for row, stance in enumerate((Stance.SUPPORTED, Stance.REFUTED))
        ]
        tune_encoder(
            encoder,
            pairs,
            PASSAGES,
            OWNERS,
            settings=TuningSettings(epochs=30, batch=2, learning_rate=3e-3),
            checkpoint=Checkpoint(None),
            progress=lambda _done, _total: None,
        )
        passages = encoder.encode_documents(PASSAGES)
        for pair in pairs:
            (cosines,) = encoder.encode_queries([pair.proposition], pair.stance) @ passages.T
            assert cosines.argmax() == pair.positives[0][0]

    def test_qwen3(self, tmp_path: Path) -> None:
        """A model that pools the last token is tuned, saved and loaded with the vectors that it had."""
        base = make_qwen3(tmp_path, PASSAGES)
        encoder = TunableEncoder(base)
        before = loss_of(encoder)
        tune(encoder)
        assert loss_of(encoder) < before / 2
        encoder.save(tmp_path / "tuned")
        loaded = LocalEncoder(tmp_path / "tuned")
        propositions = [pair.proposition for pair in PAIRS]
        assert loaded.encode_queries(propositions) == pytest.approx(encoder.encode_queries(propositions), abs=1e-5)
        assert loaded.encode_documents(PASSAGES) == pytest.approx(encoder.encode_documents(PASSAGES), abs=1e-5)
