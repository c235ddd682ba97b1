"""Result rows: whichever way they are written, they parse to the IDs and the very floats that were ranked."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sicetnon.sparse import SparseIndex, SparseIndexBuilder, result_rows
from sicetnon.sparse.result_rows import RankedQuery, format_rows

WIDE = st.floats(1, 1000, exclude_max=True)
ANY = st.floats(0, 1e300, exclude_min=True)


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> SparseIndex:
    return build(tmp_path_factory.mktemp("alike"), [f"d{n:02d}" for n in range(20)])


def build(path: Path, doc_ids: list[str]) -> SparseIndex:
    with SparseIndexBuilder(path) as builder:
        for doc_id in doc_ids:
            builder.add(doc_id, ["x"])
        builder.commit()
    return SparseIndex.open(path)


def rank(query_id: str, scores: list[float]) -> RankedQuery:
    return RankedQuery(query_id, np.arange(len(scores)), np.array(scores, np.float64))


def parse(index: SparseIndex, ranked: list[RankedQuery]) -> None:
    """Check that the rows say what was ranked."""
    lines = format_rows(index, ranked).splitlines()
    assert len(lines) == len(ranked)
    for line, query in zip(lines, ranked, strict=True):
        doc_ids = index.read_doc_ids(query.ordinals)
        results = [{"doc_id": i, "score": s} for i, s in zip(doc_ids, query.scores.tolist(), strict=True)]
        assert json.loads(line) == {"query_id": query.query_id, "results": results}


@given(rows=st.lists(st.tuples(st.text(), st.lists(st.one_of(WIDE, WIDE, ANY), max_size=20)), min_size=1, max_size=4))
def test_rows_parse_back(alike: SparseIndex, rows) -> None:
    """Any scores, alike or not, and any query IDs; also no results at all."""
    parse(alike, [rank(query_id, scores) for query_id, scores in rows])


@given(scores=st.lists(WIDE, min_size=1, max_size=20))
def test_laid_out_scores_are_exact(alike: SparseIndex, scores: list[float]) -> None:
    """Scores from 1 to below 1,000 are laid out in columns, and parse back to the same float."""
    assert result_rows._find_fit([rank("q", scores)]) == [True]
    parse(alike, [rank("q", scores)])


def test_edges_of_the_layout(alike: SparseIndex) -> None:
    """The floats next to whole numbers, to powers of two and to both ends."""
    wholes = [1.0, 2.0, 9.0, 10.0, 64.0, 99.0, 100.0, 512.0, 999.0]
    scores = [*wholes, *np.nextafter(wholes, 2000).tolist(), np.nextafter(1000, 0)]
    assert result_rows._find_fit([rank("q", scores)]) == [True]
    parse(alike, [rank("q", scores)])
    for score in (np.nextafter(1, 0), 1000.0):
        assert result_rows._find_fit([rank("p", [2.5]), rank("q", [5.5, score]), rank("r", [])]) == [True, False, True]
        parse(alike, [rank("q", [score])])


@pytest.mark.parametrize("other", ["bc", "é", '"', "\\", "\n", "\x7f", ""])
def test_ids_that_are_not_alike(tmp_path: Path, other: str) -> None:
    """IDs of several lengths, of other than ASCII characters, or with such as JSON escapes."""
    parse(build(tmp_path, ["a", other]), [rank("q", [5.5, 4.25])])


@pytest.mark.parametrize("others", [["e"], ["bc"], ["é", "e"], ['"', "e"]], ids=repr)
def test_rows_do_not_depend_on_each_other(tmp_path: Path, others: list[str]) -> None:
    """A row reads the same, to the byte, alone and beside any others, of other scores and IDs."""
    index = build(tmp_path, ["a", "b", "c", "d", *others])
    asked = [
        rank("alike", [5.5, 4.25]),
        rank("small", [5.5, 0.25]),
        rank("large", [5000.5, 4.25]),
        rank("nothing", []),
        RankedQuery("others", np.array([0, 4]), np.array([5.5, 4.25])),
        RankedQuery("only others", np.array([4]), np.array([5.5])),
    ]
    alone = {query.query_id: format_rows(index, [query]) for query in asked}
    assert '"score":   5.5000' in alone["alike"]
    assert '"score": 5.5' in alone["small"]
    for some in [asked, asked[::-1], *combinations(asked, 2), *combinations(asked, 3)]:
        assert format_rows(index, some) == "".join(alone[query.query_id] for query in some)
