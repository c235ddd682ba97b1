"""The way of a query: what every ranking holds to, and what filters, dates and sides do."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_model import ToyModel, make_corpus, make_ranker

from sicetnon.corpora import read_bundled_propositions
from sicetnon.dense import QUERIES_AT_ONCE, Encoder
from sicetnon.errors import InputError, ModelError
from sicetnon.ingest import build_index
from sicetnon.relevance import measure_relevance
from sicetnon.search import CANDIDATES, STANCE_WEIGHT, Searcher
from sicetnon.stance import StanceModel, negate
from sicetnon.types import BothSides, Document, Filters, Query, Ranking, SideProbabilities, Stance

PROPOSITION = "The police may search a phone without a warrant."
WORDS = ["police", "phone", "warrant", "search", "car", "flag", "court", "may", "not", "void", "fence", "salute", "?"]
PROPOSITIONS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
FIRST_DAY = date(1950, 1, 1)
MADE_COUNT = 180
CLEAR_LEAD = 0.05
FILTERS = st.builds(
    Filters,
    courts=st.lists(st.sampled_from(["Court A", "COURT B", "none"]), max_size=2).map(tuple),
    decided_from=st.none() | st.integers(0, 400).map(lambda days: FIRST_DAY + timedelta(days)),
    decided_to=st.none() | st.integers(0, 400).map(lambda days: FIRST_DAY + timedelta(days)),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, cheap_encoder: Any) -> tuple[Searcher, dict[str, Document]]:
    """Build an index of 180 made documents, many of them with the same words, and open it."""
    documents = []
    for number in range(MADE_COUNT):
        words = [WORDS[(number * step) % len(WORDS)] for step in (1, 3, 5)]
        text = f"The {words[0]} is a {words[1]}. The Court held that it is not a {words[2]}.\n\nIt was late."
        documents.append(
            Document(
                doc_id=f"d{(number * 77) % MADE_COUNT}",
                text=text,
                court=("Court A", "Court B", None)[number % 3],
                decided=None if number % 10 == 0 else FIRST_DAY + timedelta(2 * number),
            )
        )
    path = tmp_path_factory.mktemp("made") / "index"
    build_index(documents, path, encoder=cheap_encoder)
    return Searcher.open(path, encoder=cheap_encoder), {document.doc_id: document for document in documents}


def ids(ranking: Ranking) -> list[str]:
    """Return the IDs of a ranking in order."""
    return [hit.document.doc_id for hit in ranking.hits]


def passes(document: Document, query: Query) -> bool:
    """Tell slowly whether a document may be returned."""
    filters = query.filters
    if filters.courts and (document.court or "").lower() not in {court.lower() for court in filters.courts}:
        return False
    days = [day for day in (filters.decided_from, filters.decided_to, query.as_of) if day is not None]
    if not days:
        return True
    return (
        document.decided is not None
        and document.decided >= (filters.decided_from or date.min)
        and document.decided <= min(filters.decided_to or date.max, query.as_of or date.max)
    )


def check_ranking(ranking: Ranking, documents: dict[str, Document]) -> None:
    """Assert what holds of every ranking."""
    query = ranking.query
    found = ids(ranking)
    assert len(set(found)) == len(found) <= query.top_k
    for hit in ranking.hits:
        document = documents[hit.document.doc_id]
        assert hit.document == document
        assert passes(document, query)
        assert 0 <= hit.score <= 1
        assert query.min_relevance <= hit.relevance <= 1
        assert hit.sides.supports + hit.sides.refutes + hit.sides.neither == pytest.approx(1)
        passage, sentence = hit.evidence.passage, hit.evidence.sentence
        assert 0 <= passage.start <= sentence.start < sentence.end <= passage.end <= len(document.text)
        assert hit.evidence.text == passage.of(document.text)
        asked = {Stance.SUPPORTED: hit.sides.supports, Stance.REFUTED: hit.sides.refutes, Stance.ALL: 1.0}
        assert hit.score == pytest.approx(hit.relevance * asked[query.stance] ** STANCE_WEIGHT, abs=1e-8)
    keys = [(-hit.score, hit.document.doc_id) for hit in ranking.hits]
    assert keys == sorted(keys)


@settings(max_examples=40)
@given(
    proposition=PROPOSITIONS,
    stance=st.sampled_from(Stance),
    top_k=st.integers(1, 2 * MADE_COUNT),
    filters=FILTERS,
    as_of=st.none() | st.integers(0, 400).map(lambda days: FIRST_DAY + timedelta(days)),
)
def test_any_query(
    made: tuple[Searcher, dict[str, Document]],
    *,
    proposition: str,
    stance: Stance,
    top_k: int,
    filters: Filters,
    as_of: date | None,
) -> None:
    """Any query gets exactly top_k known documents, or all that may be returned, in order of score and then of ID."""
    searcher, documents = made
    query = Query(proposition=proposition, stance=stance, top_k=top_k, filters=filters, as_of=as_of)
    ranking = searcher.search(query)
    check_ranking(ranking, documents)
    assert len(ranking.hits) == min(top_k, sum(passes(document, query) for document in documents.values()))


@settings(max_examples=15)
@given(st.lists(st.tuples(PROPOSITIONS, st.sampled_from(Stance)), min_size=1, max_size=2 * QUERIES_AT_ONCE + 2))
def test_many_as_one_at_a_time(made: tuple[Searcher, dict[str, Document]], asked: list[tuple[str, Stance]]) -> None:
    """Many queries, some asked twice, get to the last bit what each gets alone."""
    searcher, _ = made
    queries = [Query(proposition=proposition, stance=stance, top_k=7) for proposition, stance in asked]
    assert list(searcher.search_many(queries)) == [searcher.search(query) for query in queries]


NEIGHBOURS = st.lists(
    st.builds(
        Query,
        proposition=st.just(""),
        stance=st.sampled_from(Stance),
        top_k=st.sampled_from([1, 7, 7, CANDIDATES + 10]),
        filters=st.just(Filters()) | FILTERS,
        as_of=st.sampled_from([None, None, FIRST_DAY + timedelta(200)]),
        min_relevance=st.sampled_from([0.0, 0.0, 0.05]),
        query_id=st.sampled_from([None, "q1", "q2"]),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=20)
@given(st.lists(st.tuples(PROPOSITIONS, NEIGHBOURS), min_size=1, max_size=4))
def test_neighbours_as_one_at_a_time(
    made: tuple[Searcher, dict[str, Document]], asked: list[tuple[str, list[Query]]]
) -> None:
    """Stances of one proposition side by side, of other cutoffs, filters and days, get what each gets alone."""
    searcher, documents = made
    queries = [replace(query, proposition=proposition) for proposition, group in asked for query in group]
    rankings = list(searcher.search_many(queries))
    assert rankings == [searcher.search(query) for query in queries]
    for ranking in rankings:
        check_ranking(ranking, documents)


def test_neighbours_are_judged_once(
    made: tuple[Searcher, dict[str, Document]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three stances of one proposition side by side cost the judging of one; other filters cost it again."""
    judged: list[object] = []
    judge = StanceModel.judge

    def watch(model: StanceModel, claim: Any, reading: Any) -> Any:
        judged.append(reading)
        return judge(model, claim, reading)

    monkeypatch.setattr(StanceModel, "judge", watch)
    searcher, _ = made
    queries = [Query(proposition="police phone", stance=stance, query_id=stance) for stance in Stance]
    for asked, times in (
        (queries, 1),
        (queries * 2, 1),
        ([replace(queries[0], filters=Filters(decided_from=FIRST_DAY)), *queries], 2),
    ):
        judged.clear()
        list(searcher.search_many(asked))
        assert len(judged) == times * CANDIDATES


