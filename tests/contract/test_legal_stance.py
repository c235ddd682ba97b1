"""The scripts of the legal contract, as an evaluator calls them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tiny_models import make_bert, needs_torch
from toy_model import WORDS, make_corpus

from sicetnon.relevance import RetrievalModel
from sicetnon.storage import StoredDirectory
from sicetnon.types import Document

REPOSITORY = Path(__file__).parents[2]
SCRIPTS = REPOSITORY / "contracts" / "legal-stance"
PROPOSITIONS = ["The police may search a phone without a warrant.", "Burning the flag is a crime."]
QUERIES = [
    {"query_id": f"q{number}{stance[0]}", "claim": proposition, "stance": stance}
    for number, proposition in enumerate(PROPOSITIONS)
    for stance in ("supported", "refuted", "all")
]


def write(path: Path, rows: Iterable[object]) -> None:
    """Write rows, one JSON object a line."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def data(tmp_path: Path, small_corpus: Sequence[Document]) -> Path:
    """Make a folder, with a space in its name, that holds a corpus and queries."""
    folder = tmp_path / "some data"
    folder.mkdir()
    write(folder / "corpus.jsonl", ({"doc_id": d.doc_id, "title": d.title, "text": d.text} for d in small_corpus))
    write(folder / "queries.jsonl", QUERIES)
    return folder


