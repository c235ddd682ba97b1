"""One segment of an index: some of its documents, with postings, forward index and dictionary of their own.

A segment scores its documents by weights that are handed to it, since those depend on all segments. What was deleted
stays in the files, marked.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sicetnon.sparse.bitmaps import TermBitmaps
from sicetnon.sparse.budget import Budget, Chosen, find_good
from sicetnon.sparse.forward import ForwardIndex
from sicetnon.sparse.impacts import Impacts
from sicetnon.sparse.layout import SEGMENT_COUNTS
from sicetnon.sparse.pruning import Pruned, find_best
from sicetnon.sparse.scoring import CollectionStatistics, Scoring
from sicetnon.sparse.sums import SetPostings
from sicetnon.sparse.terms import TermDictionary, check_doc_id
from sicetnon.sparse.weighted import find_heaviest, find_heavy
from sicetnon.storage import StringTable, preload

if TYPE_CHECKING:
    from sicetnon.storage import StoredDirectory

_MOST_SCORINGS = 2  # that impacts are kept of

_MOST_PRELOADED = 2**27  # bytes: of larger files a batch of queries leaves most pages untouched


class Segment:
    """An open segment; memory-mapped, safe from many threads.

    A document's ordinal here counts from 0 in the order of adding, deleted ones included.
    """

    def __init__(self, stored: StoredDirectory, name: str) -> None:
        """Map the files of a segment folder."""
        self.name = name
        self.stored = stored
        self.counts = {key: stored.count(f"{name}/{key}") for key in SEGMENT_COUNTS}

        def path(file: str) -> str:
            return f"{name}/{file}"

        self.document_count = self.counts["documents"]
        posting_count = self.counts["postings"]
        self.terms = TermDictionary.open(stored, name, length=self.counts["terms"])
        self.offsets = stored.array(path("offsets.npy"), dtype=np.int64, length=len(self.terms) + 1)
        self.postings = stored.array(path("postings.npy"), dtype=np.int32, length=posting_count)
        bitmaps = TermBitmaps.open(stored, name, document_count=self.document_count)
        self.forward = ForwardIndex.open(stored, name, document_count=self.document_count, term_count=len(self.terms))
        has_frequencies = stored.has(path("frequencies.npy"))
        self.frequencies = stored.array(path("frequencies.npy"), length=posting_count) if has_frequencies else None
        self.forward_frequencies = (
            stored.array(path("forward-frequencies.npy"), length=posting_count) if has_frequencies else None
        )
        self.lengths = stored.array(path("document-lengths.npy"), dtype=np.uint32, length=self.document_count)
        self.tie_rank = stored.array(path("tie-rank.npy"), dtype=np.int32, length=self.document_count)
        self.documents = StringTable.open(stored, path("documents"), length=self.document_count)
        ends = (self.offsets[0], self.offsets[-1])
        if ends != (0, posting_count) or (np.diff(self.offsets) < 1).any():
            raise stored.damage(
                f"{stored.path(path('offsets.npy'))} does not rise from 0 to {posting_count:,}",
                expected="where each term's postings start, of which it has one at least",
            )
        self.sets = SetPostings(self.postings, self.offsets, bitmaps, self.forward, self.document_count)
        self._impacts: tuple[Impacts, ...] = ()
        self.deleted: NDArray[np.int32] | None = None
        self._live_frequencies: NDArray[np.int32] | None = None
        self._first_seen: NDArray[np.int64] | None = None
        if stored.has(path("deleted.npy")):
            self.deleted = stored.array(path("deleted.npy"), dtype=np.int32)
            self._live_frequencies = stored.array(path("live-frequencies.npy"), dtype=np.int32, length=len(self.terms))
            self._first_seen = stored.array(path("first-seen.npy"), dtype=np.int64, length=len(self.terms))

    @property
    def has_weights(self) -> bool:
        """Whether the frequencies are weights, not counts."""
        return self.frequencies is not None and self.frequencies.dtype == np.float32

    @cached_property
    def is_live(self) -> NDArray[np.bool_]:
        """Which documents are not deleted: bool[document_count]."""
        is_live = np.ones(self.document_count, np.bool_)
        if self.deleted is not None:
            is_live[self.deleted] = False
        return is_live

    @cached_property
    def by_rank(self) -> NDArray[np.intp]:
        """The ordinals of all documents in code point order of their IDs."""
        by_rank = np.empty(self.document_count, np.intp)
        by_rank[self.tie_rank] = np.arange(self.document_count)
        return by_rank

    def preload(self) -> None:
        """Map all pages of the large files at once, where that costs less than mapping them as they are touched."""
        for array in (self.postings, self.sets.bitmaps.bits, self.forward.rows):
            if array.nbytes <= _MOST_PRELOADED:
                preload(array)

    def find_ordinal(self, doc_id: str) -> int:
        """Return the ordinal of a document that is not deleted, -1 where there is none with that ID."""
        check_doc_id(doc_id)
        # Of documents of one ID, which a writer that deletes what it just added leaves, only the last can be live.
        place = bisect_right(self.by_rank, doc_id, key=self.documents.__getitem__) - 1
        if place < 0 or self.documents[self.by_rank.item(place)] != doc_id:
            return -1
        ordinal = self.by_rank.item(place)
        return ordinal if self.is_live[ordinal] else -1

    def count_documents(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return how many documents, deleted ones aside, have each term."""
        if self._live_frequencies is not None:
            return self._live_frequencies[rows].astype(np.int64)
        return self.sets.count_documents(rows)

    def order_terms(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return numbers that rise in the order in which the terms first appear in a document that is not deleted."""
        return rows.astype(np.int64) if self._first_seen is None else self._first_seen[rows]

    def read_documents(
        self, ordinals: NDArray[np.intp]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any] | None]:
        """Return the documents as they were added: the number of terms of each, all term rows, their frequencies."""
        cells = self.forward.list_cells(ordinals)
        frequencies = None if self.forward_frequencies is None else self.forward_frequencies[cells]
        return self.forward.count_terms(ordinals), self.forward.rows[cells].astype(np.int64), frequencies

    def read_doc_ids(self, ordinals: ArrayLike) -> list[str]:
        """Return the IDs of the documents with these ordinals, in that order."""
        return self.documents.take(ordinals)

    def find(
        self,
        rows: NDArray[np.intp],
        weights: NDArray[np.float64],
        scoring: Scoring,
        statistics: CollectionStatistics,
        *,
        k: int,
        budget: Budget | None,
        allowed: NDArray[np.bool_] | None,
    ) -> Pruned | Chosen | None:
        """Return some documents with the best among them; None where the plain sum is as quick."""
        if not len(rows) or not k:
            return None
        if not scoring.is_set_based:
            impacts = self._find_impacts(scoring, statistics)
            if budget is None:
                return find_heaviest(impacts, rows, weights, k=k, allowed=allowed)
            return find_heavy(impacts, rows, weights, budget, k=k, allowed=allowed)
        if budget is None:
            return find_best(self.sets, rows, weights, k=k, allowed=allowed)
        return find_good(self.sets, rows, weights, budget, k=k, allowed=allowed)

    def add_up(
        self,
        rows: NDArray[np.intp],
        weights: NDArray[np.float64],
        scoring: Scoring,
        statistics: CollectionStatistics,
        *,
        allowed: NDArray[np.bool_] | None,
    ) -> NDArray[np.float64]:
        """Return the score of every document, summed in the order of the rows; 0 for one that is not allowed."""
        scores = np.zeros(self.document_count)
        if scoring.is_set_based:
            self.sets.add_weights(scores, rows, weights)
        else:
            for row, weight in zip(rows.tolist(), weights, strict=True):
                span = self.span(row)
                impacts = self.weigh_postings(span, weight, scoring, statistics)
                np.add.at(scores, self.postings[span].astype(np.intp), impacts)
        if allowed is not None:
            scores[~allowed] = 0
        return scores

    def _find_impacts(self, scoring: Scoring, statistics: CollectionStatistics) -> Impacts:
        """Return the impacts under a scoring, of the last few that were asked for; threads may make them twice."""
        for impacts in self._impacts:
            if impacts.statistics == statistics and impacts.scoring == scoring:
                return impacts
        made = Impacts(
            self.sets,
            frequencies=self.frequencies,
            forward_frequencies=self.forward_frequencies,
            lengths=self.lengths,
            scoring=scoring,
            statistics=statistics,
        )
        self._impacts = (made, *self._impacts[: _MOST_SCORINGS - 1])
        return made

    def span(self, row: int) -> slice:
        """Return where the postings of a term are."""
        return slice(self.offsets.item(row), self.offsets.item(row + 1))

    def find_posting(self, row: int, ordinal: int) -> int:
        """Return the place of a document's posting of a term, -1 where it has none."""
        span = self.span(row)
        place = span.start + int(np.searchsorted(self.postings[span], ordinal))
        return place if place < span.stop and self.postings[place] == ordinal else -1

    def weigh_postings(
        self, span: slice, weight: float, scoring: Scoring, statistics: CollectionStatistics
    ) -> NDArray[np.float64]:
        """Return what each of some postings of a term adds to its document's score."""
        ordinals = self.postings[span]
        frequencies = np.ones(len(ordinals), np.uint8) if self.frequencies is None else self.frequencies[span]
        return scoring.score_postings(weight, frequencies, self.lengths[ordinals], statistics)
