"""The cross-encoder: what it reads, what it says, and what becomes of that in a search."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_onnx import make_cross_encoder, make_encoder, make_reranker, make_tokenizer
from toy_model import WORDS, ToyModel, make_corpus, make_ranker

from sicetnon.collection import Collection, CollectionWriter, Memory
from sicetnon.dense import Encoder, load_own_encoder
from sicetnon.errors import IndexDamaged, ModelError
from sicetnon.ingest import build_index
from sicetnon.relevance import KnownProposition, Reranker, RetrievalModel, find_nearest, join_texts, write_model
from sicetnon.relevance.model import BLEND, ENCODER, RERANKER, TOKENIZER
from sicetnon.relevance.reranker import NONE_KNOWN, RERANKED, Blend
from sicetnon.relevance.signals import Sources
from sicetnon.search import CANDIDATES, Searcher
from sicetnon.storage import DirectoryWriter, StoredDirectory
from sicetnon.storage.strings import write_strings
from sicetnon.types import Document, Query, Stance

FINITE = st.floats(allow_nan=False, allow_infinity=False)
TOKENIZER_JSON = make_tokenizer(WORDS)
ENCODER_ONNX = make_encoder(np.random.default_rng(4).normal(size=(len(WORDS) + 3, 8)).astype(np.float32))
ASKED = dict.fromkeys(WORDS, 0.25)
READ = {word: number / 4 for number, word in enumerate(WORDS, -5)}
RERANKER_ONNX = make_reranker(WORDS, ASKED, READ)
BLENDED = Blend(ranked=0.5, reranked=0.75, intercept=-1.0)
DOCUMENTS, KNOWN = make_corpus(70, 40)
ASKED_FIRST = KNOWN[3].proposition


class TestBlend:
    """The ranker's probability and the cross-encoder's score as one."""

    def test_by_hand(self) -> None:
        """Log-odds and score are weighed and added; the logistic curve makes a probability of the sum."""
        blend = Blend(ranked=2.0, reranked=0.5, intercept=-1.0)
        probabilities = blend.probability(np.array([0.5, 0.9, 0.5]), np.array([2.0, 0.0, 6.0]))
        odds = [0 + 1 - 1, 2 * np.log(9) - 1, 0 + 3 - 1]
        assert probabilities == pytest.approx([1 / (1 + np.exp(-each)) for each in odds], abs=1e-12)
        assert probabilities[0] == 0.5

    def test_what_changes_nothing(self) -> None:
        """The ranker's log-odds alone are its probability again."""
        probabilities = np.linspace(0.001, 0.999, 50)
        assert Blend(1.0, 0.0, 0.0).probability(probabilities, np.ones(50)) == pytest.approx(probabilities, abs=1e-12)

    @given(st.sampled_from([0.0, 1.0]), st.floats(-1e300, 1e300))
    def test_extremes(self, probability: float, score: float) -> None:
        """A probability of 0 or 1 and a score of any size leave a probability."""
        (blended,) = Blend(1.0, 1.0, 0.0).probability(np.array([probability]), np.array([score]))
        assert 0 <= blended <= 1

    @given(st.builds(Blend, FINITE, FINITE, FINITE))
    def test_round_trip(self, blend: Blend) -> None:
        """What is written is read."""
        assert Blend.from_json(blend.to_json()) == blend

    @pytest.mark.parametrize(
        "change",
        [
            {"format": 2},
            {"format": None},
            {"ranked": "1"},
            {"ranked": True},
            {"reranked": None},
            {"intercept": float("nan")},
            {"intercept": float("inf")},
            {"reranked": 10**400},
        ],
    )
    def test_bad_field(self, change: dict[str, Any]) -> None:
        """A blend of another format or with a field that is no number is refused."""
        source = json.dumps(json.loads(BLENDED.to_json()) | change)
        with pytest.raises(ModelError, match="expected ranked, reranked, intercept in format 1; train again"):
            Blend.from_json(source)

    @pytest.mark.parametrize("source", ["", "{", "[]", "3", "null", "{}", '"format"', "[" * 100_000])
    def test_no_blend(self, source: str) -> None:
        """What is no blend at all is refused as well."""
        with pytest.raises(ModelError, match="a blend that cannot be read"):
            Blend.from_json(source)


