"""A cross-encoder whose weights are open to training: how pairs are read, what is tuned, and the model in ONNX."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import make_bert, needs_exact_torch

from sicetnon.dense.onnx_model import OnnxModel
from sicetnon.relevance import Reranker
from sicetnon.relevance.reranker import SCORE, Blend
from sicetnon.train.checkpoint import Checkpoint
from sicetnon.train.cross_encoder import PAIRS_AT_ONCE, TunableCrossEncoder
from sicetnon.train.export import export_cross_encoder
from sicetnon.train.optimizing import optimize
from sicetnon.train.tunable import TunableEncoder

pytestmark = needs_exact_torch

FIGURES, OUTPUTS, MAX_TOKENS = "figures", 3, 128
random.seed(5)
WORDS = ["phone", "police", "may", "not", "search", "court", "Zebra's", "1984", "§"]
TEXTS = ["a", "the police may search a phone.", *(" ".join(random.choices(WORDS, k=k)) for k in (3, 20, 9, 30, 5, 1))]
TOO_LONG = " ".join(["police car"] * 200)
PAIRS = [(first, second) for first in TEXTS for second in [*TEXTS, TOO_LONG]]


def make(encoder: TunableEncoder, *, outputs: int = 2, seed: int = 0, **options: Any) -> TunableCrossEncoder:
    """Make a cross-encoder that was not tuned."""
    return TunableCrossEncoder(encoder, outputs=outputs, seed=seed, **options)


def copy_all(model: TunableCrossEncoder) -> dict[str, np.ndarray]:
    """All weights by name, those that are not tuned too."""
    parts = {"bert": model.bert, "head": model.head}
    return {
        f"{part}.{name}": weight.detach().numpy().copy()
        for part, module in parts.items()
        for name, weight in module.named_parameters()
    }


def same(one: TunableCrossEncoder, two: TunableCrossEncoder) -> bool:
    """Whether two have the same weights, bit by bit."""
    other = copy_all(two)
    return all(np.array_equal(weight, other[name]) for name, weight in copy_all(one).items())


class TestReading:
    """Pairs, before anything is tuned."""

    @pytest.mark.parametrize("outputs", [1, 3])
    def test_order_and_company(self, bert: Path, outputs: int) -> None:
        """Figures come in the order of the pairs, more of them than fit at once, and are the same alone."""
        model = make(TunableEncoder(bert), outputs=outputs)
        assert len(PAIRS) > PAIRS_AT_ONCE
        figures = model.score(PAIRS)
        assert figures.dtype == np.float64
        assert figures.shape == (len(PAIRS), outputs)
        alone = np.concatenate([model.score([pair]) for pair in PAIRS])
        assert figures == pytest.approx(alone, abs=1e-6)
        assert (figures.std(axis=0) > 1e-4).all()
        assert model.rate(PAIRS[:3]).detach().numpy() == pytest.approx(figures[:3], abs=1e-6)

    def test_texts_of_a_pair_are_told_apart(self, bert: Path) -> None:
        """The two texts of a pair do not change places without a change of the figures."""
        model = make(TunableEncoder(bert))
        one, other = "the court held", "the police may"
        assert abs(model.score([(one, other)]) - model.score([(other, one)])).max() > 1e-6

    def test_where_pairs_are_cut(self, bert: Path) -> None:
        """The longer text of a pair is cut, where the encoder cuts a text or where it is told to."""
        encoder = TunableEncoder(bert)
        for model, most in ((make(encoder), encoder.max_tokens), (make(encoder, max_tokens=12), 12)):
            kept = most - 3 - 1  # beside three marks and the other text's word
            for end in ("", " car", " car" * 40):
                pairs = [("phone", "police " * kept + end), ("police " * kept + end, "phone")]
                assert (
                    model.score(pairs).tolist()
                    == model.score([(a[: 7 * kept], b[: 7 * kept]) for a, b in pairs]).tolist()
                )
            shorter = [("phone", "police " * (kept - 1))]
            assert abs(model.score(shorter) - model.score([("phone", "police " * kept)])).max() > 1e-7

    @pytest.mark.parametrize(("layers", "kept"), [(1, 1), (2, 2), (6, 2), (None, 2)])
    def test_first_layers(self, bert: Path, layers: int | None, kept: int) -> None:
        """So many layers are kept of the encoder, which keeps all of its own; all where no number is given."""
        encoder = TunableEncoder(bert)
        vectors = encoder.encode_documents(["the court held"])
        model = make(encoder, layers=layers)
        assert len(model.bert.encoder.layer) == kept
        assert len(encoder.transformer.encoder.layer) == 2
        assert (model.score(PAIRS) == make(encoder).score(PAIRS)).all() == (kept == 2)
        assert encoder.encode_documents(["the court held"]).tobytes() == vectors.tobytes()

    def test_head_is_drawn_by_the_seed(self, bert: Path) -> None:
        """The same seed begins with the same head, another with another; the rest is the encoder's."""
        encoder = TunableEncoder(bert)
        one, again, other = (make(encoder, seed=seed) for seed in (0, 0, 1))
        assert same(one, again)
        different = {
            name for name, weight in copy_all(one).items() if not np.array_equal(weight, copy_all(other)[name])
        }
        assert different == {"head.weight"}
        assert not copy_all(one)["head.bias"].any()


