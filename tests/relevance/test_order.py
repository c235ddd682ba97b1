"""Which documents a ranker puts first, against a slow oracle; and that a search asks it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_model import ToyModel, make_corpus, make_ranker

from sicetnon.ingest import build_index
from sicetnon.relevance.features import describe, join_signals, pick_scores
from sicetnon.relevance.order import RANKED, RankedRelevance
from sicetnon.relevance.signals import Signals
from sicetnon.search import Searcher
from sicetnon.types import Filters, Query, Stance

RANKER = make_ranker()
NAMES = ("words", "passage", "last passage", "document", "expanded words", "nearest", "nearest two", "known")


def make_signals(documents: int, seed: int) -> tuple[Signals, np.ndarray]:
    """Make joined signals of few values for two propositions, and an order of the document IDs."""
    chance = np.random.default_rng(seed)
    signals = {name: chance.integers(0, 4, (2, documents)).astype(np.float32) / 4 for name in NAMES}
    return join_signals(signals), chance.permutation(documents).astype(np.int32)


def pick_slowly(
    signals: Signals, tie_rank: np.ndarray, allowed: np.ndarray | None, count: int
) -> tuple[list[int], list[float]]:
    """Sort all that are allowed by the sum, describe the first by themselves, sort those by the ranker's score."""
    picked = pick_scores(signals)[1]
    eligible = [document for document in range(len(tie_rank)) if allowed is None or allowed[document]]
    eligible.sort(key=lambda document: (-picked[document], tie_rank[document]))
    scored = [
        (float(RANKER.score(describe(signals, 1, picked, np.array([document])))[0]), document)
        for document in eligible[: max(count, RANKED)]
    ]
    scored.sort(key=lambda pair: (-pair[0], tie_rank[pair[1]]))
    probabilities = [float(1 / (1 + np.exp(1.0 - 2.0 * score))) for score, _ in scored]
    return [document for _, document in scored][:count], probabilities[:count]


@settings(max_examples=40)
@given(
    documents=st.sampled_from([1, 5, RANKED - 1, RANKED, RANKED + 1, 2 * RANKED]),
    count=st.sampled_from([1, 10, RANKED, RANKED + 1, RANKED + 80]),
    share=st.sampled_from([None, 0.0, 0.05, 0.5]),
    seed=st.integers(0, 10_000),
)
def test_against_the_oracle(documents: int, count: int, share: float | None, seed: int) -> None:
    """The order of the best candidates, ties by document ID, within what is allowed; and their probabilities."""
    signals, tie_rank = make_signals(documents, seed)
    allowed = None if share is None else np.random.default_rng(seed).random(documents) < share
    relevance = RankedRelevance(RANKER, signals, pick_scores(signals), 1, tie_rank)
    found = relevance.pick(allowed, count)
    expected, probabilities = pick_slowly(signals, tie_rank, allowed, count)
    assert found.tolist() == expected
    assert relevance.probability(found).tolist() == pytest.approx(probabilities)
    assert (np.diff(relevance.probability(found)) <= 0).all()


def test_allowed_far_down() -> None:
    """Documents that are allowed are ranked though more others than are ranked have each a higher sum."""
    signals, tie_rank = make_signals(300, 1)
    last = np.argsort(pick_scores(signals)[0])[:20]
    allowed = np.isin(np.arange(300), last)
    relevance = RankedRelevance(RANKER, signals, pick_scores(signals), 0, tie_rank)
    assert not set(relevance.pick(None, RANKED).tolist()) & set(last.tolist())
    found = relevance.pick(allowed, 50)
    assert sorted(found.tolist()) == sorted(last.tolist())
    assert len(set(relevance.probability(found).tolist())) > 1


def test_the_ranker_orders() -> None:
    """The order is not that of the sum by which the candidates were picked."""
    signals, tie_rank = make_signals(100, 2)
    picked = pick_scores(signals)
    found = RankedRelevance(RANKER, signals, picked, 0, tie_rank).pick(None, 100)
    assert (np.diff(picked[0][found]) > 0).any()


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory, cheap_encoder: Any) -> Searcher:
    """Open an index of 150 documents, built with a toy model of 40 propositions."""
    documents, propositions = make_corpus(150, 40)
    path = tmp_path_factory.mktemp("toy") / "index"
    build_index(documents, path, model=ToyModel(cheap_encoder, propositions, RANKER))  # type: ignore[arg-type]
    return Searcher.open(path, encoder=cheap_encoder)


def test_alone_and_in_company(searcher: Searcher) -> None:
    """A query's ranking is the same, to the last bit, alone and among more than a block of others."""
    _, propositions = make_corpus(150, 40)
    queries = [
        Query(proposition=known.proposition, stance=stance, top_k=60)
        for known in propositions[:20]
        for stance in (Stance.ALL, Stance.REFUTED)
    ]
    together = list(searcher.search_many(queries))
    assert [searcher.search(query) for query in queries] == together
    assert list(searcher.search_many(queries[::-1])) == together[::-1]
    assert any(ranking.hits[0].score != ranking.hits[-1].score for ranking in together)


def test_hits_are_what_the_ranker_says(searcher: Searcher) -> None:
    """Hits come by the ranker's probability, equal ones by document ID, also of a court alone and of all documents."""
    for filters in (Filters(), Filters(courts=("odd",))):
        query = Query(proposition="The police need a warrant for a phone.", top_k=1000, filters=filters)
        hits = searcher.search(query).hits
        assert len(hits) == (75 if filters.courts else 150)
        keys = [(-hit.score, hit.document.doc_id) for hit in hits]
        assert keys == sorted(keys)
        assert [searcher.judge(query, hit.document.doc_id).relevance for hit in hits] == [h.relevance for h in hits]


def test_side_counts_as_the_ranker_says(searcher: Searcher) -> None:
    """Where a side is asked for, its probability counts with the exponent that the ranker holds: a quarter."""
    for hit in searcher.search(Query(proposition="A ship may be taxed.", stance=Stance.SUPPORTED)).hits:
        assert hit.score == pytest.approx(hit.relevance * hit.sides.supports**0.25, abs=1e-8)


def test_model_without_a_document_here(tmp_path: Path, cheap_encoder: Any) -> None:
    """A model whose propositions name no document of the corpus leaves an empty memory, and answers."""
    documents, _ = make_corpus(10, 0)
    _, propositions = make_corpus(10, 5, seed=1)
    build_index(documents, tmp_path / "i", model=ToyModel(cheap_encoder, propositions, RANKER))  # type: ignore[arg-type]
    searcher = Searcher.open(tmp_path / "i", encoder=cheap_encoder)
    assert searcher._collection.memory is not None
    assert searcher._collection.memory.vectors.shape == (0, cheap_encoder.dimensions)
    assert len(searcher.search(Query(proposition="A ship.")).hits) == 10
