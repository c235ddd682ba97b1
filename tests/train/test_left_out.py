"""What a proposition is scored by in training knows nothing of it, nor of those that are left out with it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_model import make_corpus

from sicetnon.collection import Memory
from sicetnon.dense.encoder import Progress, Vectors
from sicetnon.relevance.features import FEATURES
from sicetnon.relevance.signals import BM25
from sicetnon.text import analyze
from sicetnon.train import describing, reranking, retrieval, training
from sicetnon.train.contrastive import TuningPair
from sicetnon.train.describing import Seen, _choose_kept, recall_others
from sicetnon.train.labelled import Labelled, deal_folds, label_propositions, read_texts
from sicetnon.train.ranker import Described
from sicetnon.train.reranker import RerankingExample
from sicetnon.train.retrieval import train_retrieval
from sicetnon.train.training import HALVES, MEMORY_FOLDS, TrainingSettings
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
    exports = True

    def __init__(self, path: Path) -> None:
        """Begin as the base, or as what was saved."""
        self.seen = (path / "seen").read_text() if (path / "seen").exists() else ""

    def save(self, folder: Path) -> None:
        """Write what was seen."""
        folder.mkdir()
        (folder / "seen").write_text(self.seen)

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


@dataclass
class FakeReranker:
    """A cross-encoder with scores that say nothing; it keeps what it was tuned on and what it scored."""

    encoder: FakeEncoder
    examples: list[RerankingExample]
    scored: list[tuple[str, str]] = field(default_factory=list)

    def score(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """Take note of the pairs."""
        self.scored += pairs
        return np.array([[len(text) % 7] for _, text in pairs], np.float64)


@dataclass
class Trained:
    """What came to be known in a training: of the halves' encoders, the candidates, the halves' cross-encoders."""

    tuned: list[list[TuningPair]] = field(default_factory=list)
    seen: Seen | None = None
    rerankers: list[FakeReranker] = field(default_factory=list)

    @property
    def described(self) -> Described:
        """What the ranker was to be fitted on."""
        assert self.seen is not None
        return self.seen.described


Run = Callable[[list[Example]], Trained]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Train until it is known what a cross-encoder adds."""

    def train(examples: list[Example]) -> Trained:
        trained = Trained()

        def tune(encoder: FakeEncoder, pairs: Sequence[TuningPair], *_: Any, **__: Any) -> None:
            trained.tuned.append(list(pairs))
            encoder.seen = repr([(pair.proposition, sorted(pair.documents), *pair[2:]) for pair in pairs])

        def tune_reranker(encoder: FakeEncoder, examples: list[RerankingExample], **_: Any) -> FakeReranker:
            trained.rerankers.append(FakeReranker(encoder, examples))
            return trained.rerankers[-1]

        def rank_by_sum(given: Described, **_: Any) -> Any:
            return None, given.features[:, 0]

        def stop(given: Any, pairs: Any, seen: Seen, *more: Any) -> Any:
            trained.seen = seen
            reranking.try_reranking(given, pairs, seen, *more)
            raise Stopped

        for module in (retrieval, training):
            monkeypatch.setattr(module, "TunableEncoder", FakeEncoder)
            monkeypatch.setattr(module, "find_base", Path)
        monkeypatch.setattr(retrieval, "fingerprint_directory", str)
        monkeypatch.setattr(training, "tune_encoder", tune)
        monkeypatch.setattr(describing, "choose_judged", lambda *_, **__: np.empty(0, np.int64))
        monkeypatch.setattr(retrieval, "fit_ranker", rank_by_sum)
        monkeypatch.setattr(reranking, "tune_reranker", tune_reranker)
        monkeypatch.setattr(retrieval, "try_reranking", stop)
        digest = hashlib.sha256(repr(examples).encode()).hexdigest()[:8]
        with pytest.raises(Stopped):
            train_retrieval(DOCUMENTS, examples, tmp_path / digest, settings=TrainingSettings(reranks=True))
        return trained

    return train


def with_other_documents(examples: list[Example]) -> list[Example]:
    """Label the victim with other documents."""
    others = frozenset(document.doc_id for document in DOCUMENTS[20:24])
    return [replace(row, doc_ids=others) if n == VICTIM else row for n, row in enumerate(examples)]


def with_another_wording(examples: list[Example]) -> list[Example]:
    """Word the victim in another way."""
    return [replace(row, proposition=ANOTHER) if n == VICTIM else row for n, row in enumerate(examples)]


def features_of(described: Described, chosen: np.ndarray) -> bytes:
    """The features of the candidates of some propositions."""
    return described.features[np.repeat(chosen, described.counts)].tobytes()


def test_encoders_are_not_tuned_on_what_they_score(run: Run) -> None:
    """The pairs that the encoder of a half is tuned on are the propositions of the other half, all of them."""
    tuned = run(EXAMPLES).tuned
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
    tuned = run(EXAMPLES + also).tuned
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
    once, twice = run(EXAMPLES).tuned, run(EXAMPLES + also).tuned
    assert once == twice
    assert {pair.stance for pairs in once for pair in pairs} == {Stance.ALL}


