"""How a document's score comes about, and what a search looked at to rank it or not: the records of `explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sicetnon.sparse.budget import Budget, Chosen
from sicetnon.sparse.planning import SegmentQuery


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one query term adds to a document's score."""

    term: str
    document_frequency: int
    frequency: float
    impact: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a search looked at, in the segment that a document is in.

    method: "plain", every posting of the query's terms was added up; "pruned", only those of `added` terms were, and
    the `left` terms were looked up for the documents that could still be among the best; "budget", the same for the
    documents that were best by the added terms. considered: how many documents were looked at by all terms; under
    "budget" in whole numbers at first, by which those that come behind were dropped. bound: under "pruned", no allowed
    document that was not considered reaches that score, and as many as were asked for do. is_considered: whether this
    document was among them. is_scored: whether it was scored exactly. is_allowed: whether the search's filter lets it
    through.
    """

    method: Literal["plain", "pruned", "budget"]
    added: tuple[str, ...]
    left: tuple[str, ...]
    considered: int
    bound: float | None
    is_considered: bool
    is_scored: bool
    is_allowed: bool = True

    def __str__(self) -> str:
        """Say it in a sentence."""
        if not self.is_allowed:
            return "The filter does not let this document through."
        if self.method == "plain":
            return "Every posting of the query's terms was added up: nothing was left out."
        terms = f"{len(self.added)} of {len(self.added) + len(self.left)} terms were added up for all documents"
        if self.method == "pruned":
            looked = f"{self.considered:,} could still reach {self.bound:.6g}, as many as were asked for do"
            dropped = "this document could not, even with every term that is left"
        else:
            looked = f"the {self.considered:,} best by them were considered"
            dropped = "this document is not one of them, and was not looked at further"
        if self.is_scored:
            end = "this document is one of them"
        else:
            end = "this document is one of them, and came behind by all terms" if self.is_considered else dropped
        return f"{terms}, and {looked}; {end}."


@dataclass(frozen=True, slots=True)
class Explanation:
    """A document's score for a query as the sum of the contributions, in the order they are added.

    evaluation: what the search looked at.
    """

    doc_id: str
    score: float
    contributions: tuple[Contribution, ...]
    evaluation: Evaluation


def explain_document(
    parts: Sequence[SegmentQuery], doc_id: str, ordinal: int, *, k: int, budget: Budget | None
) -> Explanation:
    """Explain the document of an ordinal by the query of each segment."""
    part = next(p for p in parts if p.first <= ordinal < p.first + p.segment.document_count)
    segment, local = part.segment, ordinal - part.first
    contributions = []
    score = 0.0
    for row, weight in zip(part.rows.tolist(), part.weights, strict=True):
        place = segment.find_posting(row, local)
        if place < 0:
            continue
        impact = segment.weigh_postings(slice(place, place + 1), weight, part.scoring, part.statistics).item()
        frequency = 1 if segment.frequencies is None else segment.frequencies[place].item()
        term = segment.terms[row]
        contributions.append(Contribution(term, _count_documents(parts, term), frequency, impact))
        score += impact
    return Explanation(doc_id, score, tuple(contributions), _evaluate(part, local, k=k, budget=budget))


def _count_documents(parts: Sequence[SegmentQuery], term: str) -> int:
    count = 0
    for segment in (part.segment for part in parts):
        (row,) = segment.terms.find_rows([term])
        if row >= 0:
            count += segment.count_documents(np.array([row])).item()
    return count


def _evaluate(part: SegmentQuery, local: int, *, k: int, budget: Budget | None) -> Evaluation:
    """Return what a search looks at in a segment, and whether one of its documents is among that."""
    is_allowed = part.allowed is None or bool(part.allowed[local])
    found = part.find(k=k, budget=budget)

    def name(rows: NDArray[np.intp]) -> tuple[str, ...]:
        return tuple(part.segment.terms[row] for row in rows.tolist())

    if found is None:
        return Evaluation(
            "plain", name(part.rows), (), part.segment.document_count, None, is_allowed, is_allowed, is_allowed
        )
    is_scored = bool((found.ordinals == local).any())
    if isinstance(found, Chosen):
        considered, bound = found.candidates, None
    else:
        considered, bound = found.ordinals, found.bound
    return Evaluation(
        "pruned" if bound is not None else "budget",
        added=name(found.added),
        left=name(found.left),
        considered=len(considered),
        bound=bound,
        is_considered=bool((considered == local).any()),
        is_scored=is_scored,
        is_allowed=is_allowed,
    )
