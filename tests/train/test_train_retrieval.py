"""A whole training on a small corpus: documents and labelled queries to a model, an index and answers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_models import make_qwen3, needs_exact_torch
from toy_model import make_corpus

from sicetnon.collection import Collection
from sicetnon.corpora import read_bundled_propositions
from sicetnon.errors import InputError
from sicetnon.ingest import build_index
from sicetnon.relevance import RetrievalModel
from sicetnon.relevance.reranker import RERANKED
from sicetnon.search import Searcher
from sicetnon.storage import StoredDirectory
from sicetnon.train import reranking
from sicetnon.train.checkpoint import Checkpoint
from sicetnon.train.contrastive import TuningSettings
from sicetnon.train.measuring import Estimate
from sicetnon.train.ranker import RankerSettings
from sicetnon.train.report import RetrievalReport
from sicetnon.train.reranker import RerankerSettings
from sicetnon.train.retrieval import train_retrieval
from sicetnon.train.training import TrainingSettings
from sicetnon.types import Example, Progress, Query, Stance

DOCUMENTS, KNOWN = make_corpus(30, 60)
STANCES = (Stance.SUPPORTED, Stance.REFUTED, Stance.ALL)
EXAMPLES = [
    Example(proposition=known.proposition, stance=STANCES[number % 3], doc_ids=frozenset(known.doc_ids))
    for number, known in enumerate(KNOWN)
]


class Stopped(Exception):
    """Somebody stops the training."""


def stop_at(step: str, done_then: int = 0) -> Progress:
    """Stop a training once so much of a step is done."""

    def stop(name: str, done: int, _: int) -> None:
        if name == step and done >= done_then:
            raise Stopped

    return stop


@pytest.fixture(scope="module", autouse=True)
def few_judged() -> Iterator[None]:
    """Have the stance model trained on some of the bundled propositions: all of them take most of the time."""
    few = list(read_bundled_propositions())[:12]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sicetnon.train.sides.read_bundled_propositions", lambda: few)
        yield


NOTHING, SOMETHING = Estimate(0.01, 0.0, 0.02), Estimate(0.02, 0.01, 0.03)


def say_gain(patch: pytest.MonkeyPatch, gain: Estimate) -> None:
    """Have it said that a cross-encoder gains so much, whatever it does: on so few examples that is luck."""
    weigh = reranking.weigh_reranking
    patch.setattr(reranking, "weigh_reranking", lambda *given, **more: weigh(*given, **more)._replace(gain=gain))


@pytest.fixture(autouse=True)
def gain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have cross-encoders gain nothing that may not be luck."""
    say_gain(monkeypatch, NOTHING)


def make_settings(base: Path, *, seed: int = 0, epochs: float = 2, reranks: bool = True) -> TrainingSettings:
    """A few steps and a few trees."""
    return TrainingSettings(
        base=str(base),
        tuning=TuningSettings(epochs=epochs, batch=8, learning_rate=1e-3, seed=seed),
        ranker=RankerSettings(trees=5, leaves=4, fewest_in_leaf=5, seed=seed),
        reranks=reranks,
        reranker=RerankerSettings(epochs=2, groups=8, others=3, layers=1, learning_rate=1e-3, seed=seed),
        seed=seed,
    )


def train(
    base: Path,
    out: Path,
    *,
    seed: int = 0,
    reranks: bool = True,
    progress: Callable[[str, int, int], None] | None = None,
) -> RetrievalReport:
    """Train on the toy corpus."""
    settings = make_settings(base, seed=seed, reranks=reranks)
    return train_retrieval(DOCUMENTS, EXAMPLES, out, settings=settings, progress=progress)


def list_files(model: Path) -> set[str]:
    """The files of a model."""
    return {path.name for path in model.glob("generation-*/*")}