def test_own_labels_are_left_out(run: Run) -> None:
    """Other labels of a proposition change what is known of the documents that it names, and of no other one."""
    asked = np.flatnonzero(dealt == dealt[VICTIM])
    known: list[dict[int, Counter[int]]] = []
    for examples in (EXAMPLES, with_other_documents(EXAMPLES)):
        seen = run(examples).seen
        assert seen is not None
        at_least: dict[int, Counter[int]] = {}
        places = np.repeat(np.arange(len(KNOWN)), seen.described.counts)
        documents = np.concatenate(seen.candidates.documents)
        told = seen.described.features[:, FEATURES.index("known propositions")]
        for place in np.flatnonzero(np.isin(places, asked)).tolist():
            at_least.setdefault(int(documents[place]), Counter())[round(float(told[place]), 9)] += 1
        known.append(at_least)
    before, after = known
    ordinals = {document.doc_id: ordinal for ordinal, document in enumerate(DOCUMENTS)}
    named = {ordinals[doc_id] for doc_id in KNOWN[VICTIM].doc_ids} | set(range(20, 24))
    assert all(len(values) == 1 for values in before.values())  # a document is known alike to all of a fold
    assert {document for document in before if before[document] != after[document]} <= named


def test_own_text_does_not_reach_the_fold(run: Run) -> None:
    """Another wording of a proposition leaves the features of those that are left out with it the same bits."""
    before, after = run(EXAMPLES).described, run(with_another_wording(EXAMPLES)).described
    is_victim = np.arange(len(KNOWN)) == VICTIM
    fold = dealt == dealt[VICTIM]
    assert features_of(before, fold & ~is_victim) == features_of(after, fold & ~is_victim)
    assert features_of(before, is_victim) != features_of(after, is_victim)
    assert features_of(before, ~fold) != features_of(after, ~fold)


def name_fold(fold: int) -> list[str]:
    """The propositions of a fold."""
    return [known.proposition for known, own in zip(KNOWN, dealt.tolist(), strict=True) if own == fold]


def test_cross_encoders_are_not_tuned_on_what_they_score(run: Run) -> None:
    """The cross-encoder of a half begins from the half's encoder, learns from the other half and scores its own."""
    rerankers = run(EXAMPLES).rerankers
    assert len(rerankers) == HALVES
    for half, reranker in enumerate(rerankers):
        own, others = (
            [
                known.proposition
                for known, fold in zip(KNOWN, dealt.tolist(), strict=True)
                if (fold % 2 == half) == is_own
            ]
            for is_own in (True, False)
        )
        assert [example.proposition for example in reranker.examples] == others
        assert {proposition for proposition, _ in reranker.scored} == set(own)
        assert all(proposition in reranker.encoder.seen for proposition in others)
        assert not any(proposition in reranker.encoder.seen for proposition in own)


def test_what_is_read_is_of_other_folds(run: Run) -> None:
    """No proposition is read beside a candidate of one of its own fold, itself included, be it to learn or to score."""
    rerankers = run(EXAMPLES).rerankers
    fold_of = {known.proposition: fold for known, fold in zip(KNOWN, dealt.tolist(), strict=True)}
    for half, reranker in enumerate(rerankers):  # nor one of the half that it scores beside what it learns from
        own = [known.proposition for known, fold in zip(KNOWN, dealt.tolist(), strict=True) if fold % 2 == half]
        texts = [text for example in reranker.examples for text, _ in (*example.relevant, *example.others)]
        assert not any(other in text for text in texts for other in own)
    read = [pair for reranker in rerankers for pair in reranker.scored]
    read += [
        (example.proposition, text)
        for reranker in rerankers
        for example in reranker.examples
        for text, _ in (*example.relevant, *example.others)
    ]
    beside = []
    for proposition, text in read:
        assert not any(other in text for other in name_fold(fold_of[proposition]))
        beside += [other for other in fold_of if other in text]
    assert len(beside) > len(read) / 4  # others are read beside many of them
    assert {fold_of[other] for other in beside} == set(range(MEMORY_FOLDS))


def test_a_wording_does_not_reach_what_is_read_in_its_fold(run: Run) -> None:
    """Another wording leaves what is scored of those that are left out with it the same texts."""
    before, after = run(EXAMPLES), run(with_another_wording(EXAMPLES))
    half = int(dealt[VICTIM]) % HALVES
    company = set(name_fold(int(dealt[VICTIM]))) - {KNOWN[VICTIM].proposition}
    scored = [[pair for pair in trained.rerankers[half].scored if pair[0] in company] for trained in (before, after)]
    assert scored[0] == scored[1]
    assert {proposition for proposition, _ in scored[0]} == company
    others = [
        [pair for pair in trained.rerankers[half].scored if pair[0] not in company] for trained in (before, after)
    ]
    assert others[0] != others[1]  # the other folds of the half remember it


