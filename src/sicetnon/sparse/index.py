"""A sparse index directory -> exact ranked search over it.

Every matching posting is scored, in float64, by ascending term row: scores do not depend on the order of the query's
terms, on other queries or on threads. Knows nothing of how the index was written but its files.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sicetnon.errors import InputError
from sicetnon.sparse.bitmaps import TermBitmaps
from sicetnon.sparse.budget import Budget, Chosen, find_good
from sicetnon.sparse.forward import ForwardIndex
from sicetnon.sparse.layout import KIND
from sicetnon.sparse.pruning import Pruned, find_best
from sicetnon.sparse.scoring import CollectionStatistics, IdfOverlap, Scoring
from sicetnon.sparse.sums import SetPostings
from sicetnon.sparse.terms import TermDictionary, are_strings
from sicetnon.sparse.topk import select_top
from sicetnon.storage import StoredDirectory, StringTable, open_stored

Query = Iterable[str] | Mapping[str, float]

_IDF_OVERLAP = IdfOverlap()


@dataclass(frozen=True, slots=True)
class ScoredDocument:
    """A found document: its ID, score and ordinal (its place in the order of adding, from 0)."""

    doc_id: str
    score: float
    ordinal: int


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one query term adds to a document's score."""

    term: str
    document_frequency: int
    frequency: int
    impact: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """A document's score for a query as the sum of the contributions, in the order they are added."""

    doc_id: str
    score: float
    contributions: tuple[Contribution, ...]


