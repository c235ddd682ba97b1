"""What an encoder is, and how one is chosen by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from sicetnon.types import Stance

Vectors: TypeAlias = npt.NDArray[np.float32]
Progress: TypeAlias = Callable[[int], None]
"""Called with the number of texts encoded since the last call."""

EMBEDDED = "embedded"
OWN = "own"  # an encoder that the index itself holds
ENDPOINT = "endpoint"


class Encoder(Protocol):
    """Texts -> vectors of length 1, so that a dot product is the cosine.

    The last bits of a document's vector may depend on which texts share its batch; a query's depends on it alone.
    """

    @property
    def name(self) -> str:
        """What ``load_encoder`` takes to load this encoder again: "embedded", "endpoint" or a local directory."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the vectors would: an index built by another encoder must not be searched with this one."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    @property
    def instructs_by_stance(self) -> bool:
        """Whether a query's vector depends on the stance that is asked for: a query is encoded for each if so."""

    def encode_documents(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """float32 [len(texts), dimensions], in the order of ``texts``."""

    def encode_queries(self, texts: Sequence[str], stance: Stance = Stance.ALL) -> Vectors:
        """The same for queries, with the model's instruction for the stance where it has one."""


def encode_asked(encoder: Encoder, asked: Sequence[tuple[str, Stance]]) -> Vectors:
    """The vectors of queries, each for the stance beside it: float32 [len(asked), dimensions], in their order."""
    vectors = np.empty((len(asked), encoder.dimensions), np.float32)
    for stance in Stance:
        rows = [row for row, (_, own) in enumerate(asked) if own is stance]
        if rows:
            vectors[rows] = encoder.encode_queries([asked[row][0] for row in rows], stance)
    return vectors


def load_encoder(name: str = EMBEDDED) -> Encoder:
    """The encoder called ``name``: "embedded", or the path of a local sentence-transformers directory.

    "endpoint" is the embeddings endpoint that the environment names; texts are sent there.

    Raises:
        ModelError: the model cannot be loaded or is not what it should be.
        MissingExtra: what the encoder needs is not installed.
        InputError: the environment does not say where the endpoint is.
        EndpointError: the endpoint cannot be used.
    """
    if name == EMBEDDED:
        from sicetnon.dense.embedded import EmbeddedEncoder

        return EmbeddedEncoder()
    if name == ENDPOINT:
        from sicetnon.dense.endpoint import EndpointEncoder

        return EndpointEncoder.from_environment()
    from sicetnon.dense.local import LocalEncoder

    return LocalEncoder(Path(name))


def load_own_encoder(model: bytes, tokenizer: str) -> Encoder:
    """The encoder that an index or a model directory holds: an ONNX model and the JSON of its tokenizer.

    Raises:
        ModelError: one of the two does not load.
    """
    import hashlib

    from sicetnon.dense.onnx_encoder import OnnxEncoder

    digest = hashlib.sha256(model + tokenizer.encode()).hexdigest()
    return OnnxEncoder(model, tokenizer, name=OWN, fingerprint=f"{OWN} {digest[:12]}", max_tokens=None)
