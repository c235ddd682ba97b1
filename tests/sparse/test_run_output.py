"""Queries from a file with lists or weights; results as rows of JSON or as the lines of a TREC run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sicetnon
from sicetnon.corpora import read_results
from sicetnon.errors import InputError, MalformedRow
from sicetnon.sparse import (
    Bm25,
    Budget,
    IdfOverlap,
    SparseIndex,
    SparseIndexBuilder,
    build_from_pairs,
    build_from_tokens,
    search_file,
)
from sicetnon.sparse.__main__ import main
from sicetnon.sparse.scoring import DotProduct

WriteRows = Callable[[str, list[Mapping[str, object]]], Path]

TOKENS = [["a", "b", "b"], ["a", "c"], ["b"], ["c", "c", "c", "a"], ["d"]]


@pytest.fixture
def index_dir(tmp_path: Path) -> Path:
    """Build an index of five bags, named d0 to d4."""
    build_from_tokens(TOKENS, tmp_path / "index", doc_ids=[f"d{number}" for number in range(5)])
    return tmp_path / "index"


@pytest.fixture
def queries(write_jsonl: WriteRows) -> Path:
    """Write a query of each kind: a list, a list with repetitions, weights, and one that finds nothing."""
    rows = [
        {"query_id": "q3", "terms": ["c", "a"]},
        {"query_id": "q1", "terms": ["b", "c", "b"]},
        {"query_id": "q2", "terms": {"b": 2, "c": 0.5}},
        {"query_id": "q0", "terms": ["none"]},
    ]
    return write_jsonl("queries.jsonl", rows)


def read_lines(path: Path) -> list[list[str]]:
    """Return the words of each line."""
    return [line.split(" ") for line in path.read_text().splitlines()]


def test_run_by_hand(tmp_path: Path, index_dir: Path, queries: Path) -> None:
    """A line a result, in the queries' order, ranks from 1; a query that finds nothing has none."""
    assert search_file(index_dir, queries, tmp_path / "run", format="trec", tag="mine", top_k=2) == 4
    lines = read_lines(tmp_path / "run")
    assert [line[:4] + line[5:] for line in lines] == [
        ["q3", "Q0", "d1", "1", "mine"],
        ["q3", "Q0", "d3", "2", "mine"],
        ["q1", "Q0", "d0", "1", "mine"],
        ["q1", "Q0", "d1", "2", "mine"],
        ["q2", "Q0", "d0", "1", "mine"],
        ["q2", "Q0", "d1", "2", "mine"],
    ]
    assert (tmp_path / "run").read_bytes().endswith(b" mine\n")


def test_run_is_read_by_ir_measures(tmp_path: Path, index_dir: Path, queries: Path) -> None:
    """The public reader of runs finds the documents and the very scores of the rows of JSON."""
    search_file(index_dir, queries, tmp_path / "run", format="trec", scoring=Bm25())
    search_file(index_dir, queries, tmp_path / "rows", scoring=Bm25())
    expected = [
        (row.query_id, doc_id, score)
        for row in read_results(tmp_path / "rows")
        for doc_id, score in zip(row.doc_ids, row.scores, strict=True)
    ]
    run = list(ir_measures.read_trec_run(str(tmp_path / "run")))
    assert [(found.query_id, found.doc_id, found.score) for found in run] == expected
    qrels = [ir_measures.Qrel("q3", "d3", 1), ir_measures.Qrel("q1", "d0", 1)]
    assert ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)[ir_measures.nDCG @ 10] > 0


