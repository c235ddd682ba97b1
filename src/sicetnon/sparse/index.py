"""A sparse index directory -> ranked search over it, exact or within a budget.

Scores are float64 sums over the matching terms in the order in which the terms first appear in the collection: they do
not depend on the order of the query's terms, on other queries, on threads, or on how the documents are spread over
segments. Knows nothing of how the index was written but its files.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sicetnon.errors import InputError
from sicetnon.sparse.budget import BUDGET, Budget
from sicetnon.sparse.layout import KIND, list_segments
from sicetnon.sparse.planning import Ranked, SegmentQuery, check_cutoff, plan_query
from sicetnon.sparse.scoring import CollectionStatistics, IdfOverlap, Scoring
from sicetnon.sparse.segment import Segment
from sicetnon.storage import StoredDirectory, open_stored

if TYPE_CHECKING:
    from sicetnon.sparse.explanation import Explanation

Query = Iterable[str] | Mapping[str, float]
Filter = NDArray[np.bool_]

QUERIES_AT_ONCE = 256  # planned, ranked and written together

_IDF_OVERLAP = IdfOverlap()


class ScoredDocument(NamedTuple):
    """A found document: its ID, score and ordinal (its place in the order of adding, from 0, deleted ones counted)."""

    doc_id: str
    score: float
    ordinal: int


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
        chosen = np.asarray(ordinals, np.intp)
        if len(chosen):
            self._check_ordinals(int(chosen.min()), int(chosen.max()))
        with self.stored.naming_damage():
            if len(self.segments) == 1:
                return self.segments[0].read_doc_ids(chosen)
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
        self._check_ordinals(ordinal, ordinal)
        with self.stored.naming_damage():
            number = bisect_right(self._firsts, ordinal) - 1
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
        return self._name(self.rank(terms, top_k=top_k, scoring=scoring, budget=budget, allowed=allowed))

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
        found = []
        queries = iter(queries)
        while plans := [
            self.plan(terms, scoring=scoring, allowed=allowed) for terms in islice(queries, QUERIES_AT_ONCE)
        ]:
            found += [self._name(self.rank_planned(parts, top_k=top_k, budget=budget)) for parts in plans]
        return found

    def rank(
        self,
        terms: Query,
        *,
        top_k: int = 100,
        scoring: Scoring | None = None,
        budget: Budget | None = None,
        allowed: Filter | None = None,
    ) -> Ranked:
        """Return what `search` gives as arrays: ordinals (intp) and scores (float64), best first."""
        return self.rank_planned(self.plan(terms, scoring=scoring, allowed=allowed), top_k=top_k, budget=budget)

    def rank_planned(self, parts: Sequence[SegmentQuery], *, top_k: int = 100, budget: Budget | None = None) -> Ranked:
        """Return what `rank` gives for the query that `plan` gave the parts of.

        Planning many queries, then ranking them, is quicker than one after another: a ranking goes through megabytes
        and leaves nothing of what planning needs in the processor's caches.
        """
        check_cutoff(top_k)
        with self.stored.naming_damage():
            ordinals, scores = self._merge([part.rank(k=top_k, budget=budget) for part in parts], top_k)
            if budget is not None and len(ordinals) < top_k:  # all the others follow
                missing = top_k - len(ordinals)
                following, their_scores = self._merge([part.rank_rest(ordinals, k=missing) for part in parts], missing)
                ordinals, scores = np.append(ordinals, following), np.append(scores, their_scores)
            return ordinals, scores

    def scores(
        self, terms: Query, *, scoring: Scoring | None = None, allowed: Filter | None = None
    ) -> NDArray[np.float64]:
        """Return the exact score of every document: float64[ordinal_count], by ordinal, 0 where nothing matches."""
        with self.stored.naming_damage():
            return np.concatenate([part.add_up() for part in self.plan(terms, scoring=scoring, allowed=allowed)])

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
        from sicetnon.sparse.explanation import explain_document  # a search needs nothing of it

        check_cutoff(top_k)
        ordinal = self.find_ordinal(doc_id)
        with self.stored.naming_damage():
            parts = self.plan(terms, scoring=scoring, allowed=allowed)
            return explain_document(parts, doc_id, ordinal, k=top_k, budget=budget)

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
        with self.stored.naming_damage():
            return plan_query(terms, self.segments, self._firsts, self._statistics, scoring=scoring, allowed=allowed)

    def _name(self, ranked: Ranked) -> list[ScoredDocument]:
        ordinals, scores = ranked
        found = zip(self.read_doc_ids(ordinals), scores.tolist(), ordinals.tolist(), strict=True)
        return [ScoredDocument(doc_id, score, ordinal) for doc_id, score, ordinal in found]

    def _check_ordinals(self, least: int, most: int) -> None:
        if not 0 <= least <= most < self.ordinal_count:
            raise InputError(
                f"the ordinal {least if least < 0 else most}",
                expected=f"one of the index, from 0 to below {self.ordinal_count:,}",
                remedy="correct it",
            )

    def _merge(self, found: list[Ranked], k: int) -> Ranked:
        """Return the best of what the segments found."""
        if len(found) == 1:
            return found[0]
        ordinals, scores = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        doc_ids = self.read_doc_ids(ordinals)
        best = sorted(range(len(doc_ids)), key=lambda place: (-scores[place], doc_ids[place]))[:k]
        return ordinals[best], scores[best]