def test_many_with_the_embedded_encoder(small_searcher: Searcher) -> None:
    """With the embedded encoder too, a ranking does not depend on the queries beside it."""
    propositions = [PROPOSITION, "Fences must be removed.", "A flag may be burned."] * 7
    queries = [Query(proposition=f"{text} {n % 6}", stance=Stance.REFUTED) for n, text in enumerate(propositions)]
    assert list(small_searcher.search_many(queries)) == [small_searcher.search(query) for query in queries]
    assert list(small_searcher.search_many([])) == []


def test_on_point(small_searcher: Searcher, small_corpus: Sequence[Document]) -> None:
    """The decision on point comes first, and every document of the corpus is found once."""
    documents = {document.doc_id: document for document in small_corpus}
    for proposition, doc_id in (
        (PROPOSITION, "d-phone"),
        ("A car may be searched without a warrant.", "d-car"),
        ("Burning the flag is a crime.", "d-flag"),
        ("An employer must pay wages.", "d-undated"),
    ):
        ranking = small_searcher.search(Query(proposition=proposition))
        check_ranking(ranking, documents)
        assert ids(ranking)[0] == doc_id
        assert sorted(ids(ranking)) == sorted(documents)


def test_ties_by_document_id(small_searcher: Searcher) -> None:
    """Two documents of the same words have the same score and stand in the order of their IDs."""
    ranking = small_searcher.search(Query(proposition="The fence must be removed."))
    assert ids(ranking)[:2] == ["d-twin-a", "d-twin-b"]
    assert ranking.hits[0].score == ranking.hits[1].score
    assert ids(small_searcher.search(Query(proposition="The fence must be removed.", top_k=1))) == ["d-twin-a"]


