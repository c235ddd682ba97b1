"""Weighted postings: what is stored of them, and the same ranking as the slow oracle's however few are scored."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.sparse import SparseOracle
from oracle.weighted import WeightedOracle

from sicetnon.errors import InputError
from sicetnon.sparse import Budget, SparseIndex, SparseIndexBuilder, SparseIndexWriter, impacts, weighted, writer
from sicetnon.sparse.scoring import Bm25, Bm25L, Bm25Plus, Bm25Robertson, DotProduct, IdfOverlap, Scoring
from sicetnon.storage import Manifest

Bag = Mapping[str, float]
Build = Callable[..., SparseIndex]

VARIANTS = {"lucene": Bm25, "robertson": Bm25Robertson, "bm25l": Bm25L, "bm25+": Bm25Plus}


def build_at(folder: str | Path, documents: Iterable[tuple[str, Any]], **options: Any) -> SparseIndex:
    with SparseIndexBuilder(folder, **options) as builder:
        for doc_id, terms in documents:
            builder.add(doc_id, terms)
        builder.commit()
    return SparseIndex.open(folder)


def name_all(bags: Iterable[Bag]) -> list[tuple[str, Bag]]:
    return [(f"d{number:04}", bag) for number, bag in enumerate(bags)]


def files_of(index: SparseIndex) -> Manifest:
    return index.stored.manifest


def search(index: SparseIndex, query: Any, k: int, **options: Any) -> list[tuple[str, float]]:
    return [(hit.doc_id, hit.score) for hit in index.search(query, top_k=k, **options)]


# What is stored


def test_weights_by_hand(build: Build) -> None:
    """Two documents with weights: stored by term and by document, and multiplied by the query's."""
    index = build([("a", {"x": 0.5, "y": 2}), ("b", {"y": 0.25})])
    (segment,) = index.segments
    assert segment.frequencies.dtype == segment.forward_frequencies.dtype == np.float32
    assert segment.frequencies.tolist() == [0.5, 2, 0.25]
    assert segment.forward_frequencies.tolist() == [0.5, 2, 0.25]
    assert segment.lengths.tolist() == [2, 1]
    assert index.stored.count("tokens") == 3
    assert search(index, {"y": 4, "x": 1}, 9, scoring=DotProduct()) == [("a", 8.5), ("b", 1.0)]
    assert search(index, ["y", "x", "y"], 9, scoring=DotProduct()) == [("a", 4.5), ("b", 0.5)]


@pytest.mark.parametrize("weights", [{"a": 2.0, "b": 300.0}, {"a": np.float64(2), "b": np.int16(300)}])
def test_whole_weights_are_counts(tmp_path: Path, weights: Bag) -> None:
    """Weights that are all whole numbers give the same files as these numbers."""
    found = build_at(tmp_path / "a", [("d", weights), ("e", ["b"])])
    assert files_of(found) == files_of(build_at(tmp_path / "b", [("d", {"a": 2, "b": 300}), ("e", ["b"])]))
    assert found.segments[0].frequencies.dtype == np.uint16


@pytest.mark.parametrize(
    "number", [np.float32(0.1), np.float64(0.1), Fraction(1, 10), 0.1], ids=lambda number: type(number).__name__
)
def test_weights_of_any_real_type(build: Build, number: Any) -> None:
    """Whatever kind of real number a weight is, float32 holds it."""
    assert build([("d", {"a": number})]).segments[0].frequencies.tolist() == [float(np.float32(0.1))]


@pytest.mark.parametrize("rest", [{"b": 1}, {"b": 0.5}, {}])
@pytest.mark.parametrize("nothing", [0, 0.0, -0.0, np.float32(0)])
def test_a_weight_of_0_is_no_term(tmp_path: Path, rest: Bag, nothing: float) -> None:
    """A weight of 0 leaves no trace, in the dictionary of terms neither."""
    found = build_at(tmp_path / "a", [("d", {"a": nothing} | rest), ("e", {"c": 3})])
    assert files_of(found) == files_of(build_at(tmp_path / "b", [("d", rest), ("e", {"c": 3})]))


