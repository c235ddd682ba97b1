"""Signals and features, against slow oracles and by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_model import ToyModel, make_corpus, make_ranker

from sicetnon.collection import Collection, Memory
from sicetnon.ingest import build_index, document_terms
from sicetnon.relevance.features import FEATURES, describe, join_signals, pick_scores, standardise
from sicetnon.relevance.signals import BM25, Sources, _measure_memory, measure_signals
from sicetnon.sparse import SparseIndex, SparseIndexBuilder
from sicetnon.text import analyze

DOCUMENTS = 6
angles = st.integers(0, 15).map(lambda step: step * np.pi / 8)  # few directions: cosines often tie


def point(angle: float) -> list[float]:
    """Give the unit vector of an angle."""
    return [np.cos(angle), np.sin(angle)]


@given(
    known=st.lists(angles, max_size=6),
    asked=st.lists(angles, min_size=1, max_size=3),
    links=st.sets(st.tuples(st.integers(0, DOCUMENTS - 1), st.integers(0, 5)), max_size=20),
)
def test_memory_against_the_oracle(known: list[float], asked: list[float], links: set[tuple[int, int]]) -> None:
    """Of each document: the highest cosine, the mean of the highest two (0 for one that is wanting), how many."""
    held = sorted((document, row) for document, row in links if row < len(known))
    memory = Memory(
        np.array([point(angle) for angle in known], np.float32).reshape(-1, 2),
        np.array([row for _, row in held], np.int32),
        np.array([document for document, _ in held], np.int32),
        expanded=None,  # type: ignore[arg-type] - the words are another signal
    )
    measured = _measure_memory(memory, np.array([point(angle) for angle in asked], np.float32), DOCUMENTS)
    for query, angle in enumerate(asked):
        for document in range(DOCUMENTS):
            cosines = sorted((np.cos(angle - known[row]) for owner, row in held if owner == document), reverse=True)
            nearest, second = (*cosines, 0.0, 0.0)[:2]
            assert measured["nearest"][query, document] == pytest.approx(nearest, abs=2e-5)
            assert measured["nearest two"][query, document] == pytest.approx((nearest + second) / 2, abs=2e-5)
            assert measured["known"][query, document] == len(cosines)
    assert all(signal.dtype == np.float32 for signal in measured.values())


def test_memory_by_hand() -> None:
    """Three documents with two, none and one proposition; the second of the first lies at a right angle."""
    vectors = np.array([[1, 0], [0, 1], [-1, 0]], np.float32)
    memory = Memory(vectors, np.array([0, 1, 2], np.int32), np.array([0, 0, 2], np.int32), None)  # type: ignore[arg-type]
    measured = _measure_memory(memory, vectors[:1], 3)
    assert measured["nearest"].tolist() == [[1, 0, -1]]
    assert measured["nearest two"].tolist() == [[0.5, 0, -0.5]]
    assert measured["known"].tolist() == [[2, 0, 1]]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory, cheap_encoder: Any) -> tuple[Collection, list[Any], list[Any]]:
    """Build an index of forty documents with thirty propositions."""
    documents, propositions = make_corpus(40, 30)
    path = tmp_path_factory.mktemp("toy") / "index"
    build_index(documents, path, model=ToyModel(cheap_encoder, propositions, make_ranker()))  # type: ignore[arg-type]
    return Collection.open(path), documents, propositions


def test_expanded_words(toy: tuple[Collection, list[Any], list[Any]], tmp_path: Path, cheap_encoder: Any) -> None:
    """They are the BM25 score of each document's own terms and those of all its propositions."""
    collection, documents, propositions = toy
    with SparseIndexBuilder(tmp_path / "sparse") as builder:
        for document in documents:
            own = [known.proposition for known in propositions if document.doc_id in known.doc_ids]
            terms = document_terms(document) + [term for proposition in own for term in analyze(proposition)]
            builder.add(document.doc_id, Counter(terms))
        builder.commit()
    asked = "The police need a warrant for a phone."
    expected = SparseIndex.open(tmp_path / "sparse").scores(analyze(asked), scoring=BM25).astype(np.float32)
    measured = measure_signals(Sources.of(collection), [asked], cheap_encoder.encode_queries([asked]))
    assert measured["expanded words"][0].tolist() == expected.tolist()
    assert measured["words"][0].tolist() == pytest.approx(collection.lexical.scores(analyze(asked), scoring=BM25))
    assert measured["expanded words"].tolist() != measured["words"].tolist()


def test_passages(toy: tuple[Collection, list[Any], list[Any]], cheap_encoder: Any) -> None:
    """Of each document the best passage, the last one, and the document's own vector."""
    sources = Sources.of(toy[0])
    asked = cheap_encoder.encode_queries(["A ship."])
    measured = measure_signals(sources, ["A ship."], asked)
    ends = [*sources.starts[1:].tolist(), len(sources.passages)]
    for document, (start, end) in enumerate(zip(sources.starts.tolist(), ends, strict=True)):
        cosines = (sources.passages[start:end] @ asked[0]).tolist()
        assert measured["passage"][0, document] == pytest.approx(max(cosines), abs=1e-5)
        assert measured["last passage"][0, document] == pytest.approx(cosines[-1], abs=1e-5)
        assert measured["document"][0, document] == pytest.approx(sources.documents[document] @ asked[0], abs=1e-5)