def test_ties_beyond_the_candidates(tmp_path: Path, cheap_encoder: Any) -> None:
    """Among more equal documents than are judged, those with the first IDs are found."""
    documents = [Document(doc_id=f"d{number:03}", text="A fence stood.") for number in range(2 * CANDIDATES)]
    build_index(documents[::-1], tmp_path / "index", encoder=cheap_encoder)
    searcher = Searcher.open(tmp_path / "index", encoder=cheap_encoder)
    for stance in Stance:
        found = ids(searcher.search(Query(proposition="A fence stood.", stance=stance, top_k=5)))
        assert found == ["d000", "d001", "d002", "d003", "d004"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(courts=("supreme court of testland",)), {"d-phone", "d-car", "d-salute"}),
        (Filters(courts=("NOCA", "nothing")), {"d-flag", "d-twin-a", "d-twin-b"}),
        (Filters(courts=("nothing",)), set()),
        (Filters(decided_from=date(2001, 2, 1)), {"d-phone", "d-twin-a"}),
        (Filters(decided_to=date(1940, 6, 3)), {"d-car", "d-salute"}),
        (Filters(courts=("sct",), decided_from=date(1926, 1, 1), decided_to=date(2000, 1, 1)), {"d-salute"}),
        (Filters(decided_from=date(2000, 1, 1), decided_to=date(1999, 1, 1)), set()),
    ],
)
def test_filters(small_searcher: Searcher, filters: Filters, expected: set[str]) -> None:
    """Only documents that pass the filters are found, and all of them."""
    for stance in Stance:
        query = Query(proposition=PROPOSITION, stance=stance, filters=filters)
        assert set(ids(small_searcher.search(query))) == expected


def test_as_of(small_searcher: Searcher) -> None:
    """On a past day later and undated decisions are left out, and treatment is known from its own day on."""
    query = Query(proposition="Schools may require pupils to salute the flag.")
    for as_of, expected, is_known in (
        (None, 7, True),
        (date(2014, 6, 25), 6, True),
        (date(1990, 5, 1), 3, True),
        (date(1990, 4, 30), 2, False),
        (date(1940, 6, 3), 2, False),
        (date(1940, 6, 2), 1, None),
    ):
        hits = {hit.document.doc_id: hit for hit in small_searcher.search(replace(query, as_of=as_of)).hits}
        assert len(hits) == expected
        if is_known is not None:
            assert (hits["d-salute"].treatment is not None) is is_known
        else:
            assert "d-salute" not in hits


