"""Files of rows -> an index directory; an index directory and a file of queries -> a file of results.

Corpus rows are {"doc_id", "terms"}, query rows {"query_id", "terms"}, one JSON object a line, UTF-8; result rows are
{"query_id", "results": [{"doc_id", "score"}]}, one for each query in input order, best first.
"""

from __future__ import annotations

from collections.abc import Callable
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sicetnon.errors import InputError
from sicetnon.jsonl import read_keyed_rows, read_rows, whole_file
from sicetnon.sparse.index import SparseIndex

if TYPE_CHECKING:
    from sicetnon.storage import Manifest

_TERMS = 'a list of strings under "terms"'
_PROGRESS_EVERY = 10_000  # rows


def build_index(corpus: Path, index_dir: Path, *, report: Callable[[int], None] | None = None) -> Manifest:
    """Build an index from a corpus file; `report` is told now and then how many documents are in."""
    from sicetnon.sparse.builder import SparseIndexBuilder

    with SparseIndexBuilder(index_dir) as builder:
        for row in read_rows(corpus):
            doc_id, terms = row.string("doc_id"), row.items("terms", expected=_TERMS)
            try:
                builder.add(doc_id, terms)
            except InputError as error:
                raise row.fault(error.found, expected=error.expected, remedy=error.remedy) from None
            if report is not None and row.line % _PROGRESS_EVERY == 0:
                report(row.line)
        return builder.commit(tunes=True)


def search_file(
    index_dir: Path, queries: Path, output: Path, *, top_k: int = 100, mode: Literal["exact", "fast"] = "exact"
) -> int:
    """Answer every query of a file and write the results; return the number of queries.

    The output appears whole or not at all.
    """
    if top_k < 0:
        raise InputError(f"top_k of {top_k}", expected="at least 0", remedy="correct it")
    index = SparseIndex.open(index_dir)
    budget = index.budget if mode == "fast" else None
    count = 0
    with whole_file(output) as sink:
        for query_id, row in read_keyed_rows(queries, "query_id"):
            terms = row.items("terms", expected=_TERMS)
            try:
                ordinals, scores = index.rank(terms, top_k=top_k, budget=budget)
            except InputError as error:
                raise row.fault(error.found, expected=error.expected, remedy=error.remedy) from None
            sink.write(_format_row(query_id, index.read_doc_ids(ordinals), scores.tolist()))
            count += 1
    return count


def _format_row(query_id: str, doc_ids: list[str], scores: list[float]) -> str:
    """Return the result row, as json.dumps would write it, in half the time."""
    # IDs joined by a character that JSON never escapes: what needs no escape together needs none alone.
    joined = " ".join(doc_ids)
    quoted = encode_basestring_ascii(joined)
    if len(quoted) != len(joined) + 2:
        doc_ids = [encode_basestring_ascii(doc_id)[1:-1] for doc_id in doc_ids]
    values: list[str | float] = [0.0] * (2 * len(doc_ids))
    values[::2] = doc_ids
    values[1::2] = scores
    results = ", ".join(['{"doc_id": "%s", "score": %r}'] * len(doc_ids)) % tuple(values)
    return f'{{"query_id": {encode_basestring_ascii(query_id)}, "results": [{results}]}}\n'
