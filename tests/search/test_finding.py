"""The candidates of a query: found by what queries have in common, read by a cross-encoder where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tiny_onnx import make_reranker, make_tokenizer
from toy_model import WORDS, ToyModel, make_corpus, make_ranker

from sicetnon.collection import Collection
from sicetnon.ingest import build_index
from sicetnon.relevance import Ranker, Reranker
from sicetnon.relevance.reranker import RERANKED, Blend
from sicetnon.search.finding import CANDIDATES, Finder
from sicetnon.types import Filters, Query, Stance

DOCUMENTS, KNOWN = make_corpus(70, 40)
ASKED = "A ship may carry a flag."


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory, cheap_encoder: Any) -> Collection:
    """Build an index with a ranker and open its parts."""
    path = tmp_path_factory.mktemp("finding") / "index"
    model = ToyModel(
        cheap_encoder,
        KNOWN,
        make_ranker(seed=4),
        onnx=(b"not loaded", make_tokenizer(WORDS)),
        reranker=(make_reranker(WORDS, {}, {"ship": 3.0, "flag": -3.0}), Blend(0.5, 1.0, -1.0).to_json()),
    )
    build_index(DOCUMENTS, path, model=model)  # type: ignore[arg-type]
    return Collection.open(path)


def make_finder(collection: Collection, encoder: Any, *, reranks: bool = True) -> Finder:
    """Make a finder, with the index's cross-encoder or without."""
    stored = collection.read_reranker()
    assert stored is not None
    assert collection.ranker is not None
    reranker = Reranker(*stored) if reranks else None
    return Finder(collection, encoder, Ranker.from_json(collection.ranker), reranker)


def test_read_candidates(collection: Collection, cheap_encoder: Any) -> None:
    """The same candidates, best first, equal ones by document ID; those that were not read keep their probability."""
    finder = make_finder(collection, cheap_encoder)
    ((vector, relevance),) = finder.measure([(ASKED, Stance.ALL)])
    found = finder.pick(Query(proposition=ASKED), vector, relevance)
    assert len(found.ordinals) == CANDIDATES
    assert (np.diff(found.probabilities) <= 0).all()
    for count in (0, 1, 3, RERANKED, CANDIDATES, CANDIDATES + 1):
        read = finder.rerank(found, count=count)
        keys = list(zip((-read.probabilities).tolist(), collection.documents.read_ids(read.ordinals), strict=True))
        assert keys == sorted(keys)
        before = dict(zip(found.ordinals.tolist(), found.probabilities.tolist(), strict=True))
        after = dict(zip(read.ordinals.tolist(), read.probabilities.tolist(), strict=True))
        assert before.keys() == after.keys()
        assert {n for n in before if before[n] != after[n]} == set(found.ordinals[:count].tolist())
    assert np.array_equal(finder.rerank(found).probabilities, finder.rerank(found, count=RERANKED).probabilities)


def test_nothing_to_read(collection: Collection, cheap_encoder: Any) -> None:
    """No candidates stay none; without a cross-encoder candidates stay as they were."""
    finder, other = (make_finder(collection, cheap_encoder, reranks=reranks) for reranks in (True, False))
    assert (finder.reranks, other.reranks) == (True, False)
    ((vector, relevance),) = finder.measure([(ASKED, Stance.ALL)])
    nothing = finder.pick(Query(proposition=ASKED, filters=Filters(courts=("none",))), vector, relevance)
    assert len(nothing.ordinals) == 0
    assert finder.rerank(nothing) is nothing
    found = other.pick(Query(proposition=ASKED), vector, relevance)
    assert other.rerank(found) is found


def test_what_queries_have_in_common(collection: Collection, cheap_encoder: Any, instructed_encoder: Any) -> None:
    """The stance counts only for an encoder that is told it."""
    query = Query(proposition=ASKED, stance=Stance.REFUTED)
    assert make_finder(collection, cheap_encoder).asked_of(query) == (ASKED, Stance.ALL)
    assert make_finder(collection, instructed_encoder).asked_of(query) == (ASKED, Stance.REFUTED)
