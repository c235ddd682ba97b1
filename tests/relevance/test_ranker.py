"""A fitted ranker: its probabilities, and what its JSON may be."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_model import make_ranker

from sicetnon.errors import ModelError
from sicetnon.relevance import Ranker
from sicetnon.relevance.features import FEATURES


def test_probability_by_hand() -> None:
    """The logistic curve: a half where slope times score is the intercept's opposite."""
    probabilities = make_ranker(slope=2.0, intercept=-1.0).probability(np.array([0.5, 1.0, 0.0]))
    assert probabilities.tolist() == pytest.approx([0.5, 0.7310585786, 0.2689414214])


@given(st.lists(st.floats(-20, 20), min_size=2, max_size=20, unique=True), st.floats(0.01, 10), st.floats(-5, 5))
def test_probability_rises_with_the_score(scores: list[float], slope: float, intercept: float) -> None:
    """A higher score is never a lower probability, and every probability lies from 0 to 1."""
    probabilities = make_ranker(slope=slope, intercept=intercept).probability(np.sort(np.array(scores)))
    assert (np.diff(probabilities) >= 0).all()
    assert (probabilities >= 0).all()
    assert (probabilities <= 1).all()


@given(st.integers(0, 1000), st.floats(1e-6, 1e6), st.floats(-1e6, 1e6))
def test_round_trip(seed: int, slope: float, intercept: float) -> None:
    """A ranker that was read gives the same bits."""
    ranker = make_ranker(slope=slope, intercept=intercept, seed=seed)
    read = Ranker.from_json(ranker.to_json())
    features = np.random.default_rng(seed).normal(size=(50, len(FEATURES)))
    assert read.score(features).tobytes() == ranker.score(features).tobytes()
    assert (read.slope, read.intercept, read.stance_weight) == (slope, intercept, 0.25)
    assert read.to_json() == ranker.to_json()


@pytest.mark.parametrize(
    "changed",
    [
        {"format": 1},
        {"format": None},
        {"features": [*FEATURES[1:], FEATURES[0]]},
        {"features": [*FEATURES, "another"]},
        {"features": []},
        {"format": 3, "slope": None, "trees": {"another": "layout"}},
    ],
)
def test_other_versions(changed: dict[str, object]) -> None:
    """A ranker of another format or of other features is told apart from a damaged one."""
    with pytest.raises(ModelError, match=r"a ranker of another version.*train again with this version"):
        Ranker.from_json(json.dumps(json.loads(make_ranker().to_json()) | changed))


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"slope": 0.0}, "a slope of 0.0"),
        ({"slope": -1}, "a slope of -1.0"),
        ({"stance_weight": 1.5}, "a stance weight of 1.5"),
        ({"stance_weight": -0.1}, "a stance weight of -0.1"),
        ({"slope": True}, "cannot be read"),
        ({"slope": "2"}, "cannot be read"),
        ({"slope": float("nan")}, "cannot be read"),
        ({"slope": 10**400}, "cannot be read"),
        ({"intercept": float("inf")}, "cannot be read"),
        ({"intercept": None}, "cannot be read"),
        ({"stance_weight": [0.5]}, "cannot be read"),
        ({"weights": None}, "cannot be read"),
        ({"weights": [0.0]}, "cannot be read"),
        ({"weights": [float("nan")] * len(FEATURES)}, "cannot be read"),
        ({"weights": [True] * len(FEATURES)}, "cannot be read"),
        ({"trees": None}, "a tree that is none"),
        ({"trees": {}}, "a tree that is none"),
        ({"trees": [{}]}, "a tree that is none"),
        ({"trees": [{"feature": [], "threshold": [], "below": [], "above": [], "leaf": []}]}, "a tree that is none"),
    ],
)
def test_fields_that_are_refused(changed: dict[str, object], found: str) -> None:
    """A field that cannot be is named as far as it can be."""
    with pytest.raises(ModelError, match=found):
        Ranker.from_json(json.dumps(json.loads(make_ranker().to_json()) | changed))


@pytest.mark.parametrize("name", ["format", "features", "slope", "intercept", "stance_weight", "weights", "trees"])
def test_missing_field(name: str) -> None:
    """A ranker that lacks a field is refused."""
    fields = json.loads(make_ranker().to_json())
    del fields[name]
    with pytest.raises(ModelError, match="a ranker that cannot be read"):
        Ranker.from_json(json.dumps(fields))


@pytest.mark.parametrize("source", ["", "{", "[]", "null", "3", '"a"', "[" * 100_000])
def test_what_is_no_ranker(source: str) -> None:
    """Anything else than the JSON of a ranker is refused in one line."""
    with pytest.raises(ModelError, match="a ranker that cannot be read") as caught:
        Ranker.from_json(source)
    assert "\n" not in str(caught.value)