class TestTraining:
    """Trainings of a tiny BERT, and one of a Qwen3."""

    pytestmark = needs_exact_torch

    @pytest.fixture(scope="class")
    def finished(self, bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """A model that was trained without a stop."""
        out = tmp_path_factory.mktemp("finished") / "model"
        with pytest.MonkeyPatch.context() as patch:
            say_gain(patch, NOTHING)
            train(bert, out)
        return out

    def test_model_to_answers(self, bert: Path, tmp_path: Path) -> None:
        """A training leaves a whole model and nothing else; an index built with it answers by itself."""
        told: list[tuple[str, int, int]] = []
        report = train(bert, tmp_path / "model", progress=lambda *step: told.append(step))
        assert [path.name for path in tmp_path.iterdir()] == ["model"]
        StoredDirectory.open(tmp_path / "model", kind="model").verify()
        assert report.propositions == 60
        assert report.slices["all"].queries == 60
        assert {"stance supported", "stance refuted", "stance all"} < report.slices.keys()
        assert all(0 <= part.ndcg.low <= part.ndcg.mean <= part.ndcg.high <= 1 for part in report.slices.values())
        assert sum(held.candidates for held in report.calibration) == 60 * 30
        assert all(0 <= done <= total for _, done, total in told)

        model = RetrievalModel.open(tmp_path / "model")
        assert sorted(model.propositions) == sorted(
            known._replace(doc_ids=tuple(sorted(known.doc_ids, key=[d.doc_id for d in DOCUMENTS].index)))
            for known in KNOWN
        )
        build_index(DOCUMENTS, tmp_path / "index", model=model)
        shutil.rmtree(tmp_path / "model")  # an index holds all that it needs
        searcher = Searcher.open(tmp_path / "index")
        StoredDirectory.open(tmp_path / "index", kind="legal").verify()
        assert len(searcher.search(Query(proposition=KNOWN[3].proposition, top_k=40)).hits) == 30
        memory = Collection.open(tmp_path / "index").memory
        assert memory is not None
        assert memory.vectors.shape == (60, 32)
        assert len(memory.documents) == sum(len(known.doc_ids) for known in KNOWN)

    def test_report_is_kept(self, finished: Path) -> None:
        """The report lies in the model, as figures and as a page."""
        (figures,) = finished.glob("generation-*/report.json")
        (page,) = finished.glob("generation-*/report.html")
        assert json.loads(figures.read_text())["propositions"] == 60
        assert page.read_text().startswith("<!doctype html>")

    def test_same_seed_same_model(self, bert: Path, finished: Path, tmp_path: Path) -> None:
        """The same input gives the same model, another seed another."""
        fingerprint = RetrievalModel.open(finished).fingerprint
        train(bert, tmp_path / "again")
        assert RetrievalModel.open(tmp_path / "again").fingerprint == fingerprint
        train(bert, tmp_path / "other", seed=1)
        assert RetrievalModel.open(tmp_path / "other").fingerprint != fingerprint

    @pytest.fixture(params=[0.0, 60.0], ids=["kept at each step", "kept too late"])
    def checkpoints(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have tuning kept at each step, or at none."""
        monkeypatch.setattr(Checkpoint.__init__, "__kwdefaults__", {"seconds_between": request.param})

    @pytest.mark.usefixtures("checkpoints")
    @pytest.mark.parametrize(
        "stops",
        [
            [("passages before", 1)],  # nothing is finished then, and nothing left
            [("tuning half 1", 2)],
            [("passages of half 1", 1), ("fold 3", 1), ("fold 3", 1)],
            [("tuning half 2", 7), ("fold 10", 1), ("tuning encoder", 3)],
            [("tuning encoder", 15)],
        ],
    )
    def test_stopped_training(self, bert: Path, finished: Path, tmp_path: Path, stops: list[tuple[str, int]]) -> None:
        """A training that is stopped at any step, again and again, ends in the model of one that was not."""
        for step, done_then in stops:
            with pytest.raises(Stopped):
                train(bert, tmp_path / "model", progress=stop_at(step, done_then))
            left = [] if step == "passages before" else ["model.training"]
            assert [path.name for path in tmp_path.iterdir()] == left
        train(bert, tmp_path / "model")
        assert RetrievalModel.open(tmp_path / "model").fingerprint == RetrievalModel.open(finished).fingerprint
        assert [path.name for path in tmp_path.iterdir()] == ["model"]

    def test_finished_steps_are_not_made_again(self, bert: Path, tmp_path: Path) -> None:
        """After a stop, what was encoded and described stands."""
        told: list[str] = []

        def stop(name: str, *_: int) -> None:
            told.append(name)
            if name == "tuning encoder" and told.count("tuning encoder") == 1:
                raise Stopped

        with pytest.raises(Stopped):
            train(bert, tmp_path / "model", progress=stop)
        stopped = len(told)
        train(bert, tmp_path / "model", progress=stop)
        assert set(told[stopped:]) == {"tuning encoder"}

    def test_work_of_another_training(self, bert: Path, tmp_path: Path) -> None:
        """Work that other settings began is refused."""
        with pytest.raises(Stopped):
            train(bert, tmp_path / "model", progress=stop_at("tuning half 1"))
        with pytest.raises(InputError, match="an unfinished training of other input"):
            train(bert, tmp_path / "model", seed=1)

    def test_old_model_stays_until_the_end(self, bert: Path, finished: Path, tmp_path: Path) -> None:
        """A model that stands at the place is usable until the new one is whole."""
        shutil.copytree(finished, tmp_path / "model")
        with pytest.raises(Stopped):
            train(bert, tmp_path / "model", seed=1, progress=stop_at("tuning encoder"))
        fingerprint = RetrievalModel.open(finished).fingerprint
        assert RetrievalModel.open(tmp_path / "model").fingerprint == fingerprint
        train(bert, tmp_path / "model", seed=1)
        assert RetrievalModel.open(tmp_path / "model").fingerprint != fingerprint

    def test_cross_encoder_that_adds_nothing(self, bert: Path, tmp_path: Path) -> None:
        """Where the gain may be luck no cross-encoder is tuned on all and none kept; what it added is told."""
        told: list[tuple[str, int, int]] = []
        report = train(bert, tmp_path / "model", progress=lambda *step: told.append(step))
        assert not {"reranker.onnx", "reranker.json"} & list_files(tmp_path / "model")
        assert RetrievalModel.open(tmp_path / "model").reranker is None
        assert report.cross_encoder is not None
        assert (report.cross_encoder.gain, report.cross_encoder.kept) == (NOTHING, False)
        (page,) = tmp_path.glob("model/generation-*/report.html")
        assert "a cross-encoder over the first candidates adds" in page.read_text()
        own = [step for step in told if "reranker" in step[0]]
        for half, count in ((1, 30), (2, 30)):
            steps = round(2 * count / 8)
            tuning = [(f"tuning the reranker of half {half}", step, steps) for step in range(1, steps + 1)]
            assert [step for step in own if step[0] == tuning[0][0]] == tuning
            assert (f"reading by the reranker of half {half}", count * RERANKED, count * RERANKED) in own
        assert {name.rpartition(" of ")[2] for name, _, _ in own} == {"half 1", "half 2"}

    def test_no_cross_encoder(self, bert: Path, finished: Path, tmp_path: Path) -> None:
        """Where none is to be tried none is, and all else is as with one that adds nothing."""
        told: list[str] = []
        report = train(bert, tmp_path / "model", reranks=False, progress=lambda name, *_: told.append(name))
        assert not any("reranker" in name for name in told)
        assert report.cross_encoder is None
        assert RetrievalModel.open(tmp_path / "model").fingerprint == RetrievalModel.open(finished).fingerprint

    @pytest.fixture(scope="class")
    def reading(self, bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """A model whose training found that a cross-encoder gains something."""
        out = tmp_path_factory.mktemp("reading") / "model"
        with pytest.MonkeyPatch.context() as patch:
            say_gain(patch, SOMETHING)
            report = train(bert, out)
        assert report.cross_encoder is not None
        assert (report.cross_encoder.gain, report.cross_encoder.kept) == (SOMETHING, True)
        return out

    def test_cross_encoder_to_answers(self, reading: Path, finished: Path, tmp_path: Path) -> None:
        """A cross-encoder that gains is kept with its blend, goes into the index, and changes what is found."""
        StoredDirectory.open(reading, kind="model").verify()
        assert list_files(reading) - list_files(finished) == {"reranker.onnx", "reranker.json"}
        found = []
        for model in (reading, finished):
            build_index(DOCUMENTS, tmp_path / "index", model=RetrievalModel.open(model))
            StoredDirectory.open(tmp_path / "index", kind="legal").verify()
            searcher = Searcher.open(tmp_path / "index")
            queries = [Query(proposition=known.proposition, top_k=20) for known in KNOWN[:3]]
            answer = searcher.rank_many(queries)
            assert answer.refinable == (3 if model == reading else 0)
            found.append([set(zip(ranked.doc_ids, ranked.scores, strict=True)) for ranked in answer.rankings])
        for read, unread in zip(*found, strict=True):
            assert len(read) == len(unread) == 20
            assert len(read & unread) == 20 - RERANKED  # what was not read has the score that it had

    @pytest.mark.parametrize(
        ("seconds", "stops"),
        [
            (0.0, [("tuning the reranker of half 1", 3), ("reading by the reranker of half 1", 1)]),
            (60.0, [("tuning the reranker of half 2", 1), ("tuning the reranker of half 2", 7)]),
            (0.0, [("tuning the reranker", 1), ("tuning the reranker", 15)]),
        ],
        ids=["half 1, kept at each step", "half 2, kept too late", "all, kept at each step"],
    )
    def test_stopped_cross_encoder(
        self,
        bert: Path,
        reading: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        *,
        seconds: float,
        stops: list[tuple[str, int]],
    ) -> None:
        """Stopped as a cross-encoder is tuned or reads, a training ends in the same model and the same answers."""
        monkeypatch.setattr(Checkpoint.__init__, "__kwdefaults__", {"seconds_between": seconds})
        say_gain(monkeypatch, SOMETHING)
        for step, done_then in stops:
            with pytest.raises(Stopped):
                train(bert, tmp_path / "model", progress=stop_at(step, done_then))
        train(bert, tmp_path / "model")
        assert RetrievalModel.open(tmp_path / "model").fingerprint == RetrievalModel.open(reading).fingerprint
        answers = []
        for number, model in enumerate((tmp_path / "model", reading)):
            build_index(DOCUMENTS, tmp_path / f"index {number}", model=RetrievalModel.open(model))
            searcher = Searcher.open(tmp_path / f"index {number}")
            answers.append([searcher.search(Query(proposition=known.proposition)) for known in KNOWN[:3]])
        assert answers[0] == answers[1]

    def test_budget(self, bert: Path, tmp_path: Path) -> None:
        """A training that has no time for tuning an encoder ends in a whole model all the same."""
        told: list[str] = []
        settings = replace(make_settings(bert), budget=0.0)
        train_retrieval(
            DOCUMENTS,
            EXAMPLES,
            tmp_path / "model",
            settings=settings,
            progress=lambda name, *_: told.append(name),
        )
        assert not {"tuning half 1", "tuning half 2", "tuning encoder"} & set(told)
        build_index(DOCUMENTS, tmp_path / "index", model=RetrievalModel.open(tmp_path / "model"))
        assert len(Searcher.open(tmp_path / "index").search(Query(proposition="A ship.")).hits) == 10

    def test_qwen3(self, tmp_path: Path) -> None:
        """A model that is no BERT is kept as a directory, which the index names and a search loads, by stance.

        No cross-encoder is made of one.
        """
        base = make_qwen3(tmp_path / "base", [document.text for document in DOCUMENTS])
        with pytest.raises(InputError, match="train this encoder without a cross-encoder"):
            train(base, tmp_path / "model", reranks=True)
        assert not list(tmp_path.glob("model*"))
        report = train(base, tmp_path / "model", reranks=False)
        assert report.cross_encoder is None
        model = RetrievalModel.open(tmp_path / "model")
        assert model.onnx is None
        build_index(DOCUMENTS, tmp_path / "index", model=model)
        searcher = Searcher.open(tmp_path / "index")
        asked = "A ship may be taxed."
        assert len(searcher.search(Query(proposition=asked, stance=Stance.REFUTED)).hits) == 10
        scored = searcher._finder.measure([(asked, stance) for stance in Stance])
        assert len({relevance._joined["passage"].tobytes() for _, relevance in scored}) == len(Stance)