@pytest.mark.parametrize(
    "weight", [-1, -0.5, np.nan, np.inf, -np.inf, 1e39, 1e-46, 5e-324, 10**400, 2**128, "1", None, True, 1j, [1.0]]
)
def test_refused_weights_leave_the_builder_as_it_was(tmp_path: Path, weight: Any) -> None:
    """What is no number of 0 or more that float32 holds is refused before anything of its document is taken."""
    with SparseIndexBuilder(tmp_path) as builder:
        with pytest.raises(InputError, match="'bad'"):
            builder.add("bad", {"b": 0.5, "a": weight})
        builder.add("good", {"a": 2})
        builder.commit()
    index = SparseIndex.open(tmp_path)
    assert (index.term_count, index.segments[0].frequencies.dtype) == (1, np.uint8)


@pytest.mark.parametrize("weight", [float(2**32), 1e30, 3.4e38, 1.5e-45])
def test_ends_of_the_range(build: Build, weight: float) -> None:
    """Weights beyond what counts may be are kept as float32, whole or not."""
    assert build([("d", {"a": weight})]).segments[0].frequencies.tolist() == [float(np.float32(weight))]


WEIGHTS = st.integers(0, 9) | st.floats(1e-6, 1e6) | st.sampled_from([0, 0.0, 0.5, 1.0, 1e-6, 1e6, 1e-40, 3e38])
TERMS = st.sampled_from("abcdefgh")
BAGS = st.lists(st.dictionaries(TERMS, WEIGHTS) | st.lists(TERMS), min_size=1, max_size=40)


@settings(max_examples=80)
@given(BAGS, st.integers(1, 9))
def test_every_weight_is_there(documents: list[Any], buffered: int) -> None:
    """However postings are spilled, both orders hold each document's weights, and the bytes are the same."""
    rows = name_all(documents)
    bags = [d if isinstance(d, dict) else dict.fromkeys(d, 1) for d in documents]
    expected = [{term: float(np.float32(w)) for term, w in bag.items() if w} for bag in bags]
    with tempfile.TemporaryDirectory() as folder:
        index = build_at(Path(folder, "a"), rows, buffered_postings=buffered)
        assert files_of(index) == files_of(build_at(Path(folder, "b"), rows))
        (segment,) = index.segments
        by_term: list[dict[str, float]] = [{} for _ in rows]
        for row in range(index.term_count):
            span = segment.span(row)
            weights = [1] * 99 if segment.frequencies is None else segment.frequencies[span].tolist()
            for ordinal, weight in zip(segment.postings[span].tolist(), weights, strict=False):
                by_term[ordinal][segment.terms[row]] = weight
        assert by_term == expected
        counts, found, weights = segment.read_documents(np.arange(len(rows)))
        names = [segment.terms[row] for row in found.tolist()]
        starts = [0, *np.cumsum(counts).tolist()]
        given_weights = [1] * len(names) if weights is None else weights.tolist()
        for number, bag in enumerate(expected):
            part = slice(starts[number], starts[number + 1])
            assert list(zip(names[part], given_weights[part], strict=True)) == list(bag.items())


@pytest.mark.parametrize("scoring", [variant() for variant in VARIANTS.values()])
@pytest.mark.parametrize("query", [["a"], ["unknown"], []])
def test_bm25_over_weights_is_refused(build: Build, scoring: Scoring, query: list[str]) -> None:
    """BM25 needs the lengths of documents, which weights do not give; whatever the query, it says so."""
    with pytest.raises(InputError, match=r"Bm25.* over an index of weights"):
        build([("d", {"a": 0.5})]).search(query, scoring=scoring)


