"""What a proposition is scored by in training knows nothing of it, nor of those that are left out with it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_model import make_corpus

from sicetnon.collection import Memory
from sicetnon.dense.encoder import Progress, Vectors
from sicetnon.relevance.signals import BM25
from sicetnon.text import analyze
from sicetnon.train import retrieval
from sicetnon.train.contrastive import TuningPair
from sicetnon.train.describing import recall_others
from sicetnon.train.labelled import deal_folds, label_propositions, read_texts
from sicetnon.train.ranker import Described
from sicetnon.train.retrieval import train_retrieval
from sicetnon.train.training import HALVES, MEMORY_FOLDS
from sicetnon.types import Example, Stance

DOCUMENTS, KNOWN = make_corpus(30, 60)
STANCES = (Stance.SUPPORTED, Stance.REFUTED, Stance.ALL)
EXAMPLES = [
    Example(proposition=known.proposition, stance=STANCES[number % 3], doc_ids=frozenset(known.doc_ids))
    for number, known in enumerate(KNOWN)
]
dealt = deal_folds(len(KNOWN), MEMORY_FOLDS, seed=0)
VICTIM = 7
ANOTHER = "A jury may tax the river (7)."


class Stopped(Exception):
    """The training has come as far as it is to go."""


class FakeEncoder:
    """Vectors by the words of a text, and by everything that it was tuned on."""

    dimensions = 64
    instructs_by_stance = False

    def __init__(self, _: Path) -> None:
        """Begin as the base."""
        self.seen = ""

    def encode_documents(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """Add up a direction for each word, which what was seen has turned a little."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                for source, weight in ((word, 1.0), (word + self.seen, 0.3)):
                    seed = int.from_bytes(hashlib.sha256(source.encode()).digest()[:8], "big")
                    vectors[row] += weight * np.random.default_rng(seed).normal(size=self.dimensions)
        if progress:
            progress(len(texts))
        units: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return units

    def encode_queries(self, texts: Sequence[str], stance: Stance = Stance.ALL) -> Vectors:
        """Do the same, with the stance before the text if it is one that instructs."""
        return self.encode_documents([f"{stance} {text}" if self.instructs_by_stance else text for text in texts])