@settings(max_examples=40)
@given(
    st.lists(st.text("abc\u00e9\U0001d518#\"\\'", min_size=1), min_size=1, unique=True),
    st.floats(0.001, 1e6),
    st.floats(0, 1),
)
def test_scores_parse_back(doc_ids: list[str], k1: float, b: float) -> None:
    """Whatever the IDs and scores, each line has six words, and the score parses back to the same float."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        build_from_pairs([(doc_id, {"x": 1 + number}) for number, doc_id in enumerate(doc_ids)], path / "index")
        (path / "q").write_text('{"query_id": "q", "terms": {"x": 0.1}}\n')
        search_file(path / "index", path / "q", path / "run", format="trec", scoring=Bm25(k1, b))
        found = SparseIndex.open(path / "index").search({"x": 0.1}, scoring=Bm25(k1, b))
        lines = [line.split() for line in (path / "run").read_text(encoding="utf-8").split("\n")[:-1]]
        assert [(line[2], int(line[3]), float(line[4])) for line in lines] == [
            (hit.doc_id, rank, hit.score) for rank, hit in enumerate(found, 1)
        ]
        assert {len(line) for line in lines} == {6}


SPACES = [" ", "a b", "a\tb", "a\n", "\u00a0a", "a\u2028b", "a\x85", "a\x1cb"]


@pytest.mark.parametrize("doc_id", ["", *SPACES, "\ud800"])
def test_document_ids_that_are_no_word(tmp_path: Path, queries: Path, doc_id: str) -> None:
    """A document ID that cannot stand in a line is refused when found, and the old output stands."""
    build_from_pairs([("fine", ["a"]), (doc_id, ["b"])], tmp_path / "index")
    (tmp_path / "run").write_text("old")
    with pytest.raises(InputError, match=r"the document ID .* for a TREC run; expected UTF-8 text .* without white"):
        search_file(tmp_path / "index", queries, tmp_path / "run", format="trec")
    assert (tmp_path / "run").read_text() == "old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["index", "queries.jsonl", "run"]


def test_empty_and_spaced_ids_do_not_make_up_for_each_other(tmp_path: Path, queries: Path) -> None:
    """Two IDs that make two words together are refused all the same."""
    build_from_pairs([("x y", ["b"]), ("", ["b"])], tmp_path / "index")
    with pytest.raises(InputError, match="the document ID '' for a TREC run"):
        search_file(tmp_path / "index", queries, tmp_path / "run", format="trec")


def test_document_ids_that_are_not_found_do_not_matter(tmp_path: Path, index_dir: Path, queries: Path) -> None:
    """An ID with white space is refused only where it would be written, and never in rows of JSON."""
    build_from_pairs([("a b", ["z"]), ("fine", ["b"])], index_dir)
    search_file(index_dir, queries, tmp_path / "run", format="trec")
    assert {line[2] for line in read_lines(tmp_path / "run")} == {"fine"}
    build_from_pairs([("a b", ["b"])], index_dir)
    search_file(index_dir, queries, tmp_path / "rows")
    assert read_results(tmp_path / "rows")[1].doc_ids == ("a b",)


@pytest.mark.parametrize("query_id", [name for name in SPACES if name.strip()])
def test_query_ids_that_are_no_word(tmp_path: Path, index_dir: Path, write_jsonl: WriteRows, query_id: str) -> None:
    """A query ID with white space is refused with its line, even where the query finds nothing."""
    rows = [{"query_id": "fine", "terms": ["a"]}, {"query_id": query_id, "terms": ["none"]}]
    queries = write_jsonl("q.jsonl", rows)
    (tmp_path / "run").write_text("old")
    with pytest.raises(MalformedRow, match=r"q\.jsonl, line 2: the query_id .* for a TREC run"):
        search_file(index_dir, queries, tmp_path / "run", format="trec")
    assert (tmp_path / "run").read_text() == "old"
    assert search_file(index_dir, queries, tmp_path / "rows") == 2


@pytest.mark.parametrize("tag", ["", *SPACES, "\udcff"])
def test_tags_that_are_no_word(tmp_path: Path, tag: str) -> None:
    """A tag that cannot stand in a line is refused before anything is looked at."""
    with pytest.raises(InputError, match="the run tag"):
        search_file(tmp_path / "absent", tmp_path / "absent", tmp_path / "run", format="trec", tag=tag)
    assert list(tmp_path.iterdir()) == []


def test_unknown_format(tmp_path: Path, index_dir: Path, queries: Path) -> None:
    """A format that is none is refused."""
    with pytest.raises(InputError, match="the format 'xml'; expected jsonl or trec"):
        search_file(index_dir, queries, tmp_path / "run", format="xml")  # type: ignore[arg-type]


def test_unknown_mode(tmp_path: Path, index_dir: Path, queries: Path) -> None:
    """A mode that is none is refused."""
    with pytest.raises(InputError, match="the mode 'fsat'; expected fast or exact"):
        search_file(index_dir, queries, tmp_path / "run", mode="fsat")  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("scoring", [None, Bm25()])
def test_fast_results_never_rise(tmp_path: Path, write_jsonl: WriteRows, scoring: Bm25 | None) -> None:
    """Where more documents are asked for than the budget has candidates, results are in order all the same."""
    rng = np.random.default_rng(12)
    with SparseIndexBuilder(tmp_path / "index") as builder:
        for number in range(5_000):
            terms = [f"f{term}" for term in np.flatnonzero(rng.random(8) < 0.35)]
            builder.add(f"d{number}", terms + [f"r{term}" for term in rng.integers(0, 80, rng.integers(0, 5))])
        builder.commit({"budget": Budget(0.4, 10).to_json()})
    terms = ["f0", "f1", *(f"r{term}" for term in range(16))]
    index = SparseIndex.open(tmp_path / "index")
    assert (np.diff(index.rank(terms, top_k=100, scoring=scoring, budget=index.budget)[1]) > 0).any()
    queries = write_jsonl("q.jsonl", [{"query_id": "q", "terms": terms}])
    for top_k in (5, 10, 100, 5_000):
        search_file(tmp_path / "index", queries, tmp_path / "rows", mode="fast", scoring=scoring, top_k=top_k)
        (row,) = read_results(tmp_path / "rows")  # which refuses scores that rise
        exact = index.rank(terms, top_k=top_k, scoring=scoring)[1].tolist()
        assert len(row.scores) == len(exact)
        assert top_k < 5_000 or list(row.scores) == exact
    search_file(tmp_path / "index", queries, tmp_path / "rows", mode="fast", scoring=scoring, top_k=0)
    assert read_results(tmp_path / "rows")[0].scores == ()


def test_preloading(tmp_path: Path, index_dir: Path, write_jsonl: WriteRows, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is mapped at once where a whole chunk of queries has come, and not for a few."""
    calls: list[str] = []
    monkeypatch.setattr(SparseIndex, "preload", lambda _: calls.append("preload"))
    for count in (1, 63, 64, 65, 200):
        calls.clear()
        queries = write_jsonl("q.jsonl", [{"query_id": str(number), "terms": ["a"]} for number in range(count)])
        assert search_file(index_dir, queries, tmp_path / "rows") == count
        assert len(calls) == (count >= 64)