def find_slowly(sources: Sources, vector: np.ndarray, ordinal: int) -> tuple[int, int]:
    """The row of a document's nearest passage and that of its nearest proposition, of equals the first."""
    ends = [*sources.starts[1:].tolist(), len(sources.passages)]
    rows = range(int(sources.starts[ordinal]), ends[ordinal])
    passage = max(rows, key=lambda row: (float(sources.passages[row] @ vector), -row))
    memory = sources.memory
    links = [] if memory is None else [row for row, d in zip(*memory[1:3], strict=True) if d == ordinal]
    if memory is None or not links:
        return passage, NONE_KNOWN
    best = max(float(memory.vectors[row] @ vector) for row in links)
    return passage, next(int(row) for row in links if float(memory.vectors[row] @ vector) == best)


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=6),
    known=st.none() | st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=12),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_nearest(sizes: list[int], known: list[tuple[int, int]] | None, seed: int, data: st.DataObject) -> None:
    """Of any documents, in any order, the nearest passage and the nearest known proposition are found."""
    chance = np.random.default_rng(seed)

    def draw(rows: int) -> np.ndarray:
        return chance.integers(-2, 3, size=(rows, 3)).astype(np.float32)  # small whole numbers: sums are exact, and tie

    memory = None
    if known is not None:
        links = sorted((document, row) for row, document in known if document < len(sizes))
        rows, documents = [row for _, row in links], [document for document, _ in links]
        memory = Memory(draw(5), np.array(rows, np.int32), np.array(documents, np.int32), None)  # type: ignore[arg-type]
    starts = np.cumsum([0, *sizes[:-1]])
    sources = Sources(None, draw(sum(sizes)), starts, draw(len(sizes)), memory)  # type: ignore[arg-type]
    ordinals = np.array(data.draw(st.lists(st.integers(0, len(sizes) - 1), max_size=8)), np.int64)
    vector = draw(1)[0]
    found = find_nearest(sources, vector, ordinals)
    assert [part.dtype for part in found] == [np.int64, np.int64]
    expected = [find_slowly(sources, vector, ordinal) for ordinal in ordinals.tolist()]
    assert list(zip(*(part.tolist() for part in found), strict=True)) == expected


def test_what_is_read() -> None:
    """The known proposition stands before the passage; a document without one is its passage alone."""
    assert join_texts("Police may search.", "The Court held so.") == "Police may search. The Court held so."
    assert join_texts(None, "The Court held so.") == "The Court held so."
    assert join_texts("", "The Court held so.") == "The Court held so."


