"""An encoder behind an OpenAI-compatible embeddings endpoint. Every text is sent there: see the README.

A model is known by its name and the length of its vectors alone: who puts another model behind the same name must build
the index, and the cache of answers, again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from sicetnon.dense.encoder import ENDPOINT, Progress, Vectors
from sicetnon.errors import EndpointError
from sicetnon.remote import AnswerCache, Client, Settings, map_parallel, read_settings
from sicetnon.types import Stance

QUERY_PROMPT = "SICETNON_ENDPOINT_QUERY_PROMPT"
BATCH = 32  # texts a call: text-embeddings-inference takes no more unless told to
QUERIES_KEPT = 4_096  # vectors kept in memory
PROBE = "dimensions"  # a text that tells how long vectors are
DOCUMENT, QUERY = "document vector", "query vector"  # float32, little-endian; kept apart, since batches differ


class EndpointEncoder:
    """Asks ``/embeddings``. Used by many threads; a text gets the same vector however often it is encoded."""

    name = ENDPOINT
    instructs_by_stance = False

    def __init__(self, settings: Settings, *, query_prompt: str = "", client: Client | None = None) -> None:
        self._settings = settings
        self._query_prompt = query_prompt
        self._client = client or Client(settings)
        self._cache = AnswerCache(settings)
        self._encode_query = lru_cache(QUERIES_KEPT)(self._find_query)
        self.dimensions = 0  # any, until one is known
        self.dimensions = len(self._find_vectors(QUERY, [PROBE])[PROBE])
        self.fingerprint = f"{ENDPOINT} {settings.model} {self.dimensions}"

    @classmethod
    def from_environment(cls) -> Self:
        """The encoder that the environment names: see ``sicetnon.remote.read_settings``, and ``QUERY_PROMPT``."""
        return cls(read_settings(), query_prompt=os.environ.get(QUERY_PROMPT, ""))

    def encode_documents(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        rows: dict[str, list[int]] = {}
        for row, text in enumerate(texts):
            rows.setdefault(text, []).append(row)
        distinct = list(rows)
        batches = [distinct[start : start + BATCH] for start in range(0, len(distinct), BATCH)]
        for batch, found in zip(batches, map_parallel(self._find_documents, batches), strict=True):
            for text in batch:
                vectors[rows[text]] = found[text]
            if progress:
                progress(sum(len(rows[text]) for text in batch))
        return vectors

    def encode_queries(self, texts: Sequence[str], stance: Stance = Stance.ALL) -> Vectors:  # noqa: ARG002 - one vector for all
        """One text a call: a query's vector depends on the query alone."""
        found = list(map_parallel(self._encode_query, [self._query_prompt + text for text in texts]))
        return np.stack(found) if found else np.empty((0, self.dimensions), np.float32)

    def _find_documents(self, texts: Sequence[str]) -> dict[str, Vectors]:
        return self._find_vectors(DOCUMENT, texts)

    def _find_query(self, text: str) -> Vectors:
        return self._find_vectors(QUERY, [text])[text]

    def _find_vectors(self, kind: str, texts: Sequence[str]) -> dict[str, Vectors]:
        """The vector of each of some distinct texts, from the cache, or in one call for what it lacks."""
        found = {text: self._read_kept(kept) for text, kept in self._cache.read(kind, texts).items()}
        if missing := [text for text in texts if text not in found]:
            answer = self._client.post("embeddings", {"input": missing, "encoding_format": "float"})
            new = dict(zip(missing, self._read_answer(answer, len(missing)), strict=True))
            self._cache.write(kind, {text: vector.astype("<f4").tobytes() for text, vector in new.items()})
            found |= new
        return found

    def _read_kept(self, kept: bytes) -> Vectors:
        vector = np.frombuffer(kept, "<f4") if len(kept) % 4 == 0 else np.empty(0, np.float32)
        if len(vector) != (self.dimensions or len(vector)) or not np.isclose(np.linalg.norm(vector), 1, atol=1e-3):
            expected = self.dimensions or "any"
            self._cache.refuse(f"a vector of {len(vector)} numbers where one of {expected} and of length 1 should be")
        return vector.astype(np.float32)

    def _read_answer(self, answer: dict[str, Any], count: int) -> Vectors:
        """float32 [count, dimensions], rows of length 1 in the order of what was asked."""
        data = answer.get("data")
        if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
            self._fail(
                "an answer without a list of objects under data", expected="embeddings as the OpenAI API gives them"
            )
        if len(data) != count:
            self._fail(f"{len(data)} vectors for {count} texts", expected="one for each")
        try:
            ordered = {item["index"]: np.array(item["embedding"], np.float64) for item in data}
            lengths = {length for vector in ordered.values() for (length,) in [vector.shape]}
        except (KeyError, TypeError, ValueError, OverflowError):
            self._fail("an embedding that is no list of numbers, or has no index", expected="both")
        if set(ordered) != set(range(count)):
            self._fail("the index of some texts twice, and of others not", expected=f"each from 0 to {count - 1}")
        if lengths != {self.dimensions or max(lengths)} or lengths == {0}:
            found = ", ".join(map(str, sorted(lengths)))
            self._fail(f"vectors of {found} numbers", expected=f"{self.dimensions or 'some'} in each")
        vectors: npt.NDArray[np.float64] = np.stack([ordered[row] for row in range(count)])
        if not np.isfinite(vectors).all():
            self._fail("a vector with a number that is not finite", expected="finite numbers")
        vectors /= np.maximum(np.abs(vectors).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not norms.all():
            self._fail("a vector of zeros", expected="a direction")
        units: Vectors = (vectors / norms).astype(np.float32)
        return units

    def _fail(self, found: str, *, expected: str) -> NoReturn:
        raise EndpointError(
            f'from the endpoint "{self._settings.model}" at {self._settings.url}: {found}',
            expected=expected,
            remedy="check that the model is an embedding model and still the same",
        )
