"""Terms that many documents have, as bitmaps over the documents: whether a document has one is a look at one bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from sicetnon.storage import StoredDirectory

if TYPE_CHECKING:
    from sicetnon.storage import DirectoryWriter

# A bitmap is as long as the postings of a term that one document in 32 has, at 4 bytes a posting.
_DOCUMENTS_A_POSTING = 32


class TermBitmaps:
    """The bitmaps of the frequent terms; read-only.

    rows: int32[h], ascending: the term rows. bits: uint8[h, ceil(documents / 8)]: bit d % 8, from the lowest, of byte
    d // 8 tells whether document d has the term.
    """

    __slots__ = ("_document_count", "_rows", "bits")

    def __init__(self, rows: NDArray[np.int32], bits: NDArray[np.uint8], *, document_count: int) -> None:
        """Take the arrays."""
        self._rows = rows
        self.bits = bits
        self._document_count = document_count

    @classmethod
    def open(cls, stored: StoredDirectory, folder: str, *, document_count: int) -> Self:
        """Map the two files that `write_bitmaps` wrote into a folder."""
        rows = stored.array(f"{folder}/bitmap-rows.npy", dtype=np.int32)
        bits = stored.array(f"{folder}/bitmaps.npy", dtype=np.uint8, length=len(rows))
        if (np.diff(rows) < 1).any():
            raise stored.damage(
                f"{stored.path(f'{folder}/bitmap-rows.npy')} does not rise", expected="ascending term rows"
            )
        if bits.shape != (len(rows), (document_count + 7) // 8):
            raise stored.damage(
                f"{stored.path(f'{folder}/bitmaps.npy')} has shape {bits.shape}",
                expected=f"bits for {document_count:,} documents",
            )
        return cls(rows, bits, document_count=document_count)

    def find(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return where the bitmap of each term row is: intp, -1 for a term without one."""
        if not len(self._rows):
            return np.full(len(rows), -1, np.intp)
        places = np.searchsorted(self._rows, rows).clip(max=len(self._rows) - 1)
        return np.where(self._rows[places] == rows, places, -1)

    def test(self, places: NDArray[np.intp], ordinals: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Return whether each document has each term: uint8[len(places), len(ordinals)], 0 or 1."""
        found = np.empty((len(places), len(ordinals)), np.uint8)
        columns = ordinals >> 3
        for place, row in zip(places.tolist(), found, strict=True):
            self.bits[place].take(columns, out=row, mode="clip")
        found >>= (ordinals & 7).astype(np.uint8)
        found &= 1
        return found

    def weigh(
        self, places: NDArray[np.intp], whole: NDArray[np.int64], ordinals: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        """Return each document's sum of the whole numbers of the terms it has: int64, by ordinal given.

        The numbers must not exceed 2**24 together.
        """
        # NumPy has a quick product for floats alone; these are exact up to 2**24.
        sums = whole.astype(np.float32) @ self.test(places, ordinals).astype(np.float32)
        return sums.astype(np.int64)

    def sum_up(self, places: NDArray[np.intp], steps: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return every document's sum of the steps (one a term) of the terms it has; none may outgrow a byte."""
        sums = np.zeros(self._document_count, np.uint8)
        for place, step in zip(places.tolist(), steps, strict=True):
            unpacked = np.unpackbits(self.bits[place], count=self._document_count, bitorder="little")
            unpacked *= step
            sums += unpacked
        return sums


def write_bitmaps(
    writer: DirectoryWriter,
    folder: str,
    postings: NDArray[np.int32],
    offsets: NDArray[np.int64],
    document_count: int,
) -> None:
    """Write a bitmap for each frequent term into a folder; postings and offsets as in the index."""
    frequent = np.flatnonzero(np.diff(offsets) * _DOCUMENTS_A_POSTING > document_count)
    writer.save(f"{folder}/bitmap-rows.npy", frequent.astype(np.int32))
    width = (document_count + 7) // 8

    def pack(row: int) -> NDArray[np.uint8]:
        has = np.zeros(document_count, np.bool_)
        has[postings[offsets[row] : offsets[row + 1]]] = True
        return np.packbits(has, bitorder="little")

    shape = (len(frequent), width)
    writer.save_array(f"{folder}/bitmaps.npy", map(pack, frequent.tolist()), dtype=np.uint8, shape=shape)
