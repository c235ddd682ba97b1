"""Whether a local encoder may be used for a corpus: it must be there, load, and be fast enough on this machine.

For whoever has a time limit and does not know whether there is a GPU. Timed on a sample; says why either way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sicetnon.dense.encoder import Encoder, Vectors, load_encoder
from sicetnon.errors import SicetnonError

BUILD_SECONDS = 2_700  # of the hour that a build may take; the rest is for all else and for a slower moment
QUERY_SECONDS = 14  # of the twenty that a batch may take, start-up included
BATCH_QUERIES = 311
SAMPLE_TEXTS = 16
SAMPLE_CHARACTERS = 700  # about a passage
QUERY_CHARACTERS = 160
READINGS = 2  # every text is encoded twice: as passages and as sentences
TEXTS_A_QUERY = 2  # the proposition and its denial; with an instruction by stance the proposition twice


@dataclass(frozen=True, slots=True)
class Trial:
    """The encoder if it may be used, else None; and why."""

    encoder: Encoder | None
    reason: str


def hold_trial(path: Path, texts: Sequence[str]) -> Trial:
    """Load the encoder at ``path`` and time it on a sample of ``texts``, which are those of the corpus."""
    if not path.is_dir():
        return Trial(None, f"no local encoder at {path}; the embedded one is used")
    started = time.perf_counter()
    try:
        encoder = load_encoder(str(path))
    except SicetnonError as error:
        return Trial(None, f"the local encoder cannot be used ({error}); the embedded one is used")
    loading = time.perf_counter() - started
    step = max(1, len(texts) // SAMPLE_TEXTS)
    sample = [text[:SAMPLE_CHARACTERS] for text in texts[::step][:SAMPLE_TEXTS]]
    encoder.encode_documents(sample[:1])  # the first call readies the device
    characters = sum(map(len, texts))
    building = READINGS * characters / sum(map(len, sample)) * _time(encoder.encode_documents, sample)
    asking = [text[:QUERY_CHARACTERS] for text in sample]
    texts_a_query = TEXTS_A_QUERY + encoder.instructs_by_stance
    answering = loading + texts_a_query * BATCH_QUERIES / len(asking) * _time(encoder.encode_queries, asking)
    figures = f"about {building:,.0f} s for the corpus and {answering:,.1f} s for a batch of {BATCH_QUERIES} queries"
    if building > BUILD_SECONDS or answering > QUERY_SECONDS:
        limits = f"{BUILD_SECONDS:,} s and {QUERY_SECONDS} s"
        return Trial(None, f"{path} would need {figures}, over {limits}; the embedded encoder is used")
    return Trial(encoder, f"{path} is used: {figures}")


def _time(encode: Callable[[Sequence[str]], Vectors], texts: Sequence[str]) -> float:
    started = time.perf_counter()
    encode(texts)
    return time.perf_counter() - started