# Weights of queries


def test_weights_of_queries(tmp_path: Path, index_dir: Path, queries: Path) -> None:
    """Under BM25 the weights and repetitions of a query count, as they do in a search."""
    search_file(index_dir, queries, tmp_path / "rows", scoring=Bm25(1.2, 0.75))
    index = SparseIndex.open(index_dir)
    asked = [["c", "a"], {"b": 2, "c": 1}, {"b": 2, "c": 0.5}, []]
    for row, terms in zip(read_results(tmp_path / "rows"), asked, strict=True):
        found = index.search(terms, scoring=Bm25(1.2, 0.75))
        assert list(zip(row.doc_ids, row.scores, strict=True)) == [(hit.doc_id, hit.score) for hit in found]


@pytest.mark.parametrize("scoring", [None, IdfOverlap()])
def test_sets_ignore_weights(
    tmp_path: Path, index_dir: Path, write_jsonl: WriteRows, scoring: IdfOverlap | None
) -> None:
    """Under a scoring of sets, weights are ignored as repetitions are."""
    asked = [["b", "c"], ["b", "c", "b"], {"b": 2, "c": 0.5}]
    queries = write_jsonl("q.jsonl", [{"query_id": str(n), "terms": terms} for n, terms in enumerate(asked)])
    search_file(index_dir, queries, tmp_path / "rows", scoring=scoring)
    first, *others = read_results(tmp_path / "rows")
    assert {(row.doc_ids, row.scores) for row in others} == {(first.doc_ids, first.scores)}


@pytest.mark.parametrize("scoring", [None, Bm25()])
@pytest.mark.parametrize(
    ("terms", "found"),
    [
        ('{"x": 0}', "the term 'x' with a weight that is no positive number"),
        ('{"a": 1, "x": -1}', "the term 'x' with a weight"),
        ('{"x": "1"}', "the term 'x' with a weight"),
        ('{"x": true}', "the term 'x' with a weight"),
        ('{"x": null}', "the term 'x' with a weight"),
        ('{"x": 1' + 400 * "0" + "}", "the term 'x' with a weight .* at most 1e.100"),
        ('{"x": 1e101}', "the term 'x' with a weight"),
        ("[1]", "a query with terms that are no strings"),
        ('"x"', '"terms" is a string; expected a list of strings, or an object'),
    ],
)
def test_queries_that_are_refused(
    tmp_path: Path, index_dir: Path, terms: str, found: str, scoring: Bm25 | None
) -> None:
    """Terms and weights that are none are named with file and line, under any scoring."""
    queries = tmp_path / "q.jsonl"
    queries.write_text(f'{{"query_id": "a", "terms": {{"a": 1}}}}\n{{"query_id": "b", "terms": {terms}}}\n')
    with pytest.raises(MalformedRow, match=f"q.jsonl, line 2: {found}"):
        search_file(index_dir, queries, tmp_path / "rows", scoring=scoring)
    assert not (tmp_path / "rows").exists()


def test_largest_weights_stay_finite(tmp_path: Path, index_dir: Path) -> None:
    """Results are JSON and a run can be parsed with the largest weights too."""
    (tmp_path / "q").write_text('{"query_id": "a", "terms": {"a": 1e100, "b": 1e100, "c": 1e-320}}\n')
    search_file(index_dir, tmp_path / "q", tmp_path / "rows", scoring=Bm25())
    assert read_results(tmp_path / "rows")[0].scores[0] > 1e99


