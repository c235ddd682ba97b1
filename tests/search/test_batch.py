"""Many queries at once: what ``search_many`` gives them, and what a deadline leaves of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_onnx import make_reranker, make_tokenizer
from toy_model import WORDS, ToyModel, make_corpus, make_ranker

from sicetnon.errors import EndpointError, InputError
from sicetnon.ingest import build_index
from sicetnon.relevance.reranker import RERANKED, Blend
from sicetnon.search import CANDIDATES, Deadline, Ranked, Searcher
from sicetnon.search.batch import measure_doubt, rank_candidates
from sicetnon.search.finding import Found
from sicetnon.stance import Claim, Reading, StanceModel, Verdict
from sicetnon.types import Filters, Query, SideProbabilities, Stance

FIRST_DAY = date(1950, 1, 1)
MADE, KNOWN = make_corpus(90, 40)
DOCUMENTS = [
    replace(document, decided=None if number % 10 == 0 else FIRST_DAY + timedelta(number))
    for number, document in enumerate(MADE)
]
IDS = {document.doc_id for document in DOCUMENTS}
TOKENIZER = make_tokenizer(WORDS)
RERANKER = make_reranker(WORDS, {}, {word: number / 4 for number, word in enumerate(WORDS, -5)})
BLEND = Blend(0.5, 1.0, -1.0).to_json()
BLOCK = 2  # propositions at once


def side(supports: float, refutes: float) -> SideProbabilities:
    """Make the probabilities of the sides of a document."""
    return SideProbabilities(supports=supports, refutes=refutes, neither=1 - supports - refutes)


class Refusing:
    """A judge that nothing may be asked of."""

    def judge_all(self, *_: object) -> Iterable[Verdict]:
        """Fail."""
        raise AssertionError("judged")


class Counting:
    """A judge that says the same of every document, and counts its claims."""

    def __init__(self) -> None:
        """Begin at none."""
        self.asked: list[str] = []

    def judge_all(self, claim: Claim, readings: Sequence[Reading]) -> Iterable[Verdict]:
        """Side with each proposition."""
        self.asked.append(claim.text)
        return [Verdict(side(0.5, 0.25), 0, slice(0, 1)) for _ in readings]


@pytest.fixture(scope="module", autouse=True)
def small_blocks() -> Iterator[None]:
    """Have few propositions measured at once, so that a few queries make several blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sicetnon.search.searcher.QUERIES_AT_ONCE", BLOCK)
        yield


def build(path: Path, encoder: Any, *, reranks: bool, stance_weight: float = 0.25) -> Path:
    """Build an index of the documents with a ranker, and with a cross-encoder or without."""
    model = ToyModel(
        encoder,
        KNOWN,
        make_ranker(seed=4).with_stance(stance_weight),
        onnx=(b"not loaded", TOKENIZER),
        reranker=(RERANKER, BLEND) if reranks else None,
    )
    build_index(DOCUMENTS, path, model=model)  # type: ignore[arg-type]
    return path


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory, cheap_encoder: Any) -> dict[bool, Path]:
    """Build one index with a cross-encoder and one without."""
    folder = tmp_path_factory.mktemp("indexes")
    return {reranks: build(folder / str(reranks), cheap_encoder, reranks=reranks) for reranks in (True, False)}


@pytest.fixture(scope="module")
def reading(indexes: dict[bool, Path], cheap_encoder: Any) -> Searcher:
    """Open the index with a cross-encoder."""
    return Searcher.open(indexes[True], encoder=cheap_encoder)


@pytest.fixture(scope="module")
def ranking(indexes: dict[bool, Path], cheap_encoder: Any) -> Searcher:
    """Open the one without."""
    return Searcher.open(indexes[False], encoder=cheap_encoder)


def as_ranked(searcher: Searcher, queries: Iterable[Query]) -> list[Ranked]:
    """What ``search_many`` gives, without all but IDs and scores."""
    return [
        Ranked(answer.query, tuple(hit.document.doc_id for hit in answer.hits), tuple(hit.score for hit in answer.hits))
        for answer in searcher.search_many(queries)
    ]


def make_clock() -> Callable[[], float]:
    """Make a clock that goes on by a second whenever it is looked at."""
    seconds = count()
    return lambda: float(next(seconds))