def test_scores_do_not_depend_on_filters(small_searcher: Searcher) -> None:
    """Leaving documents out changes no score of the others."""
    query = Query(proposition=PROPOSITION)
    everything = {hit.document.doc_id: hit.score for hit in small_searcher.search(query).hits}
    some = small_searcher.search(replace(query, filters=Filters(courts=("sct",))))
    assert {hit.document.doc_id: hit.score for hit in some.hits}.items() <= everything.items()


def test_min_relevance(bundled_searcher: Searcher) -> None:
    """Documents less likely to be on point than asked are left out, and no others."""
    query = Query(proposition="Public schools may be separated by race.", top_k=30)
    everything = bundled_searcher.search(query)
    for least in (0.05, everything.hits[2].relevance, 1.0):
        some = bundled_searcher.search(replace(query, min_relevance=least))
        assert some.hits == tuple(hit for hit in everything.hits if hit.relevance >= least)


@settings(max_examples=20)
@given(PROPOSITIONS, st.integers(1, 60), st.sampled_from(Stance), st.sampled_from([0.0, 0.05]))
def test_both_sides(
    made: tuple[Searcher, dict[str, Document]], proposition: str, top_k: int, stance: Stance, least: float
) -> None:
    """A document stands in one list at most: on the side it clearly takes or on none, whatever stance was asked for."""
    searcher, documents = made
    query = Query(proposition=proposition, top_k=top_k, stance=stance, min_relevance=least)
    answer = searcher.search_both(query)
    assert answer.query == query
    supported, refuted, unclear = rankings_of(answer)
    found = [*ids(supported), *ids(refuted), *ids(unclear)]
    assert len(set(found)) == len(found)
    for ranking in (supported, refuted, unclear):
        check_ranking(ranking, documents)
    assert all(takes_side(hit.sides.supports, hit.sides.refutes, hit.sides) for hit in supported.hits)
    assert all(takes_side(hit.sides.refutes, hit.sides.supports, hit.sides) for hit in refuted.hits)
    for hit in unclear.hits:
        assert not takes_side(hit.sides.supports, hit.sides.refutes, hit.sides)
        assert not takes_side(hit.sides.refutes, hit.sides.supports, hit.sides)


@settings(max_examples=10)
@given(PROPOSITIONS, st.integers(1, CANDIDATES))
def test_no_list_takes_room_of_another(
    made: tuple[Searcher, dict[str, Document]], proposition: str, top_k: int
) -> None:
    """Every document judged stands in a list, and each list has ``top_k`` of those where there are as many."""
    searcher, _ = made
    query = Query(proposition=proposition, top_k=CANDIDATES)
    whole = rankings_of(searcher.search_both(query))
    assert sorted(doc_id for ranking in whole for doc_id in ids(ranking)) == sorted(ids(searcher.search(query)))
    short = rankings_of(searcher.search_both(replace(query, top_k=top_k)))
    assert [ranking.hits for ranking in short] == [ranking.hits[:top_k] for ranking in whole]


def rankings_of(answer: BothSides) -> list[Ranking]:
    """Return the three lists as rankings of the stances that order them."""
    lists = {Stance.SUPPORTED: answer.supports, Stance.REFUTED: answer.refutes, Stance.ALL: answer.unclear}
    return [Ranking(query=replace(answer.query, stance=stance), hits=hits) for stance, hits in lists.items()]


def takes_side(this: float, other: float, sides: SideProbabilities) -> bool:
    """Tell whether a side leads the other by a twentieth and is likelier than neither."""
    return this - other >= CLEAR_LEAD and this > sides.neither


def test_both_sides_score_as_each_side_does(small_searcher: Searcher) -> None:
    """A document has in its list the score, sides and evidence that a search of that list's stance gives."""
    query = Query(proposition=PROPOSITION)
    rankings = rankings_of(small_searcher.search_both(query))
    assert sum(len(ranking.hits) for ranking in rankings) == 7
    for ranking in rankings:
        alone = small_searcher.search(ranking.query)
        assert [hit for hit in alone.hits if hit.document.doc_id in ids(ranking)] == list(ranking.hits)