class SparseIndex:
    """An open sparse index; memory-mapped, without side effects, safe from many threads.

    A query is an iterable of terms or a mapping from term to weight. Under a set-based scoring each term counts once;
    under another, repeated terms add up. Unknown terms are ignored.
    """

    def __init__(self, stored: StoredDirectory) -> None:
        """Map the files of an open directory; `open` is the usual way."""
        self._stored = stored
        document_count = stored.count("documents")
        posting_count = stored.count("postings")
        self._settings = stored.settings
        self._terms = TermDictionary.open(stored, length=stored.count("terms"))
        self._offsets = stored.array("offsets.npy", dtype=np.int64, length=len(self._terms) + 1)
        self._postings = stored.array("postings.npy", dtype=np.int32, length=posting_count)
        bitmaps = TermBitmaps.open(stored, document_count=document_count)
        forward = ForwardIndex.open(stored, document_count=document_count, term_count=len(self._terms))
        self._sets = SetPostings(self._postings, self._offsets, bitmaps, forward, document_count)
        self._frequencies = (
            stored.array("frequencies.npy", length=posting_count) if stored.has("frequencies.npy") else None
        )
        self._lengths = stored.array("document-lengths.npy", dtype=np.uint32, length=document_count)
        self._tie_rank = stored.array("tie-rank.npy", dtype=np.int32, length=document_count)
        self._documents = StringTable.open(stored, "documents", length=document_count)
        ends = (self._offsets[0], self._offsets[-1])
        if ends != (0, posting_count) or (np.diff(self._offsets) < 1).any():
            raise stored.damage(
                f"{stored.path('offsets.npy')} does not rise from 0 to {posting_count:,}",
                expected="where each term's postings start, of which it has one at least",
            )
        self._statistics = CollectionStatistics(document_count, stored.count("tokens") / max(document_count, 1))

    @classmethod
    def open(cls, path: str | Path) -> SparseIndex:
        """Open an index directory."""
        return open_stored(path, kind=KIND, read=cls)

    def __len__(self) -> int:
        """Return the number of documents."""
        return self.document_count

    @property
    def document_count(self) -> int:
        """The number of documents."""
        return self._statistics.document_count

    @property
    def term_count(self) -> int:
        """The number of distinct terms."""
        return len(self._terms)

    @property
    def posting_count(self) -> int:
        """The number of postings: pairs of a document and a term it has."""
        return len(self._postings)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings the index was committed with."""
        return self._settings

    @property
    def statistics(self) -> CollectionStatistics:
        """What scorings know of the collection."""
        return self._statistics

    @property
    def budget(self) -> Budget:
        """The budget that was tuned for this index, or the one for any."""
        return Budget.from_json(self._settings["budget"]) if "budget" in self._settings else Budget()

    @property
    def tie_rank(self) -> NDArray[np.int32]:
        """The place of each document's ID, by ordinal, among all IDs in code point order: int32[document_count]."""
        return self._tie_rank

    def read_doc_ids(self, ordinals: ArrayLike) -> list[str]:
        """Return the IDs of the documents with these ordinals (integers, 1-d), in that order."""
        with self._stored.naming_damage():
            return self._documents.take(ordinals)

    def search(
        self, terms: Query, *, top_k: int = 100, scoring: Scoring | None = None, budget: Budget | None = None
    ) -> list[ScoredDocument]:
        """Return the best documents with a score above 0, at most `top_k`; equal scores by ascending document ID.

        Without a budget these are the best there are. With one, they are the best of the documents that it lets the
        search score in full, whatever `top_k` is; where more are asked for, the best of all others follow. Scores are
        exact either way.
        """
        ordinals, scores = self.rank(terms, top_k=top_k, scoring=scoring, budget=budget)
        found = zip(self.read_doc_ids(ordinals), scores.tolist(), ordinals.tolist(), strict=True)
        return [ScoredDocument(doc_id, score, ordinal) for doc_id, score, ordinal in found]

    def search_batch(
        self,
        queries: Iterable[Query],
        *,
        top_k: int = 100,
        scoring: Scoring | None = None,
        budget: Budget | None = None,
    ) -> list[list[ScoredDocument]]:
        """Return what `search` gives for each query, in order."""
        return [self.search(terms, top_k=top_k, scoring=scoring, budget=budget) for terms in queries]

    def rank(
        self, terms: Query, *, top_k: int = 100, scoring: Scoring | None = None, budget: Budget | None = None
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return what `search` gives as arrays: ordinals (intp) and scores (float64), best first."""
        if top_k < 0:
            raise InputError(f"top_k of {top_k}", expected="at least 0", remedy="correct it")
        scoring = scoring or _IDF_OVERLAP
        with self._stored.naming_damage():
            rows, weights = self._weigh_terms(terms, scoring)
            found = self._find(rows, weights, top_k, budget) if scoring.is_set_based else None
            if found is None:
                scores = self._add_up(rows, weights, scoring)
                ordinals = select_top(scores, self._tie_rank, top_k)
                return ordinals, scores[ordinals]
            best = select_top(found.scores, self._tie_rank[found.ordinals], top_k)
            ordinals, scores = found.ordinals[best], found.scores[best]
            if len(ordinals) < top_k and budget is not None:  # all the others follow
                others = self._add_up(rows, weights, scoring)
                others[ordinals] = 0
                following = select_top(others, self._tie_rank, top_k - len(ordinals))
                ordinals, scores = np.append(ordinals, following), np.append(scores, others[following])
            return ordinals, scores

    def _find(
        self, rows: NDArray[np.intp], weights: NDArray[np.float64], k: int, budget: Budget | None
    ) -> Pruned | Chosen | None:
        """Return some documents with the best among them; None where the plain sum is as quick."""
        if not len(rows) or not k:
            return None
        if budget is None:
            return find_best(self._sets, rows, weights, k=k)
        return find_good(self._sets, rows, weights, budget, k=k)

    def scores(self, terms: Query, *, scoring: Scoring | None = None) -> NDArray[np.float64]:
        """Return the exact score of every document: float64[document_count], by ordinal, 0 where nothing matches."""
        scoring = scoring or _IDF_OVERLAP
        with self._stored.naming_damage():
            return self._add_up(*self._weigh_terms(terms, scoring), scoring)

    def _add_up(self, rows: NDArray[np.intp], weights: NDArray[np.float64], scoring: Scoring) -> NDArray[np.float64]:
        scores = np.zeros(self.document_count)
        for row, weight in zip(rows.tolist(), weights, strict=True):
            span = self._span(row)
            # Cast first: NumPy adds at machine-size ordinals on its fast path, 1.0 ns a posting, against 1.5 at int32
            # ones and 3.0 for `scores[ordinals] += weight`; the cast itself is 0.2.
            ordinals = self._postings[span].astype(np.intp)
            np.add.at(scores, ordinals, weight if scoring.is_set_based else self._impacts(span, weight, scoring))
        return scores

    def explain(self, terms: Query, doc_id: str, *, scoring: Scoring | None = None) -> Explanation:
        """Return how a document's score for a query comes about."""
        scoring = scoring or _IDF_OVERLAP
        ordinal = self.find_ordinal(doc_id)
        contributions = []
        score = 0.0
        for row, weight in zip(*self._weigh_terms(terms, scoring), strict=True):
            span = self._span(row)
            place = span.start + int(np.searchsorted(self._postings[span], ordinal))
            if place == span.stop or self._postings[place] != ordinal:
                continue
            impact = self._impacts(slice(place, place + 1), weight, scoring).item()
            frequency = 1 if self._frequencies is None else self._frequencies[place].item()
            contributions.append(Contribution(self._terms[row], span.stop - span.start, frequency, impact))
            score += impact
        return Explanation(doc_id, score, tuple(contributions))

    def find_ordinal(self, doc_id: str) -> int:
        """Return the ordinal of a document."""
        by_rank = np.empty(self.document_count, np.intp)
        with self._stored.naming_damage():
            by_rank[self._tie_rank] = np.arange(self.document_count)
            place = bisect_left(by_rank, doc_id, key=self._documents.__getitem__)
        if place == len(by_rank) or self._documents[by_rank[place]] != doc_id:
            raise InputError(f"document ID {doc_id!r}", expected="a document of the index", remedy="check the ID")
        return int(by_rank[place])

    def _weigh_terms(self, terms: Query, scoring: Scoring) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the rows of the known terms (intp), ascending, and the weight of each (float64)."""
        counts = _count_terms(terms)
        found = self._terms.find_rows(counts)
        rows = np.array(found, np.intp)
        order = np.argsort(rows)
        order = order[int(np.count_nonzero(rows < 0)) :]
        rows = rows[order]
        weights = scoring.weigh(self._offsets[rows + 1] - self._offsets[rows], self._statistics)
        if not scoring.is_set_based:
            weights = weights * np.array(list(counts.values()), np.float64)[order]
        return rows, weights

    def _span(self, row: int) -> slice:
        return slice(self._offsets.item(row), self._offsets.item(row + 1))

    def _impacts(self, span: slice, weight: float, scoring: Scoring) -> NDArray[np.float64]:
        ordinals = self._postings[span]
        frequencies = np.ones(len(ordinals), np.uint8) if self._frequencies is None else self._frequencies[span]
        return scoring.score_postings(weight, frequencies, self._lengths[ordinals], self._statistics)


def _count_terms(terms: Query) -> Mapping[str, float]:
    """Return how often each term occurs in a query, or how much it weighs."""
    names = list(terms)
    if isinstance(terms, str) or not are_strings(names):
        raise InputError("a query with terms that are no strings", expected="strings", remedy="correct the query")
    if not isinstance(terms, Mapping):
        return Counter(names)
    if not all(isinstance(weight, int | float) and 0 < weight < inf for weight in terms.values()):
        raise InputError(
            "a query with a weight that is no positive number",
            expected="a finite weight above 0 for each term",
            remedy="correct the query",
        )
    return terms
