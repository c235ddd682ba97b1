"""Documents one after another -> a sparse index directory of one segment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sicetnon.errors import InputError
from sicetnon.sparse.index import SparseIndex
from sicetnon.sparse.layout import KIND, count_all, name_segment
from sicetnon.sparse.segment_builder import SegmentBuilder
from sicetnon.sparse.tuning import tune_by_documents
from sicetnon.storage import DirectoryWriter, Manifest

BUFFERED_POSTINGS = 4_000_000


class SparseIndexBuilder:
    """Builds one sparse index, as a context manager; without `commit` nothing is left behind."""

    def __init__(self, path: str | Path, *, buffered_postings: int = BUFFERED_POSTINGS) -> None:
        """Name the index directory; about `buffered_postings` postings are held in memory at a time."""
        self._writer = DirectoryWriter(path, kind=KIND)
        self._buffered_postings = buffered_postings

    def __enter__(self) -> Self:
        """Take the directory; see `DirectoryWriter`."""
        self._writer.__enter__()
        try:
            self._segment = SegmentBuilder(self._writer, name_segment(1), buffered_postings=self._buffered_postings)
        except BaseException as error:
            self._writer.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave the index as it was unless it was committed."""
        self._segment.close()
        self._writer.__exit__(kind, error, traceback)

    def add(self, doc_id: str, terms: Iterable[str] | Mapping[str, float]) -> None:
        """Add a document: a set of terms (repeated ones count once), or a bag as a mapping from term to frequency.

        Frequencies are counts or weights of any other kind: 0 or more, where 0 is as good as no such term. As long as
        all of an index are whole numbers, they are kept as such; else all are kept as float32, and one that would
        become 0 or infinite by that is refused. The length of a document is the sum of its frequencies, and where they
        are weights, of which a sum means nothing, the number of its terms.

        A document that is refused with InputError leaves the builder as it was.
        """
        self._segment.add(doc_id, terms)

    def commit(self, settings: Mapping[str, Any] | None = None, *, tunes: bool = False) -> Manifest:
        """Write the index and make it the current one; settings are any JSON values worth keeping beside it.

        tunes: whether to find the budget of fast searches by queries made of the documents, and to keep it as the
        setting "budget"; it takes some seconds for a million documents.
        """
        self._writer.check_open()
        if not len(self._segment):
            raise InputError("no document at all", expected="at least one", remedy="check the corpus")
        counts = {name_segment(1): self._segment.finish()}
        totals = count_all(counts, terms=counts[name_segment(1)]["terms"])
        chosen = dict(settings or {})
        if tunes:
            chosen |= tune_by_documents(SparseIndex(self._writer.look(totals)))
        return self._writer.commit(chosen, totals)
