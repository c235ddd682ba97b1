"""Encoders from a local sentence-transformers directory, such as Qwen3-Embedding-0.6B; on a GPU where there is one.

Nothing is ever downloaded. Qwen3-Embedding (Zhang et al. 2025, "Qwen3 Embedding", section 2) pools the last token,
which must be the end token, so the padding is on the left; the instruction stands before the query only, and tells it
which decisions are asked for: those that support the proposition, those that refute it, or both.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sicetnon.dense.encoder import Progress, Vectors
from sicetnon.errors import MissingExtra, ModelError
from sicetnon.types import Stance

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

INSTRUCTIONS = {
    stance: f"Instruct: Given a legal proposition, retrieve court decisions that {what_they_do} it\nQuery:"
    for stance, what_they_do in (
        (Stance.SUPPORTED, "support"),
        (Stance.REFUTED, "refute"),
        (Stance.ALL, "support or refute"),
    )
}
MAX_TOKENS = 512
BATCH = 32
SAMPLES, SAMPLE_BYTES = 64, 65_536  # of a file, for the fingerprint


class LocalEncoder:
    """A sentence-transformers model from a directory on this machine.

    One that pools the last token has an instruction for each stance in place of its own prompt for queries.
    """

    def __init__(self, path: Path, *, for_training: bool = False) -> None:
        """Load the model at ``path``; ``for_training`` keeps its weights in float32 on a GPU too.

        Raises:
            ModelError: there is none, or it does not load.
            MissingExtra: sentence-transformers is not installed.
        """
        fingerprint = fingerprint_directory(path)
        self._model = _load(path, for_training=for_training)
        self.name = str(path.resolve())
        self.fingerprint = fingerprint
        self.dimensions = int(self._model.get_embedding_dimension() or 0)
        self._model.max_seq_length = min(MAX_TOKENS, self._model.max_seq_length or MAX_TOKENS)
        self._prompts = dict.fromkeys(Stance, str(self._model.prompts.get("query") or ""))
        self.instructs_by_stance = _pools_last_token(self._model)
        if self.instructs_by_stance:
            self._model.tokenizer.padding_side = "left"
            own = self._model.prompts  # a tuned model brings the instructions that it was tuned with
            self._prompts = {stance: own.get(stance) or text for stance, text in INSTRUCTIONS.items()}
            _ensure_end(self._model.tokenizer, path)

    def encode_documents(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        return self._encode(texts, "", progress)

    def encode_queries(self, texts: Sequence[str], stance: Stance = Stance.ALL) -> Vectors:
        """One text at a time: a query's vector depends on the query alone."""
        vectors = [self._encode([text], self._prompts[stance]) for text in texts]
        return np.concatenate(vectors) if vectors else np.empty((0, self.dimensions), np.float32)

    def _encode(self, texts: Sequence[str], prompt: str, progress: Progress | None = None) -> Vectors:
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        order = sorted(range(len(texts)), key=lambda text: (-len(texts[text]), text))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            vectors[batch] = self._model.encode(
                [prompt + texts[text] for text in batch],
                prompt="",  # ours stands in the text already
                batch_size=BATCH,
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
            if progress:
                progress(len(batch))
        return vectors


def _load(path: Path, *, for_training: bool) -> SentenceTransformer:
    try:
        import torch
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtra("sentence-transformers", extra="train", purpose="a local encoder directory") from error
    gpu = torch.cuda.is_available()
    kwargs: dict[str, Any] = {"dtype": torch.bfloat16 if gpu and not for_training else torch.float32}
    if for_training and not gpu:
        kwargs["attn_implementation"] = "eager"  # on the CPU a quarter quicker, forth and back
    try:
        with without_bars():
            return SentenceTransformer(
                str(path),
                device="cuda" if gpu else "cpu",
                local_files_only=True,
                model_kwargs=kwargs,
            )
    except Exception as error:  # whatever the model's files provoke in three libraries
        reason = next(iter(str(error).splitlines()), "no message")
        raise ModelError(
            f"{path} does not load ({type(error).__name__}: {reason})",
            expected="a complete sentence-transformers model directory",
            remedy="copy the model again, with all its files",
        ) from error


@contextmanager
def without_bars() -> Iterator[None]:
    """Keep transformers from drawing bars on standard error within: our own tell of the progress."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _pools_last_token(model: Any) -> bool:
    return any(getattr(module, "pooling_mode", None) == "lasttoken" for module in model)


def _ensure_end(tokenizer: Any, path: Path) -> None:
    """Make the end token the last of every text, also of one that is cut at ``MAX_TOKENS``.

    Some revisions of Qwen3-Embedding's tokenizer lost the post-processor that appends it, which costs a third of the
    quality without an error.
    """
    end = "<|endoftext|>" if "<|endoftext|>" in tokenizer.get_vocab() else tokenizer.eos_token
    if end is None:
        raise ModelError(
            f"the tokenizer of {path} knows no end token",
            expected="<|endoftext|> or an eos_token, since the model pools the last token",
            remedy="copy the model's tokenizer files again",
        )
    end_id = tokenizer.convert_tokens_to_ids(end)
    bare = tokenizer("a proposition", add_special_tokens=False)["input_ids"]
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if tokenizer("a proposition")["input_ids"] == bare and backend is not None:
        from tokenizers.processors import TemplateProcessing

        backend.post_processor = TemplateProcessing(single=f"$A {end}", special_tokens=[(end, end_id)])
    if tokenizer("a proposition")["input_ids"][-1] != end_id:
        raise ModelError(
            f"the tokenizer of {path} ends a text with another token than {end}",
            expected="the end token last, since the model pools the last token",
            remedy="copy the model's tokenizer files again",
        )


def fingerprint_directory(path: Path) -> str:
    """Digest of every file's name and size and of ``SAMPLES`` blocks spread over it, which is all of a small file.

    A gigabyte of weights is not read whole at every start; training moves every block of them.

    Raises:
        ModelError: it is no sentence-transformers model.
    """
    if not (path / "modules.json").is_file():
        raise ModelError(
            f"{path} holds no modules.json",
            expected="a sentence-transformers model directory",
            remedy='name a local model directory, or "embedded" for the one that ships with Sicetnon',
        )
    digest = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        size = file.stat().st_size
        digest.update(json.dumps([str(file.relative_to(path)), size]).encode())
        with file.open("rb") as source:
            for start in range(0, size, max(SAMPLE_BYTES, size // SAMPLES)):
                source.seek(start)
                digest.update(source.read(SAMPLE_BYTES))
    return f"{path.name} {digest.hexdigest()[:12]}"