def test_recalling(toy: tuple[Collection, list[Any], list[Any]], cheap_encoder: Any) -> None:
    """Vectors to recall with are compared with known propositions, and with nothing else."""
    sources = Sources.of(toy[0])
    own, other = cheap_encoder.encode_queries(["A ship."]), cheap_encoder.encode_queries(["The police need a warrant."])
    mixed = measure_signals(sources, ["A ship."], own, recalling=other)
    expected = measure_signals(sources, ["A ship."], own)
    recalled = measure_signals(sources, ["A ship."], other)
    assert recalled["nearest"].tolist() != expected["nearest"].tolist()
    assert {name: signal.tolist() for name, signal in mixed.items()} == {
        name: (recalled if name in {"nearest", "nearest two"} else expected)[name].tolist() for name in expected
    }


def test_block(toy: tuple[Collection, list[Any], list[Any]], cheap_encoder: Any) -> None:
    """A proposition's signals are the same bits alone and anywhere in a full block."""
    collection, _, propositions = toy
    asked = [known.proposition for known in propositions[:16]]
    vectors = cheap_encoder.encode_queries(asked)
    together = measure_signals(Sources.of(collection), asked, vectors)
    assert {signal.shape for signal in together.values()} == {(16, 40)}
    for row in (0, 7, 15):
        alone = measure_signals(Sources.of(collection), asked[row : row + 1], vectors[row : row + 1])
        assert {name: signal.tobytes() for name, signal in alone.items()} == {
            name: signal[row : row + 1].tobytes() for name, signal in together.items()
        }


def test_no_memory(toy: tuple[Collection, list[Any], list[Any]], cheap_encoder: Any) -> None:
    """Without a memory there are the signals of words and vectors alone."""
    sources = Sources.of(toy[0])._replace(memory=None)
    measured = measure_signals(sources, ["A ship."], cheap_encoder.encode_queries(["A ship."]))
    assert sorted(measured) == ["document", "last passage", "passage", "words"]


def test_standardise_by_hand() -> None:
    """Each row for itself: mean 0 and standard deviation 1."""
    standard = standardise(np.array([[1, 3], [0, 4]], np.float32))
    assert standard.tolist() == [[-1, 1], [-1, 1]]
    assert standard.dtype == np.float64


@given(st.floats(-1e6, 1e6, width=32), st.integers(1, 300))
def test_standardise_constant_rows(value: float, length: int) -> None:
    """A row of equal values says nothing."""
    assert standardise(np.full((2, length), value, np.float32)).tolist() == [[0.0] * length] * 2


def test_join_by_hand() -> None:
    """The nearest proposition lifts a document's passage where it is nearer, by a share of what it is nearer by."""
    rows = {"passage": [0.5, 0.5, 0.25], "nearest": [0.75, 0.25, 0.0]}
    joined = join_signals({name: np.array([row], np.float32) for name, row in rows.items()})
    assert joined["lift"].tolist() == [[0.25, 0, 0]]
    assert joined["joined"][0].tolist() == pytest.approx([0.5 + 0.6 * 0.25, 0.5, 0.25])
    assert joined["passage"].tolist() == [rows["passage"]]


def test_describe_by_hand() -> None:
    """The second proposition of a block, two documents, candidates in the order given."""
    rows = {
        "words": [0, 2],
        "passage": [0.25, 0.75],
        "last passage": [0.25, 0.5],
        "document": [0.5, 0.5],
        "expanded words": [1, 3],
        "nearest": [0.5, 0.25],
        "nearest two": [0.25, 0.25],
        "known": [1, 3],
    }
    joined = join_signals({name: np.array([[9, 7], row], np.float32) for name, row in rows.items()})
    picked = pick_scores(joined)[1]
    assert picked.tolist() == pytest.approx([-1.3, 1.3])  # 1 joined + 0.5 document + 0.3 words of -1, 0 or 1 each
    described = describe(joined, 1, picked, np.array([1, 0]))
    best, other = (dict(zip(FEATURES, row, strict=True)) for row in described.tolist())
    standard = ("expanded words", "passage", "last passage", "joined")
    ranked = ("passage", "joined")
    shared = {
        "document, standard score": 0,
        "document": 0.5,
        "document, below the best": 0,
        "document, log of the rank": 0,
        "passage, best of all": 0.75,
        "nearest, best of all": 0.5,
        "joined, best of all": 0.75,
        "nearest two": 0.25,
    }
    assert best == pytest.approx(
        {"sum": 1.3, "passage": 0.75, "last passage": 0.5, "nearest": 0.25, "lift": 0, "joined": 0.75, **shared}
        | {f"{name}, standard score": 1 for name in standard}
        | {f"{name}, below the best": 0 for name in ("expanded words", "passage", "joined")}
        | {f"{name}, log of the rank": 0 for name in ranked}
        | {"nearest, below the best": -0.25, "known propositions": np.log(4)}
    )
    assert other == pytest.approx(
        {"sum": -1.3, "passage": 0.25, "last passage": 0.25, "nearest": 0.5, "lift": 0.25, "joined": 0.4, **shared}
        | {f"{name}, standard score": -1 for name in standard}
        | {
            "expanded words, below the best": -2,
            "passage, below the best": -0.5,
            "nearest, below the best": 0,
            "joined, below the best": -0.35,
        }
        | {f"{name}, log of the rank": np.log(2) for name in ranked}
        | {"known propositions": np.log(2)}
    )


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_ranks_against_the_oracle(values: list[int]) -> None:
    """A document's rank counts those that are better; equal ones share it."""
    names = ("words", "passage", "last passage", "document", "expanded words", "nearest", "nearest two", "known")
    joined = join_signals({name: np.array([values], np.float32) for name in names})
    described = describe(joined, 0, pick_scores(joined)[0], np.arange(len(values)))
    expected = [np.log1p(sum(other > value for other in values)) for value in values]
    assert described[:, FEATURES.index("passage, log of the rank")].tolist() == pytest.approx(expected)