def test_find(small_searcher: Searcher, small_corpus: Sequence[Document]) -> None:
    """A document is found by its ID, with all its fields; an unknown ID is None."""
    for document in small_corpus:
        assert small_searcher.find(document.doc_id) == document
    assert small_searcher.find("d-absent") is None


def test_judge(small_searcher: Searcher, small_corpus: Sequence[Document]) -> None:
    """One document is judged as a search judges it, past the query's filters and however little it is on point."""
    query = Query(proposition=PROPOSITION, stance=Stance.SUPPORTED)
    for hit in small_searcher.search(query).hits:
        assert small_searcher.judge(query, hit.document.doc_id) == hit
    narrow = replace(query, filters=Filters(courts=("nothing",)), min_relevance=1.0)
    assert small_searcher.judge(narrow, "d-undated").document == small_corpus[4]
    with pytest.raises(InputError, match='document "d-absent"'):
        small_searcher.judge(query, "d-absent")


class TestInstructionByStance:
    """An encoder that puts another instruction before a query for each stance."""

    @pytest.fixture
    def searcher(self, tmp_path: Path, instructed_encoder: Any, small_corpus: Sequence[Document]) -> Searcher:
        """Open an index of the small corpus; nothing was asked of its encoder yet."""
        build_index(small_corpus, tmp_path / "index", encoder=instructed_encoder)
        return Searcher.open(tmp_path / "index", encoder=instructed_encoder)

    @pytest.mark.parametrize("stance", Stance)
    def test_relevance_by_the_asked_stance(self, searcher: Searcher, instructed_encoder: Any, stance: Stance) -> None:
        """Documents are as much on point as the query's vector for its stance says."""
        relevance = measure_relevance(
            searcher._collection, None, [PROPOSITION], instructed_encoder.encode_queries([PROPOSITION], stance)
        )[0]
        for hit in searcher.search(Query(proposition=PROPOSITION, stance=stance)).hits:
            ordinal = searcher._collection.documents.find(hit.document.doc_id)
            assert hit.relevance == relevance.probability(np.array([ordinal]))[0]

    def test_stances_differ_in_relevance_and_not_in_sides(self, searcher: Searcher) -> None:
        """Each stance has a relevance of its own; the side that a document takes depends on the proposition alone."""
        rankings = [searcher.search(Query(proposition=PROPOSITION, stance=stance)) for stance in Stance]
        by_document = [{hit.document.doc_id: hit for hit in ranking.hits} for ranking in rankings]
        assert len({tuple(sorted((name, hit.relevance) for name, hit in hits.items())) for hits in by_document}) == 3
        for doc_id, hit in by_document[0].items():
            assert [hits[doc_id].sides for hits in by_document] == [hit.sides] * 3

    def test_many_as_one_at_a_time(self, searcher: Searcher) -> None:
        """Stances side by side, in blocks and among other propositions, get what each gets alone."""
        queries = [
            Query(proposition=f"{PROPOSITION} {number // 4}", stance=list(Stance)[number % 3])
            for number in range(2 * QUERIES_AT_ONCE + 3)
        ]
        assert list(searcher.search_many(queries)) == [searcher.search(query) for query in queries]

    def test_both_sides_and_one_document_by_all(self, searcher: Searcher) -> None:
        """Where both sides are shown and where one document is judged, its relevance is that of a query for all."""
        query = Query(proposition=PROPOSITION, stance=Stance.REFUTED)
        expected = {
            hit.document.doc_id: hit.relevance for hit in searcher.search(replace(query, stance=Stance.ALL)).hits
        }
        answer = searcher.search_both(query)
        found = {hit.document.doc_id: hit.relevance for hit in (*answer.supports, *answer.refutes, *answer.unclear)}
        assert found == expected
        assert {doc_id: searcher.judge(query, doc_id).relevance for doc_id in expected} == expected

    def test_known_propositions_are_recalled_by_all(self, tmp_path: Path, instructed_encoder: Any) -> None:
        """The memory was encoded for all stances, so a proposition that it holds lies at 1 from itself in each."""
        documents, propositions = make_corpus(20, 12)
        build_index(documents, tmp_path / "index", model=ToyModel(instructed_encoder, propositions, make_ranker()))  # type: ignore[arg-type]
        searcher = Searcher.open(tmp_path / "index", encoder=instructed_encoder)
        known = propositions[3]
        for stance in Stance:
            ((_, relevance),) = searcher._finder.measure([(known.proposition, stance)])
            assert relevance._joined["nearest"].max() == pytest.approx(1)

    @pytest.mark.parametrize(
        ("stances", "texts"),
        [((Stance.ALL,), 2), ((Stance.REFUTED,), 3), (tuple(Stance), 4), ((Stance.REFUTED, Stance.REFUTED), 3)],
    )
    def test_nothing_is_encoded_twice(
        self, searcher: Searcher, instructed_encoder: Any, stances: tuple[Stance, ...], texts: int
    ) -> None:
        """A proposition costs a vector for each stance asked, one for its side and one of its denial."""
        list(searcher.search_many([Query(proposition=PROPOSITION, stance=stance) for stance in stances]))
        assert len(instructed_encoder.asked) == len(set(instructed_encoder.asked)) == texts


