"""The stance model: its probabilities, its evidence, and its JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sicetnon.errors import ModelError
from sicetnon.stance import Claim, Reading, StanceModel, negate, read_statement
from sicetnon.stance.features import EVIDENCE_FEATURES, SIDE_FEATURES, evidence_features, side_features
from sicetnon.stance.model import find_evidence, softmax

EVIDENCE, SIDE = len(EVIDENCE_FEATURES), len(SIDE_FEATURES)


def make_model(seed: int = 1, temperature: float = 1.5) -> StanceModel:
    """Make a model with random weights."""
    rng = np.random.default_rng(seed)
    return StanceModel(
        evidence_weights=rng.standard_normal(EVIDENCE),
        side_mean=rng.standard_normal(SIDE),
        side_scale=rng.random(SIDE) + 0.5,
        side_weights=rng.standard_normal((3, SIDE + 1)),
        temperature=temperature,
    )


def read(proposition: str, *sentences: str) -> tuple[Claim, Reading]:
    """Read a proposition and a document with vectors of two numbers: sentence i lies i / 10 from the proposition."""
    angles = np.arange(len(sentences)) / 10
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    vector, denial = np.array([1, 0], np.float32), np.array([0, 1], np.float32)
    return Claim(read_statement(proposition), vector, denial), Reading(sentences, vectors)


def test_evidence_features_by_hand() -> None:
    """One row a sentence: cosine, overlap, holding, reported, question, answer, place."""
    claim, reading = read(
        "Police may search a phone.",
        "May the police search a phone?",
        "No, the Court held.",
        "The dissent argued about fish.",
    )
    expected = [
        [1, 1, 0, 0, 1, 0, 0],
        [np.cos(0.1), 0, 1, 0, 0, 1, 0.5],
        [np.cos(0.2), 0, 0, 1, 0, 0, 1],
    ]
    assert evidence_features(claim, reading) == pytest.approx(np.array(expected), abs=1e-6)


def test_side_features_by_hand() -> None:
    """Agreement and clash are shares of the proposition's words under the same and the other sign."""
    claim, reading = read("Police may search a phone.", "Police may not search a phone.", "Fish swim.")
    values = dict(zip(SIDE_FEATURES, side_features(claim, reading, 0, slice(0, 2)), strict=True))
    assert values["cosine"] == 1
    assert values["cosine of passage"] == pytest.approx((1 + np.cos(0.1)) / 2)
    assert values["cosine over denial"] == 1
    # polic agrees, search and phone clash; "permit" is an opposite and counted on its own.
    assert values["sentence agreement"] == pytest.approx(1 / 4)
    assert values["sentence clash"] == pytest.approx(2 / 4)
    assert values["sentence overlap"] == 1
    assert values["sentence negation parity"] == -1
    assert values["sentence permit"] == 1
    assert values["sentence valid"] == 0


def test_answer_feature() -> None:
    """The answer to a question counts by its sign and by whether the question is put as the proposition is."""
    for proposition, answer, expected in (
        ("Fish swim.", "Yes.", 1),
        ("Fish swim.", "No.", -1),
        ("Fish never swim.", "Yes.", -1),
        ("Fish swim.", "Perhaps.", 0),
        ("Birds fly.", "Yes.", 0),
    ):
        claim, reading = read(proposition, "Do fish swim?" if proposition != "Fish never swim." else "Swim?", answer)
        values = dict(zip(SIDE_FEATURES, side_features(claim, reading, 0, slice(0, 2)), strict=True))
        assert values["answer"] == expected, (proposition, answer)


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.floats(0.2, 5), st.floats(-1e6, 1e6))
def test_probabilities_sum_to_one(seed: int, temperature: float, size: float) -> None:
    """Whatever the features, the three probabilities are none below 0 and sum to 1."""
    features = np.random.default_rng(seed).standard_normal((5, SIDE)) * size
    probabilities = softmax(make_model(seed).side_logits(features) / temperature)
    assert probabilities.shape == (5, 3)
    assert (probabilities >= 0).all()
    assert probabilities.sum(axis=1) == pytest.approx(1)


def test_probabilities_against_oracle() -> None:
    """The probabilities are those of a softmax computed one number at a time, after dividing by the temperature."""
    model = make_model()
    claim, reading = read("Police may search a phone.", "One.", "Police may not search a phone.", "Three.")
    verdict = model.judge(claim, reading)
    judged = side_features(claim, reading, verdict.sentence, verdict.passage)
    for features in (judged, np.random.default_rng(2).standard_normal(SIDE)):
        scaled = [(x - m) / s for x, m, s in zip(features, model.side_mean, model.side_scale, strict=True)]
        logits = [sum(w * x for w, x in zip(row[:-1], scaled, strict=True)) + row[-1] for row in model.side_weights]
        assert model.side_logits(features[None])[0] == pytest.approx(logits)
        odds = np.exp(np.array(logits) / model.temperature)
        assert softmax(model.side_logits(features[None]) / model.temperature)[0] == pytest.approx(odds / odds.sum())
        if features is judged:
            sides = verdict.sides
            assert [sides.supports, sides.refutes, sides.neither] == pytest.approx((odds / odds.sum()).tolist())


