"""A whole training on a small corpus: documents and labelled queries to a model, an index and answers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tiny_models import make_qwen3, needs_exact_torch
from toy_model import make_corpus

from sicetnon.collection import Collection
from sicetnon.corpora import read_bundled_propositions
from sicetnon.errors import InputError
from sicetnon.ingest import build_index
from sicetnon.relevance import RetrievalModel
from sicetnon.search import Searcher
from sicetnon.storage import StoredDirectory
from sicetnon.train.checkpoint import Checkpoint
from sicetnon.train.contrastive import TuningSettings
from sicetnon.train.ranker import RankerSettings
from sicetnon.train.report import RetrievalReport
from sicetnon.train.retrieval import train_retrieval
from sicetnon.train.training import TrainingSettings
from sicetnon.types import Example, Query, Stance

DOCUMENTS, KNOWN = make_corpus(30, 60)
STANCES = (Stance.SUPPORTED, Stance.REFUTED, Stance.ALL)
EXAMPLES = [
    Example(proposition=known.proposition, stance=STANCES[number % 3], doc_ids=frozenset(known.doc_ids))
    for number, known in enumerate(KNOWN)
]


class Stopped(Exception):
    """Somebody stops the training."""


@pytest.fixture(scope="module", autouse=True)
def few_judged() -> Iterator[None]:
    """Have the stance model trained on some of the bundled propositions: all of them take most of the time."""
    few = list(read_bundled_propositions())[:12]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sicetnon.train.sides.read_bundled_propositions", lambda: few)
        yield


def make_settings(base: Path, *, seed: int = 0, epochs: float = 2) -> TrainingSettings:
    """A few steps and a few trees."""
    return TrainingSettings(
        base=str(base),
        tuning=TuningSettings(epochs=epochs, batch=8, learning_rate=1e-3, seed=seed),
        ranker=RankerSettings(trees=5, leaves=4, fewest_in_leaf=5, seed=seed),
        seed=seed,
    )


def train(
    base: Path, out: Path, *, seed: int = 0, progress: Callable[[str, int, int], None] | None = None
) -> RetrievalReport:
    """Train on the toy corpus."""
    return train_retrieval(DOCUMENTS, EXAMPLES, out, settings=make_settings(base, seed=seed), progress=progress)


class TestTraining:
    """Trainings of a tiny BERT, and one of a Qwen3."""

    pytestmark = needs_exact_torch

    @pytest.fixture(scope="class")
    def finished(self, bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """A model that was trained without a stop."""
        out = tmp_path_factory.mktemp("finished") / "model"
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

            def stop(name: str, done: int, _: int, step: str = step, done_then: int = done_then) -> None:
                if name == step and done >= done_then:
                    raise Stopped

            with pytest.raises(Stopped):
                train(bert, tmp_path / "model", progress=stop)
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

        def stop(name: str, *_: object) -> None:
            if name == "tuning half 1":
                raise Stopped

        with pytest.raises(Stopped):
            train(bert, tmp_path / "model", progress=stop)
        with pytest.raises(InputError, match="an unfinished training of other input"):
            train(bert, tmp_path / "model", seed=1)

    def test_old_model_stays_until_the_end(self, bert: Path, finished: Path, tmp_path: Path) -> None:
        """A model that stands at the place is usable until the new one is whole."""
        shutil.copytree(finished, tmp_path / "model")

        def stop(name: str, *_: int) -> None:
            if name == "tuning encoder":
                raise Stopped

        with pytest.raises(Stopped):
            train(bert, tmp_path / "model", seed=1, progress=stop)
        fingerprint = RetrievalModel.open(finished).fingerprint
        assert RetrievalModel.open(tmp_path / "model").fingerprint == fingerprint
        train(bert, tmp_path / "model", seed=1)
        assert RetrievalModel.open(tmp_path / "model").fingerprint != fingerprint

    def test_qwen3(self, tmp_path: Path) -> None:
        """A model that is no BERT is kept as a directory, which the index names and a search loads, by stance."""
        base = make_qwen3(tmp_path / "base", [document.text for document in DOCUMENTS])
        train(base, tmp_path / "model")
        model = RetrievalModel.open(tmp_path / "model")
        assert model.onnx is None
        build_index(DOCUMENTS, tmp_path / "index", model=model)
        searcher = Searcher.open(tmp_path / "index")
        asked = "A ship may be taxed."
        assert len(searcher.search(Query(proposition=asked, stance=Stance.REFUTED)).hits) == 10
        scored = searcher._score([(asked, stance) for stance in Stance])
        assert len({relevance._joined["passage"].tobytes() for _, relevance in scored}) == len(Stance)
