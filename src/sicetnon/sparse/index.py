"""A sparse index directory -> ranked search over it, exact or within a budget.

Scores are float64 sums over the matching terms in the order in which the terms first appear in the collection: they do
not depend on the order of the query's terms, on other queries, on threads, or on how the documents are spread over
segments. Knows nothing of how the index was written but its files.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sicetnon.errors import InputError
from sicetnon.sparse.budget import Budget, Chosen
from sicetnon.sparse.layout import KIND, list_segments
from sicetnon.sparse.scoring import CollectionStatistics, IdfOverlap, Scoring
from sicetnon.sparse.segment import Segment
from sicetnon.sparse.terms import are_strings
from sicetnon.sparse.topk import select_top
from sicetnon.storage import StoredDirectory, open_stored

if TYPE_CHECKING:
    from sicetnon.sparse.explanation import Evaluation, Explanation
    from sicetnon.sparse.pruning import Pruned

Query = Iterable[str] | Mapping[str, float]
Filter = NDArray[np.bool_]

MOST_WEIGHT = 1e100  # of a query's term: sums of such stay finite
BUDGET = "budget"  # the setting that holds the tuned budget
_IDF_OVERLAP = IdfOverlap()


class ScoredDocument(NamedTuple):
    """A found document: its ID, score and ordinal (its place in the order of adding, from 0, deleted ones counted)."""

    doc_id: str
    score: float
    ordinal: int


class SegmentQuery(NamedTuple):
    """A segment with the query's terms that it has: rows (intp) and weights (float64), in the order of adding up.

    first: the ordinal of its first document. allowed: bool by ordinal in the segment, None for all.
    """

    segment: Segment
    first: int
    rows: NDArray[np.intp]
    weights: NDArray[np.float64]
    allowed: NDArray[np.bool_] | None


class SparseIndex:
    """An open sparse index; memory-mapped, without side effects, safe from many threads.

    A query is an iterable of terms or a mapping from term to weight. Under a set-based scoring each term counts once;
    under another, repeated terms add up. Unknown terms are ignored.
    """

    def __init__(self, stored: StoredDirectory) -> None:
        """Map the files of an open directory; `open` is the usual way."""
        self.stored = stored
        self.segments = tuple(Segment(stored, name) for name in list_segments(stored.counts))
        self._firsts = tuple(accumulate((len(segment.lengths) for segment in self.segments), initial=0))
        live = stored.count("documents")
        self._statistics = CollectionStatistics(live, stored.count("tokens") / max(live, 1))

    @classmethod
    def open(cls, path: str | Path) -> SparseIndex:
        """Open an index directory."""
        return open_stored(path, kind=KIND, read=cls)

    def __len__(self) -> int:
        """Return the number of documents."""
        return self.document_count

    @property
    def document_count(self) -> int:
        """The number of documents, deleted ones aside."""
        return self._statistics.document_count

    @property
    def ordinal_count(self) -> int:
        """The number of ordinals: of documents, with those that are deleted but still in a segment."""
        return self._firsts[-1]

    @property
    def term_count(self) -> int:
        """The number of distinct terms."""
        return self.stored.count("terms")

    @property
    def posting_count(self) -> int:
        """The number of postings: pairs of a document and a term it has."""
        return self.stored.count("postings")

    @property
    def segment_count(self) -> int:
        """The number of segments."""
        return len(self.segments)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings the index was committed with."""
        return self.stored.settings

    @property
    def statistics(self) -> CollectionStatistics:
        """What scorings know of the collection."""
        return self._statistics

    @property
    def budget(self) -> Budget:
        """The budget that was tuned for this index, or the one for any."""
        return Budget.from_json(self.settings[BUDGET]) if BUDGET in self.settings else Budget()

    @property
    def tie_rank(self) -> NDArray[np.int32]:
        """The place of each document's ID, by ordinal, among all IDs in code point order: int32[ordinal_count]."""
        if len(self.segments) == 1:
            return self.segments[0].tie_rank
        doc_ids = self.read_doc_ids(np.arange(self.ordinal_count))
        rank = np.empty(len(doc_ids), np.int32)
        rank[sorted(range(len(doc_ids)), key=doc_ids.__getitem__)] = np.arange(len(doc_ids))
        return rank

    def read_doc_ids(self, ordinals: ArrayLike) -> list[str]:
        """Return the IDs of the documents with these ordinals (integers, 1-d), in that order."""
        with self.stored.naming_damage():
            if len(self.segments) == 1:
                return self.segments[0].read_doc_ids(ordinals)
            chosen = np.asarray(ordinals, np.intp)
            doc_ids = np.empty(len(chosen), object)
            for segment, first in zip(self.segments, self._firsts, strict=False):
                here = np.flatnonzero((chosen >= first) & (chosen < first + segment.document_count))
                doc_ids[here] = segment.read_doc_ids(chosen[here] - first)
            return list(doc_ids)

    def read_doc_id_bytes(self, ordinals: NDArray[np.intp]) -> NDArray[np.uint8] | None:
        """Return the IDs of documents as UTF-8 bytes, uint8[len(ordinals), length]; None where lengths differ."""
        with self.stored.naming_damage():
            return self.segments[0].documents.take_bytes(ordinals) if len(self.segments) == 1 else None

    def read_terms(self, ordinal: int) -> list[str]:
        """Return the distinct terms of the document with this ordinal, in the order they were added in."""
        with self.stored.naming_damage():
            number = bisect_right(self._firsts, ordinal, hi=len(self.segments)) - 1
            segment = self.segments[number]
            return [segment.terms[row] for row in segment.forward.read(ordinal - self._firsts[number]).tolist()]

    def select(self, wanted: Iterable[str] | Callable[[str], bool]) -> Filter:
        """Return a filter for `search`: the documents with these IDs, or those whose ID the function says True to.

        A filter is bool[ordinal_count], by ordinal, and may be made in any other way. IDs of no document are an error.
        """
        if callable(wanted):
            doc_ids = self.read_doc_ids(np.arange(self.ordinal_count))
            return np.fromiter((bool(wanted(doc_id)) for doc_id in doc_ids), np.bool_, len(doc_ids))
        allowed = np.zeros(self.ordinal_count, np.bool_)
        allowed[[self.find_ordinal(doc_id) for doc_id in wanted]] = True
        return allowed

    def search(
        self,
        terms: Query,
        *,
        top_k: int = 100,
        scoring: Scoring | None = None,
        budget: Budget | None = None,
        allowed: Filter | None = None,
    ) -> list[ScoredDocument]:
        """Return the best documents with a score above 0, at most `top_k`; equal scores by ascending document ID.

        Without a budget these are the best there are. With one, they are the best of the documents that it lets the
        search score in full, whatever `top_k` is; where more are asked for, the best of all others follow. Scores are
        exact either way. A filter (see `select`) leaves out documents, not their part in the terms' weights.
        """
        ordinals, scores = self.rank(terms, top_k=top_k, scoring=scoring, budget=budget, allowed=allowed)
        found = zip(self.read_doc_ids(ordinals), scores.tolist(), ordinals.tolist(), strict=True)
        return [ScoredDocument(doc_id, score, ordinal) for doc_id, score, ordinal in found]

    def search_batch(
        self,
        queries: Iterable[Query],
        *,
        top_k: int = 100,
        scoring: Scoring | None = None,
        budget: Budget | None = None,
        allowed: Filter | None = None,
    ) -> list[list[ScoredDocument]]:
        """Return what `search` gives for each query, in order."""
        return [self.search(terms, top_k=top_k, scoring=scoring, budget=budget, allowed=allowed) for terms in queries]

    def rank(
        self,
        terms: Query,
        *,
        top_k: int = 100,
        scoring: Scoring | None = None,
        budget: Budget | None = None,
        allowed: Filter | None = None,
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return what `search` gives as arrays: ordinals (intp) and scores (float64), best first."""
        if top_k < 0:
            raise InputError(f"top_k of {top_k}", expected="at least 0", remedy="correct it")
        scoring = scoring or _IDF_OVERLAP
        with self.stored.naming_damage():
            parts = self.plan(terms, scoring=scoring, allowed=allowed)
            found = [self._rank_part(part, scoring, budget, top_k) for part in parts]
            ordinals, scores = self._merge(found, top_k)
            if budget is not None and len(ordinals) < top_k:  # all the others follow
                rest = [self._rank_rest(part, scoring, ordinals, top_k - len(ordinals)) for part in parts]
                following, their_scores = self._merge(rest, top_k - len(ordinals))
                ordinals, scores = np.append(ordinals, following), np.append(scores, their_scores)
            return ordinals, scores

    def scores(
        self, terms: Query, *, scoring: Scoring | None = None, allowed: Filter | None = None
    ) -> NDArray[np.float64]:
        """Return the exact score of every document: float64[ordinal_count], by ordinal, 0 where nothing matches."""
        scoring = scoring or _IDF_OVERLAP
        with self.stored.naming_damage():
            return np.concatenate(
                [self._add_up(part, scoring) for part in self.plan(terms, scoring=scoring, allowed=allowed)]
            )

    def explain(
        self,
        terms: Query,
        doc_id: str,
        *,
        top_k: int = 100,
        scoring: Scoring | None = None,
        budget: Budget | None = None,
        allowed: Filter | None = None,
    ) -> Explanation:
        """Return how a document's score comes about, and what `search` with the same options looks at."""
        from sicetnon.sparse.explanation import Contribution, Explanation

        scoring = scoring or _IDF_OVERLAP
        ordinal = self.find_ordinal(doc_id)
        with self.stored.naming_damage():
            parts = self.plan(terms, scoring=scoring, allowed=allowed)
            part = next(p for p in parts if p.first <= ordinal < p.first + p.segment.document_count)
            segment, local = part.segment, ordinal - part.first
            contributions = []
            score = 0.0
            for row, weight in zip(part.rows.tolist(), part.weights, strict=True):
                place = segment.find_posting(row, local)
                if place < 0:
                    continue
                impact = segment.weigh_postings(slice(place, place + 1), weight, scoring, self._statistics).item()
                frequency = 1 if segment.frequencies is None else segment.frequencies[place].item()
                name = segment.terms[row]
                df = sum(int(s.count_documents(np.array(r)).sum()) for s, r in self._find_term(name))
                contributions.append(Contribution(name, df, frequency, impact))
                score += impact
            found = self._find(part, scoring, budget, top_k)
            evaluation = self._describe(part, found, local)
        return Explanation(doc_id, score, tuple(contributions), evaluation)

    def _describe(self, part: SegmentQuery, found: Pruned | Chosen | None, local: int) -> Evaluation:
        """Return what was looked at to find some documents of a segment, and whether a document is among them."""
        from sicetnon.sparse.explanation import Evaluation

        terms = part.segment.terms
        is_allowed = part.allowed is None or bool(part.allowed[local])
        if found is None:
            added = tuple(terms[row] for row in part.rows.tolist())
            return Evaluation("plain", added, (), part.segment.document_count, None, is_allowed, is_allowed)
        added, left = (tuple(terms[row] for row in rows.tolist()) for rows in (found.added, found.left))
        if isinstance(found, Chosen):
            is_scored = bool((found.candidates == local).any())
            return Evaluation("budget", added, left, len(found.candidates), None, is_scored, is_allowed)
        is_scored = bool((found.ordinals == local).any())
        return Evaluation("pruned", added, left, len(found.ordinals), found.bound, is_scored, is_allowed)

    def find_ordinal(self, doc_id: str) -> int:
        """Return the ordinal of a document."""
        with self.stored.naming_damage():
            for segment, first in zip(self.segments, self._firsts, strict=False):
                ordinal = segment.find_ordinal(doc_id)
                if ordinal >= 0:
                    return first + ordinal
        raise InputError(f"document ID {doc_id!r}", expected="a document of the index", remedy="check the ID")

    def preload(self) -> None:
        """Map all pages of files up to 128 MiB: this pays before hundreds of queries; cold files are read whole."""
        for segment in self.segments:
            segment.preload()

    def plan(
        self, terms: Query, *, scoring: Scoring | None = None, allowed: Filter | None = None
    ) -> list[SegmentQuery]:
        """Return each segment with the terms it has, weighed by all documents and ordered by their first appearance."""
        scoring = scoring or _IDF_OVERLAP
        counts = _count_terms(terms)
        if scoring.needs_counts and any(segment.has_weights for segment in self.segments):
            raise InputError(
                f"{scoring} over an index of weights that are no counts",
                expected="a scoring that does not need the lengths of documents",
                remedy="use DotProduct or IdfOverlap",
            )
        if allowed is not None and (allowed.shape != (self.ordinal_count,) or allowed.dtype != np.bool_):
            raise InputError(
                f"a filter of {allowed.dtype}{list(allowed.shape)}",
                expected=f"bool[{self.ordinal_count}], one for each ordinal",
                remedy="make it with select()",
            )
        found = [np.array(segment.terms.find_rows(counts), np.intp) for segment in self.segments]
        order, frequencies = self._order_terms(found)
        weights = scoring.weigh(frequencies, self._statistics)
        if not scoring.is_set_based:
            weights = weights * np.array(list(counts.values()), np.float64)[order]
        parts = []
        for segment, first, all_rows in zip(self.segments, self._firsts, found, strict=False):
            rows, here_weights = all_rows[order], weights
            if len(self.segments) > 1:
                is_here = rows >= 0
                rows, here_weights = rows[is_here], weights[is_here]
            here_allowed = None if allowed is None else allowed[first : first + segment.document_count]
            if segment.deleted is not None:
                here_allowed = segment.is_live if here_allowed is None else here_allowed & segment.is_live
            parts.append(SegmentQuery(segment, first, rows, here_weights, here_allowed))
        return parts

    def _order_terms(self, found: list[NDArray[np.intp]]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Return the places of the known terms in the order of first appearance, and their document frequencies.

        found: each segment's rows of the query's terms, -1 for those that it does not have.
        """
        if len(found) == 1 and self.segments[0].deleted is None:  # the usual case: rows are in that order
            rows = found[0]
            order = np.argsort(rows)[np.count_nonzero(rows < 0) :]
            return order, self.segments[0].count_documents(rows[order])
        frequencies = np.zeros(len(found[0]), np.int64)
        keys = np.zeros(len(found[0]), np.int64)  # of the order within the segment that a term appears in first
        firsts = np.full(len(found[0]), len(found))
        for number, (segment, rows) in enumerate(zip(self.segments, found, strict=True)):
            known = np.flatnonzero(rows >= 0)
            here = segment.count_documents(rows[known])
            known, here = known[here > 0], here[here > 0]
            frequencies[known] += here
            new = known[firsts[known] > number]
            firsts[new] = number
            keys[new] = segment.order_terms(rows[new])
        order = np.lexsort((keys, firsts))
        order = order[frequencies[order] > 0]
        return order, frequencies[order]

    def _find_term(self, term: str) -> Iterator[tuple[Segment, list[int]]]:
        for segment in self.segments:
            rows = [row for row in segment.terms.find_rows([term]) if row >= 0]
            if rows:
                yield segment, rows

    def _find(self, part: SegmentQuery, scoring: Scoring, budget: Budget | None, k: int) -> Pruned | Chosen | None:
        segment = part.segment
        return segment.find(
            part.rows, part.weights, scoring, self._statistics, k=k, budget=budget, allowed=part.allowed
        )

    def _rank_part(
        self, part: SegmentQuery, scoring: Scoring, budget: Budget | None, k: int
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the best documents of a segment, or of those that the budget lets it look at."""
        found = self._find(part, scoring, budget, k)
        if found is None:
            scores = self._add_up(part, scoring)
            ordinals = select_top(scores, part.segment.tie_rank, k)
            return ordinals + part.first, scores[ordinals]
        best = select_top(found.scores, part.segment.tie_rank[found.ordinals], k)
        return found.ordinals[best] + part.first, found.scores[best]

    def _rank_rest(
        self, part: SegmentQuery, scoring: Scoring, ranked: NDArray[np.intp], k: int
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the best documents of a segment that are not ranked yet."""
        scores = self._add_up(part, scoring)
        scores[ranked[(ranked >= part.first) & (ranked < part.first + len(scores))] - part.first] = 0
        ordinals = select_top(scores, part.segment.tie_rank, k)
        return ordinals + part.first, scores[ordinals]

    def _merge(
        self, found: list[tuple[NDArray[np.intp], NDArray[np.float64]]], k: int
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the best of what the segments found."""
        if len(found) == 1:
            return found[0]
        ordinals, scores = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        doc_ids = self.read_doc_ids(ordinals)
        best = sorted(range(len(doc_ids)), key=lambda place: (-scores[place], doc_ids[place]))[:k]
        return ordinals[best], scores[best]

    def _add_up(self, part: SegmentQuery, scoring: Scoring) -> NDArray[np.float64]:
        return part.segment.add_up(part.rows, part.weights, scoring, self._statistics, allowed=part.allowed)


def _count_terms(terms: Query) -> Mapping[str, float]:
    """Return how often each term occurs in a query, or how much it weighs."""
    names = list(terms)
    if isinstance(terms, str) or not are_strings(names):
        raise InputError("a query with terms that are no strings", expected="strings", remedy="correct the query")
    if not isinstance(terms, Mapping):
        return Counter(names)
    for term, weight in terms.items():
        if type(weight) not in {int, float} or not 0 < weight <= MOST_WEIGHT:
            raise InputError(
                f"the term {term!r} with a weight that is no positive number",
                expected=f"numbers above 0, at most {MOST_WEIGHT}",
                remedy="correct the query",
            )
    return terms
