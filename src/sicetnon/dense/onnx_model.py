"""A BERT-like model in ONNX with its tokenizer, on onnxruntime, on the CPU, offline: texts or pairs -> its output."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sicetnon.errors import ModelError

MAX_TOKENS = 256  # longest input all-MiniLM-L6-v2 was trained for
REMEDY = "copy or make the model again"
Ints = npt.NDArray[np.int64]


class OnnxModel:
    """A model with the inputs input_ids, attention_mask and token_type_ids, of whose outputs one is wanted."""

    def __init__(
        self, model: bytes, tokenizer: str, *, name: str, output: str, max_tokens: int | None = MAX_TOKENS
    ) -> None:
        """Load a model's ONNX bytes and the JSON of its tokenizer.

        ``max_tokens`` is where an input is cut, of a pair the longer text; None: where the tokenizer says.

        Raises:
            ModelError: one of the two does not load, or the model has no such output.
        """
        # Left alone, onnxruntime writes an ID of this machine and a store of events to report into the user's cache.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        import onnxruntime
        import tokenizers

        options = onnxruntime.SessionOptions()
        options.inter_op_num_threads = 1
        # A thread that spins while it waits takes the core from the one it waits for, where others use the machine too.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 4  # an error is raised; that the runtime prints it too is not for our user
        try:
            # Falling back, from the CPU to the CPU, would be told on standard output.
            self._session = onnxruntime.InferenceSession(
                model, options, providers=["CPUExecutionProvider"], enable_fallback=0
            )
            self._tokenizer = tokenizers.Tokenizer.from_str(tokenizer)
        except Exception as error:  # both raise their own, some of them plain Exception
            raise ModelError(
                f'the model "{name}" does not load ({_say(error)})',
                expected="an ONNX model and the JSON of its tokenizer",
                remedy=REMEDY,
            ) from error
        if output not in (found := [each.name for each in self._session.get_outputs()]):
            raise ModelError(f'the model "{name}" has the outputs {", ".join(found)}', expected=output, remedy=REMEDY)
        self._name, self._output = name, output
        self._tokenizer.no_padding()
        own = (self._tokenizer.truncation or {}).get("max_length", MAX_TOKENS)
        self._tokenizer.enable_truncation(max_tokens or own)

    @property
    def width(self) -> int:
        """The last dimension of the output."""
        return int(next(each.shape[-1] for each in self._session.get_outputs() if each.name == self._output))

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """The token IDs of each text, none longer than the limit."""
        return [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]

    def run(self, ids: Ints, mask: Ints) -> npt.NDArray[np.float32]:
        """The output for a batch of texts; ``ids`` and ``mask`` int64 [texts, tokens]."""
        return self._run(ids, mask, np.zeros_like(ids))

    def run_pair(self, first: str, second: str) -> npt.NDArray[np.float32]:
        """The output for a pair of texts."""
        encoding: Any = self._tokenizer.encode(first, second)
        ids, mask, kinds = (
            np.array([values], np.int64) for values in (encoding.ids, encoding.attention_mask, encoding.type_ids)
        )
        return self._run(ids, mask, kinds)

    def _run(self, ids: Ints, mask: Ints, kinds: Ints) -> npt.NDArray[np.float32]:
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}
        try:
            output: npt.NDArray[np.float32] = self._session.run([self._output], inputs)[0]
        except Exception as error:  # of altered bytes that load all the same
            raise ModelError(
                f'the model "{self._name}" cannot be run ({_say(error)})',
                expected=f"a model with the inputs {', '.join(inputs)}",
                remedy=REMEDY,
            ) from error
        return output


def _say(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "no message")
