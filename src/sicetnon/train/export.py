"""A tuned BERT-like encoder -> ONNX, for the runtime that needs no torch."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

from sicetnon.errors import ModelError
from sicetnon.train.tunable import TunableEncoder

if TYPE_CHECKING:
    from torch import Tensor

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT = "last_hidden_state"
OPSET = 17
HIDDEN = -1e9  # added to the attention to what is padding


def export_onnx(encoder: TunableEncoder) -> bytes:
    """The model that ``OnnxEncoder`` runs, in float32.

    Raises:
        ModelError: it is not a BERT whose mean over the tokens is taken.
    """
    import torch

    bert: Any = encoder.transformer
    if bert.config.model_type != "bert" or not encoder.pools_mean:
        raise ModelError(
            f"a {bert.config.model_type} that is to be written as ONNX",
            expected="a BERT with the mean over its tokens",
            remedy="keep it as a sentence-transformers directory",
        )

    class Hidden(torch.nn.Module):  # type: ignore[misc]
        """Takes the mask as the exporter can trace it: the library's own way of making one becomes a constant."""

        def __init__(self) -> None:
            super().__init__()
            self.bert = bert

        def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
            embedded = self.bert.embeddings(input_ids=input_ids, token_type_ids=token_type_ids)
            hidden = (1 - attention_mask[:, None, None, :].float()) * HIDDEN
            output: Tensor = self.bert.encoder(embedded, attention_mask=hidden).last_hidden_state
            return output

    sample = torch.ones(2, 8, dtype=torch.long, device=bert.device)
    model = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter, about itself
        torch.onnx.export(
            Hidden().eval(),
            (sample, sample, torch.zeros_like(sample)),
            model,
            input_names=list(INPUTS),
            output_names=[OUTPUT],
            dynamic_axes={name: {0: "texts", 1: "tokens"} for name in (*INPUTS, OUTPUT)},
            opset_version=OPSET,
            dynamo=False,
        )
    return model.getvalue()