def allow(pieces: int) -> Deadline:
    """Make a deadline that allows so many pieces, each a second by its clock."""
    return Deadline(pieces + 2.3 if pieces else 0.0, clock=make_clock())


FILTERS = st.builds(
    Filters,
    courts=st.sampled_from([(), (), ("even",), ("none",)]),
    decided_from=st.none() | st.integers(0, 90).map(lambda days: FIRST_DAY + timedelta(days)),
)
QUERIES = st.lists(
    st.builds(
        Query,
        proposition=st.sampled_from([*WORDS[:4], KNOWN[3].proposition, KNOWN[5].proposition]),
        stance=st.sampled_from(Stance),
        top_k=st.sampled_from([1, 7, 7, CANDIDATES + 10]),
        filters=st.just(Filters()) | FILTERS,
        as_of=st.sampled_from([None, None, FIRST_DAY + timedelta(60)]),
        min_relevance=st.sampled_from([0.0, 0.0, 0.2]),
        query_id=st.sampled_from([None, "q1", "q2"]),
    ),
    max_size=2 * BLOCK + 4,
)


@settings(max_examples=30)
@given(QUERIES)
def test_as_one_at_a_time(reading: Searcher, queries: list[Query]) -> None:
    """Mixed stances, filters and days, some of them twice, get the documents and scores that each gets alone."""
    answer = reading.rank_many(queries)
    assert answer.rankings == as_ranked(reading, queries)
    assert answer.refined == answer.refinable == len({replace(q, stance=Stance.ALL, query_id=None) for q in queries})


@settings(max_examples=15)
@given(QUERIES)
def test_without_a_cross_encoder(ranking: Searcher, queries: list[Query]) -> None:
    """So it is where no cross-encoder reads; then only candidates whose sides are asked for are worth a closer look."""
    answer = ranking.rank_many(queries)
    assert answer.rankings == as_ranked(ranking, queries)
    sided = {replace(query, stance=Stance.ALL, query_id=None) for query in queries if query.stance is not Stance.ALL}
    assert answer.refined == answer.refinable == len(sided)


@settings(max_examples=15)
@given(QUERIES)
def test_with_enough_time(reading: Searcher, queries: list[Query]) -> None:
    """A deadline that leaves time for all changes nothing, though another order is kept meanwhile."""
    answer = reading.rank_many(queries, deadline=Deadline(600.0))
    assert answer == reading.rank_many(queries)


def test_encoder_that_instructs_by_stance(tmp_path: Path, instructed_encoder: Any) -> None:
    """Where stances have vectors of their own they have candidates of their own, as one at a time."""
    build(tmp_path / "index", instructed_encoder, reranks=True)
    searcher = Searcher.open(tmp_path / "index", encoder=instructed_encoder)
    queries = [
        Query(proposition=known.proposition, stance=stance, top_k=12) for known in KNOWN[:3] for stance in Stance
    ] * 2
    answer = searcher.rank_many(queries)
    assert answer.rankings == as_ranked(searcher, queries)
    assert (answer.refined, answer.refinable) == (9, 9)
    assert searcher.rank_many(queries, deadline=allow(4)).refined == 4


@settings(max_examples=30)
@given(QUERIES)
def test_no_time_at_all(reading: Searcher, ranking: Searcher, queries: list[Query]) -> None:
    """Every query is answered even so, by the ranker alone: as many distinct documents as there are, best first."""
    answer = reading.rank_many(queries, deadline=Deadline(0.0))
    assert answer.refined == 0
    assert [ranked.query for ranked in answer.rankings] == queries
    unsided = as_ranked(ranking, [replace(query, stance=Stance.ALL) for query in queries])
    for ranked, expected in zip(answer.rankings, unsided, strict=True):
        assert ranked[1:] == expected[1:]
        assert len(set(ranked.doc_ids)) == len(ranked.doc_ids) == len(ranked.scores) <= ranked.query.top_k
        assert set(ranked.doc_ids) <= IDS
        assert list(ranked.scores) == sorted(ranked.scores, reverse=True)
        if ranked.query.filters == Filters() and ranked.query.as_of is None and not ranked.query.min_relevance:
            assert len(ranked.doc_ids) == ranked.query.top_k


