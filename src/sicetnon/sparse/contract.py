"""Files of rows -> an index directory; an index directory and a file of queries -> a file of results.

Corpus rows are {"doc_id", "terms"}, query rows {"query_id", "terms"}, one JSON object a line, UTF-8; result rows are
{"query_id", "results": [{"doc_id", "score"}]}, one for each query in input order, best first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from sicetnon.errors import InputError, MalformedRow
from sicetnon.sparse.builder import SparseIndexBuilder
from sicetnon.sparse.index import SparseIndex
from sicetnon.storage import Manifest

_PROGRESS_EVERY = 10_000  # rows


def build_index(corpus: Path, index_dir: Path, *, report: Callable[[int], None] | None = None) -> Manifest:
    """Build an index from a corpus file; `report` is told now and then how many documents are in."""
    with SparseIndexBuilder(index_dir) as builder:
        for line, doc_id, terms in _read_rows(corpus, "doc_id"):
            try:
                builder.add(doc_id, terms)
            except InputError as error:
                raise MalformedRow(corpus, line, error.found, expected=error.expected, remedy=error.remedy) from None
            if report is not None and line % _PROGRESS_EVERY == 0:
                report(line)
        return builder.commit()


def search_file(index_dir: Path, queries: Path, output: Path, *, top_k: int = 100) -> int:
    """Answer every query of a file and write the results; return the number of queries.

    The output appears whole or not at all.
    """
    index = SparseIndex.open(index_dir)
    seen: set[str] = set()
    with _replace_file(output) as sink:
        for line, query_id, terms in _read_rows(queries, "query_id"):
            try:
                ordinals, scores = index.rank(terms, top_k=top_k)
            except InputError as error:
                raise MalformedRow(queries, line, error.found, expected=error.expected, remedy=error.remedy) from None
            if query_id in seen:
                raise MalformedRow(
                    queries,
                    line,
                    f"query ID {query_id!r} a second time",
                    expected="each query once",
                    remedy="remove one of the two",
                )
            seen.add(query_id)
            found = zip(index.doc_ids.take(ordinals), scores.tolist(), strict=True)
            results = [{"doc_id": doc_id, "score": score} for doc_id, score in found]
            sink.write(json.dumps({"query_id": query_id, "results": results}) + "\n")
    return len(seen)


def _read_rows(path: Path, id_field: str) -> Iterator[tuple[int, str, list[str]]]:
    """Yield line number, ID and terms of each row; blank lines may only end the file."""
    blank = 0
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    blank = blank or number
                    continue
                if blank:
                    raise MalformedRow(path, blank, "a blank line", expected="a JSON object", remedy="remove the line")
                yield number, *_parse_row(path, number, line, id_field)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror})", expected="a readable file", remedy="check the path"
        ) from error


def _parse_row(path: Path, number: int, line: bytes, id_field: str) -> tuple[str, list[str]]:
    """Return ID and terms; whether every term is a string is left to who takes them."""
    remedy = "correct the row"
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise MalformedRow(
            path, number, "bytes that are not UTF-8", expected="UTF-8", remedy="convert the file to UTF-8"
        ) from None
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise MalformedRow(path, number, f"not JSON ({reason})", expected="a JSON object", remedy=remedy) from None
    if not isinstance(row, dict):
        raise MalformedRow(path, number, "not a JSON object", expected="a JSON object", remedy=remedy)
    identifier, terms = row.get(id_field), row.get("terms")
    if not isinstance(identifier, str):
        raise MalformedRow(path, number, _describe(row, id_field), expected=f"a string {id_field!r}", remedy=remedy)
    if not isinstance(terms, list):
        raise MalformedRow(path, number, _describe(row, "terms"), expected="a list of strings 'terms'", remedy=remedy)
    return identifier, terms


def _describe(row: dict[str, object], field: str) -> str:
    return f"{field!r} is a {type(row[field]).__name__}" if field in row else f"no field {field!r}"


@contextmanager
def _replace_file(output: Path) -> Iterator[TextIO]:
    """Give a file to write; at the end it takes the place of `output`, after an error it is gone."""
    target = Path(os.path.realpath(output))
    if target.exists() and not target.is_file() and not target.is_dir():
        # A pipe or a device is not replaced but written to.
        with target.open("w", encoding="utf-8") as sink:
            yield sink
        return
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        sink = unfinished.open("w", encoding="utf-8")
    except OSError as error:
        raise _explain_output(output, error) from error
    try:
        with sink:
            yield sink
        try:
            unfinished.replace(target)
        except OSError as error:
            raise _explain_output(output, error) from error
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _explain_output(output: Path, error: OSError) -> InputError:
    return InputError(
        f"{output} cannot be written ({error.strerror})", expected="a writable file", remedy="check the path"
    )
