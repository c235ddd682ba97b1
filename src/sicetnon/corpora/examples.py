"""A folder of labelled queries -> Examples."""

from __future__ import annotations

from pathlib import Path

from sicetnon.corpora.labels import read_relevant
from sicetnon.corpora.queries import read_queries
from sicetnon.errors import InputError
from sicetnon.types import Example

QUERIES, GROUND_TRUTH = "queries.jsonl", "ground_truth.jsonl"


def read_examples(folder: Path) -> list[Example]:
    """The labelled queries of ``folder`` in order: its ``queries.jsonl``, judged by its ``ground_truth.jsonl``.

    A query without a relevant document is left out.

    Raises:
        MalformedRow: as ``read_queries`` and ``read_relevant``.
        InputError: one of the files cannot be opened, or no query has a relevant document.
    """
    queries, relevant = read_queries(folder / QUERIES), read_relevant(folder / GROUND_TRUTH)
    examples = [
        Example(proposition=query.proposition, stance=query.stance, doc_ids=relevant[str(query.query_id)])
        for query in queries
        if relevant.get(str(query.query_id))
    ]
    if not examples:
        raise InputError(
            f"{folder}: {len(queries):,} queries, {len(relevant):,} judged ones, and none of both",
            expected=f'"query_id"s of {QUERIES} with relevant documents in {GROUND_TRUTH}',
            remedy="check that the two files belong together",
        )
    return examples
