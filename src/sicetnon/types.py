"""The records that travel between the rooms. Frozen; they know no file, no index and no model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import TypeAlias

MIN_RELEVANCE = 0.1  # of what is shown to people; a results file leaves nothing out
Progress: TypeAlias = "Callable[[str, int, int], None]"
"""Called with the name of the step, how much of it is done, and how much it has in all (0 while unknown)."""
Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


class Stance(StrEnum):
    """What is asked of the documents: those that support the proposition, those that refute it, or all on point."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    ALL = "all"


class Side(StrEnum):
    """What a document says of a proposition."""

    SUPPORTS = "supports"
    REFUTES = "refutes"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Span:
    """Characters ``start`` (included) to ``end`` (excluded) of a document's text."""

    start: int
    end: int

    def of(self, text: str) -> str:
        return text[self.start : self.end]


@dataclass(frozen=True, slots=True, kw_only=True)
class Treatment:
    """What later law did to a decision.

    ``status`` is a phrase such as "overruled" or "superseded by statute", ``by`` the ID of the decision that did it
    (None where an amendment or a statute did), ``by_title`` its name, ``date`` the day it took effect.
    """

    status: str
    by: str | None
    by_title: str
    date: date
    note: str = ""

    def as_row(self) -> dict[str, str | None]:
        """The JSON object of a treatment; ``of_row`` gives an equal one back."""
        return {
            "status": self.status,
            "by": self.by,
            "by_title": self.by_title,
            "date": self.date.isoformat(),
            "note": self.note,
        }

    @classmethod
    def of_row(cls, row: Mapping[str, str]) -> Treatment:
        return cls(
            status=row["status"],
            by=row["by"],
            by_title=row["by_title"],
            date=date.fromisoformat(row["date"]),
            note=row.get("note", ""),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A court document. ``text`` is what every ``Span`` points into; fields that the source lacks are None or empty."""

    doc_id: str
    text: str
    title: str = ""
    citation: str | None = None
    docket: str | None = None
    court: str | None = None
    court_id: str | None = None
    decided: date | None = None
    areas: tuple[str, ...] = ()
    treatment: Treatment | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """One document's side toward a proposition; ``evidence`` is the sentence that carries it, where it was marked."""

    doc_id: str
    side: Side
    evidence: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedProposition:
    """A proposition with the documents whose side toward it is known."""

    proposition_id: str
    proposition: str
    judgments: tuple[Judgment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastSet:
    """Statements on one matter, and claims with the side that each statement takes toward them, in the same order."""

    statements: tuple[str, ...]
    claims: tuple[tuple[str, tuple[Side, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which documents may be returned.

    ``courts`` holds court names or court IDs, ``areas`` areas of law; a document passes by any one of them, and an
    empty tuple allows every one. Letters' case does not count. ``decided_from`` and ``decided_to`` are both included.
    A document without a date never passes a date filter.
    """

    courts: tuple[str, ...] = ()
    areas: tuple[str, ...] = ()
    decided_from: date | None = None
    decided_to: date | None = None

    def __post_init__(self) -> None:
        for name in ("courts", "areas"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))

    @property
    def allow_everything(self) -> bool:
        return not (self.courts or self.areas or self.decided_from or self.decided_to)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is asked.

    ``as_of`` leaves out decisions of a later day or of none, and later treatment with them. ``min_relevance`` leaves
    out documents less likely than that to be on point; at 0 the ranking has ``top_k`` hits wherever the index and the
    filters allow it. ``explain`` asks for the signals of each hit.
    """

    proposition: str
    stance: Stance = Stance.ALL
    top_k: int = 10
    filters: Filters = field(default_factory=Filters)
    as_of: date | None = None
    min_relevance: float = 0.0
    explain: bool = False
    query_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SideProbabilities:
    """Calibrated probabilities of the three sides; they sum to 1."""

    supports: float
    refutes: float
    neither: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The passage that says so. ``passage`` and ``sentence``, within it, point into the document's text."""

    passage: Span
    sentence: Span
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One document found. ``score`` orders the ranking; ``relevance`` is the probability of being on point.

    ``treatment`` is None where none is known by the query's ``as_of`` date. ``signals``, empty unless the query asks
    to explain, says by what the document was found: of each signal, how many standard deviations its value lies above
    the mean of all documents.
    """

    document: Document
    score: float
    relevance: float
    sides: SideProbabilities
    evidence: Evidence
    treatment: Treatment | None
    signals: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageReading:
    """What one passage of a document, by itself, says of a proposition; ``evidence`` names the passage."""

    evidence: Evidence
    sides: SideProbabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentReading:
    """What a document says of a proposition, as a whole (``hit``) and in each of its passages, in their order."""

    hit: Hit
    passages: tuple[PassageReading, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The answer to a query: hits by descending score, equal scores by ascending document ID."""

    query: Query
    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BothSides:
    """The answer on both sides: no document stands in two of the lists.

    ``supports`` and ``refutes`` are ordered by relevance times a power of their side's probability; ``unclear`` holds
    the documents on point whose side cannot be told, by relevance.
    """

    query: Query
    supports: tuple[Hit, ...]
    refutes: tuple[Hit, ...]
    unclear: tuple[Hit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDescription:
    """What an index holds, and what made it.

    ``courts`` and ``areas`` say how many documents are of each, in alphabetical order; ``decided`` is the first and
    the last day of a decision, None where no document has one; ``model`` the fingerprint of the trained model that the
    index was built with, None without one.
    """

    documents: int
    passages: int
    sentences: int
    courts: Mapping[str, int]
    areas: Mapping[str, int]
    decided: tuple[date, date] | None
    encoder: str
    encoder_fingerprint: str
    model: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A labelled query: the documents that are on point for a proposition where ``stance`` is asked for."""

    proposition: str
    stance: Stance
    doc_ids: frozenset[str]