class TestScores:
    """The model alone."""

    def test_by_hand(self) -> None:
        """Each pair is read with the proposition as its first part and the text as its second."""
        reranker = Reranker(RERANKER_ONNX, TOKENIZER_JSON, BLENDED.to_json())
        texts = ["ship phone", "", "unheard of", "land"]
        expected = [0.5 + sum(READ.get(word, 0.0) for word in text.split()) for text in texts]
        scores = reranker.score("Police warrant.", texts)
        assert scores.dtype == np.float64
        assert scores.tolist() == expected
        probabilities = np.array([0.1, 0.5, 0.9, 0.0])
        blended = BLENDED.probability(probabilities, np.array(expected))
        assert reranker.probability(probabilities, "Police warrant.", texts).tolist() == blended.tolist()
        assert reranker.score("Police warrant.", []).tolist() == []

    def test_long_pair(self) -> None:
        """A pair beyond the limit is cut at the end of its longer text."""
        tokenizer = make_tokenizer(WORDS, most_tokens=8)  # three of them are marks
        scores = Reranker(RERANKER_ONNX, tokenizer, BLENDED.to_json()).score("Police warrant.", ["ship " * 9 + "land"])
        assert scores.tolist() == [0.5 + 3 * READ["ship"]]

    @pytest.mark.parametrize(
        ("model", "tokenizer", "found"),
        [
            (b"", TOKENIZER_JSON, 'the model "reranker" does not load'),
            (RERANKER_ONNX[:100], TOKENIZER_JSON, 'the model "reranker" does not load'),
            (RERANKER_ONNX, "{}", 'the model "reranker" does not load'),
            (ENCODER_ONNX, TOKENIZER_JSON, 'the model "reranker" has the outputs last_hidden_state; expected score'),
        ],
    )
    def test_what_does_not_load(self, model: bytes, tokenizer: str, found: str) -> None:
        """A model or a tokenizer that is none, and a model of something else, is refused in one line."""
        with pytest.raises(ModelError, match=found) as caught:
            Reranker(model, tokenizer, BLENDED.to_json())
        assert "\n" not in str(caught.value)

    def test_what_does_not_run(self) -> None:
        """A model that knows fewer words than its tokenizer, or gives no single number, is refused when asked."""
        reranker = Reranker(make_reranker(WORDS[:3], {}, {}), TOKENIZER_JSON, BLENDED.to_json())
        with pytest.raises(ModelError, match='the model "reranker" cannot be run') as caught:
            reranker.score("Police warrant.", ["ship"])
        assert "\n" not in str(caught.value)
        for width, keepdims, shape in ((1, 1, r"\(1, 1, 1\)"), (3, 0, r"\(1, 3\)")):
            odd = make_cross_encoder(WORDS, {}, {}, output="score", width=width, keepdims=keepdims)
            reranker = Reranker(odd, TOKENIZER_JSON, BLENDED.to_json())
            with pytest.raises(ModelError, match=f"a score of shape {shape}; expected one number for a pair"):
                reranker.score("Police warrant.", ["ship"])


