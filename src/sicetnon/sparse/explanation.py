"""How a document's score comes about, and what a search looked at to rank it or not: the records of `explain`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


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
    documents that were best by the added terms. scored: how many documents were scored in full. bound: under "pruned",
    no allowed document that was not scored reaches that score, and as many as were asked for do. is_scored: whether
    this document was among them. is_allowed: whether the search's filter lets it through.
    """

    method: Literal["plain", "pruned", "budget"]
    added: tuple[str, ...]
    left: tuple[str, ...]
    scored: int
    bound: float | None
    is_scored: bool
    is_allowed: bool = True

    def __str__(self) -> str:
        """Say it in a sentence."""
        terms = f"the {len(self.added)} rarest of {len(self.added) + len(self.left)} terms"
        if not self.is_allowed:
            return "The filter does not let this document through."
        if self.method == "plain":
            return "Every posting of the query's terms was added up: nothing was left out."
        start = f"{terms.capitalize()} were added up for all documents, and "
        end = "this document is one of them."
        if self.method == "pruned":
            if not self.is_scored:
                end = "this document could not, even with every term that is left."
            return f"{start}{self.scored:,} could still reach {self.bound:.6g}, as many as were asked for do; {end}"
        if not self.is_scored:
            end = "this document is not, and was not looked at further."
        return f"{start}the {self.scored:,} best by them were scored in full; {end}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A document's score for a query as the sum of the contributions, in the order they are added.

    evaluation: what the search looked at.
    """

    doc_id: str
    score: float
    contributions: tuple[Contribution, ...]
    evaluation: Evaluation