def test_sets_over_weights(tmp_path: Path) -> None:
    """Scored as sets, documents with weights are the sets of their terms."""
    bags = [{"a": 0.5, "b": 3}, {"b": 1e-3}, {"c": 1, "a": 0}]
    with_weights = build_at(tmp_path / "a", name_all(bags))
    as_sets = build_at(tmp_path / "b", name_all([[term for term, w in bag.items() if w] for bag in bags]))
    for scoring in (None, IdfOverlap()):
        query = ["b", "a", "c"]
        assert search(with_weights, query, 9, scoring=scoring) == search(as_sets, query, 9, scoring=scoring)


@settings(max_examples=40)
@given(
    st.lists(st.dictionaries(TERMS, WEIGHTS, max_size=5), min_size=2, max_size=9),
    st.lists(st.integers(0, 8)),
    st.sampled_from([0, 2]),
)
def test_changed_index_equals_a_fresh_build(bags: list[Bag], deleted: list[int], times: int) -> None:
    """In segments, with deletions and merged, weights score as those of a fresh build; merged, all bytes are equal."""
    documents = dict(name_all(bags))
    query = {term: 0.5 + number for number, term in enumerate("abcdefgh")}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "_MOST_TIMES", times)
        names = list(documents)
        build_at(Path(folder, "index"), list(documents.items())[:1])
        for name in names[1:]:
            with SparseIndexWriter(Path(folder, "index"), buffered_postings=3) as open_writer:
                open_writer.add(name, documents[name])
                open_writer.commit()
        with SparseIndexWriter(Path(folder, "index")) as open_writer:
            for number in set(deleted) & set(range(1, len(names))):
                open_writer.delete(names[number])
                del documents[names[number]]
            open_writer.commit()
        fresh = build_at(Path(folder, "fresh"), list(documents.items()))
        expected = search(fresh, query, 50, scoring=DotProduct())
        assert search(SparseIndex.open(Path(folder, "index")), query, 50, scoring=DotProduct()) == expected
        with SparseIndexWriter(Path(folder, "index"), buffered_postings=3) as open_writer:
            open_writer.merge()
            open_writer.commit()
        merged = SparseIndex.open(Path(folder, "index"))
        assert files_of(merged).files == files_of(fresh).files
        assert search(merged, query, 50, scoring=DotProduct()) == expected


def test_counts_are_left_when_weights_are_deleted(tmp_path: Path) -> None:
    """Merged after the last document with a fraction is gone, an index is one of counts, as a fresh build is."""
    build_at(tmp_path / "index", [("a", {"x": 0.5}), ("b", {"x": 2, "y": 1})])
    with SparseIndexWriter(tmp_path / "index") as open_writer:
        open_writer.delete("a")
        open_writer.merge()
        open_writer.commit()
    index = SparseIndex.open(tmp_path / "index")
    assert files_of(index).files == files_of(build_at(tmp_path / "fresh", [("b", {"x": 2, "y": 1})])).files
    assert [doc_id for doc_id, _ in search(index, ["x"], 9, scoring=Bm25())] == ["b"]


# How it is searched


@st.composite
def corpora(draw: st.DrawFn, weights: st.SearchStrategy[float]) -> list[Bag]:
    """Draw random documents, or such as all tie, have one term, or are each better than the one before."""
    bag = st.dictionaries(TERMS, weights, max_size=8)
    kind = draw(st.sampled_from(["random", "random", "tied", "one term", "rising", "one best"]))
    count = draw(st.integers(1, 40))
    if kind == "random":
        return draw(st.lists(bag, min_size=1, max_size=40))
    if kind == "tied":
        return [draw(bag)] * count
    if kind == "one term":
        return [{"a": weight} for weight in draw(st.lists(weights, min_size=1, max_size=40))]
    if kind == "rising":
        return [{"a": 1 + number, "b": draw(weights)} for number in range(count)]
    return [*([{"a": draw(weights), "b": draw(weights)}] * count), dict.fromkeys("abcdefgh", draw(weights))]


