"""Tuned BERT-like models -> ONNX, for the runtime that needs no torch."""

from __future__ import annotations

import io
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sicetnon.dense.onnx_encoder import HIDDEN
from sicetnon.errors import ModelError
from sicetnon.train.cross_encoder import TunableCrossEncoder, pool
from sicetnon.train.tunable import TunableEncoder

if TYPE_CHECKING:
    from torch import Tensor

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OPSET = 17
PADDING = -1e9  # added to the attention to what is padding


def export_onnx(encoder: TunableEncoder) -> bytes:
    """The model that ``OnnxEncoder`` runs, in float32.

    Raises:
        ModelError: it is not a BERT whose mean over the tokens is taken.
    """
    import torch

    bert: Any = encoder.transformer
    if not encoder.exports:
        raise ModelError(
            f"a {bert.config.model_type} that is to be written as ONNX",
            expected="a BERT with the mean over its tokens",
            remedy="keep it as a sentence-transformers directory",
        )

    class Hidden(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.bert = bert

        def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
            return _hidden_states(self.bert, input_ids, attention_mask, token_type_ids)

    return _export(Hidden(), HIDDEN, axes={0: "texts", 1: "tokens"})


def export_cross_encoder(model: TunableCrossEncoder, output: str) -> bytes:
    """Inputs of pairs -> ``output`` float32 [pairs, outputs]: weights in int8, products quantised on the way."""
    import torch

    class Figures(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.bert, self.head = model.bert, model.head

        def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
            hidden = _hidden_states(self.bert, input_ids, attention_mask, token_type_ids)
            return pool(hidden, attention_mask, self.head)

    return _quantise(_export(Figures(), output, axes={0: "texts"}))


def _hidden_states(bert: Any, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
    """With the mask as the exporter can trace it: the library's own way of making one becomes a constant."""
    embedded = bert.embeddings(input_ids=input_ids, token_type_ids=token_type_ids)
    hidden = (1 - attention_mask[:, None, None, :].float()) * PADDING
    output: Tensor = bert.encoder(embedded, attention_mask=hidden).last_hidden_state
    return output


def _export(module: Any, output: str, *, axes: dict[int, str]) -> bytes:
    import torch

    device = next(module.parameters()).device
    sample = torch.ones(2, 8, dtype=torch.long, device=device)
    model = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter, about itself
        torch.onnx.export(
            module.eval(),
            (sample, sample, torch.zeros_like(sample)),
            model,
            input_names=list(INPUTS),
            output_names=[output],
            dynamic_axes={**{name: {0: "texts", 1: "tokens"} for name in INPUTS}, output: axes},
            opset_version=OPSET,
            dynamo=False,
        )
    return model.getvalue()


def _quantise(model: bytes) -> bytes:
    """Embeddings and matrices in int8; what the matrices are multiplied with is quantised in use."""
    import onnx
    from onnxruntime.quantization import quantize_dynamic
    from onnxruntime.quantization.quant_utils import add_pre_process_metadata

    read = onnx.load_from_string(model)
    add_pre_process_metadata(read)  # else it advises, on standard error, steps that are for models of images
    with tempfile.TemporaryDirectory() as folder:
        whole, small = Path(folder) / "whole.onnx", Path(folder) / "small.onnx"
        onnx.save(read, str(whole))
        quantize_dynamic(whole, small, per_channel=True, op_types_to_quantize=["Gather", "MatMul"])
        return small.read_bytes()