class TestTuning:
    """What is open to training, and what is not."""

    def test_weights_round_trip(self, bert: Path) -> None:
        """Weights go into another one bit by bit."""
        encoder = TunableEncoder(bert)
        one, other = (make(encoder, seed=seed) for seed in (0, 1))
        other.load_weights({name: parameter.detach().clone() for name, parameter in one.parameters})
        assert same(one, other)

    @pytest.mark.parametrize("frozen", [False, True])
    def test_frozen_embeddings_stay(self, bert: Path, *, frozen: bool) -> None:
        """Tuning moves every matrix, but the embeddings only where they are not frozen; the encoder stays as it is."""
        import torch

        encoder = TunableEncoder(bert)
        own = {name: weight.numpy().copy() for name, weight in encoder.weights.items()}
        model = make(encoder, frozen=frozen)
        before = copy_all(model)
        named = {name for name, _ in model.parameters}
        embeddings = {name for name in before if name.startswith("bert.embeddings.")}
        assert embeddings
        assert named == (set(before) - embeddings if frozen else set(before))
        optimize(
            model,
            lambda _step: torch.nn.functional.cross_entropy(model.rate(PAIRS[:4]), torch.tensor([0, 1, 0, 1])),
            3,
            learning_rate=1e-2,
            checkpoint=Checkpoint(None),
            progress=lambda _done, _total: None,
        )
        moved = {name for name, weight in copy_all(model).items() if not np.array_equal(weight, before[name])}
        assert "bert.encoder.layer.0.attention.self.query.weight" in moved
        assert "head.weight" in moved
        assert bool(moved & embeddings) != frozen
        assert moved <= named
        assert all(np.array_equal(weight.numpy(), own[name]) for name, weight in encoder.weights.items())

    def test_frozen_ones_read_alike(self, bert: Path) -> None:
        """Whether embeddings are frozen changes nothing of the figures."""
        encoder = TunableEncoder(bert)
        assert (make(encoder, frozen=True).score(PAIRS) == make(encoder).score(PAIRS)).all()


class TestOnnx:
    """A cross-encoder that is written as ONNX, in int8."""

    @pytest.fixture(scope="class")
    def encoder(self, tmp_path_factory: pytest.TempPathFactory) -> TunableEncoder:
        """Make a BERT for longer texts."""
        path = make_bert(tmp_path_factory.mktemp("bert"), WORDS, most_tokens=MAX_TOKENS)
        return TunableEncoder(path)

    def spread(self, model: TunableCrossEncoder) -> TunableCrossEncoder:
        """Have random weights of a size that training leads to."""
        import torch

        chance = np.random.default_rng(2)
        with torch.no_grad():
            for module in (model.bert, model.head):
                for _, parameter in module.named_parameters():
                    if parameter.ndim > 1:
                        drawn = chance.normal(scale=1 / np.sqrt(parameter.shape[-1]), size=parameter.shape)
                        parameter.copy_(parameter.new_tensor(drawn))
        return model

    @pytest.fixture(scope="class")
    def tuned(self, encoder: TunableEncoder) -> TunableCrossEncoder:
        """A cross-encoder of several figures, whose embeddings are frozen."""
        return self.spread(make(encoder, outputs=OUTPUTS, max_tokens=MAX_TOKENS, frozen=True))

    def test_several_figures(self, encoder: TunableEncoder, tuned: TunableCrossEncoder) -> None:
        """The figures are near torch's, also of a pair that is cut."""
        model = OnnxModel(
            export_cross_encoder(tuned, FIGURES),
            encoder.tokenizer_json,
            name="x",
            output=FIGURES,
            max_tokens=MAX_TOKENS,
        )
        figures, expected = np.concatenate([model.run_pair(*pair) for pair in PAIRS]), tuned.score(PAIRS)
        assert figures.shape == expected.shape == (len(PAIRS), OUTPUTS)
        for each in range(OUTPUTS):
            self.check(figures[:, each], expected[:, each])

    def test_scores_of_a_reranker(self, encoder: TunableEncoder) -> None:
        """A reranker's scores are near torch's too, and those of a pair alone are those among others."""
        tuned = self.spread(make(encoder, outputs=1, layers=1))
        blend = Blend(1.0, 1.0, 0.0).to_json()
        reranker = Reranker(export_cross_encoder(tuned, SCORE), encoder.tokenizer_json, blend)
        scores = np.array([reranker.score(first, [second])[0] for first, second in PAIRS])
        self.check(scores, tuned.score(PAIRS)[:, 0])
        together = reranker.score(TEXTS[1], TEXTS)
        assert together.tolist() == [reranker.score(TEXTS[1], [text])[0] for text in TEXTS]

    def check(self, found: np.ndarray, expected: np.ndarray) -> None:
        """See that figures are those of torch but for what int8 leaves out, and order pairs nearly as those do."""
        assert expected.std() > 0.1
        assert np.corrcoef(found, expected)[0, 1] > 0.99
        assert np.abs(found - expected).max() < 0.3 * expected.std()

    def test_small(self, tuned: TunableCrossEncoder) -> None:
        """Matrices and embeddings are int8: the model is about a quarter of its weights in float32."""
        import onnx

        model = onnx.load_from_string(export_cross_encoder(tuned, FIGURES))
        sizes: Counter[int] = Counter()
        for each in model.graph.initializer:
            sizes[each.data_type] += int(np.prod(each.dims))
        weights = sum(weight.size for weight in copy_all(tuned).values())
        small = sizes[onnx.TensorProto.INT8] + sizes[onnx.TensorProto.UINT8]
        assert small > 0.9 * weights
        assert sizes[onnx.TensorProto.FLOAT] < 0.1 * weights

    def test_same_weights_same_bytes(self, tuned: TunableCrossEncoder) -> None:
        """Two exports of the same weights are the same bytes."""
        assert export_cross_encoder(tuned, FIGURES) == export_cross_encoder(tuned, FIGURES)

    def test_nothing_is_said(
        self, tuned: TunableCrossEncoder, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """No library tells our user what it thinks of the way that the model is made."""
        export_cross_encoder(tuned, FIGURES)
        assert caplog.records == []
        assert capfd.readouterr() == ("", "")