COUNTS = st.integers(1, 3) | st.sampled_from([1, 2, 255, 70_000])
FLOATS = st.sampled_from([0.5, 1.0, 1.0000001, 1e-6, 1e6, 0.1, 0.2, 0.3]) | st.floats(1e-6, 1e6)
QUERIES = st.lists(
    st.dictionaries(TERMS | st.just("unknown"), st.sampled_from([1, 2, 0.1, 1e-6, 1e6]) | st.floats(1e-6, 1e6)),
    min_size=1,
    max_size=4,
)
WAYS = st.fixed_dictionaries({"_DENSE_SHARE": st.sampled_from([0.0, 0.3, 0.6, 1.0])})


def hold_to_oracle(
    index: SparseIndex, scoring: Scoring, query: Bag, expected: Mapping[str, float], allowed: np.ndarray | None
) -> None:
    """Compare scores, exact rankings, and what is promised of a budget."""
    options: dict[str, Any] = {"scoring": scoring, "allowed": allowed}
    if allowed is not None:
        expected = dict(zip(expected, np.where(allowed, list(expected.values()), 0).tolist(), strict=True))
    assert index.scores(query, **options).tolist() == list(expected.values())
    ranking = SparseOracle.rank(expected, 1_000)
    for k in (1, 2, 5, 1_000):
        assert search(index, query, k, **options) == ranking[:k]
    for budget in (Budget(0.5, 1), Budget(0.3, 4)):
        longest = search(index, query, 1_000, budget=budget, **options)
        assert sorted(longest) == sorted(ranking)  # all scores are exact, and the others follow
        for k in (1, 3, 7):
            assert search(index, query, k, budget=budget, **options) == longest[:k]


def test_products_against_oracle(free_of_cost: Callable[..., None], looks: list[Any]) -> None:
    """Inner products of floats from 1e-6 to 1e6 equal the oracle's to the last bit, exact and within budgets."""

    @settings(max_examples=120, derandomize=True)
    @given(corpora(FLOATS) | corpora(COUNTS), QUERIES, WAYS, st.sampled_from([0.0, 0.4]), st.randoms())
    def hold(bags: list[Bag], queries: list[Bag], ways: dict[str, float], barred: float, random: Any) -> None:
        documents = name_all(bags)
        random.shuffle(documents)
        oracle = WeightedOracle(documents)
        allowed = np.array([random.random() >= barred for _ in documents]) if barred else None
        with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
            set_all(free_of_cost, patch, ways)
            index = build_at(folder, documents)
            for query in queries:
                hold_to_oracle(index, DotProduct(), query, oracle.score_products(query), allowed)

    hold()
    assert_both_ways_were_taken(looks)


def test_bm25_against_oracle(free_of_cost: Callable[..., None], looks: list[Any]) -> None:
    """Every variant of BM25 equals the oracle's to the last bit, exact and within budgets."""

    @settings(max_examples=120, derandomize=True)
    @given(
        corpora(COUNTS),
        QUERIES,
        WAYS,
        st.sampled_from(list(VARIANTS)),
        st.sampled_from([(0.9, 0.4), (1.2, 0.75), (0.0, 0.0), (2.0, 1.0)]),
        st.randoms(),
    )
    def hold(  # noqa: PLR0917 - each is drawn
        bags: list[Bag],
        queries: list[Bag],
        ways: dict[str, float],
        variant: str,
        parameters: tuple[float, float],
        random: Any,
    ) -> None:
        documents = name_all(bags)
        random.shuffle(documents)
        oracle = WeightedOracle(documents)
        k1, b = parameters
        scoring = VARIANTS[variant](k1, b)
        delta = getattr(scoring, "delta", 0.0)
        with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
            set_all(free_of_cost, patch, ways)
            index = build_at(folder, documents)
            for query in queries:
                expected = oracle.score_bm25(query, variant, k1=k1, b=b, delta=delta)
                hold_to_oracle(index, scoring, query, expected, None)

    hold()
    assert_both_ways_were_taken(looks)


