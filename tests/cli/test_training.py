"""``train`` from files to answers, and what it says of input that it cannot use."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_models import make_bert, needs_torch
from toy_model import WORDS, make_corpus

from sicetnon.corpora import read_bundled_propositions
from sicetnon.relevance import RetrievalModel
from sicetnon.storage.lock import WriteLock
from sicetnon.train.training import TrainingSettings

RunCli = Callable[..., Any]
DOCUMENTS, KNOWN = make_corpus(12, 20)
STANCES = ("supported", "refuted", "all")


def write(path: Path, rows: list[dict[str, object]]) -> None:
    """Write rows, one JSON object a line."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Make a folder with a corpus and a folder of examples."""
    folder = tmp_path / "data"
    (folder / "examples").mkdir(parents=True)
    write(folder / "corpus.jsonl", [{"doc_id": document.doc_id, "text": document.text} for document in DOCUMENTS])
    queries: list[dict[str, object]] = [
        {"query_id": f"q{number}", "claim": known.proposition, "stance": STANCES[number % 3]}
        for number, known in enumerate(KNOWN)
    ]
    write(folder / "examples" / "queries.jsonl", queries)
    truth = [{"query_id": f"q{number}", "doc_ids": known.doc_ids} for number, known in enumerate(KNOWN)]
    write(folder / "examples" / "ground_truth.jsonl", truth)
    return folder


