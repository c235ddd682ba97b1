"""Encoders in ONNX: texts -> vectors by a BERT-like model.

Mean of the last hidden states over the attention mask, scaled to length 1 (Reimers and Gurevych 2019, "Sentence-BERT",
section 3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sicetnon.dense.encoder import Progress, Vectors
from sicetnon.dense.onnx_model import MAX_TOKENS, OnnxModel
from sicetnon.types import Stance

BATCH_TOKENS = 2048  # padded tokens a batch: 16 x 256 would peak at 805 MB
MAX_BATCH = 64
HIDDEN = "last_hidden_state"


class OnnxEncoder:
    """A model with the inputs input_ids, attention_mask and token_type_ids and the output last_hidden_state."""

    instructs_by_stance = False

    def __init__(
        self, model: bytes, tokenizer: str, *, name: str, fingerprint: str, max_tokens: int | None = MAX_TOKENS
    ) -> None:
        """Load a model's ONNX bytes and the JSON of its tokenizer.

        ``max_tokens`` is where a text is cut; None: where the tokenizer says.

        Raises:
            ModelError: one of the two does not load.
        """
        self.name = name
        self.fingerprint = fingerprint
        self._model = OnnxModel(model, tokenizer, name=name, output=HIDDEN, max_tokens=max_tokens)
        self.dimensions = self._model.width

    def encode_documents(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        return self._encode(texts, progress)

    def encode_queries(self, texts: Sequence[str], stance: Stance = Stance.ALL) -> Vectors:  # noqa: ARG002 - one vector for all
        """One text at a time, which costs little for short ones: a query's vector depends on the query alone."""
        vectors = [self._encode([text]) for text in texts]
        return np.concatenate(vectors) if vectors else np.empty((0, self.dimensions), np.float32)

    def _encode(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        token_ids = self._model.tokenize(texts)
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for batch in _batches([len(ids) for ids in token_ids]):
            width = len(token_ids[batch[0]])
            ids = np.zeros((len(batch), width), np.int64)
            mask = np.zeros_like(ids)
            for row, text in enumerate(batch):
                ids[row, : len(token_ids[text])] = token_ids[text]
                mask[row, : len(token_ids[text])] = 1
            hidden = self._model.run(ids, mask)  # float32 [batch, width, dimensions]
            mean = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
            vectors[batch] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
            if progress:
                progress(len(batch))
        return vectors


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices of texts, longest first, in batches that stay within ``BATCH_TOKENS`` once padded to their longest."""
    order = sorted(range(len(lengths)), key=lambda text: (-lengths[text], text))
    start = 0
    while start < len(order):
        size = max(1, min(MAX_BATCH, BATCH_TOKENS // lengths[order[start]]))
        yield order[start : start + size]
        start += size
