"""Files of rows -> an index directory; an index directory and a file of queries -> a file of results.

Corpus rows are {"doc_id", "terms"}, query rows {"query_id", "terms"}, one JSON object a line, UTF-8; result rows are
{"query_id", "results": [{"doc_id", "score"}]}, one for each query in input order, best first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from sicetnon.errors import InputError
from sicetnon.jsonl import Row, read_rows, whole_file
from sicetnon.sparse.builder import SparseIndexBuilder
from sicetnon.sparse.index import SparseIndex
from sicetnon.storage import Manifest

_PROGRESS_EVERY = 10_000  # rows


def build_index(corpus: Path, index_dir: Path, *, report: Callable[[int], None] | None = None) -> Manifest:
    """Build an index from a corpus file; `report` is told now and then how many documents are in."""
    with SparseIndexBuilder(index_dir) as builder:
        for row, doc_id, terms in _read_rows(corpus, "doc_id"):
            try:
                builder.add(doc_id, terms)
            except InputError as error:
                raise row.fault(error.found, expected=error.expected, remedy=error.remedy) from None
            if report is not None and row.line % _PROGRESS_EVERY == 0:
                report(row.line)
        return builder.commit()


def search_file(index_dir: Path, queries: Path, output: Path, *, top_k: int = 100) -> int:
    """Answer every query of a file and write the results; return the number of queries.

    The output appears whole or not at all.
    """
    index = SparseIndex.open(index_dir)
    seen: set[str] = set()
    with whole_file(output) as sink:
        for row, query_id, terms in _read_rows(queries, "query_id"):
            try:
                ordinals, scores = index.rank(terms, top_k=top_k)
            except InputError as error:
                raise row.fault(error.found, expected=error.expected, remedy=error.remedy) from None
            if query_id in seen:
                raise row.fault(
                    f"query ID {query_id!r} a second time", expected="each query once", remedy="remove one of the two"
                )
            seen.add(query_id)
            found = zip(index.doc_ids.take(ordinals), scores.tolist(), strict=True)
            results = [{"doc_id": doc_id, "score": score} for doc_id, score in found]
            sink.write(json.dumps({"query_id": query_id, "results": results}) + "\n")
    return len(seen)


def _read_rows(path: Path, id_field: str) -> Iterator[tuple[Row, str, list[str]]]:
    """Yield each row with its ID and terms; whether every term is a string is left to who takes them."""
    for row in read_rows(path):
        terms = row.fields.get("terms")
        if not isinstance(terms, list):
            found = f'"terms" is of type {type(terms).__name__}' if "terms" in row.fields else 'no field "terms"'
            raise row.fault(found, expected="a list of strings")
        yield row, row.string(id_field), terms