def look(folder: Path) -> dict[Path, bytes | None]:
    """List all that lies in a folder, with the bytes of its files."""
    return {path: path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


class TestWholeTraining:
    """Trainings of a tiny BERT that take seconds."""

    pytestmark = needs_torch

    @pytest.fixture(scope="class")
    def bert(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """Make a random BERT."""
        return make_bert(tmp_path_factory.mktemp("bert"), WORDS)

    @pytest.fixture(scope="class", autouse=True)
    def few_judged(self) -> Iterator[None]:
        """Have the stance model trained on some of the bundled propositions: all of them take most of the time."""
        few = list(read_bundled_propositions())[:12]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sicetnon.train.sides.read_bundled_propositions", lambda: few)
            yield

    def test_to_answers(self, run_cli: RunCli, data: Path, bert: Path, tmp_path: Path) -> None:
        """A corpus and examples become a model with its report, that an index, and that answers."""
        model, index, corpus = tmp_path / "a model", tmp_path / "an index", data / "corpus.jsonl"
        ran = run_cli("train", corpus, data / "examples", "--out", model, "--encoder", bert, "--epochs", "2")
        assert ran.status == 0, ran.err
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a model", "data"]
        (generation,) = model.glob("generation-*")
        report = json.loads((generation / "report.json").read_text())
        page = (generation / "report.html").read_text()
        told = [line.split() for line in ran.out.splitlines()]
        names = ["all", *(f"stance {stance}" for stance in STANCES)]
        assert [" ".join(line[: len(name.split())]) for line, name in zip(told, names, strict=False)] == names
        everything = report["slices"]["all"]
        ndcg = "{mean:.3f} ({low:.3f} to {high:.3f})".format(**everything["ndcg"])
        assert ran.out.splitlines()[0].split() == f"all nDCG@10 {ndcg} R@100 1.000 20 queries".split()
        assert ndcg in page
        for name, left in report["ablation"].items():
            assert f"without {name}" in ran.out
            gain = "{mean:+.3f} ({low:+.3f} to {high:+.3f})".format(**left["gain"])
            assert f"{left['ndcg']:.3f}: it adds {gain}" in ran.out
            assert gain in page
        assert f"calibration error {report['calibration_error']:.3f}" in ran.out
        assert run_cli("index", "verify", model).status == 0

        built = run_cli("index", "build", "--corpus", corpus, "--index-dir", index, "--model", model)
        assert (built.status, built.out) == (0, ""), built.err
        about = json.loads(run_cli("index", "info", index, "--json").out)
        assert (about["encoder"], about["model"]) == ("own", RetrievalModel.open(model).fingerprint)
        asked = ["search", KNOWN[0].proposition, "--index-dir", index, "--stance", "supported", "-k", "3"]
        hits = json.loads(run_cli(*asked, "--json").out)["supported"]
        assert len({hit["doc_id"] for hit in hits}) == 3
        shown = run_cli(*asked)
        assert (shown.status, shown.err) == (0, "")
        assert all(hit["doc_id"] in shown.out for hit in hits)
        queries = data / "examples" / "queries.jsonl"
        results = tmp_path / "results.jsonl"
        ran = run_cli("batch", "--index-dir", index, "--queries", queries, "--output", results, "--top-k", "5")
        assert (ran.status, ran.out) == (0, ""), ran.err
        rows = [json.loads(line) for line in results.read_text().splitlines()]
        assert [row["query_id"] for row in rows] == [f"q{number}" for number in range(len(KNOWN))]
        assert all(len({hit["doc_id"] for hit in row["results"]}) == 5 for row in rows)
        assert [hit["doc_id"] for hit in rows[0]["results"]][:3] == [hit["doc_id"] for hit in hits]

    def test_json(self, run_cli: RunCli, data: Path, bert: Path, tmp_path: Path) -> None:
        """With --json the report that the model keeps is printed, with documents that were named but are not there."""
        truth = [{"query_id": f"q{number}", "doc_ids": [*known.doc_ids, "gone"]} for number, known in enumerate(KNOWN)]
        write(data / "examples" / "ground_truth.jsonl", truth)
        arguments = ["train", data / "corpus.jsonl", data / "examples", "--out", tmp_path / "model", "--encoder", bert]
        ran = run_cli(*arguments, "--budget", "1s", "--seed", "3", "--json")
        assert ran.status == 0, ran.err
        note = "note: 1 labelled documents are not in the corpus, and nothing was learned of them: gone"
        assert note in ran.err.splitlines()
        assert json.loads(ran.out)["unknown"] == ["gone"]
        (kept,) = tmp_path.glob("model/generation-*/report.json")
        assert json.loads(ran.out) == json.loads(kept.read_text())
        about = json.loads(run_cli("index", "info", tmp_path / "model", "--json").out)
        assert (about["kind"], about["base"], about["seed"]) == ("model", str(bert), 3)

    def test_budget_without_time_for_all(self, run_cli: RunCli, data: Path, bert: Path, tmp_path: Path) -> None:
        """It is said what a budget left out, and that it was not kept."""
        arguments = ["train", data / "corpus.jsonl", data / "examples", "--out", tmp_path / "model", "--encoder", bert]
        ran = run_cli(*arguments, "--budget", "0s", "--cross-encoder")
        assert ran.status == 0, ran.err
        notes = [line for line in ran.err.splitlines() if line.startswith("note: ")]
        assert notes == [
            "note: --budget left no time for a cross-encoder: none was tried",
            "note: it took 0 minutes, more than --budget 0s",
        ]

    @pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
    def test_encoder_that_does_not_load(self, run_cli: RunCli, data: Path, bert: Path, name: str) -> None:
        """A directory that looks like an encoder, with a file cut off, is an error, and leaves nothing."""
        broken = data / "broken"
        shutil.copytree(bert, broken)
        (broken / name).write_bytes((broken / name).read_bytes()[:50])
        before = look(data)
        ran = run_cli("train", data / "corpus.jsonl", data / "examples", "--out", data / "model", "--encoder", broken)
        assert (ran.status, ran.out) == (1, "")
        assert ran.err.splitlines()[-1].startswith(f"error: {broken} does not load (")
        assert look(data) == before


def without_truth(data: Path) -> None:
    """Remove the judgments."""
    (data / "examples" / "ground_truth.jsonl").unlink()


def with_bad_row(data: Path) -> None:
    """Make the third row of the judgments bad."""
    truth = data / "examples" / "ground_truth.jsonl"
    lines = truth.read_text().splitlines(keepends=True)
    truth.write_text("".join([*lines[:2], '{"query_id": "q2", "doc_ids": "x"}\n', *lines[3:]]))


def with_bad_document(data: Path) -> None:
    """Add a document without text."""
    with (data / "corpus.jsonl").open("a") as corpus:
        corpus.write('{"doc_id": "late"}\n')


def with_unknown_documents(data: Path) -> None:
    """Have every judgment name a document that is not in the corpus."""
    write(data / "examples" / "ground_truth.jsonl", [{"query_id": f"q{n}", "doc_ids": ["other"]} for n in range(20)])


def with_few_known_documents(data: Path) -> None:
    """Have all judgments but three name a document that is not in the corpus."""
    ids = [DOCUMENTS[0].doc_id if number < 3 else "other" for number in range(20)]
    write(data / "examples" / "ground_truth.jsonl", [{"query_id": f"q{n}", "doc_ids": [i]} for n, i in enumerate(ids)])


def with_something_else(data: Path) -> None:
    """Put a folder with a text where the model is to be."""
    (data / "model").mkdir()
    (data / "model" / "thesis.txt").write_text("thesis")


def with_a_file(data: Path) -> None:
    """Put a file where the model is to be."""
    (data / "model").write_text("thesis")


def with_work_of_something_else(data: Path) -> None:
    """Put a folder with a text where the work of the training is to be."""
    (data / "model.training").mkdir()
    (data / "model.training" / "thesis.txt").write_text("thesis")


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (without_truth, "ground_truth.jsonl cannot be read (No such file or directory)"),
        (with_bad_row, 'ground_truth.jsonl, line 3: "doc_ids" is a string'),
        (
            with_bad_document,
            'corpus.jsonl, line 13: none of the accepted fields (found "doc_id"); expected one of "text"',
        ),
        (with_unknown_documents, "no example with a document of the corpus"),
        (with_few_known_documents, "3 labelled propositions with a document of the corpus; expected at least 10"),
        (with_something_else, "a directory with other files, e.g. thesis.txt; expected"),
        (with_a_file, "model is a file"),
        (with_work_of_something_else, "model.training holds something else; expected"),
    ],
)
def test_input_that_cannot_be_used(
    run_cli: RunCli, data: Path, spoil: Callable[[Path], None], found: str, tmp_path: Path
) -> None:
    """One line says what was found; nothing is written, and what lies about stays."""
    spoil(data)
    encoder = make_look_alike(tmp_path / "encoder")
    before = look(data)
    ran = run_cli("train", data / "corpus.jsonl", data / "examples", "--out", data / "model", "--encoder", encoder)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("error: ")
    assert found in ran.err
    assert ran.err.count("\n") == 1
    assert look(data) == before


