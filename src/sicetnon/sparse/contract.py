"""Files of rows -> an index directory; an index directory and a file of queries -> a file of results.

Corpus rows are {"doc_id", "terms"}, query rows {"query_id", "terms"}, one JSON object a line, UTF-8; result rows are
{"query_id", "results": [{"doc_id", "score"}]}, one for each query in input order, best first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from sicetnon.errors import InputError
from sicetnon.jsonl import read_keyed_rows, read_rows, whole_file
from sicetnon.sparse.builder import SparseIndexBuilder
from sicetnon.sparse.index import SparseIndex
from sicetnon.storage import Manifest

_TERMS = 'a list of strings under "terms"'
_PROGRESS_EVERY = 10_000  # rows


def build_index(corpus: Path, index_dir: Path, *, report: Callable[[int], None] | None = None) -> Manifest:
    """Build an index from a corpus file; `report` is told now and then how many documents are in."""
    with SparseIndexBuilder(index_dir) as builder:
        for row in read_rows(corpus):
            doc_id, terms = row.string("doc_id"), row.items("terms", expected=_TERMS)
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
    if top_k < 0:
        raise InputError(f"top_k of {top_k}", expected="at least 0", remedy="correct it")
    index = SparseIndex.open(index_dir)
    count = 0
    with whole_file(output) as sink:
        for query_id, row in read_keyed_rows(queries, "query_id"):
            terms = row.items("terms", expected=_TERMS)
            try:
                ordinals, scores = index.rank(terms, top_k=top_k)
            except InputError as error:
                raise row.fault(error.found, expected=error.expected, remedy=error.remedy) from None
            found = zip(index.read_doc_ids(ordinals), scores.tolist(), strict=True)
            results = [{"doc_id": doc_id, "score": score} for doc_id, score in found]
            sink.write(json.dumps({"query_id": query_id, "results": results}) + "\n")
            count += 1
    return count
