"""An index and a few changes -> the next generation of it, without building anew what did not change.

Added documents become a segment of their own; deleted ones stay in theirs, marked, until it is merged. Segments are
merged so that each holds more than twice as many documents, deleted ones aside, as all later ones together: then there
are few, and how often a document is copied grows as the logarithm of their number (the logarithmic method: Bentley and
Saxe 1980, "Decomposable searching problems I", section 2).

Whatever the sequence of changes, searching gives what it would after a fresh build of the documents that are left, in
the order in which they were added last: the same document frequencies, order of terms and scores.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sicetnon.errors import InputError
from sicetnon.sparse.builder import BUFFERED_POSTINGS
from sicetnon.sparse.index import SparseIndex
from sicetnon.sparse.layout import KIND, count_all, name_segment
from sicetnon.sparse.runs import split_runs
from sicetnon.sparse.segment import Segment
from sicetnon.sparse.segment_builder import SegmentBuilder, read_terms
from sicetnon.sparse.terms import check_doc_id
from sicetnon.storage import DirectoryWriter, Manifest, refuse_part

_MOST_TIMES = 2  # as many documents as all later segments have together, for a segment to be merged with them
_MOST_DELETED = 1 / 2  # of a segment's documents, for it to be left as it is
_NEVER = np.iinfo(np.int64).max
_DELETION_FILES = ("deleted.npy", "live-frequencies.npy", "first-seen.npy")

_Summary = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(slots=True)
class _State:
    """A segment as the changes leave it."""

    segment: Segment
    counts: Mapping[str, int]
    is_live: NDArray[np.bool_]
    is_new: bool  # its folder is in the generation that is being written
    is_changed: bool = False
    _summary: _Summary | None = None

    @property
    def live_count(self) -> int:
        return int(np.count_nonzero(self.is_live))

    def delete(self, ordinals: int | list[int]) -> None:
        """Mark documents as deleted."""
        self.is_live[ordinals] = False
        self.is_changed = True
        self._summary = None

    def summarize(self) -> _Summary:
        """Return what `_summarize` does, which a commit asks for several times."""
        if self._summary is None:
            self._summary = _summarize(self)
        return self._summary

    def list_unknown(self, terms: list[str]) -> list[str]:
        """Return those of some terms that no document has that is left."""
        frequencies, _ = self.summarize()
        rows = self.segment.terms.find_rows(terms)
        return [term for term, row in zip(terms, rows, strict=True) if row < 0 or not frequencies[row]]


class SparseIndexWriter:
    """Adds and deletes documents of an index, as a context manager; without `commit` nothing changes.

    One writer at a time: a second one is refused with IndexLocked. Whoever has the index open keeps what it has.
    """

    def __init__(self, path: str | Path, *, buffered_postings: int = BUFFERED_POSTINGS) -> None:
        """Name the index directory, which must hold an index."""
        self._path = Path(path)
        self._writer = DirectoryWriter(path, kind=KIND)
        self._buffered_postings = buffered_postings

    def __enter__(self) -> Self:
        """Take the directory; see `DirectoryWriter`."""
        SparseIndex.open(self._path)  # a directory without an index is refused before anything is written to it
        refuse_part(self._path)
        self._writer.__enter__()
        try:
            self._index = SparseIndex.open(self._path)
            self._states = [
                _State(segment, segment.counts, segment.is_live.copy(), is_new=False)
                for segment in self._index.segments
            ]
            self._builder: SegmentBuilder | None = None
            self._begun = 0
            self._merges_all = False
        except BaseException as error:
            self._writer.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave the index as it was unless the changes were committed."""
        if self._builder is not None:
            self._builder.close()
        self._writer.__exit__(kind, error, traceback)

    def __contains__(self, doc_id: str) -> bool:
        """Tell whether the index, with the changes so far, has a document."""
        check_doc_id(doc_id)
        return (self._builder is not None and doc_id in self._builder) or self._find(doc_id) is not None

    def add(self, doc_id: str, terms: Iterable[str] | Mapping[str, float]) -> None:
        """Add a document, as `SparseIndexBuilder.add` does; one whose ID is there already is an InputError."""
        self._writer.check_open()
        if self._find(doc_id) is not None:
            raise InputError(
                f"document ID {doc_id!r}, which the index has already",
                expected="a new ID",
                remedy="replace the document (update(), or --replace), or choose another ID",
            )
        if self._builder is None:
            self._builder = self._begin()
        self._builder.add(doc_id, terms)

    def delete(self, doc_id: str) -> None:
        """Delete a document; one that the index does not have is an InputError."""
        check_doc_id(doc_id)
        self._writer.check_open()
        if self._builder is not None and doc_id in self._builder:
            self._builder.delete(doc_id)
            return
        found = self._find(doc_id)
        if found is None:
            raise InputError(f"document ID {doc_id!r}", expected="a document of the index", remedy="check the ID")
        state, ordinal = found
        state.delete(ordinal)

    def update(self, doc_id: str, terms: Iterable[str] | Mapping[str, float]) -> None:
        """Replace a document, or add it where there is none of that ID; it comes last in the order of adding."""
        terms = terms if isinstance(terms, str | Mapping) else list(terms)
        read_terms(doc_id, terms)  # raises before anything is deleted
        if doc_id in self:
            self.delete(doc_id)
        self.add(doc_id, terms)

    def merge(self) -> None:
        """Have `commit` merge all segments into one, as a fresh build would write it."""
        self._merges_all = True

    def commit(self, settings: Mapping[str, Any] | None = None) -> Manifest:
        """Make the changed index the current one, once; its settings stay unless others are given.

        Segments that are merged are verified first, so that no damage is copied unseen (IndexDamaged).
        """
        self._writer.check_open()
        with self._index.stored.naming_damage():
            totals = self._write()
        return self._writer.commit(dict(self._index.settings if settings is None else settings), totals)

    def _write(self) -> dict[str, int]:
        """Write the files of the changed index, and return its counts."""
        self._finish()
        states = [state for state in self._states if state.is_live.any()]
        if not states:
            raise InputError(
                "no document left", expected="at least one", remedy="delete the directory, or keep a document"
            )
        states = [group[0] if self._may_stay(group) else self._merge(group) for group in self._group(states)]
        kept = {state.segment.name for state in states if state.is_new}
        for folder in list(self._writer.folder.iterdir()):
            if folder.name not in kept:
                shutil.rmtree(folder)
        counts = {}
        for number, state in enumerate(states, 1):
            counts[name_segment(number)] = state.counts
            self._place(state, name_segment(number))
        return count_all(counts, terms=_count_terms(states)) | _count_live(states)

    def _find(self, doc_id: str) -> tuple[_State, int] | None:
        """Return where a document is that is neither deleted nor in the segment that is being built."""
        with self._index.stored.naming_damage():
            for state in self._states:
                ordinal = state.segment.find_ordinal(doc_id)
                if ordinal >= 0 and state.is_live[ordinal]:
                    return state, ordinal
        return None

    def _begin(self) -> SegmentBuilder:
        self._begun += 1
        return SegmentBuilder(self._writer, f"new-segment-{self._begun:06d}", buffered_postings=self._buffered_postings)

    def _finish(self) -> None:
        """Write the segment of the documents added so far, if any."""
        if self._builder is not None and len(self._builder):
            self._states.append(self._open(self._builder))
            self._builder = None

    def _open(self, builder: SegmentBuilder) -> _State:
        counts = builder.finish()
        named = {f"{builder.folder}/{name}": count for name, count in counts.items()}
        segment = Segment(self._writer.look(named), builder.folder)
        state = _State(segment, counts, segment.is_live.copy(), is_new=True)
        if deleted := builder.list_deleted():
            state.delete(deleted)
        return state

    def _group(self, states: Sequence[_State]) -> list[list[_State]]:
        """Return the segments in runs that are to be one each."""
        if self._merges_all:
            return [list(states)]
        sizes = [state.live_count for state in states]
        for place, size in enumerate(sizes[:-1]):
            if size <= _MOST_TIMES * sum(sizes[place + 1 :]):
                return [[state] for state in states[:place]] + [list(states[place:])]
        return [[state] for state in states]

    def _may_stay(self, group: Sequence[_State]) -> bool:
        """Tell whether a run of segments is one that need not be written anew."""
        state = group[0]
        deleted = len(state.is_live) - state.live_count
        if state.is_changed and _has_counts_left(state):
            return False  # as a fresh build would, it is to have counts again
        return len(group) == 1 and deleted <= (0 if self._merges_all else _MOST_DELETED * len(state.is_live))

    def _merge(self, group: Sequence[_State]) -> _State:
        """Write the documents that are left of some segments as one, as a fresh build would."""
        for state in group:
            if not state.is_new:
                state.segment.stored.verify(f"{state.segment.name}/")
        builder = self._begin()
        try:
            places: dict[str, int] = {}
            rows_by_state = []
            for state in group:
                frequencies, keys = state.summarize()
                live = np.flatnonzero(frequencies)
                live = live[np.argsort(keys[live])]
                rows = np.full(len(frequencies), -1, np.int64)
                rows[live] = [places.setdefault(term, len(places)) for term in state.segment.terms.take(live)]
                rows_by_state.append(rows)
            builder.name_terms(list(places))
            for state, rows in zip(group, rows_by_state, strict=True):
                self._copy(state, rows, builder)
            return self._open(builder)
        finally:
            builder.close()

    def _copy(self, state: _State, rows: NDArray[np.int64], builder: SegmentBuilder) -> None:
        """Add the documents that are left of a segment to another, some at a time."""
        live = np.flatnonzero(state.is_live)
        segment = state.segment
        for run in split_runs(segment.forward.count_terms(live), self._buffered_postings):
            part = live[run]
            counts, local, values = segment.read_documents(part)
            builder.add_rows(segment.read_doc_ids(part), counts, rows[local], values)

    def _place(self, state: _State, name: str) -> None:
        """Put a segment's files where the new generation has them."""
        segment = state.segment
        if state.is_new:
            self._writer.rename(segment.name, name)
        else:
            for path in segment.stored.manifest.files:
                folder, _, file = path.partition("/")
                if folder == segment.name and not (state.is_changed and file in _DELETION_FILES):
                    self._writer.link(segment.stored, path, as_name=f"{name}/{file}")
        if state.is_changed:
            frequencies, keys = state.summarize()
            self._writer.save(f"{name}/deleted.npy", np.flatnonzero(~state.is_live).astype(np.int32))
            self._writer.save(f"{name}/live-frequencies.npy", frequencies.astype(np.int32))
            self._writer.save(f"{name}/first-seen.npy", keys)


