"""Files -> records: documents, queries, labelled examples and results, read and written in the contract's JSONL.

Knows nothing of passages, terms, vectors or indexes.
"""

from sicetnon.corpora.bundled import read_bundled_contrasts, read_bundled_decisions, read_bundled_propositions
from sicetnon.corpora.contrasts import read_contrasts
from sicetnon.corpora.documents import read_documents, write_documents
from sicetnon.corpora.examples import read_examples
from sicetnon.corpora.labels import read_propositions, read_relevant
from sicetnon.corpora.queries import read_queries
from sicetnon.corpora.results import ResultRow, hit_row, read_results, write_results

__all__ = [
    "ResultRow",
    "hit_row",
    "read_bundled_contrasts",
    "read_bundled_decisions",
    "read_bundled_propositions",
    "read_contrasts",
    "read_documents",
    "read_examples",
    "read_propositions",
    "read_queries",
    "read_relevant",
    "read_results",
    "write_documents",
    "write_results",
]
