"""Term sets of any number of documents, made up: the same seed gives the same ones, a smaller corpus their beginning.

A document mixes words that anyone uses (term r of the vocabulary with probability about 1 / (r + 20)) with words of two
of its time's 3,000 topics, each of 150 terms. A query takes a dozen terms of one document, some of its topic and some
that anyone uses. Rows are numbers; a term's name is its number.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

VOCABULARY = 30_000
TOPICS, TOPIC_TERMS = 3_000, 150
_BLOCK = 5_000  # documents made at a time, each block from a seed of its own
_WIDTH = 240
_FIRST_TOPIC, _BOTH_TOPICS = 0.4, 0.55  # of a document's words, before repeated ones fall together
_MEAN_LENGTH, _SPREAD = 140, 25
_OWN, _TOPICAL, _COMMON = 12, 22, 18  # of a query's terms, before repeated ones fall together


class SyntheticCorpus:
    """The documents of one seed; `block` makes some of them."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        rng = np.random.default_rng([seed, 0])
        common = 1 / (np.arange(VOCABULARY) + 20.0)
        self._common = np.cumsum(common / common.sum())
        flatter = common**0.5
        self._topics = np.searchsorted(np.cumsum(flatter / flatter.sum()), rng.random((TOPICS, TOPIC_TERMS)))
        self._topics = self._topics.clip(max=VOCABULARY - 1)
        within = 1 / (np.arange(TOPIC_TERMS) + 10.0)
        self._within = np.cumsum(within / within.sum())

    def documents(self, count: int) -> Iterator[NDArray[np.int64]]:
        """Yield the distinct terms of each of the first so many documents."""
        for start in range(0, count, _BLOCK):
            rows, lengths, _ = self._make_block(start // _BLOCK)
            for row, length in zip(rows[: count - start], lengths.tolist(), strict=False):
                yield np.unique(row[:length])

    def queries(self, count: int, documents: int) -> Iterator[list[str]]:
        """Yield the terms of queries, each for one of the first so many documents."""
        rng = np.random.default_rng([self._seed, 1])
        for target in rng.choice(documents, count, replace=False).tolist():
            rows, lengths, topics = self._make_block(target // _BLOCK)
            place = target % _BLOCK
            own = rng.choice(np.unique(rows[place, : lengths[place]]), _OWN, replace=False)
            topical = self._topics[topics[place], np.searchsorted(self._within, rng.random(_TOPICAL)).clip(max=149)]
            common = np.searchsorted(self._common, rng.random(_COMMON)).clip(max=VOCABULARY - 1)
            yield [str(term) for term in np.unique(np.concatenate([own, topical, common])).tolist()]

    def _make_block(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        rng = np.random.default_rng([self._seed, 2, number])
        first, second = rng.integers(0, TOPICS, (2, _BLOCK))
        lengths = rng.normal(_MEAN_LENGTH, _SPREAD, _BLOCK).clip(40, _WIDTH).astype(np.int64)
        kind = rng.random((_BLOCK, _WIDTH))
        place = np.searchsorted(self._within, rng.random((_BLOCK, _WIDTH))).clip(max=TOPIC_TERMS - 1)
        common = np.searchsorted(self._common, rng.random((_BLOCK, _WIDTH))).clip(max=VOCABULARY - 1)
        topical = np.where(
            kind < _FIRST_TOPIC, self._topics[first[:, None], place], self._topics[second[:, None], place]
        )
        return np.where(kind < _BOTH_TOPICS, topical, common), lengths, first
