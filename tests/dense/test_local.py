"""Encoders from a local directory, tried on a tiny Qwen3 that the tests make."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import END, make_bert, make_qwen3, needs_torch

from sicetnon.dense import load_encoder
from sicetnon.dense.local import (
    BATCH,
    INSTRUCTIONS,
    MAX_TOKENS,
    SAMPLE_BYTES,
    SAMPLES,
    LocalEncoder,
    fingerprint_directory,
)
from sicetnon.errors import MissingExtra, ModelError
from sicetnon.types import Stance

TEXTS = ["The police may not search a phone.", "No.", "The contract is void " * 20]


@pytest.fixture(scope="session")
def model_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a directory with a random Qwen3 of two layers that pools the last token."""
    return make_qwen3(tmp_path_factory.mktemp("qwen3"), TEXTS)


@pytest.fixture(scope="session")
def local_encoder(model_directory: Path) -> LocalEncoder:
    """Load the tiny model."""
    return LocalEncoder(model_directory)


@pytest.fixture
def change_tokenizer(model_directory: Path, tmp_path: Path) -> Callable[..., Path]:
    """Copy the model and change its tokenizer.json."""

    def change(**fields: object) -> Path:
        path = tmp_path / "changed"
        shutil.copytree(model_directory, path)
        (file,) = path.rglob("tokenizer.json")
        file.write_text(json.dumps(json.loads(file.read_text()) | fields))
        return path

    return change


