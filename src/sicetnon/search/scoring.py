"""A candidate that was judged -> a hit with its score; the best of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

from sicetnon.stance import Verdict
from sicetnon.types import Document, Evidence, Hit, Query, SideProbabilities, Span, Stance

DECIMALS = 9  # of a score: below that lies rounding


def score_candidate(relevance: float, sides: SideProbabilities | None, stance: Stance, weight: float) -> float:
    """The probability of being on point times that of the asked side to the power ``weight``.

    ``sides`` None: the side is not known, and does not count.
    """
    if sides is None or stance is Stance.ALL:
        return round(relevance, DECIMALS)
    asked = sides.supports if stance is Stance.SUPPORTED else sides.refutes
    return round(relevance * math.pow(asked, weight), DECIMALS)


def make_hit(
    query: Query,
    document: Document,
    relevance: float,
    verdict: Verdict,
    spans: Sequence[Span],
    *,
    signals: Mapping[str, float],
) -> Hit:
    """The document as a hit, with the score it has where every side is asked for; ``spans`` are its sentences."""
    passage = spans[verdict.passage]
    whole = Span(passage[0].start, passage[-1].end)
    treatment = document.treatment
    known = treatment is not None and treatment.date <= (query.as_of or date.max)
    return Hit(
        document=document,
        score=score_candidate(relevance, None, Stance.ALL, 0),
        relevance=relevance,
        sides=verdict.sides,
        evidence=Evidence(passage=whole, sentence=spans[verdict.sentence], text=whole.of(document.text)),
        treatment=treatment if known else None,
        signals=signals,
    )


def score_hit(hit: Hit, stance: Stance, weight: float) -> Hit:
    """The hit with the score it has where ``stance`` is asked for."""
    return replace(hit, score=score_candidate(hit.relevance, hit.sides, stance, weight))


def best_hits(hits: Sequence[Hit], stance: Stance, top_k: int, weight: float) -> tuple[Hit, ...]:
    """The best hits where ``stance`` is asked for, equal scores by ascending document ID."""
    scored = [score_hit(hit, stance, weight) for hit in hits]
    return tuple(sorted(scored, key=lambda hit: (-hit.score, hit.document.doc_id))[:top_k])
