"""Whole-number sums of some terms' weights over all documents, and which documents have the highest.

The weights of a query are scaled by one factor and rounded: a sum of m of them is off by at most m/2. Rare terms are
added posting by posting, frequent ones by unpacking their bitmaps, which costs the same however many documents have
them.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sicetnon.sparse.bitmaps import TermBitmaps
from sicetnon.sparse.forward import ForwardIndex
from sicetnon.sparse.runs import split_runs
from sicetnon.sparse.topk import bound_kth, find_kth

Whole = TypeVar("Whole", np.uint8, np.uint16)

# A bitmap costs as much to unpack and add as this share of all documents, posting by posting.
_UNPACKED_SHARE = 1 / 13
_POSTINGS_AT_ONCE = 32_768


class SetPostings(NamedTuple):
    """What the search over sets needs of an index: postings int32 by term row, offsets int64, and both other views."""

    postings: NDArray[np.int32]
    offsets: NDArray[np.int64]
    bitmaps: TermBitmaps
    forward: ForwardIndex
    document_count: int

    def span(self, row: int) -> NDArray[np.int32]:
        """Return the documents of a term, ascending."""
        return self.postings[self.offsets.item(row) : self.offsets.item(row + 1)]

    def count_documents(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the document frequencies of terms."""
        return self.offsets[rows + 1] - self.offsets[rows]

    def add_postings(self, rows: NDArray[np.intp], whole: NDArray[Whole]) -> NDArray[Whole]:
        """Return every document's sum, in the type of `whole` (one number a row), which none may outgrow."""
        sums = np.zeros(self.document_count, whole.dtype)
        if len(rows):
            # One call for all rows; the casts to machine-size ordinals and to one weight a posting are cheap beside it.
            ordinals = np.concatenate([self.span(row) for row in rows.tolist()], dtype=np.intp)
            np.add.at(sums, ordinals, np.repeat(whole, self.count_documents(rows)))
        return sums

    def add_weights(self, scores: NDArray[np.float64], rows: NDArray[np.intp], weights: NDArray[np.float64]) -> None:
        """Add each term's weight to the scores of its documents, one term after another.

        A call costs as much as some thousand postings, so short ones go together; their order stays.
        """
        counts = self.count_documents(rows)
        for run in split_runs(counts, _POSTINGS_AT_ONCE):
            # Cast first: NumPy adds at machine-size ordinals on its fast path, 1.0 ns a posting, against 1.5 at int32
            # ones and 3.0 for `scores[ordinals] += weight`; the cast itself is 0.2.
            if run.stop == run.start + 1:
                np.add.at(scores, self.span(int(rows[run.start])).astype(np.intp), weights[run.start])
            else:
                ordinals = np.concatenate([self.span(row) for row in rows[run].tolist()], dtype=np.intp)
                np.add.at(scores, ordinals, np.repeat(weights[run], counts[run]))

    def is_unpacked(self, frequencies: NDArray[np.int64], places: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Tell which terms are cheaper to add by their bitmaps; `places` says where those are, -1 for none."""
        return (places >= 0) & (frequencies > _UNPACKED_SHARE * self.document_count)


def bar(sums: NDArray[Whole], allowed: NDArray[np.bool_] | None) -> None:
    """Take the documents that are not allowed out: their sums become 0, so that no bound counts them."""
    if allowed is not None:
        sums *= allowed


def list_at_least(sums: NDArray[Whole], least: int) -> NDArray[np.intp]:
    """Return the ordinals of the documents with sums of at least `least`, ascending; quick where they are few."""
    is_high = sums >= sums.dtype.type(least)
    whole = len(is_high) // 8 * 8
    words = is_high[:whole].view(np.uint64)  # eight documents in each
    places = np.flatnonzero(words != 0)
    if len(places) > len(words) // 4:
        return np.flatnonzero(is_high)
    found = np.flatnonzero(words[places].view(np.bool_))
    ordinals = (places[found >> 3] << 3) + (found & 7)
    return ordinals if whole == len(is_high) else np.append(ordinals, np.flatnonzero(is_high[whole:]) + whole)


def list_good(sums: NDArray[Whole], wanted: int) -> tuple[NDArray[np.intp], int]:
    """Return all documents with sums of at least some number, ascending, and that number, which is above 0.

    They are as many as wanted, or some more; fewer only where fewer have sums above 0.
    """
    least = max(int(bound_kth(sums, wanted, 0)), 1)
    return list_at_least(sums, least), least


def list_highest(sums: NDArray[Whole], wanted: int) -> NDArray[np.intp]:
    """Return the ordinals of the documents with the highest sums above 0, ascending: so many, and all ties at the last.

    Fewer only where there are fewer.
    """
    found, _ = list_good(sums, wanted)
    if len(found) > wanted:
        values = sums[found].astype(np.uint16)  # the smallest that NumPy partitions at full speed
        found = found[values >= find_kth(values, wanted)]
    return found
