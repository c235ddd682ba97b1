"""Encoders in ONNX on onnxruntime, on the CPU, offline: a BERT-like model and its tokenizer -> vectors.

Mean of the last hidden states over the attention mask, scaled to length 1 (Reimers and Gurevych 2019, "Sentence-BERT",
section 3).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np

from sicetnon.dense.encoder import Progress, Vectors
from sicetnon.errors import ModelError
from sicetnon.types import Stance

MAX_TOKENS = 256  # longest input all-MiniLM-L6-v2 was trained for
BATCH_TOKENS = 2048  # padded tokens a batch: 16 x 256 would peak at 805 MB
MAX_BATCH = 64


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
        # Left alone, onnxruntime writes an ID of this machine and a store of events to report into the user's cache.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        import onnxruntime
        import tokenizers

        self.name = name
        self.fingerprint = fingerprint
        options = onnxruntime.SessionOptions()
        options.inter_op_num_threads = 1
        # A thread that spins while it waits takes the core from the one it waits for, where others use the machine too.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3  # errors only: warnings of the runtime are not for our user
        try:
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            self._tokenizer = tokenizers.Tokenizer.from_str(tokenizer)
        except Exception as error:  # both raise their own, some of them plain Exception
            reason = next(iter(str(error).splitlines()), "no message")
            raise ModelError(
                f'the encoder "{name}" does not load ({reason})',
                expected="an ONNX model and the JSON of its tokenizer",
                remedy="copy or make the model again",
            ) from error
        self.dimensions = int(self._session.get_outputs()[0].shape[-1])
        self._tokenizer.no_padding()
        own = (self._tokenizer.truncation or {}).get("max_length", MAX_TOKENS)
        self._tokenizer.enable_truncation(max_tokens or own)

    def encode_documents(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        return self._encode(texts, progress)

    def encode_queries(self, texts: Sequence[str], stance: Stance = Stance.ALL) -> Vectors:  # noqa: ARG002 - one vector for all
        """One text at a time, which costs little for short ones: a query's vector depends on the query alone."""
        vectors = [self._encode([text]) for text in texts]
        return np.concatenate(vectors) if vectors else np.empty((0, self.dimensions), np.float32)

    def _encode(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        token_ids = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for batch in _batches([len(ids) for ids in token_ids]):
            width = len(token_ids[batch[0]])
            ids = np.zeros((len(batch), width), np.int64)
            mask = np.zeros_like(ids)
            for row, text in enumerate(batch):
                ids[row, : len(token_ids[text])] = token_ids[text]
                mask[row, : len(token_ids[text])] = 1
            inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            hidden = self._session.run(["last_hidden_state"], inputs)[0]  # float32 [batch, width, dimensions]
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