def test_scoring_that_does_not_fit(tmp_path: Path, index_dir: Path, queries: Path) -> None:
    """A scoring that needs counts is refused over weights before a query is read, and no row is blamed."""
    build_from_pairs([("a", {"x": 0.5})], index_dir)
    with pytest.raises(InputError, match=r"^Bm25\("):
        search_file(index_dir, queries, tmp_path / "rows", scoring=Bm25())
    assert search_file(index_dir, queries, tmp_path / "rows", scoring=DotProduct()) == 4


# The program


def run_search(index_dir: Path, queries: Path, output: Path, *more: str) -> int:
    """Run the module's search and return its exit status."""
    files = ["--index-dir", str(index_dir), "--queries", str(queries), "--output", str(output)]
    return main(["search", *files, *more])


def test_program_writes_runs(tmp_path: Path, index_dir: Path, queries: Path) -> None:
    """The program's flags are the function's options."""
    assert run_search(index_dir, queries, tmp_path / "a", "--format", "trec", "--top-k", "3") == 0
    search_file(index_dir, queries, tmp_path / "b", format="trec", top_k=3)
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()
    assert {line[5] for line in read_lines(tmp_path / "a")} == {"sicetnon"}
    flags = ["--format=trec", "--run-tag=mine", "--scoring=bm25", "--k1=1.5", "--mode=exact"]
    assert run_search(index_dir, queries, tmp_path / "a", *flags) == 0
    search_file(index_dir, queries, tmp_path / "b", format="trec", tag="mine", scoring=Bm25(k1=1.5))
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()


@pytest.mark.parametrize(
    ("flags", "status", "found"),
    [
        (["--format=trec", "--run-tag=a b"], 1, "error: the run tag 'a b'"),
        (["--scoring=bm25", "--b=2"], 2, "--b: 2 is not from 0 to 1"),
        (["--scoring=bm25", "--k1=nan"], 2, "--k1: nan is not at least 0"),
        (["--k1=1"], 2, "--k1 and --b are for --scoring bm25"),
        (["--b=0"], 2, "--k1 and --b are for --scoring bm25"),
        (["--run-tag=x"], 2, "--run-tag is for --format trec"),
        (["--format=xml"], 2, "invalid choice"),
        (["--top-k=-1"], 2, "--top-k: -1 is not at least 0"),
        (["--scoring=cosine"], 2, "invalid choice"),
    ],
)
def test_program_used_wrongly(  # noqa: PLR0917  pytest hands them over by name
    tmp_path: Path,
    index_dir: Path,
    queries: Path,
    capsys: pytest.CaptureFixture[str],
    flags: list[str],
    status: int,
    found: str,
) -> None:
    """A flag that would be without effect, or a value that is none, is an error, and the old output stands."""
    (tmp_path / "out").write_text("old")
    try:
        ended = run_search(index_dir, queries, tmp_path / "out", *flags)
    except SystemExit as leaving:
        ended = leaving.code
    assert ended == status
    assert found in capsys.readouterr().err
    assert (tmp_path / "out").read_text() == "old"


def test_build_says_what_the_index_holds(
    tmp_path: Path, write_jsonl: WriteRows, capsys: pytest.CaptureFixture[str]
) -> None:
    """The counts of the index are told, and those of its segments are not."""
    corpus = write_jsonl("c.jsonl", [{"doc_id": "a", "terms": {"x": 3}}])
    assert main(["build", "--corpus", str(corpus), "--index-dir", str(tmp_path / "index")]) == 0
    assert capsys.readouterr().err.startswith("1 terms, 1 documents, 1 postings, 3 tokens in ")


def test_search_loads_nothing_that_builds(index_dir: Path, queries: Path) -> None:
    """A search from the shell imports neither what builds nor anything installed but NumPy."""
    files = ["--index-dir", str(index_dir), "--queries", str(queries), "--output", os.devnull]
    program = f"""
import json, sys
before = set(sys.modules)
from sicetnon.sparse.__main__ import main
main({["search", *files, "--format=trec", "--scoring=bm25"]})
print(json.dumps(sorted(set(sys.modules) - before)))
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(sicetnon.__file__).parents[1])}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    loaded = json.loads(ran.stdout)
    assert "sicetnon.sparse.index" in loaded
    assert {f"sicetnon.sparse.{name}" for name in ("builder", "inputs", "segment_builder", "spill")} & set(
        loaded
    ) == set()
    foreign = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert foreign <= {"sicetnon", "numpy"}


@pytest.mark.parametrize("name", ["results.jsonl", "manifest.json", "generation-000001/segment-000001/postings.npy"])
def test_results_do_not_go_into_the_index(index_dir: Path, queries: Path, name: str) -> None:
    """A path within the index is refused, and nothing there is touched."""
    before = {path: path.read_bytes() for path in index_dir.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match="in the index"):
        search_file(index_dir, queries, index_dir / name)
    assert {path: path.read_bytes() for path in index_dir.rglob("*") if path.is_file()} == before