def make_look_alike(path: Path) -> Path:
    """Make what is taken for an encoder until it is loaded."""
    path.mkdir()
    (path / "modules.json").write_text("[]")
    return path


def test_budget_that_is_none(run_cli: RunCli, data: Path) -> None:
    """A budget that is no time is a wrong use, before anything is read."""
    (data / "corpus.jsonl").unlink()
    before = look(data)
    ran = run_cli("train", data / "corpus.jsonl", data / "examples", "--out", data / "model", "--budget", "soon")
    assert (ran.status, ran.out) == (2, "")
    assert "--budget soon is no time" in ran.err
    assert look(data) == before


def test_seed(run_cli: RunCli, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that is drawn by chance is drawn by the seed that is given."""
    given: list[TrainingSettings] = []

    def keep(*_: object, settings: TrainingSettings, **__: object) -> None:
        given.append(settings)
        raise SystemExit(0)

    monkeypatch.setattr("sicetnon.train.retrieval.train_retrieval", keep)
    run_cli("train", data / "corpus.jsonl", data / "examples", "--out", tmp_path / "model", "--seed", "7")
    (settings,) = given
    parts = (settings, settings.tuning, settings.ranker, settings.reranker)
    assert [part.seed for part in parts] == [7, 7, 7, 7]


@pytest.mark.parametrize("name", ["absent", "corpus.jsonl", "examples"])
def test_encoder_that_is_none(run_cli: RunCli, data: Path, name: str) -> None:
    """A path that is no encoder's is an error, and no other encoder is trained in its place."""
    before = look(data)
    arguments = ["train", data / "corpus.jsonl", data / "examples", "--out", data / "model"]
    ran = run_cli(*arguments, "--encoder", data / name)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith(f"error: {data / name} holds no modules.json; expected ")
    assert look(data) == before


def test_two_at_once(run_cli: RunCli, data: Path, tmp_path: Path) -> None:
    """A training to where another one is under way is told so, and leaves that one's work alone."""
    (data / "model.training").mkdir()
    lock = WriteLock.take(data / "model.training" / "training.lock")
    before = look(data)
    arguments = ["train", data / "corpus.jsonl", data / "examples", "--out", data / "model"]
    ran = run_cli(*arguments, "--encoder", make_look_alike(tmp_path / "encoder"))
    assert (ran.status, ran.out) == (1, "")
    assert "model.training is the work of a training that is under way" in ran.err
    assert ran.err.endswith("name another --out\n")
    assert look(data) == before
    lock.release()
