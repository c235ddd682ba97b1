"""Files of rows -> an index directory; an index directory and a file of queries -> a file of results.

Corpus rows are {"doc_id", "terms"}, query rows {"query_id", "terms"}, one JSON object a line, UTF-8. Terms are a list
of strings, or an object from term to weight: a document's frequency, or what the term counts in the query. Results are
for each query in input order, best first: as rows {"query_id", "results": [{"doc_id", "score"}]}, or as a TREC run,
lines of "query_id Q0 doc_id rank score tag" with ranks from 1, none for a query that finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sicetnon.errors import InputError
from sicetnon.jsonl import Row, read_keyed_rows, read_rows, whole_file
from sicetnon.sparse.index import SparseIndex

if TYPE_CHECKING:
    from sicetnon.sparse.scoring import Scoring
    from sicetnon.storage import Manifest

FORMATS = ("jsonl", "trec")

_TERMS = 'a list of strings, or an object from string to weight, under "terms"'
_MOST_WEIGHT = 1e100  # a sum of these stays finite
_PROGRESS_EVERY = 10_000  # rows


def build_index(corpus: Path, index_dir: Path, *, report: Callable[[int], None] | None = None) -> Manifest:
    """Build an index from a corpus file; `report` is told now and then how many documents are in."""
    from sicetnon.sparse.builder import SparseIndexBuilder

    with SparseIndexBuilder(index_dir) as builder:
        for row in read_rows(corpus):
            doc_id, terms = row.string("doc_id"), _read_terms(row)
            try:
                builder.add(doc_id, terms)
            except InputError as error:
                raise row.fault(error.found, expected=error.expected, remedy=error.remedy) from None
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

    Under a set-based scoring, as is the one without any, a query's terms count once each: weights are ignored, as
    repetitions are. The output appears whole or not at all. In a TREC run `tag` names the run; a score is written so
    that it parses back to the same float. Programs that read runs put equal scores into an order of their own.

    Raises:
        InputError: an option is none or does not fit the index, the queries cannot be read, or a name that is to go
            into a TREC run is empty, has white space in it or half a surrogate pair.
        IndexDirectoryError: there is no index, or none that can be read.
    """
    if top_k < 0:
        raise InputError(f"top_k of {top_k}", expected="at least 0", remedy="correct it")
    if format not in FORMATS:
        raise InputError(f"the format {format!r}", expected=" or ".join(FORMATS), remedy="correct it")
    if format == "trec":
        _check_words([tag], "run tag")
    index = SparseIndex.open(index_dir)
    index.plan((), scoring=scoring)  # a scoring that does not fit the index is refused as such, and as no row's fault
    budget = index.budget if mode == "fast" else None
    count = 0
    with whole_file(output) as sink:
        for query_id, row in read_keyed_rows(queries, "query_id"):
            terms = _read_query(row)
            try:
                if format == "trec":
                    _check_words([query_id], "query_id")
                ordinals, scores = index.rank(terms, top_k=top_k, scoring=scoring, budget=budget)
            except InputError as error:
                raise row.fault(error.found, expected=error.expected, remedy=error.remedy) from None
            doc_ids = index.read_doc_ids(ordinals)
            if format == "trec":
                sink.write(_format_run(query_id, doc_ids, scores.tolist(), tag))
            else:
                sink.write(_format_row(query_id, doc_ids, scores.tolist()))
            count += 1
    return count


def _read_terms(row: Row) -> list[str] | dict[str, float]:
    """Return the terms of a row; what is in the list or object is left to be checked."""
    terms = row.fields.get("terms")
    return terms if isinstance(terms, dict) else row.items("terms", expected=_TERMS)


def _read_query(row: Row) -> list[str] | dict[str, float]:
    """Return the terms of a query, with weights that can be added up."""
    terms = _read_terms(row)
    if isinstance(terms, dict):
        for term, weight in terms.items():
            if type(weight) not in {int, float} or not 0 < weight <= _MOST_WEIGHT:
                raise row.fault(
                    f"the term {term!r} with a weight that is no positive number",
                    expected=f"numbers above 0, at most {_MOST_WEIGHT}",
                )
    return terms


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


def _format_run(query_id: str, doc_ids: list[str], scores: list[float], tag: str) -> str:
    """Return the lines of a TREC run."""
    _check_words(doc_ids, "document ID")
    ranked = enumerate(zip(doc_ids, scores, strict=True), 1)
    return "".join([f"{query_id} Q0 {doc_id} {rank} {score!r} {tag}\n" for rank, (doc_id, score) in ranked])


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
