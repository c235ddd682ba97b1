"""``search``, ``batch`` and ``demo``: answers for people, for programs, and for files of queries."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from fake_endpoint import clear_environment

from sicetnon.cli.demo import PROPOSITIONS
from sicetnon.corpora import hit_row, read_results
from sicetnon.search import Searcher
from sicetnon.types import MIN_RELEVANCE, Document, Filters, Query, Stance

RunCli = Callable[..., Any]
WriteRows = Callable[[str, Iterable[Mapping[str, object]]], Path]
Demo = tuple[subprocess.CompletedProcess[str], Path]
PROPOSITION = "The police may search a phone without a warrant."


def ask_json(run_cli: RunCli, index: Path, *arguments: str) -> dict[str, Any]:
    """Search and parse the JSON."""
    ran = run_cli("search", PROPOSITION, "--index-dir", index, "--json", *arguments)
    assert (ran.status, ran.err) == (0, "")
    return dict(json.loads(ran.out))


def test_json(run_cli: RunCli, small_index: Path, small_searcher: Searcher) -> None:
    """The JSON holds what the search found, hit by hit."""
    query = Query(proposition=PROPOSITION, stance=Stance.REFUTED, top_k=3)
    answer = ask_json(run_cli, small_index, "--stance", "refuted", "--top-k", "3", "--min-relevance", "0")
    expected = json.loads(json.dumps([hit_row(hit) for hit in small_searcher.search(query).hits]))
    assert list(answer) == ["proposition", "refuted"]
    assert answer["proposition"] == PROPOSITION
    assert len(answer["refuted"]) == 3
    assert answer["refuted"] == expected


def test_json_of_both_sides(run_cli: RunCli, small_index: Path, small_searcher: Searcher) -> None:
    """Without a stance both sides are given and what is of no clear side, and no document in two of the lists."""
    answer = ask_json(run_cli, small_index, "--min-relevance", "0", "--top-k", "9")
    assert list(answer) == ["proposition", "supports", "refutes", "unclear"]
    lists = [[hit["doc_id"] for hit in answer[name]] for name in ("supports", "refutes", "unclear")]
    found = [doc_id for one in lists for doc_id in one]
    assert len(set(found)) == len(found) == 7
    assert "d-phone" in {*lists[0], *lists[1]}
    expected = small_searcher.search_both(Query(proposition=PROPOSITION, top_k=9))
    for name, hits in (("supports", expected.supports), ("refutes", expected.refutes), ("unclear", expected.unclear)):
        assert answer[name] == json.loads(json.dumps([hit_row(hit) for hit in hits]))


def test_filters(run_cli: RunCli, small_index: Path) -> None:
    """Courts, days and the least relevance leave documents out."""
    for arguments, expected in (
        (["--court", "SCT"], {"d-phone", "d-car", "d-salute"}),
        (["--court", "supreme court of testland", "--court", "noca", "--from", "2001-02-01"], {"d-phone", "d-twin-a"}),
        (["--to", "1925-03-02"], {"d-car"}),
        (["--from", "1990-05-01", "--to", "1990-05-01"], {"d-flag"}),
        (["--min-relevance", "1"], set()),
        (["--court", "none"], set()),
    ):
        answer = ask_json(run_cli, small_index, "--stance", "all", "--min-relevance", "0", "--top-k", "9", *arguments)
        assert {hit["doc_id"] for hit in answer["all"]} == expected, arguments


def test_as_of(run_cli: RunCli, small_index: Path) -> None:
    """The day is told in the JSON; later decisions and later treatment are left out."""
    for day, treatment in (("1990-05-01", "overruled"), ("1990-04-30", None)):
        answer = ask_json(run_cli, small_index, "--stance", "all", "--min-relevance", "0", "--as-of", day)
        assert answer["as_of"] == day
        hits = {hit["doc_id"]: hit for hit in answer["all"]}
        assert not {"d-phone", "d-undated"} & set(hits)
        assert (hits["d-salute"]["treatment"] or {}).get("status") == treatment


def test_text(run_cli: RunCli, small_index: Path, small_searcher: Searcher, monkeypatch: pytest.MonkeyPatch) -> None:
    """For people: the proposition, three lists, each decision with its passage and its probabilities, never 0 or 1."""
    monkeypatch.setenv("COLUMNS", "90")
    ran = run_cli("search", PROPOSITION, "--index-dir", small_index, "--min-relevance", "0", "--top-k", "9")
    assert (ran.status, ran.err) == (0, "")
    words = " ".join(ran.out.split())
    assert words.startswith(PROPOSITION)
    answer = small_searcher.search_both(Query(proposition=PROPOSITION, top_k=9))
    assert answer.unclear
    assert words.index("Supports") < words.index("Refutes") < words.index("On point, side unclear")
    titles = [hit.document.title for hit in (*answer.supports, *answer.refutes, *answer.unclear) if hit.document.title]
    assert [words.index(title) for title in titles] == sorted(words.index(title) for title in titles)
    assert not re.search(r"(?<!\d)(0|100)%", words)
    assert "Phone v. State, 1 T.R. 1, 2014-06-25" in words
    assert "the police may not search a phone without a warrant." in words
    assert "overruled by Flag v. State, 1990-05-01" in words
    assert "\x1b" not in ran.out  # no colours where there is no terminal


@pytest.mark.parametrize("columns", ["20", "80", "200"])
def test_any_width(run_cli: RunCli, small_index: Path, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    """Narrow and wide terminals show every decision found."""
    monkeypatch.setenv("COLUMNS", columns)
    ran = run_cli("search", PROPOSITION, "-i", small_index, "--min-relevance", "0", "-k", "9")
    assert ran.status == 0
    assert ran.out.count("supports") >= 7


def test_nothing_found(run_cli: RunCli, small_index: Path) -> None:
    """Where nothing is found that is said, with what it does not prove."""
    ran = run_cli("search", PROPOSITION, "-i", small_index, "--court", "none", "--stance", "supported")
    assert ran.status == 0
    assert "No decision found. That is no proof that none exists." in ran.out


def test_markup_is_text(run_cli: RunCli, tmp_path: Path, write_jsonl: WriteRows) -> None:
    """Brackets of a document are shown as they are and never read as markup."""
    text = "[bold]The fence[/bold] stood [red]here[/nothing]. :smile:"
    corpus = write_jsonl("corpus.jsonl", [{"doc_id": "a", "title": "[link=x]A[/link]", "text": text}])
    assert run_cli("index", "build", "--corpus", corpus, "-i", tmp_path / "index").status == 0
    ran = run_cli("search", "[bold]fence[/]", "-i", tmp_path / "index", "--min-relevance", "0")
    assert ran.status == 0
    words = " ".join(ran.out.split())
    assert text in words
    assert "[link=x]A[/link]" in words
    assert words.startswith("[bold]fence[/]")


def test_empty_proposition(run_cli: RunCli, small_index: Path) -> None:
    """An empty proposition is an error of one line."""
    ran = run_cli("search", " ", "-i", small_index)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("error: an empty proposition")


def test_proposition_that_is_not_utf8(run_cli: RunCli, small_index: Path) -> None:
    """Bytes of the command line that are not UTF-8 are an error of one line."""
    ran = run_cli("search", "a \udcff", "-i", small_index)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("error: a proposition with half of a surrogate pair")


class TestBatch:
    """``batch``: a file of queries."""

    queries = (
        {"query_id": "q2", "claim": PROPOSITION, "stance": "supported"},
        {"query_id": "q1", "claim": PROPOSITION, "stance": "refuted"},
        {"query_id": "q3", "claim": "Fences must be removed.", "stance": "all"},
    )

    @pytest.fixture
    def sides_count(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have the side that is asked for count, so that there is something to judge."""
        monkeypatch.setattr("sicetnon.search.searcher.STANCE_WEIGHT", 0.5)

    def test_rows(self, run_cli: RunCli, small_index: Path, tmp_path: Path, write_jsonl: WriteRows) -> None:
        """One row a query in the order of the file, each with exactly top-k distinct documents, scores never rising."""
        arguments = ["-i", small_index, "--queries", write_jsonl("q.jsonl", self.queries), "-o", tmp_path / "r.jsonl"]
        for top_k, expected in ((4, 4), (10, 7)):
            ran = run_cli("batch", *arguments, "--top-k", top_k)
            assert (ran.status, ran.out) == (0, "")
            assert "3 queries answered" in ran.err
            rows = read_results(tmp_path / "r.jsonl")
            assert [row.query_id for row in rows] == ["q2", "q1", "q3"]
            for row in rows:
                assert len(set(row.doc_ids)) == len(row.doc_ids) == expected
                assert list(row.scores) == sorted(row.scores, reverse=True)

    def test_same_bytes(self, run_cli: RunCli, small_index: Path, tmp_path: Path, write_jsonl: WriteRows) -> None:
        """The same queries give the same bytes, also in another order and alone."""
        for name, rows in (("all", self.queries), ("back", self.queries[::-1]), ("one", self.queries[:1])):
            queries = write_jsonl(f"{name}.jsonl", rows)
            assert run_cli("batch", "-i", small_index, "--queries", queries, "-o", tmp_path / name).status == 0
        lines = {name: (tmp_path / name).read_bytes().splitlines() for name in ("all", "back", "one")}
        assert lines["all"] == lines["back"][::-1]
        assert lines["one"] == lines["all"][:1]

    @pytest.mark.usefixtures("sides_count")
    def test_enough_time(self, run_cli: RunCli, small_index: Path, tmp_path: Path, write_jsonl: WriteRows) -> None:
        """With a deadline that leaves time for all, the results are the same bytes as without one."""
        arguments = ["batch", "-i", small_index, "--queries", write_jsonl("q.jsonl", self.queries), "-o"]
        assert run_cli(*arguments, tmp_path / "without").status == 0
        ran = run_cli(*arguments, tmp_path / "with", "--deadline", "100h")
        assert (ran.status, ran.out) == (0, "")
        assert ran.err == f"3 queries answered in {tmp_path / 'with'}\n"
        assert (tmp_path / "with").read_bytes() == (tmp_path / "without").read_bytes()

    @pytest.mark.usefixtures("sides_count")
    def test_no_time(
        self, run_cli: RunCli, small_index: Path, small_searcher: Searcher, tmp_path: Path, write_jsonl: WriteRows
    ) -> None:
        """Without time every query is answered by relevance alone, and it is said how many were read closely."""
        ids = {query["query_id"] for query in self.queries}
        for queries, asked in ((self.queries, ids), (self.queries[2:], {"q3"})):
            path = write_jsonl("q.jsonl", queries)
            ran = run_cli("batch", "-i", small_index, "--queries", path, "-o", tmp_path / "r.jsonl", "--deadline", "0s")
            assert (ran.status, ran.out) == (0, "")
            said = "note: time was up: 0 of 1 propositions had their candidates read closely\n" if "q1" in asked else ""
            assert ran.err == f"{said}{len(queries)} queries answered in {tmp_path / 'r.jsonl'}\n"
            for row, query in zip(read_results(tmp_path / "r.jsonl"), queries, strict=True):
                hits = small_searcher.search(Query(proposition=query["claim"])).hits
                assert row.query_id == query["query_id"]
                assert row.doc_ids == tuple(hit.document.doc_id for hit in hits)
                assert row.scores == tuple(hit.score for hit in hits)

    @pytest.mark.usefixtures("sides_count")
    def test_time_of_the_program_counts(
        self,
        run_cli: RunCli,
        small_index: Path,
        tmp_path: Path,
        write_jsonl: WriteRows,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """What has passed since the program began is counted in."""
        queries = write_jsonl("q.jsonl", self.queries)
        arguments = ["batch", "-i", small_index, "--queries", queries, "-o", tmp_path / "r.jsonl", "--deadline", "1h"]
        for age, expected in ((0.0, False), (3_600.0, True)):
            monkeypatch.setattr("sicetnon.cli.ask.measure_age", lambda age=age: age)
            assert run_cli(*arguments).err.startswith("note: time was up: ") == expected

    @pytest.mark.parametrize("place", ["", "manifest.json", "write.lock", "generation-000001/vectors.npy"])
    def test_output_over_the_index(
        self, run_cli: RunCli, small_index: Path, tmp_path: Path, write_jsonl: WriteRows, place: str
    ) -> None:
        """Results are not written over what belongs to the index; beside it they are."""
        index = tmp_path / "index"
        shutil.copytree(small_index, index)
        before = {path: path.read_bytes() for path in index.rglob("*") if path.is_file()}
        arguments = ["batch", "-i", index, "--queries", write_jsonl("q.jsonl", self.queries), "-o"]
        ran = run_cli(*arguments, index / place)
        assert (ran.status, ran.out) == (1, "")
        said = f"error: results in the index, at {index / place}; expected a path outside it; name another\n"
        assert ran.err == said
        assert {path: path.read_bytes() for path in index.rglob("*") if path.is_file()} == before
        assert run_cli(*arguments, index / "results.jsonl").status == 0

    @pytest.mark.usefixtures("sides_count")
    def test_endpoint_that_is_down(
        self,
        run_cli: RunCli,
        small_index: Path,
        tmp_path: Path,
        write_jsonl: WriteRows,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """With a deadline, a judge that cannot be reached leaves the quick answers, and it is said why."""
        clear_environment(monkeypatch)
        monkeypatch.setattr("sicetnon.cli.ask.measure_age", lambda: 0.0)
        with socket.socket() as held:  # bound, and nobody listens
            held.bind(("127.0.0.1", 0))
            monkeypatch.setenv("SICETNON_ENDPOINT_URL", f"http://127.0.0.1:{held.getsockname()[1]}/v1")
            monkeypatch.setenv("SICETNON_ENDPOINT_MODEL", "m")
            monkeypatch.setenv("SICETNON_ENDPOINT_CACHE", str(tmp_path / "cache"))
            queries = write_jsonl("q.jsonl", self.queries)
            arguments = ["batch", "-i", small_index, "--queries", queries, "-o", tmp_path / "r.jsonl"]
            ran = run_cli(*arguments, "--stance-judge", "endpoint", "--deadline", "2s")
        assert (ran.status, ran.out) == (0, "")
        assert len(read_results(tmp_path / "r.jsonl")) == 3
        note, said = ran.err.splitlines()
        assert note.startswith("note: from the endpoint ")
        assert "no answer" in note
        assert note.endswith(": 0 of 1 propositions had their candidates read closely")
        assert said.startswith("3 queries answered")

    @pytest.mark.parametrize("text", ["soon", "18", "-1s"])
    def test_deadline_that_is_none(
        self, run_cli: RunCli, small_index: Path, tmp_path: Path, write_jsonl: WriteRows, text: str
    ) -> None:
        """A deadline that is no time is a wrong use, and nothing is written."""
        queries = write_jsonl("q.jsonl", self.queries)
        ran = run_cli(
            "batch", "-i", small_index, "--queries", queries, "-o", tmp_path / "r.jsonl", f"--deadline={text}"
        )
        assert (ran.status, ran.out) == (2, "")
        assert f"--deadline {text} is no time; give it as" in " ".join(ran.err.split())
        assert not (tmp_path / "r.jsonl").exists()

    @pytest.mark.parametrize("bad", [{"query_id": "q9"}, {"query_id": "q2", "claim": "x", "stance": "all"}])
    def test_bad_query(
        self, run_cli: RunCli, small_index: Path, tmp_path: Path, write_jsonl: WriteRows, bad: dict[str, object]
    ) -> None:
        """A bad query is named with its line, and the old results stay."""
        (tmp_path / "r.jsonl").write_text("old")
        queries = write_jsonl("q.jsonl", [*self.queries, bad])
        ran = run_cli("batch", "-i", small_index, "--queries", queries, "-o", tmp_path / "r.jsonl")
        assert ran.status == 1
        assert ran.err.startswith(f"error: {queries}, line 4: ")
        assert (tmp_path / "r.jsonl").read_text() == "old"

    def test_output_that_cannot_be_written(
        self, run_cli: RunCli, small_index: Path, tmp_path: Path, write_jsonl: WriteRows
    ) -> None:
        """A folder that is not there is an error of one line."""
        queries = write_jsonl("q.jsonl", self.queries)
        ran = run_cli("batch", "-i", small_index, "--queries", queries, "-o", tmp_path / "absent" / "r.jsonl")
        assert ran.status == 1
        assert "cannot be written" in ran.err

    def test_index_of_another_kind(self, run_cli: RunCli, tmp_path: Path, write_jsonl: WriteRows) -> None:
        """A sparse index is not taken for a legal one."""
        corpus = write_jsonl("c.jsonl", [{"doc_id": "a", "terms": ["x"]}])
        assert run_cli("sparse", "build", "--corpus", corpus, "-i", tmp_path / "sets").status == 0
        queries = write_jsonl("q.jsonl", self.queries)
        ran = run_cli("batch", "-i", tmp_path / "sets", "--queries", queries, "-o", tmp_path / "r.jsonl")
        assert ran.status == 1
        assert "expected kind 'legal'" in ran.err
        assert not (tmp_path / "r.jsonl").exists()


class TestDemo:
    """``demo``: the bundled decisions, indexed once."""

    def test_first_run(self, demo: Demo) -> None:
        """The first run builds the index in the user's cache and answers three propositions."""
        ran, cache = demo
        assert ran.returncode == 0, ran.stderr
        assert ran.stderr.startswith("Building the demo's index of ")
        assert [path.name for path in cache.iterdir()] == ["sicetnon"]
        words = " ".join(ran.stdout.split())
        assert all(proposition in words for _, proposition in PROPOSITIONS)
        assert words.count("on point") >= len(PROPOSITIONS)
        assert "Not legal advice." in ran.stdout

    def test_second_run(self, demo: Demo) -> None:
        """The second run builds nothing and says the same."""
        first, cache = demo
        manifest = cache / "sicetnon" / "demo-index" / "manifest.json"
        before = manifest.stat().st_mtime_ns
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "COLUMNS": "100"}
        command = [sys.executable, "-m", "sicetnon", "demo"]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert (ran.stdout, ran.stderr) == (first.stdout, "")
        assert manifest.stat().st_mtime_ns == before

    def test_search_without_an_index(self, demo: Demo, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> None:
        """A search that names no index asks the demo's."""
        monkeypatch.setenv("XDG_CACHE_HOME", str(demo[1]))
        ran = run_cli("search", "Public schools may be separated by race.", "--json", "--stance", "refuted")
        assert (ran.status, ran.err) == (0, "")
        assert json.loads(ran.out)["refuted"][0]["title"].startswith("Brown")

    def test_index_of_other_decisions(
        self, run_cli: RunCli, tmp_path: Path, small_corpus: tuple[Document, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An index of other decisions is built again; other files are left alone."""
        monkeypatch.setattr("sicetnon.corpora.read_bundled_decisions", lambda: iter(small_corpus))
        assert run_cli("demo", "-i", tmp_path / "index").err.startswith("Building the demo's index of 7 decisions")
        assert run_cli("demo", "-i", tmp_path / "index").err == ""
        monkeypatch.setattr("sicetnon.corpora.read_bundled_decisions", lambda: iter(small_corpus[:3]))
        assert run_cli("demo", "-i", tmp_path / "index").err.startswith("Building the demo's index of 3 decisions")
        ran = run_cli("demo", "-i", tmp_path)
        assert ran.status == 1
        assert "other files, e.g. index" in ran.err

    def test_cache_that_cannot_be_written(
        self, run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A cache that cannot be written is an error, on the line after the announcement."""
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        ran = run_cli("demo")
        assert (ran.status, ran.out) == (1, "")
        assert ran.err.splitlines()[-1].startswith("error: ")


@pytest.mark.parametrize(("stance", "title"), [("supported", "Likeliest to support"), ("all", "On point")])
def test_text_of_one_stance(run_cli: RunCli, small_index: Path, stance: str, title: str) -> None:
    """With a stance there is one list."""
    ran = run_cli("search", PROPOSITION, "-i", small_index, "--min-relevance", "0", "--stance", stance)
    assert ran.status == 0
    assert title in ran.out.splitlines()
    assert "side unclear" not in ran.out


def test_defaults_of_the_command_line(run_cli: RunCli, small_index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without options both sides are asked for, five decisions each, none that is hardly on point."""
    asked: list[Query] = []

    def keep(_searcher: Searcher, query: Query) -> Any:
        asked.append(query)
        raise SystemExit(0)

    monkeypatch.setattr(Searcher, "search_both", keep)
    run_cli("search", "x", "-i", small_index)
    assert asked == [Query(proposition="x", top_k=5, min_relevance=MIN_RELEVANCE)]


def test_query_of_the_command_line_is_the_library_s(
    run_cli: RunCli, small_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every option of a search reaches the query."""
    asked: list[Query] = []

    def keep(_searcher: Searcher, query: Query) -> Any:
        asked.append(query)
        raise SystemExit(0)

    monkeypatch.setattr(Searcher, "search", keep)
    options = [
        "-s",
        "supported",
        "-k",
        "3",
        "--court",
        "A",
        "--court",
        "B",
        "--from",
        "1990-01-02",
        "--to",
        "2000-03-04",
    ]
    run_cli("search", "x", "-i", small_index, *options, "--as-of", "1999-05-06", "--min-relevance", "0.25")
    filters = Filters(courts=("A", "B"), decided_from=date(1990, 1, 2), decided_to=date(2000, 3, 4))
    assert [asdict(query) for query in asked] == [
        asdict(
            Query(
                proposition="x",
                stance=Stance.SUPPORTED,
                top_k=3,
                filters=filters,
                as_of=date(1999, 5, 6),
                min_relevance=0.25,
            )
        )
    ]


def test_damaged_demo_index_is_built_again(
    demo: Demo, tmp_path: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The demo's own index heals: a damaged file of it is no reason to refuse for ever."""
    _, cache = demo
    shutil.copytree(cache, tmp_path / "cache")
    (vectors,) = (tmp_path / "cache").rglob("sentence-vectors.npy")
    vectors.write_bytes(b"?" * vectors.stat().st_size)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    ran = run_cli("demo")
    assert ran.status == 0
    assert "Building the demo's index" in ran.err