def test_one_vector_for_all_stances(
    tmp_path: Path, instructed_encoder: Any, small_corpus: Sequence[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an encoder without instruction by stance a proposition costs one vector, and its denial one."""
    monkeypatch.setattr(type(instructed_encoder), "instructs_by_stance", False)
    build_index(small_corpus, tmp_path / "index", encoder=instructed_encoder)
    searcher = Searcher.open(tmp_path / "index", encoder=instructed_encoder)
    list(searcher.search_many([Query(proposition=PROPOSITION, stance=stance) for stance in Stance]))
    assert instructed_encoder.asked == [(PROPOSITION, Stance.ALL), (negate(PROPOSITION), Stance.ALL)]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"proposition": ""}, "an empty proposition"),
        ({"proposition": " \n"}, "an empty proposition"),
        ({"proposition": "a \ud800"}, "half of a surrogate pair"),
        ({"proposition": None}, "whose proposition is of another type"),
        ({"stance": "nope"}, "whose stance is of another type"),
        ({"top_k": "3"}, "whose top_k is of another type"),
        ({"min_relevance": "0.1"}, "whose min_relevance is of another type"),
        ({"as_of": "2010-01-01"}, "whose as_of or a filter's day is of another type"),
        ({"filters": Filters(courts=(1,))}, "whose courts is of another type"),
        ({"top_k": 0}, "top_k of 0"),
        ({"top_k": -1}, "top_k of -1"),
        ({"min_relevance": -0.1}, "min_relevance of -0.1"),
        ({"min_relevance": 1.1}, "min_relevance of 1.1"),
        ({"min_relevance": float("nan")}, "min_relevance of nan"),
    ],
)
def test_queries_that_are_refused(small_searcher: Searcher, change: dict[str, Any], found: str) -> None:
    """A query that cannot be asked is refused, however it is asked, before any of its company is answered."""
    bad = replace(Query(proposition=PROPOSITION), **change)
    with pytest.raises(InputError, match=found):
        small_searcher.search(bad)
    with pytest.raises(InputError, match=found):
        small_searcher.search_both(bad)
    with pytest.raises(InputError, match=found):
        small_searcher.judge(bad, "d-phone")
    with pytest.raises(InputError, match=found):
        next(small_searcher.search_many([Query(proposition=PROPOSITION), bad]))


@pytest.mark.parametrize(
    "proposition", ["§", "???", "x" * 20_000, "\u200b", "漢字", "'; DROP TABLE documents; --", "\0", "Phone\n\nphone"]
)
def test_any_proposition(small_searcher: Searcher, proposition: str) -> None:
    """A proposition without a word, in another script, or very long is answered like any other."""
    assert len(small_searcher.search(Query(proposition=proposition)).hits) == 7


def test_another_encoder(small_index: Path, cheap_encoder: Any) -> None:
    """An index is not searched with another encoder than the one that built it."""
    with pytest.raises(ModelError, match='the encoder "cheap" is cheap 1; expected all-MiniLM-L6-v2'):
        Searcher.open(small_index, encoder=cheap_encoder)


def test_same_encoder_of_another_version(tmp_path: Path, cheap_encoder: Any, other_encoder: Any) -> None:
    """Nor with another version of the same."""
    build_index([Document(doc_id="a", text="x.")], tmp_path / "index", encoder=cheap_encoder)
    with pytest.raises(ModelError, match="is cheap 2; expected cheap 1"):
        Searcher.open(tmp_path / "index", encoder=other_encoder)


def test_encoder_of_the_manifest(small_index: Path, small_searcher: Searcher) -> None:
    """Without an encoder the one that the manifest names is loaded, and answers the same."""
    query = Query(proposition=PROPOSITION)
    assert ids(Searcher.open(small_index).search(query)) == ids(small_searcher.search(query))


def test_one_document(tmp_path: Path, encoder: Encoder) -> None:
    """An index of one document answers."""
    build_index([Document(doc_id="a", text="The Court held so.")], tmp_path / "index", encoder=encoder)
    searcher = Searcher.open(tmp_path / "index", encoder=encoder)
    assert ids(searcher.search(Query(proposition=PROPOSITION, stance=Stance.SUPPORTED))) == ["a"]


def test_threads(made: tuple[Searcher, dict[str, Document]]) -> None:
    """Many threads get from one searcher what one gets."""
    searcher, _ = made
    filters = Filters(courts=("court a",), decided_to=date(1951, 1, 1))
    queries = [
        Query(proposition=f"{one} {other}", stance=stance, filters=chosen)
        for one in WORDS[:5]
        for other in WORDS[:4]
        for stance, chosen in ((Stance.SUPPORTED, Filters()), (Stance.REFUTED, filters))
    ]
    expected = [searcher.search(query) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(searcher.search, queries)) == expected


def test_threads_with_the_embedded_encoder(small_searcher: Searcher) -> None:
    """The embedded encoder is safe from many threads too."""
    queries = [Query(proposition=f"{PROPOSITION} {number}") for number in range(16)]
    expected = [small_searcher.search(query) for query in queries]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(small_searcher.search, queries)) == expected


def test_bundled_decisions(bundled_searcher: Searcher) -> None:
    """Of the bundled propositions, a sample mostly finds a decision on point among the first ten, with right spans."""
    propositions = read_bundled_propositions()[::60]
    queries = [Query(proposition=p.proposition) for p in propositions]
    found = 0
    for judged, ranking in zip(propositions, bundled_searcher.search_many(queries), strict=True):
        documents = {hit.document.doc_id: hit.document for hit in ranking.hits}
        check_ranking(ranking, documents)
        assert len(ranking.hits) == 10
        found += bool({judgment.doc_id for judgment in judged.judgments} & set(documents))
    assert found >= 0.8 * len(propositions)


def test_overruled_bundled_decision(bundled_searcher: Searcher) -> None:
    """Plessy is marked overruled from the day of Brown on."""
    query = Query(proposition="Railways may keep the races in separate cars of equal quality.", top_k=5)
    for as_of, is_known in ((None, True), (date(1954, 5, 17), True), (date(1954, 5, 16), False)):
        hits = bundled_searcher.search(replace(query, as_of=as_of)).hits
        (plessy,) = (hit for hit in hits if hit.document.title.startswith("Plessy"))
        assert (plessy.treatment is not None) is is_known


def test_queries_from_a_generator(small_searcher: Searcher) -> None:
    """Queries may come one at a time."""
    query = Query(proposition=PROPOSITION)
    assert list(small_searcher.search_many(query for _ in range(2))) == [small_searcher.search(query)] * 2
