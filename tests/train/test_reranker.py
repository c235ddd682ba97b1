"""Tuning a cross-encoder that ranks: what a step sees, and where it leads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import needs_exact_torch

from sicetnon.train.checkpoint import Checkpoint
from sicetnon.train.cross_encoder import TunableCrossEncoder
from sicetnon.train.reranker import RatedText, RerankerSettings, RerankingExample, _draw, tune_reranker
from sicetnon.train.tunable import TunableEncoder

TOPICS = ["phone", "car", "flag", "fence", "school", "ship", "vote", "land"]


def rate(*texts: str, odds: float = 0.0) -> tuple[RatedText, ...]:
    """Texts of which the ranker thinks the same."""
    return tuple(RatedText(text, odds) for text in texts)


EXAMPLES = [
    RerankingExample(
        f"police may search a {topic}",
        rate(f"the court held that a {topic} rule may not"),
        rate(*(f"the court held that a {topic} rule {end}" for end in ("police", "search", "a", "the"))),
    )
    for topic in TOPICS
]
SETTINGS = RerankerSettings(epochs=20, groups=4, others=3, learning_rate=3e-3, layers=2)


class Killed(Exception):
    """The run is stopped."""


def test_groups_by_hand() -> None:
    """A group is a text on point and as many others as are asked for, or as there are."""
    examples = [
        RerankingExample("P", rate("p"), rate("a", "b")),
        RerankingExample("Q", rate("q", "r"), rate(*"abcdef")),
    ]
    groups = _draw(examples, 0, RerankerSettings(groups=2, others=4))
    assert sorted(example.proposition for example, _ in groups) == ["P", "Q"]
    for example, (first, *others) in groups:
        assert first in example.relevant
        assert len(set(others)) == len(others) == min(4, len(example.others))
        assert set(others) <= set(example.others)


def test_an_epoch_sees_each_proposition_once() -> None:
    """Each step is drawn by the seed and its number alone."""
    settings = RerankerSettings(groups=4)
    examples = [RerankingExample(f"P{n}", rate("p"), rate(*"abcdef")) for n in range(40)]
    drawn = [_draw(examples, step, settings) for step in range(10)]
    seen = [example.proposition for step in drawn for example, _ in step]
    assert sorted(seen) == sorted(example.proposition for example in examples)
    assert _draw(examples, 7, settings) == drawn[7]
    assert _draw(examples, 10, settings) != drawn[0]
    assert _draw(examples, 0, replace(settings, seed=1)) != drawn[0]


def test_first_others_are_likelier() -> None:
    """What the ranker put first is drawn most, in proportion to one over its place and one."""
    example = RerankingExample("P", rate("p", "q"), rate(*"abcd"))
    counts: Counter[str] = Counter()
    for step in range(3_000):
        ((_, drawn),) = _draw([example], step, RerankerSettings(groups=1, others=1))
        counts.update(text for text, _ in drawn)
    likely = np.array([1 / 2, 1 / 3, 1 / 4, 1 / 5])
    found = np.array([counts[name] for name in "abcd"]) / 3_000
    assert found == pytest.approx(likely / likely.sum(), abs=0.04)
    assert counts["p"] / 3_000 == pytest.approx(0.5, abs=0.04)


def tune(
    encoder: TunableEncoder,
    *,
    settings: RerankerSettings = SETTINGS,
    examples: list[RerankingExample] | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> TunableCrossEncoder:
    """Tune a cross-encoder on the toy examples."""
    return tune_reranker(
        encoder,
        EXAMPLES if examples is None else examples,
        settings=settings,
        checkpoint=checkpoint or Checkpoint(None),
        progress=progress,
    )


def make_untuned(encoder: TunableEncoder, settings: RerankerSettings) -> TunableCrossEncoder:
    """What tuning begins from."""
    return TunableCrossEncoder(encoder, outputs=1, layers=settings.layers, seed=settings.seed)


def copy_weights(reranker: TunableCrossEncoder) -> dict[str, Any]:
    """All parameters by name."""
    return {name: parameter.detach().numpy().copy() for name, parameter in reranker.parameters}


def same(one: TunableCrossEncoder, two: TunableCrossEncoder) -> bool:
    """Whether two have the same weights, bit by bit."""
    other = copy_weights(two)
    return all(np.array_equal(weight, other[name]) for name, weight in copy_weights(one).items())


def rank_own(reranker: TunableCrossEncoder) -> list[int]:
    """At which place, from 0, each example's text on point stands among the example's texts."""
    places = []
    for example in EXAMPLES:
        texts = [text for text, _ in (*example.relevant, *example.others)]
        scores = reranker.score([(example.proposition, text) for text in texts])[:, 0]
        places.append(int((scores > scores[0]).sum()))
    return places


def measure_lead(reranker: TunableCrossEncoder) -> float:
    """By how much texts on point score above the others of their proposition, in the mean."""
    leads = []
    for proposition, relevant, others in EXAMPLES:
        scores = reranker.score([(proposition, text) for text, _ in (*relevant, *others)])[:, 0]
        leads.append(scores[0] - scores[1:].mean())
    return float(np.mean(leads))


class TestTuning:
    """Whole runs on eight topics."""

    pytestmark = needs_exact_torch

    @pytest.fixture(scope="class")
    def tuned(self, bert: Path) -> TunableCrossEncoder:
        """A cross-encoder that was tuned without a stop."""
        return tune(TunableEncoder(bert))

    def test_learns(self, bert: Path, tuned: TunableCrossEncoder) -> None:
        """What is on point comes to stand before what is not; the encoder it began from stays as it was."""
        encoder = TunableEncoder(bert)
        weights = {name: weight.numpy().copy() for name, weight in encoder.weights.items()}
        told: list[tuple[int, int]] = []
        assert same(tune(encoder, progress=lambda *step: told.append(step)), tuned)
        assert told == [(step, 40) for step in range(1, 41)]
        assert rank_own(tuned) == [0] * len(EXAMPLES)
        assert sum(rank_own(make_untuned(encoder, SETTINGS))) > 0
        assert all(np.array_equal(weight.numpy(), weights[name]) for name, weight in encoder.weights.items())

    def test_seeds(self, bert: Path, tuned: TunableCrossEncoder) -> None:
        """Another seed ends elsewhere."""
        assert not same(tune(TunableEncoder(bert), settings=replace(SETTINGS, seed=1)), tuned)

    @pytest.mark.parametrize("stops", [[1], [17], [3, 4, 39], [40]])
    def test_resumed_run(self, bert: Path, tuned: TunableCrossEncoder, tmp_path: Path, stops: list[int]) -> None:
        """A run that is stopped, perhaps again and again, ends in the bits of one that was not."""
        for stop in stops:

            def kill(done: int, _: int, stop: int = stop) -> None:
                if done == stop:
                    raise Killed

            with pytest.raises(Killed):
                tune(TunableEncoder(bert), checkpoint=Checkpoint(tmp_path / "c", seconds_between=0), progress=kill)
        began: list[int] = []
        checkpoint = Checkpoint(tmp_path / "c", seconds_between=0)
        resumed = tune(TunableEncoder(bert), checkpoint=checkpoint, progress=lambda done, _: began.append(done))
        assert began == list(range(stops[-1] + 1, 41))
        assert same(resumed, tuned)

    def test_examples_that_teach_nothing(self, bert: Path, tuned: TunableCrossEncoder) -> None:
        """One without a text on point or without another is passed over; where all are, nothing is tuned."""
        empty = [RerankingExample("P", (), rate("a")), RerankingExample("Q", rate("q"), ())]
        assert same(tune(TunableEncoder(bert), examples=[*empty, *EXAMPLES, *empty]), tuned)
        encoder = TunableEncoder(bert)
        untuned = tune(encoder, examples=empty, progress=lambda *_: pytest.fail("tuned"))
        assert same(untuned, make_untuned(encoder, SETTINGS))

    def test_learns_what_the_ranker_gets_wrong(self, bert: Path) -> None:
        """Where the ranker is sure and right, there is little to learn; where it is sure and wrong, much."""
        encoder = TunableEncoder(bert)
        moved = []
        for odds in (20.0, -20.0):
            rated = [
                RerankingExample(proposition, rate(*(text for text, _ in relevant), odds=odds), others)
                for proposition, relevant, others in EXAMPLES
            ]
            settings = replace(SETTINGS, epochs=3)
            before, after = make_untuned(encoder, settings), tune(encoder, settings=settings, examples=rated)
            moved.append(measure_lead(after) - measure_lead(before))
        assert moved[1] > 10 * abs(moved[0])

    @pytest.mark.parametrize(
        ("examples", "epochs", "steps"), [(8, 1.0, 2), (8, 0.0, 0), (2, 3.0, 3), (8, 0.5, 1), (6, 2.0, 3)]
    )
    def test_steps(self, bert: Path, examples: int, epochs: float, steps: int) -> None:
        """As many as the epochs come to; where there are fewer examples than a step takes, one for each epoch."""
        told: list[tuple[int, int]] = []
        settings = replace(SETTINGS, epochs=epochs, groups=4, layers=1)
        tune(
            TunableEncoder(bert),
            examples=EXAMPLES[:examples],
            settings=settings,
            progress=lambda *step: told.append(step),
        )
        assert told == [(step, steps) for step in range(1, steps + 1)]
