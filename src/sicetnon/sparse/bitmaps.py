"""Terms that many documents have, as bitmaps over the documents: whether a document has one is a look at one bit."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from sicetnon.storage import DirectoryWriter, StoredDirectory

# A bitmap is as long as the postings of a term that one document in 32 has, at 4 bytes a posting.
_DOCUMENTS_A_POSTING = 32


class TermBitmaps:
    """The bitmaps of the frequent terms; read-only.

    rows: int32[h], ascending: the term rows. bits: uint8[h, ceil(documents / 8)]: bit d % 8, from the lowest, of byte
    d // 8 tells whether document d has the term.
    """

    __slots__ = ("_bits", "_rows")

    def __init__(self, rows: NDArray[np.int32], bits: NDArray[np.uint8]) -> None:
        """Take the arrays."""
        self._rows = rows
        self._bits = bits

    @classmethod
    def open(cls, stored: StoredDirectory, *, document_count: int) -> Self:
        """Map the two files that `write_bitmaps` wrote."""
        rows = stored.array("bitmap-rows.npy", dtype=np.int32)
        bits = stored.array("bitmaps.npy", dtype=np.uint8, length=len(rows))
        if (np.diff(rows) < 1).any():
            raise stored.damage(f"{stored.path('bitmap-rows.npy')} does not rise", expected="ascending term rows")
        if bits.shape != (len(rows), (document_count + 7) // 8):
            raise stored.damage(
                f"{stored.path('bitmaps.npy')} has shape {bits.shape}",
                expected=f"bits for {document_count:,} documents",
            )
        return cls(rows, bits)

    def find(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return where the bitmap of each term row is: intp, -1 for a term without one."""
        if not len(self._rows):
            return np.full(len(rows), -1, np.intp)
        places = np.searchsorted(self._rows, rows).clip(max=len(self._rows) - 1)
        return np.where(self._rows[places] == rows, places, -1)

    def test(self, places: NDArray[np.intp], ordinals: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Return whether each document has each term: uint8[len(places), len(ordinals)], 0 or 1."""
        found: NDArray[np.uint8] = self._bits[places[:, None], ordinals[None, :] >> 3]
        found >>= (ordinals & 7).astype(np.uint8)
        found &= 1
        return found


def write_bitmaps(
    writer: DirectoryWriter, postings: NDArray[np.int32], offsets: NDArray[np.int64], document_count: int
) -> None:
    """Write a bitmap for each frequent term; postings and offsets as in the index."""
    frequent = np.flatnonzero(np.diff(offsets) * _DOCUMENTS_A_POSTING > document_count)
    writer.save("bitmap-rows.npy", frequent.astype(np.int32))
    width = (document_count + 7) // 8

    def pack(row: int) -> NDArray[np.uint8]:
        has = np.zeros(document_count, np.bool_)
        has[postings[offsets[row] : offsets[row + 1]]] = True
        return np.packbits(has, bitorder="little")

    writer.save_array("bitmaps.npy", map(pack, frequent.tolist()), dtype=np.uint8, shape=(len(frequent), width))
