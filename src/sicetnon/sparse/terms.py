"""Term strings <-> term rows, without loading the strings.

term-hashes.npy holds the terms' 64-bit hashes in ascending order (uint64), term-rows.npy the row of each (int32);
a looked-up term is compared with the stored string, so that terms of equal hash are told apart. Where the terms are
few, they are read into a dictionary at the first look-up instead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sicetnon.errors import InputError
from sicetnon.storage import StoredDirectory, StringTable, write_strings
from sicetnon.storage.strings import encode

if TYPE_CHECKING:
    from sicetnon.storage import DirectoryWriter


_MOST_HELD = 2**17  # terms: a few milliseconds, some megabytes


def are_strings(terms: Sequence[str]) -> bool:
    """Tell whether all terms really are strings: joining them is the quickest way to see that, every one of them."""
    try:
        "".join(terms)
    except TypeError:
        return False
    return True


def check_doc_id(doc_id: object) -> None:
    """Raise InputError for the ID of a document that is no string."""
    if not isinstance(doc_id, str):
        raise InputError(f"document ID {doc_id!r}", expected="a string", remedy="correct the ID")


def hash_term(encoded: bytes) -> bytes:
    """Return the 8 bytes (little-endian) that a term is found by."""
    return blake2b(encoded, digest_size=8).digest()


def _hash_terms(encoded: Sequence[bytes]) -> NDArray[np.uint64]:
    return np.frombuffer(b"".join(map(hash_term, encoded)), "<u8")


def write_terms(writer: DirectoryWriter, folder: str, terms: Sequence[str]) -> None:
    """Write the terms into a folder; their rows are their places in the sequence."""
    write_strings(writer, f"{folder}/terms", terms)
    hashes = _hash_terms([encode(term) for term in terms])
    order = np.argsort(hashes, kind="stable")
    writer.save(f"{folder}/term-hashes.npy", hashes[order])
    writer.save(f"{folder}/term-rows.npy", order.astype(np.int32))


class TermDictionary:
    """Rows by term, memory-mapped; safe from many threads."""

    __slots__ = ("_by_term", "_hashes", "_rows", "_strings")

    def __init__(self, strings: StringTable, hashes: NDArray[np.uint64], rows: NDArray[np.int32]) -> None:
        """Take the strings by row, all hashes in ascending order, and the row of each hash."""
        self._strings = strings
        self._hashes = hashes
        self._rows = rows
        self._by_term: dict[str, int] | None = None

    @classmethod
    def open(cls, stored: StoredDirectory, folder: str, *, length: int) -> TermDictionary:
        """Map what `write_terms` wrote into a folder; `length` is the number of terms there should be."""
        return cls(
            StringTable.open(stored, f"{folder}/terms", length=length),
            stored.array(f"{folder}/term-hashes.npy", dtype=np.uint64, length=length),
            stored.array(f"{folder}/term-rows.npy", dtype=np.int32, length=length),
        )

    def __len__(self) -> int:
        """Return the number of terms."""
        return len(self._hashes)

    def __getitem__(self, row: int) -> str:
        """Return the term of a row."""
        return self._strings[row]

    def take(self, rows: ArrayLike) -> list[str]:
        """Return the terms of the given rows (integers, 1-d), in that order."""
        return self._strings.take(rows)

    def find_rows(self, terms: Collection[str]) -> list[int]:
        """Return the row of each term, -1 for an unknown one."""
        if self._by_term is None and len(self) <= _MOST_HELD:
            # Threads may do this twice: they come to the same dictionary.
            self._by_term = {term: row for row, term in enumerate(self._strings.to_list())}
        if (by_term := self._by_term) is not None:
            return [by_term.get(term, -1) for term in terms]
        encoded = [encode(term) for term in terms]
        hashes = _hash_terms(encoded)
        places = np.searchsorted(self._hashes, hashes).tolist()
        return [
            self._find(term, term_hash, place)
            for term, term_hash, place in zip(encoded, hashes.tolist(), places, strict=True)
        ]

    def _find(self, term: bytes, term_hash: int, place: int) -> int:
        """Look among the terms of equal hash, the first of which is at `place`."""
        while place < len(self._hashes) and self._hashes.item(place) == term_hash:
            row = self._rows.item(place)
            if self._strings.encoded(row) == term:
                return row
            place += 1
        return -1
