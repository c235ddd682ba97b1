"""A query -> what the page shows: two columns, and the decisions on point whose side cannot be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sicetnon.search import CANDIDATES, Searcher
from sicetnon.types import Hit, Query, Side, SideProbabilities, Span

UNCLEAR = "unclear"
CLEAR_LEAD = 0.1  # of one side's probability over the other's
PROBABILITY_WORDS = ((0.9, "very likely"), (0.7, "likely"), (0.5, "more likely than not"), (0.0, "perhaps"))
UNDONE = ("overruled", "abrogated", "superseded", "reversed", "vacated")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """At most ``top_k`` hits a list: the sides by score, ``unclear`` by relevance."""

    supports: Sequence[Hit]
    refutes: Sequence[Hit]
    unclear: Sequence[Hit]

    def __bool__(self) -> bool:
        return bool(self.supports or self.refutes or self.unclear)


@dataclass(frozen=True, slots=True)
class Marked:
    """A stretch of text in three parts, the middle one to be marked; parts may be empty."""

    before: str
    marked: str
    after: str


def find_answer(searcher: Searcher, query: Query) -> Answer:
    # All candidates are asked for, which costs no more: hits of no clear side must not take up room in the columns.
    rankings = searcher.search_both(replace(query, top_k=max(CANDIDATES, query.top_k)))
    lists: dict[str, list[Hit]] = {Side.SUPPORTS: [], Side.REFUTES: [], UNCLEAR: []}
    for ranking in rankings:
        for hit in ranking.hits:
            lists[tell_side(hit.sides)].append(hit)
    lists[UNCLEAR].sort(key=lambda hit: (-hit.relevance, hit.document.doc_id))
    return Answer(**{name: hits[: query.top_k] for name, hits in lists.items()})


def tell_side(sides: SideProbabilities) -> str:
    """The side a document takes: it leads the other by ``CLEAR_LEAD`` and is likelier than neither. Else ``UNCLEAR``.

    The probabilities are calibrated, so a smaller lead is next to a coin toss; and where "neither" is likeliest, the
    document bears on the matter without deciding it. Either would mislead in a column.
    """
    lead = sides.supports - sides.refutes
    if abs(lead) < CLEAR_LEAD or sides.neither >= max(sides.supports, sides.refutes):
        return UNCLEAR
    return Side.SUPPORTS if lead > 0 else Side.REFUTES


def mark_sentence(text: str, whole: Span, sentence: Span | None) -> Marked:
    """``whole`` of ``text``, with ``sentence`` marked if it begins there."""
    if sentence is None or not whole.start <= sentence.start < whole.end:
        return Marked(whole.of(text), "", "")
    end = min(sentence.end, whole.end)
    return Marked(text[whole.start : sentence.start], text[sentence.start : end], text[end : whole.end])


def say_probability(probability: float) -> str:
    return next(words for least, words in PROBABILITY_WORDS if probability >= least)


def say_percent(probability: float) -> str:
    """A whole percentage; never 0 or 100, of which no model can be sure."""
    percent = round(probability * 100)
    return "under 1%" if percent < 1 else "over 99%" if percent > 99 else f"{percent}%"  # noqa: PLR2004


def name_tone(status: str) -> str:
    """How a later treatment is coloured: ``undone``, ``partly`` (undone) or ``other``."""
    if not status.lower().startswith(UNDONE):
        return "other"
    return "partly" if "in part" in status.lower() else "undone"
