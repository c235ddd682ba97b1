"""Rankings -> result rows of JSON, many at once: writing a hundred scores a query takes longer than finding them.

Where all IDs of a query have one length and all its scores lie from 1 to below 1,000, every hit is as wide as every
other, and whole columns of characters are laid out by NumPy. Else its row is written alone. Either way a score parses
back to the same float, and no row depends on the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sicetnon.sparse.index import SparseIndex

_BEFORE_ID, _BEFORE_SCORE, _AFTER_SCORE = b'{"doc_id": "', b'", "score": ', b"}, "
_WHOLE_DIGITS = 3
_LARGEST = 10**_WHOLE_DIGITS
_FRACTION_BITS = 52  # a float64 of at least 1 is a multiple of 2**-52
_FRACTION_MASK = np.uint64(2**_FRACTION_BITS - 1)
_GROUP_DIGITS = 3  # of a fraction, taken from it at once
_FRACTION_GROUPS = 6  # 18 digits, where 16 tell such floats apart


class RankedQuery(NamedTuple):
    """A query's ID, and its ranking as `SparseIndex.rank` gives it."""

    query_id: str
    ordinals: NDArray[np.intp]
    scores: NDArray[np.float64]


def format_rows(index: SparseIndex, ranked: Sequence[RankedQuery]) -> str:
    """Return one line a query: {"query_id", "results": [{"doc_id", "score"}]}."""
    fits = _find_fit(ranked)
    laid_out = iter(_format_alike(index, [query for query, fit in zip(ranked, fits, strict=True) if fit]))
    rows = [next(laid_out) if fit else _format_row(index, query) for query, fit in zip(ranked, fits, strict=True)]
    return "".join(rows)


def _find_fit(ranked: Sequence[RankedQuery]) -> list[bool]:
    """Tell for each query whether all its scores lie from 1 to below 1,000."""
    scores = np.concatenate([query.scores for query in ranked])
    ends = np.cumsum([0, *(len(query.scores) for query in ranked)])
    unfit = np.append(0, np.cumsum((scores < 1) | (scores >= _LARGEST)))[ends]
    fits: list[bool] = (unfit[1:] == unfit[:-1]).tolist()
    return fits


def _format_alike(index: SparseIndex, ranked: Sequence[RankedQuery]) -> list[str]:
    """Return the row of each query, whose scores all lie from 1 to below 1,000."""
    if not ranked:
        return []
    ids = index.read_doc_id_bytes(np.concatenate([query.ordinals for query in ranked]))
    if ids is None or not _are_plain(ids):
        if len(ranked) == 1:
            return [_format_row(index, ranked[0])]
        return [row for query in ranked for row in _format_alike(index, [query])]
    hits = _lay_out(ids, np.concatenate([query.scores for query in ranked]))
    rows = []
    first = 0
    for query in ranked:
        last = first + len(query.ordinals)
        results = hits[first:last].tobytes().decode("ascii")[:-2]  # less the comma after the last
        rows.append(f'{{"query_id": {encode_basestring_ascii(query.query_id)}, "results": [{results}]}}\n')
        first = last
    return rows


def _are_plain(ids: NDArray[np.uint8]) -> bool:
    """Tell whether all bytes are characters of ASCII that JSON does not escape."""
    is_visible = ids.min() >= ord(" ") and ids.max() <= ord("~")
    return bool(is_visible and not (ids == ord('"')).any() and not (ids == ord("\\")).any())


def _lay_out(ids: NDArray[np.uint8], scores: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return a row of characters for each hit: uint8[hits, width].

    ids: uint8[hits, length]; scores: float64[hits], from 1 to below 1,000.
    """
    width = len(_BEFORE_ID) + ids.shape[1] + len(_BEFORE_SCORE) + _WHOLE_DIGITS + 1
    width += _GROUP_DIGITS * _FRACTION_GROUPS + len(_AFTER_SCORE)
    hits = np.empty((len(scores), width), np.uint8)
    at = 0

    def put(columns: NDArray[np.uint8]) -> None:
        nonlocal at
        hits[:, at : at + columns.shape[-1]] = columns
        at += columns.shape[-1]

    put(np.frombuffer(_BEFORE_ID, np.uint8))
    put(ids)
    put(np.frombuffer(_BEFORE_SCORE, np.uint8))
    whole = scores.astype(np.uint64)
    put(_spell(_WHOLE_DIGITS, " ")[whole])
    put(np.frombuffer(b".", np.uint8))
    # Exact: the fraction is a whole number of 2**-52, and times 1,000 still below 2**63. What is cut off at the end is
    # below 1e-18, far less than half the distance between floats.
    fraction = ((scores - whole) * 2.0**_FRACTION_BITS).astype(np.uint64)
    digits = _spell(_GROUP_DIGITS, "0")
    for _ in range(_FRACTION_GROUPS):
        fraction *= np.uint64(10**_GROUP_DIGITS)
        put(digits[fraction >> np.uint64(_FRACTION_BITS)])
        fraction &= _FRACTION_MASK
    put(np.frombuffer(_AFTER_SCORE, np.uint8))
    return hits


@cache
def _spell(digits: int, filler: str) -> NDArray[np.uint8]:
    """Return the characters of 0, 1, ..., filled up on the left: uint8[10**digits, digits], read-only."""
    text = "".join(str(number).rjust(digits, filler) for number in range(10**digits))
    return np.frombuffer(text.encode(), np.uint8).reshape(-1, digits)


def _format_row(index: SparseIndex, query: RankedQuery) -> str:
    """Return the row as json.dumps would write it, in half the time."""
    doc_ids = index.read_doc_ids(query.ordinals)
    # IDs joined by a character that JSON never escapes: what needs no escape together needs none alone.
    joined = " ".join(doc_ids)
    quoted = encode_basestring_ascii(joined)
    if len(quoted) != len(joined) + 2:
        doc_ids = [encode_basestring_ascii(doc_id)[1:-1] for doc_id in doc_ids]
    values: list[str | float] = [0.0] * (2 * len(doc_ids))
    values[::2] = doc_ids
    values[1::2] = query.scores.tolist()
    results = ", ".join(['{"doc_id": "%s", "score": %r}'] * len(doc_ids)) % tuple(values)
    return f'{{"query_id": {encode_basestring_ascii(query.query_id)}, "results": [{results}]}}\n'
