"""Queries asked with several stances, encoded at once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sicetnon.dense import Encoder, encode_asked
from sicetnon.types import Stance

ASKED = st.lists(st.tuples(st.sampled_from(["A ship.", "A car.", "No."]), st.sampled_from(Stance)), max_size=8)


@given(ASKED)
def test_each_by_its_stance(cheap_encoder: Any, asked: list[tuple[str, Stance]]) -> None:
    """Each query has the vector that it has alone with its stance, in its place."""
    encoder = type("Sided", (), {"dimensions": cheap_encoder.dimensions})()
    encoder.encode_queries = lambda texts, stance: cheap_encoder.encode_documents([f"{stance} {t}" for t in texts])
    vectors = encode_asked(encoder, asked)
    assert vectors.shape == (len(asked), encoder.dimensions)
    for vector, (text, stance) in zip(vectors, asked, strict=True):
        assert vector.tobytes() == encoder.encode_queries([text], stance).tobytes()


@pytest.mark.parametrize("stance", Stance)
def test_embedded_encoder_hears_no_stance(encoder: Encoder, stance: Stance) -> None:
    """The embedded encoder gives a query the same bits whatever the stance, and says so."""
    assert not encoder.instructs_by_stance
    texts = ["The police may search a phone.", "No."]
    assert encoder.encode_queries(texts, stance).tobytes() == encoder.encode_queries(texts).tobytes()
