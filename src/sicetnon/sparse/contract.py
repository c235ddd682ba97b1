"""Files of rows -> an index directory; an index directory and a file of queries -> a file of results.

Corpus rows are {"doc_id", "terms"}, query rows {"query_id", "terms"}, one JSON object a line, UTF-8. Terms are a list
of strings, or an object from term to weight: a document's frequency, or what the term counts in the query. Results are
for each query in input order, best first: as rows {"query_id", "results": [{"doc_id", "score"}]}, or as a TREC run,
lines of "query_id Q0 doc_id rank score tag" with ranks from 1, none for a query that finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sicetnon.errors import InputError
from sicetnon.jsonl import Row, read_keyed_rows, read_rows, whole_file
from sicetnon.sparse.budget import Budget
from sicetnon.sparse.index import QUERIES_AT_ONCE, SparseIndex
from sicetnon.sparse.planning import check_cutoff
from sicetnon.sparse.result_rows import RankedQuery, format_rows

if TYPE_CHECKING:
    from sicetnon.sparse.planning import SegmentQuery
    from sicetnon.sparse.scoring import Scoring
    from sicetnon.storage import Manifest

MODES = ("fast", "exact")
FORMATS = ("jsonl", "trec")

_TERMS = 'a list of strings, or an object from string to weight, under "terms"'
_PROGRESS_EVERY = 10_000  # rows
_MANY_QUERIES = 64


def build_index(corpus: Path, index_dir: Path, *, report: Callable[[int], None] | None = None) -> Manifest:
    """Build an index from a corpus file; `report` is told now and then how many documents are in."""
    from sicetnon.sparse.builder import SparseIndexBuilder

    with SparseIndexBuilder(index_dir) as builder:
        for row in read_rows(corpus):
            doc_id, terms = row.string("doc_id"), read_terms(row)
            with row.naming_faults():
                builder.add(doc_id, terms)
            if report is not None and row.line % _PROGRESS_EVERY == 0:
                report(row.line)
        return builder.commit(tunes=True)


def search_file(
    index_dir: Path,
    queries: Path,
    output: Path,
    *,
    top_k: int = 100,
    mode: Literal["exact", "fast"] = "exact",
    scoring: Scoring | None = None,
    format: Literal["jsonl", "trec"] = "jsonl",  # noqa: A002  as it is called on the command line
    tag: str = "sicetnon",
) -> int:
    """Answer every query of a file and write the results; return the number of queries.

    In the mode "fast" as much is looked at as the index's budget allows, or so many candidates that the results are
    among them where more of these are asked for; in "exact" all that matters. Scores are exact and never rise.

    Under a set-based scoring, as is the one without any, a query's terms count once each: weights are ignored, as
    repetitions are. The output appears whole or not at all. In a TREC run `tag` names the run; a score is written so
    that it parses back to the same float. Programs that read runs put equal scores into an order of their own.

    Raises:
        InputError: an option is none or does not fit the index, the queries cannot be read, or a name that is to go
            into a TREC run is empty, has white space in it or half a surrogate pair.
        IndexDirectoryError: there is no index, or none that can be read.
    """
    check_cutoff(top_k)
    if mode not in MODES:
        raise InputError(f"the mode {mode!r}", expected=" or ".join(MODES), remedy="correct it")
    if format not in FORMATS:
        raise InputError(f"the format {format!r}", expected=" or ".join(FORMATS), remedy="correct it")
    if format == "trec":
        _check_words([tag], "run tag")
    if index_dir.resolve() in output.resolve().parents:
        raise InputError(f"results in the index, at {output}", expected="a path outside it", remedy="name another")
    index = SparseIndex.open(index_dir)
    index.plan((), scoring=scoring)  # a scoring that does not fit the index is refused as such, and as no row's fault
    budget = _widen(index.budget, top_k) if mode == "fast" else None
    count = 0
    with whole_file(output) as sink:
        read = _read_run_queries(queries) if format == "trec" else read_keyed_rows(queries, "query_id")
        while rows := list(islice(read, QUERIES_AT_ONCE)):
            if not count and len(rows) >= _MANY_QUERIES:
                index.preload()
            plans = [_plan_row(index, row, scoring) for _, row in rows]
            some = [
                RankedQuery(query_id, *index.rank_planned(parts, top_k=top_k, budget=budget))
                for (query_id, _), parts in zip(rows, plans, strict=True)
            ]
            if format == "trec":
                sink.writelines(_format_run(index, query, tag) for query in some)
            else:
                sink.write(format_rows(index, some))
            count += len(some)
    return count


def _widen(budget: Budget, top_k: int) -> Budget:
    """Return a budget of as many candidates as are asked for: documents that follow these may score higher."""
    return replace(budget, candidates=max(budget.candidates, top_k))


def _read_run_queries(queries: Path) -> Iterator[tuple[str, Row]]:
    for query_id, row in read_keyed_rows(queries, "query_id"):
        with row.naming_faults():
            _check_words([query_id], "query_id")
        yield query_id, row


def _plan_row(index: SparseIndex, row: Row, scoring: Scoring | None) -> list[SegmentQuery]:
    terms = read_terms(row)
    with row.naming_faults():
        return index.plan(terms, scoring=scoring)


def read_terms(row: Row) -> list[str] | dict[str, float]:
    """Return the terms of a row; what is in the list or object is left to be checked."""
    terms = row.fields.get("terms")
    return terms if isinstance(terms, dict) else row.items("terms", expected=_TERMS)


def _format_run(index: SparseIndex, query: RankedQuery, tag: str) -> str:
    """Return the lines of a TREC run."""
    doc_ids = index.read_doc_ids(query.ordinals)
    _check_words(doc_ids, "document ID")
    ranked = enumerate(zip(doc_ids, query.scores.tolist(), strict=True), 1)
    return "".join([f"{query.query_id} Q0 {doc_id} {rank} {score!r} {tag}\n" for rank, (doc_id, score) in ranked])


def _check_words(names: list[str], what: str) -> None:
    """Refuse names that do not stand in a line as one word each."""
    if _are_words(names):
        return
    unfit = next(name for name in names if not _are_words([name]))
    raise InputError(
        f"the {what} {unfit!r} for a TREC run",
        expected="UTF-8 text that is not empty, without white space",
        remedy="rename it or write JSONL",
    )


def _are_words(names: list[str]) -> bool:
    joined = " ".join(names)
    if joined.split() != names:
        return False
    try:
        joined.encode()
    except UnicodeEncodeError:
        return False
    return True