def set_all(free_of_cost: Callable[..., None], patch: pytest.MonkeyPatch, ways: Mapping[str, float]) -> None:
    free_of_cost(patch)
    for name, value in ways.items():
        patch.setattr(impacts, name, value)


def assert_both_ways_were_taken(looks: list[Any]) -> None:
    kinds = Counter(type(found).__name__ for found in looks)
    assert kinds["Pruned"] > 100
    assert kinds["Chosen"] > 300
    assert sum(type(found).__name__ == "Chosen" and len(found.left) > 0 for found in looks) > 50
    narrowed = [found for found in looks if found is not None and hasattr(found, "candidates")]
    assert any(len(found.ordinals) < len(found.candidates) for found in narrowed)


# The kernels


@settings(max_examples=100)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.3, 1.0]), st.integers(1, 6))
def test_sums_are_never_too_low(seed: int, dense_share: float, spread: int) -> None:
    """Whole-number sums are at least what the exact scores come to, but for what they say, and not far above."""
    rng = np.random.default_rng(seed)
    bags = [
        {f"t{term}": float(10 ** rng.uniform(-spread, spread)) for term in np.flatnonzero(rng.random(9) < 0.4)}
        for _ in range(50)
    ]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(impacts, "_DENSE_SHARE", dense_share)
        index = build_at(folder, name_all([*bags, {"t0": 0.5}]))
        (part,) = index.plan({f"t{term}": float(10 ** rng.uniform(-2, 2)) for term in range(9)}, scoring=DotProduct())
        found = part.segment._find_impacts(DotProduct(), index.statistics)
        factor, units = weighted._scale(found, part.rows, part.weights)
        assert factor > 0
        sums, below = found.add_up(part.rows, units)
        exact = found.score(np.arange(51), part.rows, part.weights) * factor
        assert (sums + below + 0.5 >= exact).all()
        roundings = units.sum() * (1 / 255 + 1 / 128) + 2 * len(units)
        assert (sums <= exact + roundings).all()
        dense = np.flatnonzero(found.is_dense(part.rows))
        looked_up = found.look_up(part.rows[dense], units[dense], np.arange(51))
        if len(dense):
            some = found.score(np.arange(51), part.rows[dense], part.weights[dense]) * factor
            assert (looked_up + 0.5 >= some).all()


@given(st.floats(0, weighted._LARGEST_SUM / 255))
def test_products_of_levels(ratio: float) -> None:
    """Factor and shift fit 16 bits, and are no less than the ratio but for what is cut off, nor 1/128 more."""
    factor, shift = impacts._approximate(ratio)
    for level in (0, 1, 128, 255):
        product = level * int(factor)
        assert product < 2**16
        assert (product >> int(shift)) + 1 > level * ratio * (1 - 1e-12)
        assert (product >> int(shift)) <= level * ratio * (1 + 1 / 128) + 0.01


def test_no_query_can_overflow() -> None:
    """The largest sum, with all that rounding adds for the most terms, fits the type it is kept in."""
    largest = weighted._LARGEST_SUM * (1 + 1 / 128) + weighted._MOST_TERMS
    assert largest <= np.iinfo(np.uint16).max


@pytest.mark.parametrize("extreme", [5e-324, 1e-320, 1e-300, 1e100])
def test_scores_at_the_ends_of_float64(
    build: Build, no_cost: pytest.MonkeyPatch, looks: list[Any], extreme: float
) -> None:
    """Query weights whose sums are too near to 0 are answered by the plain sum, others are pruned."""
    del no_cost
    bags = [{"a": 1.5 + n, "b": 3e38} for n in range(20)]
    index = build(name_all(bags))
    for query in ({"a": extreme}, {"a": extreme, "b": extreme}):
        scores = index.scores(query, scoring=DotProduct())
        expected = SparseOracle.rank(dict(zip(dict(name_all(bags)), scores.tolist(), strict=True)), 5)
        assert search(index, query, 5, scoring=DotProduct()) == expected
        assert search(index, query, 20, scoring=DotProduct(), budget=Budget(1, 20))[:5] == expected
    assert (looks[0] is None) == (looks[1] is None) == (extreme < 1e-310)


