"""``train``, ``evaluate`` and ``sparse``."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sicetnon.sparse import Bm25, IdfOverlap, SparseIndex, search_file
from sicetnon.stance import StanceModel

RunCli = Callable[..., Any]
WriteRows = Callable[[str, Iterable[Mapping[str, object]]], Path]
SUBJECTS = ["phones", "cars", "flags", "fences", "wages", "schools"]


def make_corpus() -> list[dict[str, object]]:
    """Make a decision about each subject."""
    return [{"doc_id": s, "text": f"It was late. The Court held that police may not search {s}."} for s in SUBJECTS]


def make_judged() -> list[dict[str, object]]:
    """Make propositions that each decision supports and refutes, and says nothing of."""
    return [
        {
            "proposition_id": f"{subject}-{stance}",
            "proposition": f"The police {verb} search {subject}.",
            "judgments": [
                {
                    "doc_id": subject,
                    "stance": stance,
                    "evidence": f"The Court held that police may not search {subject}.",
                },
                {"doc_id": SUBJECTS[number - 1], "stance": "neither", "evidence": None},
            ],
        }
        for number, subject in enumerate(SUBJECTS)
        for verb, stance in (("may not", "supports"), ("may", "refutes"))
    ]


def test_train(run_cli: RunCli, tmp_path: Path, write_jsonl: WriteRows) -> None:
    """Training writes a model that loads, prints its report as JSON, and gives the same bytes again."""
    arguments = [
        "--corpus",
        write_jsonl("corpus.jsonl", make_corpus()),
        "--propositions",
        write_jsonl("judged.jsonl", make_judged()),
    ]
    for name in ("one.json", "two.json"):
        ran = run_cli("train-stance", *arguments, "--out", tmp_path / name)
        assert ran.status == 0, ran.err
        report = json.loads(ran.out)
        assert report["pairs"] == {"supports": 6, "refutes": 6, "neither": 12}
    model = StanceModel.from_json((tmp_path / "one.json").read_text())
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    index = ["index", "build", "--corpus", arguments[1], "-i", tmp_path / "index"]
    assert run_cli(*index, "--stance-model", tmp_path / "one.json").status == 0
    assert f"stance model: {model.fingerprint}" in run_cli("index", "info", tmp_path / "index").out


def test_train_on_bad_examples(run_cli: RunCli, tmp_path: Path, write_jsonl: WriteRows) -> None:
    """Examples of decisions that the corpus lacks are an error, and the old model stays."""
    (tmp_path / "stance.json").write_text("old")
    corpus, judged = write_jsonl("corpus.jsonl", make_corpus()[1:]), write_jsonl("judged.jsonl", make_judged())
    ran = run_cli("train-stance", "--corpus", corpus, "--propositions", judged, "--out", tmp_path / "stance.json")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith('error: a judgment of "phones"')
    assert (tmp_path / "stance.json").read_text() == "old"


@pytest.fixture
def measured(write_jsonl: WriteRows) -> list[object]:
    """Write results, truth and queries, and give the arguments that name them."""
    results: list[dict[str, object]] = [
        {"query_id": "q1", "results": [{"doc_id": "a", "score": 1.0}, {"doc_id": "b", "score": 1.0}]},
        {"query_id": "q2", "results": [{"doc_id": "x", "score": 0.5}, {"doc_id": "c", "score": 0.5}]},
    ]
    truth = [
        {"query_id": query_id, "doc_ids": [doc_id]} for query_id, doc_id in (("q1", "a"), ("q2", "c"), ("q3", "d"))
    ]
    return ["--results", write_jsonl("r.jsonl", results), "--truth", write_jsonl("t.jsonl", truth)]


def test_evaluate(run_cli: RunCli, measured: list[object]) -> None:
    """The table has a line for all queries; one without an answer counts 0."""
    ran = run_cli("evaluate", *measured, "--measure", "RR", "--measure", "R@1")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.split() == ["overall", "RR", "0.5000", "R@1", "0.3333", "(3", "queries)"]


def test_evaluate_json_by_stance(run_cli: RunCli, measured: list[object], write_jsonl: WriteRows) -> None:
    """With the queries, each stance is measured on its own too."""
    stances = {"q1": "supported", "q2": "refuted", "q3": "all"}
    queries = write_jsonl("q.jsonl", [{"query_id": q, "claim": "x", "stance": s} for q, s in stances.items()])
    ran = run_cli("evaluate", *measured, "--queries", queries, "--measure", "RR", "--json")
    assert json.loads(ran.out) == {
        "overall": {"queries": 3, "RR": 0.5},
        "supported": {"queries": 1, "RR": 1},
        "refuted": {"queries": 1, "RR": 0.5},
        "all": {"queries": 1, "RR": 0},
    }


@pytest.mark.parametrize("measure", ["Quality", "nDCG@0"])
def test_evaluate_with_an_unknown_measure(run_cli: RunCli, measured: list[object], measure: str) -> None:
    """A measure that is none is an error of one line."""
    ran = run_cli("evaluate", *measured, "--measure", measure)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1


def test_sparse(run_cli: RunCli, tmp_path: Path, write_jsonl: WriteRows) -> None:
    """Term sets are indexed and searched; documents that share no term are not found."""
    corpus = write_jsonl("c.jsonl", [{"doc_id": "a", "terms": ["x", "y"]}, {"doc_id": "b", "terms": ["x"]}])
    queries = write_jsonl("q.jsonl", [{"query_id": "q", "terms": ["y", "x"]}, {"query_id": "p", "terms": ["z"]}])
    assert run_cli("sparse", "build", "--corpus", corpus, "--index-dir", tmp_path / "sets").status == 0
    arguments = ["--index-dir", tmp_path / "sets", "--queries", queries, "--output", tmp_path / "r.jsonl"]
    ran = run_cli("sparse", "search", *arguments)
    assert (ran.status, ran.out) == (0, "")
    rows = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [[hit["doc_id"] for hit in row["results"]] for row in rows] == [["a", "b"], []]
    assert run_cli("sparse", "search", *arguments, "--top-k", "1").status == 0
    assert len(json.loads((tmp_path / "r.jsonl").read_text().splitlines()[0])["results"]) == 1


def test_sparse_search_as_asked(run_cli: RunCli, tmp_path: Path, write_jsonl: WriteRows) -> None:
    """Scoring, its parameters, mode, format and tag are what the engine is asked for."""
    corpus = write_jsonl("c.jsonl", [{"doc_id": "a", "terms": {"x": 3, "y": 1}}, {"doc_id": "b", "terms": ["x"]}])
    queries = write_jsonl("q.jsonl", [{"query_id": "q", "terms": {"x": 2.5}}])
    assert run_cli("sparse", "build", "--corpus", corpus, "--index-dir", tmp_path / "bags").status == 0
    arguments = ["--index-dir", tmp_path / "bags", "--queries", queries, "--output", tmp_path / "r"]
    index = SparseIndex.open(tmp_path / "bags")
    for flags, scoring in (
        ([], IdfOverlap()),
        (["--scoring", "overlap", "--mode", "exact"], IdfOverlap()),
        (["--scoring", "bm25"], Bm25()),
        (["--scoring", "bm25", "--k1", "1.2", "--b", "0", "--mode", "fast"], Bm25(1.2, 0)),
    ):
        ran = run_cli("sparse", "search", *arguments, *flags, "--format", "trec", "--run-tag=--mine")
        assert (ran.status, ran.out) == (0, "")
        found = index.search({"x": 2.5}, scoring=scoring)
        lines = [f"q Q0 {hit.doc_id} {rank} {hit.score!r} --mine\n" for rank, hit in enumerate(found, 1)]
        assert (tmp_path / "r").read_text() == "".join(lines)


def test_sparse_help_tells_the_defaults(run_cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The defaults of BM25 and of the tag, which the help states, are those of the engine."""
    monkeypatch.setenv("COLUMNS", "200")
    shown = run_cli("sparse", "search", "--help").out
    tag = inspect.signature(search_file).parameters["tag"].default
    for text in (f"frequency (default: {Bm25().k1})", f"0 to 1 (default: {Bm25().b})", f"lines (default: {tag})"):
        assert text in shown


def test_sparse_with_a_bad_row(run_cli: RunCli, tmp_path: Path, write_jsonl: WriteRows) -> None:
    """A bad row is named with its line."""
    corpus = write_jsonl("c.jsonl", [{"doc_id": "a", "terms": ["x"]}, {"doc_id": "b"}])
    ran = run_cli("sparse", "build", "--corpus", corpus, "--index-dir", tmp_path / "sets")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith(f"error: {corpus}, line 2: ")
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "sets").exists()