class TestLocalEncoder:
    """A directory that loads."""

    pytestmark = needs_torch

    def test_description(self, local_encoder: LocalEncoder, model_directory: Path) -> None:
        """It is called by its path, and loads again by that name."""
        assert local_encoder.name == str(model_directory)
        assert local_encoder.dimensions == 32
        assert load_encoder(local_encoder.name).fingerprint == local_encoder.fingerprint

    def test_unit_vectors(self, local_encoder: LocalEncoder) -> None:
        """Vectors are float32 of length 1, in the order of the texts."""
        vectors = local_encoder.encode_documents(TEXTS)
        assert vectors.dtype == np.float32
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
        for text, vector in zip(TEXTS, vectors, strict=True):
            assert vector @ local_encoder.encode_documents([text])[0] == pytest.approx(1, abs=1e-5)

    def test_padding_is_on_the_left(self, local_encoder: LocalEncoder) -> None:
        """A short text among long ones keeps its vector, which is that of its last token."""
        assert local_encoder._model.tokenizer.padding_side == "left"
        alone = local_encoder.encode_documents([TEXTS[1]])[0]
        assert local_encoder.encode_documents([TEXTS[2], TEXTS[1]])[1] == pytest.approx(alone, abs=1e-5)

    @pytest.mark.parametrize("stance", Stance)
    def test_instruction_on_queries_alone(self, local_encoder: LocalEncoder, stance: Stance) -> None:
        """A query is encoded as a document that begins with the stance's instruction, and a document without it."""
        query = local_encoder.encode_queries([TEXTS[0]], stance)[0]
        assert query == pytest.approx(local_encoder.encode_documents([INSTRUCTIONS[stance] + TEXTS[0]])[0], abs=1e-5)
        assert query @ local_encoder.encode_documents([TEXTS[0]])[0] < 0.999

    def test_instruction_by_stance(self, local_encoder: LocalEncoder) -> None:
        """Each stance has a vector of its own; where none is named, that of all."""
        assert local_encoder.instructs_by_stance
        vectors = {stance: local_encoder.encode_queries([TEXTS[0]], stance)[0] for stance in Stance}
        assert len({vector.tobytes() for vector in vectors.values()}) == len(Stance)
        assert local_encoder.encode_queries([TEXTS[0]])[0].tobytes() == vectors[Stance.ALL].tobytes()

    def test_instructions_of_the_model(self, model_directory: Path, tmp_path: Path) -> None:
        """Instructions that stand in the directory, as in a tuned one's, come before those that are built in."""
        copy = tmp_path / "tuned"
        shutil.copytree(model_directory, copy)
        settings = copy / "config_sentence_transformers.json"
        fields = json.loads(settings.read_text())
        fields["prompts"] |= {"refuted": "Against: "}
        settings.write_text(json.dumps(fields))
        encoder = LocalEncoder(copy)
        for stance, instruction in {**INSTRUCTIONS, Stance.REFUTED: "Against: "}.items():
            expected = encoder.encode_documents([instruction + TEXTS[0]])
            assert encoder.encode_queries([TEXTS[0]], stance) == pytest.approx(expected, abs=1e-5)

    def test_one_prompt_where_the_mean_is_pooled(self, tmp_path: Path) -> None:
        """A model that pools otherwise puts the words that it wants before every query, whatever the stance."""
        path = make_bert(tmp_path, ["police", "contract"])
        settings = path / "config_sentence_transformers.json"
        settings.write_text(json.dumps(json.loads(settings.read_text()) | {"prompts": {"query": "police: "}}))
        encoder = LocalEncoder(path)
        assert not encoder.instructs_by_stance
        expected = encoder.encode_documents([f"police: {text}" for text in TEXTS])
        for stance in Stance:
            assert encoder.encode_queries(TEXTS, stance) == pytest.approx(expected, abs=1e-5)

    def test_as_the_library_encodes(self, local_encoder: LocalEncoder) -> None:
        """Documents come out as sentence-transformers encodes them."""
        expected = local_encoder._model.encode(TEXTS, prompt="", normalize_embeddings=True)
        assert local_encoder.encode_documents(TEXTS) == pytest.approx(expected, abs=1e-5)

    def test_progress(self, local_encoder: LocalEncoder) -> None:
        """Progress is told batch by batch."""
        told: list[int] = []
        local_encoder.encode_documents([TEXTS[1]] * (BATCH + 3), told.append)
        assert told == [BATCH, 3]

    def test_no_text(self, local_encoder: LocalEncoder) -> None:
        """No texts give no vectors, of the right length."""
        assert local_encoder.encode_documents([]).shape == local_encoder.encode_queries([]).shape == (0, 32)

    def test_queries_do_not_depend_on_their_company(self, local_encoder: LocalEncoder) -> None:
        """A query's vector is the same bits alone, among others, and in another place among them."""
        together = local_encoder.encode_queries(TEXTS)
        assert together.dtype == np.float32
        alone = [local_encoder.encode_queries([text])[0].tobytes() for text in TEXTS]
        assert [vector.tobytes() for vector in together] == alone
        assert local_encoder.encode_queries(TEXTS[::-1])[::-1].tobytes() == together.tobytes()

    def test_lost_end_token(self, local_encoder: LocalEncoder, change_tokenizer: Callable[..., Path]) -> None:
        """A tokenizer that lost its post-processor gets the end token all the same: the vectors are equal."""
        repaired = LocalEncoder(change_tokenizer(post_processor=None))
        long = "A text that is cut. " * MAX_TOKENS
        for text in (*TEXTS, long):
            for encoder in (local_encoder, repaired):
                tokenizer = encoder._model.tokenizer
                ids = tokenizer(text, truncation=True, max_length=MAX_TOKENS)["input_ids"]
                assert ids.index(tokenizer.vocab[END]) == len(ids) - 1
                assert len(ids) <= MAX_TOKENS
        texts = [*TEXTS, long]
        assert repaired.encode_documents(texts) == pytest.approx(local_encoder.encode_documents(texts), abs=1e-5)
        assert repaired.encode_queries(TEXTS) == pytest.approx(local_encoder.encode_queries(TEXTS), abs=1e-5)

    def test_other_end_token(self, change_tokenizer: Callable[..., Path]) -> None:
        """A tokenizer that ends a text with another token is refused."""
        other: dict[str, Any] = {"type": "TemplateProcessing", "pair": []}
        token = {"id": "<|im_end|>", "ids": [1], "tokens": ["<|im_end|>"]}
        other["special_tokens"] = {"<|im_end|>": token}
        other["single"] = [
            {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": "<|im_end|>", "type_id": 0}},
        ]
        with pytest.raises(ModelError, match="ends a text with another token"):
            LocalEncoder(change_tokenizer(post_processor=other))

    def test_fingerprint(self, local_encoder: LocalEncoder, model_directory: Path, tmp_path: Path) -> None:
        """A copy of the model elsewhere is the same one; with another setting it is another."""
        copy = tmp_path / model_directory.name
        shutil.copytree(model_directory, copy)
        assert LocalEncoder(copy).fingerprint == local_encoder.fingerprint
        settings = copy / "config_sentence_transformers.json"
        settings.write_text(json.dumps(json.loads(settings.read_text()) | {"similarity_fn_name": "dot"}))
        assert LocalEncoder(copy).fingerprint != local_encoder.fingerprint

    def test_fingerprint_of_other_weights(
        self, local_encoder: LocalEncoder, model_directory: Path, tmp_path: Path
    ) -> None:
        """Weights of the same size that differ in one byte near their start are another model."""
        copy = tmp_path / model_directory.name
        shutil.copytree(model_directory, copy)
        (weights,) = copy.rglob("model.safetensors")
        raw = bytearray(weights.read_bytes())
        raw[8 + int.from_bytes(raw[:8], "little")] ^= 1  # the first byte after the header: of a weight
        weights.write_bytes(raw)
        assert LocalEncoder(copy).fingerprint != local_encoder.fingerprint

    def test_truncated_weights(self, model_directory: Path, tmp_path: Path) -> None:
        """A directory with a broken file is one clear error."""
        copy = tmp_path / "broken"
        shutil.copytree(model_directory, copy)
        (weights,) = copy.rglob("model.safetensors")
        weights.write_bytes(weights.read_bytes()[:100])
        with pytest.raises(ModelError, match="broken does not load") as caught:
            LocalEncoder(copy)
        assert "\n" not in str(caught.value)


def test_fingerprint_of_large_files(tmp_path: Path) -> None:
    """Of a file too large to be read whole, a byte near the start or in a block further on makes another model."""
    path = tmp_path / "model"
    path.mkdir()
    (path / "modules.json").write_text("[]")
    raw = bytearray(range(256)) * (SAMPLES * SAMPLE_BYTES // 128)  # twice what is read
    fingerprints = set()
    for place in (None, 0, 100, SAMPLE_BYTES - 1, len(raw) // SAMPLES, len(raw) - len(raw) // SAMPLES):
        changed = raw.copy()
        if place is not None:
            changed[place] ^= 1
        (path / "model.safetensors").write_bytes(changed)
        fingerprints.add(fingerprint_directory(path))
    (path / "model.safetensors").write_bytes(raw + b"\0")
    fingerprints.add(fingerprint_directory(path))
    assert len(fingerprints) == 7
    (path / "model.safetensors").write_bytes(raw)
    assert fingerprint_directory(path) in fingerprints


@pytest.mark.parametrize("name", ["absent", ".", ""])
def test_foreign_directory(tmp_path: Path, name: str) -> None:
    """A path where no model is, is refused before any library is loaded."""
    with pytest.raises(ModelError, match=r"holds no modules\.json"):
        load_encoder(str(tmp_path / name))


def test_library_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library a model directory is an error that names the command that installs it."""
    (tmp_path / "modules.json").write_text("[]")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sicetnon\[train\]'"):
        load_encoder(str(tmp_path))