def run(script: Path, *arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script with next to nothing in its environment but the interpreter, and a home that is not there."""
    bare = {"PATH": "/usr/bin:/bin", "HOME": "/proc/none", "SICETNON_PYTHON": sys.executable, **environment}
    if "LD_LIBRARY_PATH" in os.environ:  # where the interpreter may find its own library
        bare["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
    return subprocess.run([script, *arguments], cwd=cwd, env=bare, capture_output=True, text=True, check=False)


def build(cwd: Path, scripts: Path = SCRIPTS, **environment: str) -> subprocess.CompletedProcess[str]:
    """Build an index with paths relative to ``cwd``."""
    arguments = ["--corpus", "corpus.jsonl", "--index-dir", "an index"]
    return run(scripts / "build.sh", *arguments, cwd=cwd, **environment)


def answer(cwd: Path, top_k: int = 10, scripts: Path = SCRIPTS) -> list[dict[str, Any]]:
    """Answer the queries with paths relative to ``cwd`` and return the rows."""
    arguments = ["--index-dir", "an index", "--queries", "queries.jsonl", "--output", "results.jsonl"]
    ran = run(scripts / "run.sh", *arguments, "--top-k", str(top_k), cwd=cwd)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr
    return [json.loads(line) for line in (cwd / "results.jsonl").read_text().splitlines()]


def test_build_and_run(data: Path) -> None:
    """One row a query in input order, exactly top-k distinct known documents each, scores never rising."""
    built = build(data)
    assert (built.returncode, built.stdout) == (0, ""), built.stderr
    known = {json.loads(line)["doc_id"] for line in (data / "corpus.jsonl").read_text().splitlines()}
    for top_k, expected in ((3, 3), (10, 7)):
        rows = answer(data, top_k)
        assert [set(row) for row in rows] == [{"query_id", "results"}] * len(QUERIES)
        assert [row["query_id"] for row in rows] == [query["query_id"] for query in QUERIES]
        for row in rows:
            ids = [result["doc_id"] for result in row["results"]]
            scores = [result["score"] for result in row["results"]]
            assert len(set(ids)) == len(ids) == expected
            assert set(ids) <= known
            assert scores == sorted(scores, reverse=True)
            assert all(isinstance(score, float) for score in scores)
    assert rows[0]["results"][0]["doc_id"] == "d-phone"


def test_same_answers_again(data: Path) -> None:
    """A second build and a second run give the same bytes, and nothing lies about but what was asked for."""
    assert build(data).returncode == 0
    answer(data)
    before = (data / "results.jsonl").read_bytes()
    assert build(data).returncode == 0
    answer(data)
    assert (data / "results.jsonl").read_bytes() == before
    assert {path.name for path in data.iterdir()} == {"corpus.jsonl", "queries.jsonl", "an index", "results.jsonl"}


def test_sections_and_null_titles(data: Path) -> None:
    """Documents in sections, with null titles and unknown fields, are indexed, each a result."""
    rows = [
        {
            "doc_id": "a",
            "title": None,
            "sections": ["The police came.", {"heading": "Held", "text": "A phone is private."}],
        },
        {"doc_id": "b", "title": "T", "text": "The flag burned.", "court": None, "extra": {"x": [1]}},
    ]
    write(data / "corpus.jsonl", rows)
    assert build(data).returncode == 0
    assert {len(row["results"]) for row in answer(data)} == {2}


def test_read_only_tree_elsewhere(data: Path, read_only_contracts: Path) -> None:
    """The scripts work from a read-only copy of the tree, also through a link, and write nothing into it."""
    scripts = read_only_contracts / "legal-stance"
    assert build(data, scripts).returncode == 0
    assert len(answer(data, scripts=scripts)) == len(QUERIES)


def test_nothing_is_written_elsewhere(data: Path, tmp_path: Path) -> None:
    """Neither the home nor the cache of the caller gets a file."""
    home, cache = tmp_path / "home", tmp_path / "cache"
    home.mkdir()
    cache.mkdir()
    assert build(data, HOME=str(home), XDG_CACHE_HOME=str(cache)).returncode == 0
    assert [*home.iterdir(), *cache.iterdir()] == []


def test_callers_modules_are_not_imported(data: Path) -> None:
    """Files of the caller's that are named like modules are left alone, and so is a CDPATH of the caller's."""
    for name in ("numpy", "json", "typer", "sicetnon"):
        (data / f"{name}.py").write_text("raise SystemExit('imported the wrong one')")
    built = build(data, CDPATH="/usr:/")
    assert built.returncode == 0, built.stderr


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('{"doc_id": "late"}', 'expected one of "text", "contents", "body", "sections"'),
        ('{"doc_id": "d-phone", "text": "x"}', 'doc_id "d-phone" again'),
        ('{"doc_id": "late", "text": ""}', '"text" is empty'),
        ("{", "invalid JSON"),
    ],
)
def test_bad_corpus(data: Path, line: str, found: str) -> None:
    """A bad row is named with its line in one line of standard error; no index is left."""
    with (data / "corpus.jsonl").open("a") as corpus:
        corpus.write(line + "\n")
    built = build(data)
    assert (built.returncode, built.stdout) == (1, "")
    last = built.stderr.splitlines()[-1]
    assert last.startswith("error: corpus.jsonl, line 8: ")
    assert found in last
    assert not (data / "an index").exists()


def test_bad_queries(data: Path) -> None:
    """A bad query is named with its line; results that stood there stay, and none are half written."""
    assert build(data).returncode == 0
    write(data / "queries.jsonl", [*QUERIES, {"query_id": "late", "claim": "x", "stance": "maybe"}])
    arguments = ["--index-dir", "an index", "--queries", "queries.jsonl", "--output"]
    (data / "old.jsonl").write_text("old")
    for name in ("old.jsonl", "new.jsonl"):
        ran = run(SCRIPTS / "run.sh", *arguments, name, cwd=data)
        assert (ran.returncode, ran.stdout) == (1, "")
        assert ran.stderr.startswith('error: queries.jsonl, line 7: stance "maybe"')
        assert ran.stderr.count("\n") == 1
    assert (data / "old.jsonl").read_text() == "old"
    assert {path.name for path in data.iterdir()} == {"corpus.jsonl", "queries.jsonl", "an index", "old.jsonl"}


def test_used_wrongly(data: Path) -> None:
    """A call without what is needed exits with 2, and with 1 where the index is not there."""
    assert run(SCRIPTS / "build.sh", "--corpus", "corpus.jsonl", cwd=data).returncode == 2
    assert run(SCRIPTS / "run.sh", "--index-dir", "an index", cwd=data).returncode == 2
    arguments = ["--index-dir", "absent", "--queries", "queries.jsonl", "--output", "results.jsonl"]
    assert run(SCRIPTS / "run.sh", *arguments, cwd=data).returncode == 1
    assert not (data / "results.jsonl").exists()


def test_deadline_of_the_environment(data: Path) -> None:
    """Every query is answered however short it is; an empty one is none; a bad one is told."""
    assert build(data).returncode == 0
    arguments = ["--index-dir", "an index", "--queries", "queries.jsonl", "--output", "results.jsonl", "--top-k", "2"]

    def ask(deadline: str) -> subprocess.CompletedProcess[str]:
        return run(SCRIPTS / "run.sh", *arguments, cwd=data, SICETNON_DEADLINE=deadline)

    for deadline in ("0s", ""):
        assert ask(deadline).returncode == 0
        assert (data / "results.jsonl").read_text().count("query_id") == len(QUERIES)
        (data / "results.jsonl").unlink()
    bad = ask("soon")
    assert bad.returncode == 2
    assert "--deadline soon is no time" in " ".join(bad.stderr.split())


def test_encoder_of_the_environment(data: Path) -> None:
    """SICETNON_ENCODER names the encoder; one that is not there is an error and no silent replacement."""
    built = build(data, SICETNON_ENCODER="absent")
    assert built.returncode == 1
    assert "absent holds no modules.json" in built.stderr
    assert build(data, SICETNON_ENCODER="embedded").returncode == 0


class TestTraining:
    """What train.sh makes of examples, and build.sh of a model."""

    pytestmark = needs_torch

    @pytest.fixture(scope="class")
    def trained(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """Train a tiny encoder, on judgments in every shape; return the folder with corpus, queries and "a model"."""
        folder = tmp_path_factory.mktemp("trained")
        encoder = make_bert(folder / "encoder", WORDS)
        documents, known = make_corpus(12, 20)
        write(folder / "corpus.jsonl", ({"doc_id": d.doc_id, "text": d.text} for d in documents))
        queries = [
            {"query_id": f"q{number}", "claim": one.proposition, "stance": ("supported", "refuted", "all")[number % 3]}
            for number, one in enumerate(known)
        ]
        other = {"doc_id": documents[-1].doc_id, "relevance": 0}
        shapes: list[Callable[[Sequence[str]], dict[str, object]]] = [
            lambda ids: {"doc_ids": ids},
            lambda ids: {"relevant_doc_ids": ids},
            lambda ids: {"relevant": ids},
            lambda ids: {"relevant": [other, *({"doc_id": doc_id, "relevance": 1} for doc_id in ids)]},
        ]
        (folder / "some examples").mkdir()
        write(folder / "queries.jsonl", queries)
        write(folder / "some examples" / "queries.jsonl", queries)
        judged = [{"query_id": f"q{n}", **shapes[n % len(shapes)](one.doc_ids)} for n, one in enumerate(known)]
        write(folder / "some examples" / "ground_truth.jsonl", judged)
        arguments = ["--examples", "some examples", "--out", "a model", "--encoder", str(encoder), "--epochs", "2"]
        ran = run(SCRIPTS / "train.sh", *arguments, "--corpus=corpus.jsonl", cwd=folder, OMP_NUM_THREADS="1")
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.startswith("all ")
        return folder

    def test_judgments_in_every_shape(self, trained: Path) -> None:
        """The model knows each proposition with the documents that are relevant to it, and no others."""
        _, known = make_corpus(12, 20)
        model = RetrievalModel.open(trained / "a model")
        assert {one.proposition: set(one.doc_ids) for one in model.propositions} == {
            one.proposition: set(one.doc_ids) for one in known
        }
        assert not (trained / "a model.training").exists()

    def test_model_of_the_environment(self, trained: Path) -> None:
        """SICETNON_MODEL names the model that an index is built with."""
        built = build(trained, SICETNON_MODEL="a model")
        assert (built.returncode, built.stdout) == (0, ""), built.stderr
        settings = StoredDirectory.open(trained / "an index", kind="legal").settings
        assert settings["model"] == RetrievalModel.open(trained / "a model").fingerprint
        rows = answer(trained)
        assert [row["query_id"] for row in rows] == [f"q{number}" for number in range(20)]
        assert {len(row["results"]) for row in rows} == {10}

    def test_model_beside_the_script(self, trained: Path, tmp_path: Path) -> None:
        """Without SICETNON_MODEL, the folder "model" beside build.sh is used; with it, the one it names."""
        shutil.copytree(REPOSITORY / "contracts", tmp_path / "contracts", ignore=shutil.ignore_patterns("model"))
        (tmp_path / "src").symlink_to(REPOSITORY / "src")
        scripts = tmp_path / "contracts" / "legal-stance"
        shutil.copytree(trained / "a model", scripts / "model")
        assert build(trained, scripts).returncode == 0
        settings = StoredDirectory.open(trained / "an index", kind="legal").settings
        assert settings["model"] == RetrievalModel.open(trained / "a model").fingerprint
        assert settings["encoder"] == "own"
        absent = build(trained, scripts, SICETNON_MODEL="absent")
        assert absent.returncode == 1
        assert "there is no directory absent" in absent.stderr


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--examples", "examples", "--out", "model"], "error: no --corpus; expected --corpus FILE"),
        (["--corpus", "corpus.jsonl", "--out", "model"], "error: no --examples; expected"),
        (["--corpus", "corpus.jsonl", "--out", "model", "--examples"], "error: --examples without a path; expected"),
        (["--corpus=corpus.jsonl", "--examples=examples"], "--out"),
    ],
)
def test_training_used_wrongly(tmp_path: Path, arguments: list[str], found: str) -> None:
    """A call of train.sh without what is needed exits with 2, says what it is, and writes nothing."""
    ran = run(SCRIPTS / "train.sh", *arguments, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert found in ran.stderr
    assert list(tmp_path.iterdir()) == []