def test_temperature_flattens() -> None:
    """A higher temperature brings the sides together and keeps their order."""
    claim, reading = read("Police may search a phone.", "One.", "Police may not search a phone.", "Three.")
    verdicts = [make_model(1, temperature).judge(claim, reading).sides for temperature in (0.5, 4)]
    cold, hot = ([sides.supports, sides.refutes, sides.neither] for sides in verdicts)
    assert np.argsort(cold).tolist() == np.argsort(hot).tolist()
    assert max(cold) > max(hot)


def test_find_evidence_by_hand() -> None:
    """The sentence of the highest score, the first of equals, with one neighbour on each side that has one."""
    features = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0], [2.0, 0.0]])
    assert find_evidence(np.array([1.0, 0.0]), features) == (1, slice(0, 3))
    assert find_evidence(np.array([0.0, 1.0]), features) == (0, slice(0, 2))
    assert find_evidence(np.array([-1.0, -1.0]), features[1:]) == (0, slice(0, 2))


def test_judge() -> None:
    """The evidence is the sentence with the highest score, in a passage with its neighbours; sides sum to 1."""
    claim, reading = read("Police may search a phone.", "One.", "Two.", "Police may search a phone.", "Four.", "Five.")
    model = make_model()
    scores = evidence_features(claim, reading) @ model.evidence_weights
    verdict = model.judge(claim, reading)
    assert verdict.sentence == int(np.argmax(scores))
    assert verdict.sentence in range(*verdict.passage.indices(5))
    sides = verdict.sides
    assert sides.supports + sides.refutes + sides.neither == pytest.approx(1)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_short_documents(count: int) -> None:
    """A document of a sentence or two is judged too, with a passage that stays inside."""
    claim, reading = read("Fish swim.", *["Fish swim."] * count)
    verdict = StanceModel.bundled().judge(claim, reading)
    assert verdict.sentence < count
    assert reading.sentences[verdict.passage]


def test_round_trip() -> None:
    """A model comes back from its JSON to the last bit, and is called the same."""
    model = make_model()
    back = StanceModel.from_json(model.to_json())
    assert back.to_json() == model.to_json()
    assert back.fingerprint == model.fingerprint != make_model(2).fingerprint
    features = np.random.default_rng(4).standard_normal((3, SIDE))
    assert back.side_logits(features).tobytes() == model.side_logits(features).tobytes()
    assert back.temperature == model.temperature


def test_bundled() -> None:
    """The model that ships loads, and is what its JSON says."""
    model = StanceModel.bundled()
    assert StanceModel.from_json(model.to_json()).fingerprint == model.fingerprint


def changed(**fields: Any) -> str:
    """Return a model's JSON with other fields."""
    return json.dumps(json.loads(make_model().to_json()) | fields)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        "[" * 100_000,
        changed(evidence_weights="x"),
        changed(evidence_weights=[[1], [1, 2]]),
        changed(evidence_features=5),
        changed(temperature=None),
        changed(temperature=10**400),
        json.dumps({name: value for name, value in json.loads(make_model().to_json()).items() if name != "format"}),
    ],
)
def test_what_is_no_model(source: str) -> None:
    """Text that is no model is refused in one line."""
    with pytest.raises(ModelError, match="a stance model that cannot be read") as caught:
        StanceModel.from_json(source)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [
        changed(format=2),
        changed(evidence_features=[*EVIDENCE_FEATURES[:-1], "other"]),
        changed(side_features=SIDE_FEATURES[::-1]),
        changed(evidence_weights=[0.0] * (EVIDENCE + 1)),
        changed(side_weights=[[0.0] * (SIDE + 1)] * 2),
        changed(side_mean=[float("nan")] * SIDE),
        changed(side_scale=[float("inf")] * SIDE),
        changed(side_scale=[0.0] * SIDE),
        changed(temperature=float("nan")),
        changed(temperature=0),
        changed(temperature=-1),
    ],
)
def test_models_that_do_not_fit(source: str) -> None:
    """A model of another format, over other features, or with figures that cannot be computed with is refused."""
    with pytest.raises(ModelError, match="does not fit this version's features"):
        StanceModel.from_json(source)


def test_denial_is_told_from_the_proposition() -> None:
    """Under the model that ships a sentence that says the proposition leans more to it than one that denies it."""
    proposition = "The police may search a phone without a warrant."
    vectors = np.eye(2, dtype=np.float32)
    claim = Claim(read_statement(proposition), vectors[0], vectors[1])
    model = StanceModel.bundled()
    says = model.judge(claim, Reading([f"The Court held that {proposition[0].lower()}{proposition[1:]}"], vectors[:1]))
    denies = model.judge(claim, Reading(["No. The Court held that " + negate(proposition).lower()], vectors[1:]))
    assert says.sides.supports > denies.sides.supports
    assert says.sides.refutes < denies.sides.refutes