@pytest.mark.parametrize("pieces", [0, 1, 2, 5, 6, 7])
def test_time_for_some(reading: Searcher, ranking: Searcher, pieces: int) -> None:
    """Those are read closely whose first candidates leave most doubt; the rest stays as the ranker has it."""
    propositions = [known.proposition for known in KNOWN[:6]]
    queries = [
        Query(proposition=text, stance=stance, top_k=15)
        for text in propositions
        for stance in (Stance.SUPPORTED, Stance.ALL)
    ]
    answer = reading.rank_many(queries, deadline=allow(pieces))
    assert (answer.refined, answer.refinable) == (min(pieces, 6), 6)
    doubts = {}
    for text in propositions:
        hits = ranking.search(Query(proposition=text, top_k=RERANKED)).hits
        doubts[text] = sum(hit.relevance * (1 - hit.relevance) for hit in hits)
    assert len(set(doubts.values())) == 6
    chosen = sorted(propositions, key=lambda text: -doubts[text])[:pieces]
    assert pieces in (0, 6, 7) or chosen != propositions[:pieces]
    close = as_ranked(reading, queries)
    quick = as_ranked(ranking, [replace(query, stance=Stance.ALL) for query in queries])
    assert all(one[1:] != other[1:] for one, other in zip(close, quick, strict=True))
    for ranked, read, unread in zip(answer.rankings, close, quick, strict=True):
        assert ranked[1:] == (read if ranked.query.proposition in chosen else unread)[1:]


def test_order_of_reading_is_no_order_of_answers(reading: Searcher) -> None:
    """Answers come in the order of the queries."""
    queries = [Query(proposition=known.proposition, query_id=str(n)) for n, known in enumerate(KNOWN[:5])]
    for asked in (queries, queries[::-1]):
        answer = reading.rank_many(iter(asked), deadline=allow(2))
        assert [ranked.query for ranked in answer.rankings] == asked


def test_sides_are_judged_where_they_are_asked_for(indexes: dict[bool, Path], cheap_encoder: Any) -> None:
    """A judge is asked of a proposition once, and only if a side is; not for a query of all stances."""
    for reranks, index in indexes.items():
        unasked = [Query(proposition=known.proposition) for known in KNOWN[:3]]
        refusing = Searcher.open(index, encoder=cheap_encoder, judge=Refusing())
        assert refusing.rank_many(unasked).refinable == (3 if reranks else 0)
        judge = Counting()
        searcher = Searcher.open(index, encoder=cheap_encoder, judge=judge)
        sided = [replace(unasked[1], stance=stance) for stance in (Stance.SUPPORTED, Stance.REFUTED, Stance.REFUTED)]
        answer = searcher.rank_many([*unasked, *sided])
        assert judge.asked == [KNOWN[1].proposition]
        supported, refuted = answer.rankings[3].scores, answer.rankings[4].scores
        assert supported == pytest.approx([2 * score for score in refuted], abs=1e-8)  # who names a judge trusts it
        with pytest.raises(AssertionError, match="judged"):
            refusing.rank_many(sided)
        assert refusing.rank_many(sided, deadline=Deadline(0.0)).refinable == 1


class Failing(Counting):
    """A judge at an endpoint that answers for one proposition, and fails then."""

    def judge_all(self, claim: Claim, readings: Sequence[Reading]) -> Iterable[Verdict]:
        """Side with the first proposition."""
        if self.asked:
            raise EndpointError("no answer", expected="one", remedy="try again")
        return super().judge_all(claim, readings)


def test_judge_that_fails(indexes: dict[bool, Path], cheap_encoder: Any) -> None:
    """With a deadline what is there when a judge fails is the answer, with the reason; without one it is an error."""
    sided = [Query(proposition=known.proposition, stance=Stance.SUPPORTED) for known in KNOWN[:3]]
    with pytest.raises(EndpointError):
        Searcher.open(indexes[False], encoder=cheap_encoder, judge=Failing()).rank_many(sided)
    answer = Searcher.open(indexes[False], encoder=cheap_encoder, judge=Failing()).rank_many(
        sided, deadline=Deadline(600.0)
    )
    assert (answer.refined, answer.refinable, str(answer.fault)) == (1, 3, "no answer; expected one; try again")
    whole = Searcher.open(indexes[False], encoder=cheap_encoder, judge=Counting()).rank_many(sided)
    none = Searcher.open(indexes[False], encoder=cheap_encoder, judge=Refusing()).rank_many(
        sided, deadline=Deadline(0.0)
    )
    assert none.fault is None
    found = [
        [ranked == other for other in (judged, unjudged)]
        for ranked, judged, unjudged in zip(answer.rankings, whole.rankings, none.rankings, strict=True)
    ]
    assert sorted(found) == [[False, True], [False, True], [True, False]]


