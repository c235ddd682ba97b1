"""A cross-encoder for relevance: a proposition and what is nearest to it of a document, read together -> a score.

Nogueira and Cho 2019, "Passage re-ranking with BERT", section 3. Beside the nearest passage it reads the nearest of the
propositions known of the document, where there is one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sicetnon.collection import Memory
from sicetnon.dense.encoder import Vectors
from sicetnon.dense.onnx_model import OnnxModel
from sicetnon.errors import ModelError
from sicetnon.relevance.logistic import to_probability
from sicetnon.relevance.signals import Sources

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
FORMAT, REMEDY = 1, "train again with this version"
NAME, SCORE = "reranker", "score"
RERANKED = 10  # candidates of a proposition: about as many as a reader looks at
NONE_KNOWN = -1
SMALLEST = 1e-9  # a probability, as far as its log-odds matter


class Nearest(NamedTuple):
    """What of each document is nearest to a proposition, both int64 [documents].

    ``passages``: rows of the passages; ``propositions``: rows of the memory's vectors, ``NONE_KNOWN`` where none is.
    """

    passages: Ints
    propositions: Ints


class Blend(NamedTuple):
    """The log-odds of being on point, from those that the ranker gives and the cross-encoder's score."""

    ranked: float
    reranked: float
    intercept: float

    def probability(self, probabilities: Floats, scores: Floats) -> Floats:
        """The probabilities of being on point: float64 [n], as the ranker's ``probabilities`` and the ``scores``."""
        odds = self.ranked * self.log_odds(probabilities) + self.reranked * scores + self.intercept
        return to_probability(odds)

    def to_json(self) -> str:
        """What ``from_json`` makes an equal blend of."""
        return json.dumps({"format": FORMAT, **self._asdict()})

    @classmethod
    def from_json(cls, source: str) -> Blend:
        """Read a blend.

        Raises:
            ModelError: it is none, or one of another version.
        """
        try:
            fields = json.loads(source)
            values = [fields[name] for name in cls._fields]
            known = fields["format"] == FORMAT and all(type(value) in (int, float) for value in values)
            blend = cls(*map(float, values)) if known else None
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
            blend = None
        if blend is None or not np.isfinite(blend).all():
            raise ModelError(
                "a blend that cannot be read", expected=f"{', '.join(cls._fields)} in format {FORMAT}", remedy=REMEDY
            )
        return blend

    @staticmethod
    def log_odds(probabilities: Floats) -> Floats:
        """The log-odds of probabilities, finite also at 0 and 1."""
        kept = np.clip(probabilities, SMALLEST, 1 - SMALLEST)
        odds: Floats = np.log(kept / (1 - kept))
        return odds


class Reranker:
    """The cross-encoder in ONNX: input_ids, attention_mask, token_type_ids -> ``score`` float32 [pairs, 1]."""

    def __init__(self, model: bytes, tokenizer: str, blend: str) -> None:
        """Load it; ``tokenizer`` and ``blend`` are JSON.

        Raises:
            ModelError: a part does not load.
        """
        self._blend = Blend.from_json(blend)
        self._model = OnnxModel(model, tokenizer, name=NAME, output=SCORE, max_tokens=None)

    def score(self, proposition: str, texts: Sequence[str]) -> Floats:
        """How much each text is on point for the proposition: float64 [len(texts)].

        One pair at a time: what is quantised on the way would else depend on a pair's company.
        """
        scores = [self._model.run_pair(proposition, text) for text in texts]
        if odd := [score.shape for score in scores if score.shape != (1, 1)]:
            raise ModelError(f"a score of shape {odd[0]}", expected="one number for a pair", remedy=REMEDY)
        return np.array(scores, np.float64).reshape(-1)

    def probability(self, probabilities: Floats, proposition: str, texts: Sequence[str]) -> Floats:
        """The probabilities of being on point, float64, from the ranker's and what is read of each document."""
        return self._blend.probability(probabilities, self.score(proposition, texts))


def find_nearest(sources: Sources, vector: Vectors, ordinals: Ints) -> Nearest:
    """What of the documents ``ordinals`` int64 [n] is nearest to the proposition with ``vector`` float32 [d]."""
    ends = np.append(sources.starts[1:], len(sources.passages))
    passages = [
        start + int(np.argmax(sources.passages[start:end] @ vector))
        for start, end in zip(sources.starts[ordinals].tolist(), ends[ordinals].tolist(), strict=True)
    ]
    memory = sources.memory
    known = np.full(len(ordinals), NONE_KNOWN) if memory is None else find_known(memory, vector, ordinals)
    return Nearest(np.array(passages, np.int64), known)


def find_known(memory: Memory, vector: Vectors, ordinals: Ints) -> Ints:
    """The known proposition of each of these documents that is nearest: int64 [n], ``NONE_KNOWN`` where none is."""
    firsts, lasts = (np.searchsorted(memory.documents, ordinals, side=side) for side in ("left", "right"))
    known = np.full(len(ordinals), NONE_KNOWN)
    for place, (first, last) in enumerate(zip(firsts.tolist(), lasts.tolist(), strict=True)):
        if first < last:
            rows = memory.propositions[first:last]
            known[place] = rows[np.argmax(memory.vectors[rows] @ vector)]
    return known


def join_texts(known: str | None, passage: str) -> str:
    """What the cross-encoder reads of a document. The passage comes last: if something is cut, then its end."""
    return f"{known} {passage}" if known else passage
