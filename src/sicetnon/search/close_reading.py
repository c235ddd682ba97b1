"""One document of an index and a proposition -> what each of its passages says by itself."""

from __future__ import annotations

import numpy as np

from sicetnon.collection import Collection
from sicetnon.stance import Claim, Reading, StanceJudge
from sicetnon.types import Evidence, PassageReading, Span


def read_passages(
    collection: Collection, judge: StanceJudge, claim: Claim, ordinal: int, text: str
) -> tuple[PassageReading, ...]:
    """The passages of the document, whose text is ``text``, in their order, each read as if it stood alone."""
    sentences, rows = collection.sentences.spans(ordinal), collection.sentences.rows(ordinal)
    vectors = collection.sentences.vectors[rows]
    # Every sentence lies in exactly one passage, and each passage begins with a sentence.
    starts = [passage.start for passage in collection.passages.spans(ordinal)]
    firsts = np.searchsorted([sentence.start for sentence in sentences], starts).tolist()
    parts = [slice(first, end) for first, end in zip(firsts, [*firsts[1:], len(sentences)], strict=True)]
    readings = [Reading([span.of(text) for span in sentences[part]], vectors[part]) for part in parts]
    passages = []
    for part, verdict in zip(parts, judge.judge_all(claim, readings), strict=True):
        own = sentences[part]
        whole = Span(own[0].start, own[-1].end)
        evidence = Evidence(passage=whole, sentence=own[verdict.sentence], text=whole.of(text))
        passages.append(PassageReading(evidence=evidence, sides=verdict.sides))
    return tuple(passages)