def test_sides_that_count_nothing(tmp_path: Path, cheap_encoder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where training found that the side adds nothing, nothing is judged for it, and the ranking is the same."""
    index = build(tmp_path / "index", cheap_encoder, reranks=False, stance_weight=0.0)
    searcher = Searcher.open(index, encoder=cheap_encoder)
    queries = [Query(proposition=KNOWN[0].proposition, stance=stance) for stance in Stance]
    expected = as_ranked(searcher, queries)
    monkeypatch.setattr(StanceModel, "judge_all", Refusing.judge_all)
    answer = searcher.rank_many(queries)
    assert answer.rankings == expected
    assert (answer.refined, answer.refinable) == (0, 0)


def test_progress(reading: Searcher) -> None:
    """Finding is told of block by block, reading proposition by proposition, as far as it goes."""
    queries = [Query(proposition=known.proposition, stance=s) for known in KNOWN[:5] for s in Stance]
    told: list[tuple[str, int, int]] = []
    reading.rank_many(queries, progress=lambda *step: told.append(step))
    finding = [("finding", done, 5) for done in (2, 4, 5)]
    assert told == finding + [("reading", done, 5) for done in range(1, 6)]
    told.clear()
    reading.rank_many(queries, deadline=allow(2), progress=lambda *step: told.append(step))
    assert told == [*finding, ("reading", 1, 5), ("reading", 2, 5)]


def test_no_query(reading: Searcher) -> None:
    """No query gets no answer."""
    assert reading.rank_many([]) == ([], 0, 0, None)


def test_bad_query(reading: Searcher, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query that cannot be asked is refused before anything is measured."""
    monkeypatch.setattr(reading._finder, "measure", lambda _: pytest.fail("measured"))
    with pytest.raises(InputError, match="top_k of 0"):
        reading.rank_many([Query(proposition="A ship."), Query(proposition="A ship.", top_k=0)])


def make_found(probabilities: list[float], **query: Any) -> Found:
    """Make candidates of these probabilities."""
    asked = Query(proposition="P", **query)
    return Found(asked, None, np.arange(len(probabilities)), np.array(probabilities))  # type: ignore[arg-type]


def test_doubt_by_hand() -> None:
    """Doubt is what may be either way, among as many as are read."""
    assert measure_doubt(make_found([1.0, 0.5, 0.1, 0.0])) == pytest.approx(0 + 0.25 + 0.09 + 0)
    assert measure_doubt(make_found([0.9] * RERANKED + [0.5] * 40)) == pytest.approx(0.09 * RERANKED)
    assert measure_doubt(make_found([])) == 0


def test_ranking_by_hand() -> None:
    """Equal scores by ID, the least relevance by the probability, the side as a power."""
    found = make_found([0.64, 0.25, 0.25, 0.16], top_k=3, min_relevance=0.2, stance=Stance.REFUTED)
    doc_ids = ["d", "c", "b", "a"]
    assert rank_candidates(found.query, found, doc_ids, 0.5)[1:] == (("d", "b", "c"), (0.64, 0.25, 0.25))
    sides = [side(1 - refutes, refutes) for refutes in (0.01, 0.25, 0.36, 1.0)]
    judged = found._replace(sides=sides)
    ranked = rank_candidates(found.query, judged, doc_ids, 0.5)
    assert ranked == (found.query, ("b", "c", "d"), (0.15, 0.125, 0.064))
    everything = replace(found.query, stance=Stance.ALL, min_relevance=0.0, top_k=9)
    ranked = rank_candidates(everything, judged, doc_ids, 0.5)
    assert ranked[1:] == (("d", "b", "c", "a"), (0.64, 0.25, 0.25, 0.16))
    assert rank_candidates(found.query, make_found([]), [], 0.5)[1:] == ((), ())