def write(path: Path, *, reranks: bool) -> RetrievalModel:
    """Write a model directory, with a cross-encoder or without, and open it."""

    def save(writer: DirectoryWriter) -> None:
        writer.save_bytes(ENCODER, [ENCODER_ONNX])
        writer.save_bytes(TOKENIZER, [TOKENIZER_JSON.encode()])
        if reranks:
            writer.save_bytes(RERANKER, [RERANKER_ONNX])
            writer.save_bytes(BLEND, [BLENDED.to_json().encode()])

    write_model(path, ranker=make_ranker(seed=4), propositions=KNOWN, save_more=save, settings={"base": "none"})
    return RetrievalModel.open(path)


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build an index with a cross-encoder, and one without that is else the same."""
    folder = tmp_path_factory.mktemp("indexes")
    for name in ("with", "without"):
        model = write(folder / f"model {name}", reranks=name == "with")
        assert (model.reranker is not None) == (name == "with")
        build_index(DOCUMENTS, folder / name, model=model)
    return folder / "with", folder / "without"


@pytest.fixture(scope="module")
def searchers(indexes: tuple[Path, Path]) -> tuple[Searcher, Searcher]:
    """Open both."""
    return Searcher.open(indexes[0]), Searcher.open(indexes[1])


def read_by_hand(encoder: Encoder, proposition: str, document: Document, passages: list[str]) -> float:
    """The score of a document: of the nearest of the propositions known of it, and its nearest passage."""
    (asked,) = encoder.encode_queries([proposition])
    known = [each.proposition for each in KNOWN if document.doc_id in each.doc_ids]
    words = proposition.lower().split()
    total = sum(ASKED.get(word.strip(".,"), 0.0) for word in words)
    for texts in (known, passages):
        if texts:
            cosines = encoder.encode_queries(texts) @ asked
            nearest = texts[int(np.argmax(cosines))]
            total += sum(READ.get(word.strip(".,"), 0.0) for word in nearest.lower().split())
    return total


@pytest.mark.parametrize("proposition", [ASKED_FIRST, "A ship may carry a flag.", "Wages."])
def test_search_by_hand(searchers: tuple[Searcher, Searcher], proposition: str) -> None:
    """The first candidates have the blend of both, those behind what the ranker says; all stand in the new order."""
    reading, ranking = searchers
    before = [
        (hit.document, hit.relevance)
        for hit in ranking.search(Query(proposition=proposition, top_k=CANDIDATES + 5)).hits
    ]
    # The ranker's order is that of its scores; equal probabilities stand by ID.
    before.sort(key=lambda pair: (-pair[1], pair[0].doc_id))
    named = {doc_id for known in KNOWN for doc_id in known.doc_ids}
    assert {document.doc_id in named for document, _ in before[:RERANKED]} == {True, False}
    collection = Collection.open(reading._collection._stored.directory)
    encoder = load_own_encoder(ENCODER_ONNX, TOKENIZER_JSON)
    expected = []
    for place, (document, probability) in enumerate(before):
        if place >= RERANKED:
            expected.append((document.doc_id, probability))
            continue
        ordinal = collection.documents.find(document.doc_id)
        assert ordinal is not None
        passages = [span.of(document.text) for span in collection.passages.spans(ordinal)]
        score = read_by_hand(encoder, proposition, document, passages)
        odds = 0.5 * np.log(probability / (1 - probability)) + 0.75 * score - 1.0
        expected.append((document.doc_id, float(1 / (1 + np.exp(-odds)))))
    hits = reading.search(Query(proposition=proposition, top_k=CANDIDATES + 5)).hits
    found = {hit.document.doc_id: hit.relevance for hit in hits}
    assert found == pytest.approx(dict(expected), abs=1e-9)
    ordered = [(hit.document.doc_id, hit.relevance) for hit in hits]
    assert ordered == sorted(ordered, key=lambda pair: (-round(pair[1], 9), pair[0]))
    assert [doc_id for doc_id, _ in ordered] != [document.doc_id for document, _ in before]
    kept = {document.doc_id: probability for document, probability in before[RERANKED:]}
    assert kept.items() <= found.items()
    assert len(kept) == CANDIDATES + 5 - RERANKED


def test_both_sides_and_one_document(searchers: tuple[Searcher, Searcher]) -> None:
    """Where both sides are shown the same is read; one document is read however far behind it lies."""
    reading, ranking = searchers
    query = Query(proposition=ASKED_FIRST, top_k=CANDIDATES)
    found = {hit.document.doc_id: hit.relevance for hit in reading.search(query).hits}
    answer = reading.search_both(query)
    assert {h.document.doc_id: h.relevance for h in (*answer.supports, *answer.refutes, *answer.unclear)} == found
    first = [hit.document for hit in ranking.search(query).hits]
    assert reading.judge(query, first[0].doc_id).relevance == found[first[0].doc_id]
    assert reading.judge(query, first[-1].doc_id).relevance != found[first[-1].doc_id]


def test_least_relevance_is_that_of_the_blend(searchers: tuple[Searcher, Searcher]) -> None:
    """A document is left out by what was read, not by what the ranker said before."""
    reading, _ = searchers
    everything = reading.search(Query(proposition=ASKED_FIRST, top_k=20)).hits
    least = everything[4].relevance
    some = reading.search(Query(proposition=ASKED_FIRST, top_k=20, min_relevance=least)).hits
    assert some == tuple(hit for hit in everything if hit.relevance >= least)


def test_batch_as_a_search(searchers: tuple[Searcher, Searcher]) -> None:
    """Many queries at once are read as one is."""
    reading, _ = searchers
    queries = [
        Query(proposition=known.proposition, stance=list(Stance)[number % 3], top_k=12)
        for number, known in enumerate(KNOWN[:6])
    ]
    answer = reading.rank_many(queries)
    assert (answer.refined, answer.refinable) == (6, 6)
    for query, ranked in zip(queries, answer.rankings, strict=True):
        hits = reading.search(query).hits
        assert ranked.doc_ids == tuple(hit.document.doc_id for hit in hits)
        assert ranked.scores == tuple(hit.score for hit in hits)


def test_parts_of_an_index(indexes: tuple[Path, Path]) -> None:
    """The model, its blend and the known propositions lie in the index; one without a cross-encoder has none."""
    reading, ranking = (StoredDirectory.open(index, kind="legal") for index in indexes)
    parts = {"reranker.onnx", "reranker.json", "memory-texts.bin", "memory-texts-offsets.npy"}
    assert set(reading.manifest.files) - set(ranking.manifest.files) == parts
    collection = Collection.open(indexes[0])
    assert collection.read_reranker() == (RERANKER_ONNX, TOKENIZER_JSON, BLENDED.to_json())
    assert collection.memory is not None
    texts = [collection.read_known(row) for row in range(len(collection.memory.vectors))]
    assert sorted(texts) == sorted(known.proposition for known in KNOWN)
    linked = {
        (texts[row], DOCUMENTS[ordinal].doc_id)
        for row, ordinal in zip(*(part.tolist() for part in collection.memory[1:3]), strict=True)
    }
    assert linked == {(known.proposition, doc_id) for known in KNOWN for doc_id in known.doc_ids}
    assert Collection.open(indexes[1]).read_reranker() is None


def leave_out(part: str) -> Callable[[CollectionWriter, bytes, str, list[str]], None]:
    """Save a cross-encoder without one of its parts."""

    def save(writer: CollectionWriter, model: bytes, blend: str, known: list[str]) -> None:
        writer._directory.save_bytes(RERANKER, [model])
        if part != BLEND:
            writer._directory.save_bytes(BLEND, [blend.encode()])
        if part != "memory-texts.bin":
            write_strings(writer._directory, "memory-texts", known)

    return save


@pytest.mark.parametrize("part", [BLEND, "memory-texts.bin", TOKENIZER])
def test_index_without_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cheap_encoder: Any, part: str) -> None:
    """An index that was written without a part of its cross-encoder is damaged, which part is told."""
    monkeypatch.setattr(CollectionWriter, "save_reranker", leave_out(part))
    model = ToyModel(
        cheap_encoder,
        KNOWN,
        make_ranker(),
        onnx=None if part == TOKENIZER else (ENCODER_ONNX, TOKENIZER_JSON),
        reranker=(RERANKER_ONNX, BLENDED.to_json()),
    )
    build_index(DOCUMENTS, tmp_path / "index", model=model)  # type: ignore[arg-type]
    with pytest.raises(IndexDamaged, match=f"reranker.onnx without {part}; expected"):
        Searcher.open(tmp_path / "index", encoder=cheap_encoder)


@pytest.mark.parametrize("part", [RERANKER, BLEND, TOKENIZER, "memory-texts.bin", "memory-texts-offsets.npy"])
def test_index_that_lost_a_file(tmp_path: Path, indexes: tuple[Path, Path], part: str) -> None:
    """A file that was removed is named when the index is opened."""
    shutil.copytree(indexes[0], tmp_path / "index")
    (tmp_path / "index" / "generation-000001" / part).unlink()
    with pytest.raises(IndexDamaged, match=f"{part} cannot be found"):
        Searcher.open(tmp_path / "index")


def test_altered_texts(tmp_path: Path, indexes: tuple[Path, Path]) -> None:
    """Known propositions that are no text any more end a search in an error that says how to find the file."""
    shutil.copytree(indexes[0], tmp_path / "index")
    file = tmp_path / "index" / "generation-000001" / "memory-texts.bin"
    file.write_bytes(b"\xff" * file.stat().st_size)
    with pytest.raises(IndexDamaged, match="sicetnon index verify"):
        Searcher.open(tmp_path / "index").search(Query(proposition=ASKED_FIRST))


def test_no_known_proposition(tmp_path: Path) -> None:
    """An index none of whose documents is named by a proposition is read by passages alone."""
    model = ToyModel(
        load_own_encoder(ENCODER_ONNX, TOKENIZER_JSON),
        [KnownProposition("A ship.", ("absent",))],
        make_ranker(),
        onnx=(ENCODER_ONNX, TOKENIZER_JSON),
        reranker=(RERANKER_ONNX, BLENDED.to_json()),
    )
    build_index(DOCUMENTS[:4], tmp_path / "index", model=model)  # type: ignore[arg-type]
    assert len(Searcher.open(tmp_path / "index").search(Query(proposition="A ship.")).hits) == 4