Run = Callable[[list[Example]], tuple[Described, list[list[TuningPair]]]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Train as far as the ranker; return what it was to be fitted on, and what the encoders were tuned on."""

    def describe(examples: list[Example]) -> tuple[Described, list[list[TuningPair]]]:
        tuned: list[list[TuningPair]] = []
        described: list[Described] = []

        def tune(encoder: FakeEncoder, pairs: Sequence[TuningPair], *_: Any, **__: Any) -> None:
            tuned.append(list(pairs))
            encoder.seen = repr([(pair.proposition, sorted(pair.documents), *pair[2:]) for pair in pairs])

        def stop(given: Described, **_: Any) -> Any:
            described.append(given)
            raise Stopped

        monkeypatch.setattr(retrieval, "TunableEncoder", FakeEncoder)
        monkeypatch.setattr(retrieval, "find_base", Path)
        monkeypatch.setattr(retrieval, "fingerprint_directory", str)
        monkeypatch.setattr(retrieval, "tune_encoder", tune)
        monkeypatch.setattr(retrieval, "fit_ranker", stop)
        monkeypatch.setattr(retrieval, "choose_judged", lambda *_, **__: np.empty(0, np.int64))
        digest = hashlib.sha256(repr(examples).encode()).hexdigest()[:8]
        with pytest.raises(Stopped):
            train_retrieval(DOCUMENTS, examples, tmp_path / digest)
        return described[0], tuned

    return describe


def features_of(described: Described, chosen: np.ndarray) -> bytes:
    """The features of the candidates of some propositions."""
    return described.features[np.repeat(chosen, described.counts)].tobytes()


def test_encoders_are_not_tuned_on_what_they_score(run: Run) -> None:
    """The pairs that the encoder of a half is tuned on are the propositions of the other half, all of them."""
    _, tuned = run(EXAMPLES)
    assert len(tuned) == HALVES
    for half, pairs in enumerate(tuned):
        expected = [known.proposition for known, fold in zip(KNOWN, dealt.tolist(), strict=True) if fold % 2 != half]
        assert [pair.proposition for pair in pairs] == expected
        own = {known.proposition for known, fold in zip(KNOWN, dealt.tolist(), strict=True) if fold % 2 == half}
        assert not own & {pair.proposition for pair in pairs}


def test_pairs_by_stance(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """An encoder that instructs by stance is tuned on labelled queries, each with its documents, of the other half."""
    monkeypatch.setattr(FakeEncoder, "instructs_by_stance", True)
    ordinals = {document.doc_id: ordinal for ordinal, document in enumerate(DOCUMENTS)}
    also = [
        Example(proposition=known.proposition, stance=Stance.REFUTED, doc_ids=frozenset({DOCUMENTS[20].doc_id}))
        for known in KNOWN[::3]  # which are labelled for support
    ]
    _, tuned = run(EXAMPLES + also)
    for half, pairs in enumerate(tuned):
        expected = []
        for number in np.flatnonzero(dealt % 2 != half).tolist():
            own = frozenset(ordinals[doc_id] for doc_id in KNOWN[number].doc_ids)
            if number % 3:
                expected.append((KNOWN[number].proposition, STANCES[number % 3], len(own), own))
            else:
                expected.append((KNOWN[number].proposition, Stance.SUPPORTED, len(own), own | {20}))
                expected.append((KNOWN[number].proposition, Stance.REFUTED, 1, own | {20}))
        assert [(pair.proposition, pair.stance, len(pair.positives), pair.documents) for pair in pairs] == expected


def test_one_pair_a_proposition(run: Run) -> None:
    """Another encoder is tuned on each proposition once, whatever the stances it is labelled for."""
    also = [replace(row, stance=Stance.REFUTED) for row in EXAMPLES[::3]]
    (_, once), (_, twice) = run(EXAMPLES), run(EXAMPLES + also)
    assert once == twice
    assert {pair.stance for pairs in once for pair in pairs} == {Stance.ALL}


def test_own_labels_do_not_reach_own_features(run: Run) -> None:
    """Other labels of a proposition leave the features of all of its fold, itself included, the same bits."""
    others = frozenset(document.doc_id for document in DOCUMENTS[20:24])
    before, _ = run(EXAMPLES)
    after, _ = run([replace(row, doc_ids=others) if n == VICTIM else row for n, row in enumerate(EXAMPLES)])
    fold = dealt == dealt[VICTIM]
    assert features_of(before, fold) == features_of(after, fold)
    own = np.repeat(np.arange(len(KNOWN)) == VICTIM, before.counts)
    assert (before.relevant[own] != after.relevant[own]).any()
    for other in set(range(MEMORY_FOLDS)) - {int(dealt[VICTIM])}:  # all others remember it, and half are tuned on it
        assert features_of(before, dealt == other) != features_of(after, dealt == other)


def test_own_text_does_not_reach_the_fold(run: Run) -> None:
    """Another wording of a proposition leaves the features of those that are left out with it the same bits."""
    before, _ = run(EXAMPLES)
    after, _ = run([replace(row, proposition=ANOTHER) if n == VICTIM else row for n, row in enumerate(EXAMPLES)])
    is_victim = np.arange(len(KNOWN)) == VICTIM
    fold = dealt == dealt[VICTIM]
    assert features_of(before, fold & ~is_victim) == features_of(after, fold & ~is_victim)
    assert features_of(before, is_victim) != features_of(after, is_victim)
    assert features_of(before, ~fold) != features_of(after, ~fold)


def test_a_whole_fold_does_not_reach_its_memory(tmp_path: Path) -> None:
    """Whatever the left-out propositions say and name: links, their order, and the expanded index are the same."""
    texts = read_texts(DOCUMENTS)
    left_out = dealt == dealt[VICTIM]
    labelled = label_propositions(EXAMPLES, texts.doc_ids)
    changed = [
        known._replace(proposition=f"{ANOTHER} {number}", documents=frozenset({number % 30, 29}))
        if left_out[number]
        else known
        for number, known in enumerate(labelled)
    ]
    vectors = np.eye(len(KNOWN), dtype=np.float32)
    asked = [analyze(known.proposition) for known in (*labelled, *changed)]

    def recall(name: str, given: Any) -> tuple[Memory, bytes]:
        memory = recall_others(tmp_path / name, texts, given, left_out=left_out, vectors=vectors)
        return memory, np.array([memory.expanded.scores(terms, scoring=BM25) for terms in asked]).tobytes()

    (before, scores_before), (after, scores_after) = recall("before", labelled), recall("after", changed)
    assert before.propositions.tolist() == after.propositions.tolist()
    assert before.documents.tolist() == after.documents.tolist()
    assert scores_before == scores_after
    assert not left_out[before.propositions].any()
    expected = {(number, d) for number, known in enumerate(labelled) for d in known.documents if not left_out[number]}
    links = list(zip(before.propositions.tolist(), before.documents.tolist(), strict=True))
    assert set(links) == expected
    assert len(links) == len(expected)
    assert (np.diff(before.documents) >= 0).all()


def test_memory_is_that_of_an_index(tmp_path: Path, cheap_encoder: Any) -> None:
    """With nothing left out, the memory of a training measures as that of the index that is built with the model."""
    from toy_model import ToyModel, make_ranker

    from sicetnon.collection import Collection
    from sicetnon.ingest import build_index
    from sicetnon.relevance.signals import Sources, measure_signals

    texts = read_texts(DOCUMENTS)
    labelled = label_propositions(EXAMPLES, texts.doc_ids)
    build_index(DOCUMENTS, tmp_path / "index", model=ToyModel(cheap_encoder, KNOWN, make_ranker()))  # type: ignore[arg-type]
    sources = Sources.of(Collection.open(tmp_path / "index"))
    vectors = cheap_encoder.encode_queries([known.proposition for known in labelled])
    left_out = np.zeros(len(labelled), np.bool_)
    memory = recall_others(tmp_path / "memory", texts, labelled, left_out=left_out, vectors=vectors)
    asked = ["A jury may tax the river.", KNOWN[3].proposition]
    in_index = measure_signals(sources, asked, cheap_encoder.encode_queries(asked))
    in_training = measure_signals(sources._replace(memory=memory), asked, cheap_encoder.encode_queries(asked))
    assert {name: signal.tobytes() for name, signal in in_index.items()} == {
        name: signal.tobytes() for name, signal in in_training.items()
    }