@pytest.mark.parametrize("dense_share", [0.0, 1.0])
def test_narrowed_candidates_have_the_best(
    build: Build, no_cost: pytest.MonkeyPatch, looks: list[Any], dense_share: float
) -> None:
    """Of documents that sums can hardly tell apart, the best k are scored, whatever k is."""
    no_cost.setattr(impacts, "_DENSE_SHARE", dense_share)
    rng = np.random.default_rng(4)
    bags = []
    for _ in range(300):
        levels = rng.integers(100, 256, 8) + rng.choice([0, 1e-4, 1 - 1e-4], 8)
        bags.append({f"t{term}": level for term, level in enumerate(levels.tolist())})
    index, oracle = build(name_all(bags)), WeightedOracle(name_all(bags))
    for _ in range(100):
        query = {f"t{term}": float(10 ** rng.uniform(-3, 0)) for term in range(8)}
        expected = SparseOracle.rank(oracle.score_products(query), 5)
        for k in (1, 2, 5):
            assert search(index, query, k, scoring=DotProduct(), budget=Budget(1, 300)) == expected[:k]
    assert all(len(found.ordinals) < 100 for found in looks)


@pytest.mark.parametrize("budget", [None, Budget(1, 9)])
def test_many_impacts_below_the_unit(
    build: Build, no_cost: pytest.MonkeyPatch, looks: list[Any], budget: Budget | None
) -> None:
    """A document that is best by many frequent terms, each too light for whole numbers, is scored."""
    no_cost.setattr(impacts, "_DENSE_SHARE", 0.3)
    light = {f"light{term}": 0.9 for term in range(20)}
    bags = [{"heavy": 1.0} | dict.fromkeys(light, 1.0), {"heavy": 1.0, "middle": 1.0}, *[dict.fromkeys(light, 1.0)] * 8]
    query = {"heavy": 57_000, "middle": 10} | light
    ((doc_id, score),) = search(build(name_all(bags)), query, 1, scoring=DotProduct(), budget=budget)
    assert (doc_id, score) == ("d0000", pytest.approx(57_018))
    assert looks[-1] is not None


def test_budget_for_everything(build: Build, no_cost: pytest.MonkeyPatch, looks: list[Any]) -> None:
    """With all weight and a candidate for each document the ranking is the exact one."""
    del no_cost
    rng = np.random.default_rng(8)
    bags = [{f"t{term}": float(weight) for term, weight in enumerate(rng.uniform(0.1, 9, 6))} for _ in range(50)]
    query = {f"t{term}": 1 + term / 7 for term in range(6)}
    expected = SparseOracle.rank(WeightedOracle(name_all(bags)).score_products(query), 60)
    assert search(build(name_all(bags)), query, 60, scoring=DotProduct(), budget=Budget(1, 50)) == expected
    assert len(looks[-1].candidates) == 50


def test_one_document_is_summed_in_order(build: Build) -> None:
    """A document that is scored alone gets the sum in the order of the terms, not one of pairs."""
    index = build([("d", dict.fromkeys("abcdefgh", 0.5))])
    query = dict(zip("abcdefgh", [1, 1, 1, 1, 1, 0.1, 1, 0.1], strict=True))
    (part,) = index.plan(query, scoring=DotProduct())
    found = part.segment._find_impacts(DotProduct(), index.statistics)
    (expected,) = WeightedOracle([("d", dict.fromkeys("abcdefgh", 0.5))]).score_products(query).values()
    assert found.score(np.array([0]), part.rows, part.weights).tolist() == [expected]