def _summarize(state: _State) -> _Summary:
    """Return how many of the documents that are left have each term, and the order of its first appearance in them.

    The latter as numbers: the ordinal of the document, times 2**32, plus the term's place in it.
    """
    segment = state.segment
    all_rows = np.arange(len(segment.terms))
    if not state.is_changed:
        return segment.count_documents(all_rows), segment.order_terms(all_rows)
    _, rows_deleted, _ = segment.read_documents(np.flatnonzero(~state.is_live))
    frequencies = segment.sets.count_documents(all_rows) - np.bincount(rows_deleted, minlength=len(all_rows))
    first = segment.postings[segment.offsets[:-1]].astype(np.int64)
    for row in np.flatnonzero(~state.is_live[first] & (frequencies > 0)).tolist():
        documents = segment.postings[segment.span(row)]
        first[row] = documents[np.argmax(state.is_live[documents])]
    documents = np.unique(first[frequencies > 0])
    counts, rows, _ = segment.read_documents(documents)
    owners = np.repeat(documents, counts)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    keys = np.full(len(all_rows), _NEVER)
    is_first = first[rows] == owners
    keys[rows[is_first]] = (owners[is_first] << 32) | places[is_first]
    keys[frequencies == 0] = _NEVER
    return frequencies, keys


def _has_counts_left(state: _State) -> bool:
    """Tell whether a segment of weights has only whole numbers in the documents that are left."""
    if not state.segment.has_weights:
        return False
    _, _, values = state.segment.read_documents(np.flatnonzero(state.is_live))
    return values is None or bool((values == np.rint(values)).all())


def _count_terms(states: Sequence[_State]) -> int:
    """Return the number of distinct terms of the documents that are left.

    Of the segment with most terms no string is read but to look up those of the others.
    """
    live = [(state, np.flatnonzero(state.summarize()[0])) for state in states]
    live.sort(key=lambda pair: -len(pair[1]))
    total = len(live[0][1])
    for place, (state, rows) in enumerate(live[1:], 1):
        new = state.segment.terms.take(rows)
        for larger, _ in live[:place]:
            new = larger.list_unknown(new)
        total += len(new)
    return total


def _count_live(states: Sequence[_State]) -> dict[str, int]:
    """Return the counts of what is left: documents, postings and tokens."""
    lengths = [int(state.segment.lengths[state.is_live].sum(dtype=np.int64)) for state in states]
    postings = [int(state.summarize()[0].sum()) for state in states]
    documents = [state.live_count for state in states]
    return {"documents": sum(documents), "postings": sum(postings), "tokens": sum(lengths)}
