"""Files of rows and IDs -> changes of an index, and its budget: what the shell's commands do."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sicetnon.jsonl import read_keyed_rows, read_rows
from sicetnon.sparse.budget import BUDGET
from sicetnon.sparse.contract import read_terms
from sicetnon.sparse.index import SparseIndex
from sicetnon.sparse.layout import KIND
from sicetnon.sparse.tuning import Tuned, tune
from sicetnon.sparse.writer import SparseIndexWriter
from sicetnon.storage import Manifest, change_settings


def add_file(corpus: Path, index_dir: Path, *, replaces: bool = False) -> Manifest:
    """Add the documents of a corpus file to an index; `replaces` those of the same ID rather than refuse them."""
    with SparseIndexWriter(index_dir) as writer:
        for row in read_rows(corpus):
            doc_id, terms = row.string("doc_id"), read_terms(row)
            with row.naming_faults():
                if replaces:
                    writer.update(doc_id, terms)
                else:
                    writer.add(doc_id, terms)
        return writer.commit()


def delete_documents(doc_ids: Iterable[str], index_dir: Path) -> Manifest:
    """Delete documents of an index; one that it does not have is an InputError, and none is deleted."""
    with SparseIndexWriter(index_dir) as writer:
        for doc_id in doc_ids:
            writer.delete(doc_id)
        return writer.commit()


def merge_index(index_dir: Path) -> Manifest:
    """Merge all segments of an index into one, without what was deleted."""
    with SparseIndexWriter(index_dir) as writer:
        writer.merge()
        return writer.commit()


def tune_index(index_dir: Path, queries: Path, *, top_k: int, overlap: float, overlap_top: float) -> Tuned:
    """Find the budget of an index by the queries of a file, and keep it in the index; see `tune`."""
    index = SparseIndex.open(index_dir)
    samples = (read_terms(row) for _, row in read_keyed_rows(queries, "query_id"))
    tuned = tune(index, samples, top_k=top_k, overlap=overlap, overlap_top=overlap_top)
    change_settings(index_dir, kind=KIND, settings={BUDGET: tuned.budget.to_json()})
    return tuned