def test_weights_below_the_smallest_unit(build: Build, no_cost: pytest.MonkeyPatch, looks: list[Any]) -> None:
    """Documents that differ by less than sums can tell are told apart by their scores."""
    del no_cost
    bags = [{"a": 1e6, "b": 1e-6 * (1 + n)} for n in range(30)]
    oracle = WeightedOracle(name_all(bags))
    query = {"a": 1e-3, "b": 1e-3}
    expected = SparseOracle.rank(oracle.score_products(query), 3)
    assert search(build(name_all(bags)), query, 3, scoring=DotProduct()) == expected
    assert len({score for _, score in expected}) == 3
    assert looks[-1] is not None


# A larger corpus, with every bound of cost as it is


@pytest.fixture(scope="module", params=["counts", "weights"])
def larger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[SparseIndex, list[Bag]]:
    """Build an index of 12,000 documents, and queries."""
    rng = np.random.default_rng(5)
    shares = 0.6 / np.arange(1, 121)
    bags = []
    for _ in range(12_000):
        terms = np.flatnonzero(rng.random(120) < shares)
        values = rng.geometric(0.5, len(terms)) if request.param == "counts" else rng.lognormal(0, 1, len(terms))
        bags.append({f"t{term}": value for term, value in zip(terms.tolist(), values.tolist(), strict=True)})
    index = build_at(tmp_path_factory.mktemp("larger"), name_all(bags))
    queries = [
        {f"t{term}": float(rng.uniform(0.5, 2)) for term in rng.choice(120, 20, replace=False)} for _ in range(20)
    ]
    return index, queries


@pytest.mark.parametrize("scoring", [DotProduct(), Bm25(), Bm25Robertson(), Bm25L(), Bm25Plus()])
def test_larger_corpus_as_the_plain_sum(
    larger: tuple[SparseIndex, list[Bag]], looks: list[Any], plainly: Callable[[], None], scoring: Scoring
) -> None:
    """Pruned as it pays, with a filter too, the answer is the plain sum's to the last bit."""
    index, queries = larger
    if scoring.needs_counts and index.segments[0].has_weights:
        with pytest.raises(InputError, match="no counts"):
            index.rank(queries[0], scoring=scoring)
        return
    allowed = np.random.default_rng(2).random(len(index)) < 0.5
    asked = [(query, filtered) for query in queries for filtered in (None, allowed)]
    quick = [index.rank(query, top_k=10, scoring=scoring, allowed=filtered) for query, filtered in asked]
    assert sum(found is not None for found in looks) > 30
    assert max(len(found.ordinals) for found in looks if found is not None) < 400
    plainly()
    for (query, filtered), (ordinals, scores) in zip(asked, quick, strict=True):
        plain_ordinals, plain_scores = index.rank(query, top_k=10, scoring=scoring, allowed=filtered)
        assert ordinals.tolist() == plain_ordinals.tolist()
        assert scores.tolist() == plain_scores.tolist()


def test_explained_as_searched(larger: tuple[SparseIndex, list[Bag]]) -> None:
    """An explanation has the score of the search, and says that it was pruned, or within a budget."""
    index, queries = larger
    best = index.search(queries[0], top_k=3, scoring=DotProduct())
    for budget, method in ((None, "pruned"), (Budget(0.5, 50), "budget")):
        found = index.explain(queries[0], best[0].doc_id, top_k=3, scoring=DotProduct(), budget=budget)
        assert found.score == best[0].score
        assert (found.evaluation.method, found.evaluation.is_scored) == (method, True)


def test_many_threads_at_once(larger: tuple[SparseIndex, list[Bag]]) -> None:
    """Threads that make impacts at the same time come to the same answers."""
    index, queries = larger
    scorings = [DotProduct(), IdfOverlap()] if index.segments[0].has_weights else [DotProduct(), Bm25(), Bm25L()]
    asked = [(query, scoring) for query in queries[:8] for scoring in scorings] * 3
    expected = [index.search(query, scoring=scoring, top_k=9) for query, scoring in asked]
    index.segments[0]._impacts = ()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda one: index.search(one[0], scoring=one[1], top_k=9), asked))
    assert found == expected