def recall(folder: Path, labelled: Sequence[Labelled], left_out: np.ndarray, *, seed: int = 0) -> Memory:
    """The memory of the toy corpus without some propositions."""
    texts = read_texts(DOCUMENTS)
    vectors = np.eye(len(labelled), dtype=np.float32)
    drawn = np.random.SeedSequence(seed)
    return recall_others(folder, texts, labelled, left_out=left_out, vectors=vectors, seed=drawn)


def list_links(memory: Memory) -> list[tuple[int, int]]:
    """Proposition and document of each link of a memory."""
    return list(zip(memory.propositions.tolist(), memory.documents.tolist(), strict=True))


def test_text_of_a_whole_fold_does_not_reach_its_memory(tmp_path: Path) -> None:
    """Whatever the left-out propositions say: links, their order, and the expanded index are the same."""
    left_out = dealt == dealt[VICTIM]
    labelled = label_propositions(EXAMPLES, read_texts(DOCUMENTS).doc_ids)
    changed = [
        known._replace(proposition=f"{ANOTHER} {number}") if left_out[number] else known
        for number, known in enumerate(labelled)
    ]
    asked = [analyze(known.proposition) for known in (*labelled, *changed)]
    before, after = (recall(tmp_path / str(n), given, left_out) for n, given in enumerate((labelled, changed)))
    assert list_links(before) == list_links(after)
    scores = [[memory.expanded.scores(terms, scoring=BM25).tobytes() for terms in asked] for memory in (before, after)]
    assert scores[0] == scores[1]


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 11)), max_size=30))
def test_every_known_document_loses_one(links: list[tuple[int, bool, int]]) -> None:
    """A document is known by all its propositions but those left out; by all but one where it has none of these."""
    documents, left_out, turns = (np.array([link[part] for link in links]) for part in range(3))
    kept = _choose_kept(documents.astype(np.int32), left_out.astype(np.bool_), turns)
    for document in set(documents.tolist()):
        own = documents == document
        if left_out[own].any():
            assert (kept[own] == ~left_out[own]).all()
        else:
            (lost,) = np.flatnonzero(own & ~kept).tolist()
            assert turns[lost] == turns[own].min()


def test_nothing_is_lost_where_none_is_left_out(tmp_path: Path) -> None:
    """The memory of all propositions has all their documents."""
    labelled = label_propositions(EXAMPLES, read_texts(DOCUMENTS).doc_ids)
    links = list_links(recall(tmp_path / "all", labelled, np.zeros(len(labelled), np.bool_)))
    assert sorted(links) == sorted((number, d) for number, known in enumerate(labelled) for d in known.documents)


def test_nothing_else_is_lost_in_a_pool(tmp_path: Path) -> None:
    """Where the queries to come are the rest of a pool, only what is left out is lost."""
    texts = read_texts(DOCUMENTS)
    labelled = label_propositions(EXAMPLES, texts.doc_ids)
    left_out = dealt == dealt[VICTIM]
    vectors = np.eye(len(labelled), dtype=np.float32)
    memory = recall_others(tmp_path / "pool", texts, labelled, left_out=left_out, vectors=vectors, seed=None)
    expected = {(number, d) for number, known in enumerate(labelled) for d in known.documents if not left_out[number]}
    assert set(list_links(memory)) == expected


def test_which_one_is_lost_is_by_chance(tmp_path: Path) -> None:
    """Each of a document's propositions is lost about as often as the others; the same seed loses the same."""
    own = frozenset({0})
    labelled = [Labelled(f"P {number}", own, {Stance.ALL: own}) for number in range(4)]
    labelled.append(Labelled("left out", frozenset({1}), {Stance.ALL: frozenset({1})}))
    left_out = np.arange(5) == 4
    lost: Counter[int] = Counter()
    for seed in range(60):
        kept = [number for number, _ in list_links(recall(tmp_path / str(seed), labelled, left_out, seed=seed))]
        (gone,) = set(range(4)) - set(kept)
        lost[gone] += 1
    assert set(lost) == set(range(4))
    again = recall(tmp_path / "again", labelled, left_out, seed=59)
    assert set(range(4)) - {number for number, _ in list_links(again)} == {gone}


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
    seed = np.random.SeedSequence(0)
    memory = recall_others(tmp_path / "memory", texts, labelled, left_out=left_out, vectors=vectors, seed=seed)
    asked = ["A jury may tax the river.", KNOWN[3].proposition]
    in_index = measure_signals(sources, asked, cheap_encoder.encode_queries(asked))
    in_training = measure_signals(sources._replace(memory=memory), asked, cheap_encoder.encode_queries(asked))
    assert {name: signal.tobytes() for name, signal in in_index.items()} == {
        name: signal.tobytes() for name, signal in in_training.items()
    }
