"""The forward index: each document's terms as they were added, and scores from them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.sparse import add_up

from sicetnon.sparse import SparseIndex, SparseIndexBuilder, forward
from sicetnon.sparse.forward import ForwardIndex

SEGMENT = "segment-000001"

MakeForward = Callable[..., ForwardIndex]


def assert_scores(
    index: ForwardIndex, documents: Sequence[Sequence[int]], ordinals: Sequence[int], weights: Mapping[int, float]
) -> None:
    """Check that the scores are what Python adds up one by one, and the whole sums what it counts."""
    chosen, rows = np.array(ordinals, np.intp), np.array(list(weights), np.intp)
    given_weights = np.array(list(weights.values()))
    expected = []
    for ordinal in ordinals:
        has = set(documents[ordinal])
        expected.append(add_up(weight for row, weight in weights.items() if row in has))
    scores = index.score(chosen, rows, given_weights)
    assert scores.dtype == np.float64
    assert scores.tolist() == expected
    whole = np.floor(given_weights / max(given_weights.sum(), 1e-9) * 65_535).astype(np.uint16)
    by_row = dict(zip(weights, whole.tolist(), strict=True))
    sums = [sum(by_row.get(row, 0) for row in documents[ordinal]) for ordinal in ordinals]
    assert index.sum_whole(chosen, rows, whole).tolist() == sums


def draw_weights(generator: np.random.Generator, term_count: int, size: int) -> dict[int, float]:
    """Give random terms weights that add up to other last bits in another order."""
    rows = np.sort(generator.permutation(term_count)[:size])
    return dict(zip(rows.tolist(), generator.gamma(0.5, 3, size).tolist(), strict=True))


def test_files_by_hand(build: Callable[..., SparseIndex]) -> None:
    """Rows end to end in the order of adding, a repeated term once, and as many zeros as the longest may be read to."""
    index = build([("d1", ["b", "a", "b"]), ("d0", []), ("d2", ["c", "a", "b", "c"])])
    stored = index.stored
    assert stored.array(f"{SEGMENT}/forward-starts.npy").tolist() == [0, 2, 2, 5]
    rows = stored.array(f"{SEGMENT}/forward.npy")
    assert rows.dtype == np.uint16
    assert rows.tolist() == [0, 1, 2, 1, 0, *[0] * 8]
    assert stored.count(f"{SEGMENT}/longest") == 3
    assert not stored.has(f"{SEGMENT}/forward-frequencies.npy")


def test_frequencies_by_hand(build: Callable[..., SparseIndex]) -> None:
    """Frequencies lie as the rows do, 1 for each term of a document given as a set."""
    stored = build([("set", ["b", "a", "b"]), ("bag", {"a": 7, "c": 1, "b": 300})]).stored
    assert stored.array(f"{SEGMENT}/forward.npy")[:5].tolist() == [0, 1, 1, 2, 0]
    frequencies = stored.array(f"{SEGMENT}/forward-frequencies.npy")
    assert frequencies.dtype == np.uint16
    assert frequencies.tolist() == [1, 1, 7, 1, 300]


def test_scores_by_hand(make_forward: MakeForward) -> None:
    """A document's score is the sum of the weights of the terms it has, whatever the order of the documents."""
    index = make_forward([[2, 0], [1], [], [3, 1, 2]], 4)
    assert [index.read(ordinal).tolist() for ordinal in range(4)] == [[2, 0], [1], [], [3, 1, 2]]
    assert index.count_terms(np.array([3, 2])).tolist() == [3, 0]
    assert index.list_cells(np.array([3, 0])).tolist() == [3, 4, 5, 0, 1]
    chosen, rows = np.array([3, 0, 2]), np.array([1, 2])
    assert index.score(chosen, rows, np.array([0.5, 4.0])).tolist() == [4.5, 4.0, 0.0]
    assert index.sum_whole(chosen, rows, np.array([3, 10], np.uint16)).tolist() == [13, 10, 0]
    assert index.score(np.empty(0, np.intp), rows, np.array([0.5, 4.0])).tolist() == []
    assert index.score(chosen, np.empty(0, np.intp), np.empty(0)).tolist() == [0, 0, 0]


def test_a_padding_row_is_no_term(make_forward: MakeForward) -> None:
    """Neither the zeros at the end nor a neighbour's terms count for a document that is short."""
    index = make_forward([[1], [0, 2, 3], [1]], 4)
    weights = {0: 8.0, 1: 1.0, 2: 2.0, 3: 4.0}
    assert_scores(index, [[1], [0, 2, 3], [1]], [0, 1, 2], weights)
    assert_scores(index, [[1], [0, 2, 3], [1]], [2], weights)


def test_one_document_alone(make_forward: MakeForward) -> None:
    """One document alone is summed in the order of the rows too, where NumPy would add a single column in pairs."""
    weights = {row: 0.1 * (row + 1) for row in range(9)}
    assert add_up(weights.values()) != np.sum(list(weights.values()))
    assert_scores(make_forward([list(range(9)), [0]], 9), [list(range(9)), [0]], [0], weights)


@pytest.mark.parametrize("ordinals", [[1], [3], [0, 1, 3], [3, 1, 2]])
def test_documents_without_terms(make_forward: MakeForward, ordinals: list[int]) -> None:
    """A document without terms scores 0, alone or among others, at the end too."""
    documents = [[0, 1], [], [1, 2], []]
    assert_scores(make_forward(documents, 3), documents, ordinals, {0: 0.1, 1: 0.2, 2: 0.3})


def test_only_documents_without_terms(make_forward: MakeForward) -> None:
    """Where no document has a term, all score 0."""
    assert_scores(make_forward([[], []], 3), [[], []], [0, 1], {0: 0.1, 2: 0.3})


@pytest.mark.parametrize("width", [7, 8, 9, 1_023, 1_024, 1_025, 1_300])
def test_widths(make_forward: MakeForward, width: int) -> None:
    """Tables up to 1,024 terms wide, whose lengths are marked in advance, and wider ones."""
    generator = np.random.default_rng(width)
    lengths = [width, width, width - 1, width // 2 + 1, width // 2 + 1]
    documents = [generator.permutation(2_000)[:length].tolist() for length in lengths]
    index = make_forward(documents, 2_000)
    assert_scores(index, documents, [0, 1, 2, 3, 4], draw_weights(generator, 2_000, 900))
    assert_scores(index, documents, [4, 2, 0], draw_weights(generator, 2_000, 200))
    for ordinal in range(5):
        assert_scores(index, documents, [ordinal], draw_weights(generator, 2_000, 900))


def count_tables(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Note the shape of each table that is read."""
    shapes: list[tuple[int, int]] = []
    real = ForwardIndex._read_table

    def read_table(*arguments: object) -> np.ndarray:
        numbers = real(*arguments)  # type: ignore[arg-type]
        shapes.append(numbers.shape)
        return numbers

    monkeypatch.setattr(ForwardIndex, "_read_table", read_table)
    return shapes


def test_long_beside_short(make_forward: MakeForward, monkeypatch: pytest.MonkeyPatch) -> None:
    """Very long documents beside short ones are read in tables of like length, not all as wide as the longest."""
    generator = np.random.default_rng(1)
    lengths = generator.integers(0, 9, 400)
    lengths[[17, 250]] = 3_000, 1_400  # each the only one of about its length
    documents = [generator.permutation(5_000)[:length].tolist() for length in lengths.tolist()]
    index = make_forward(documents, 5_000)
    shapes = count_tables(monkeypatch)
    for size in (400, 40):
        ordinals = [17, *generator.permutation(400)[:size].tolist(), 250]
        ordinals = list(dict.fromkeys(ordinals))
        shapes.clear()
        assert_scores(index, documents, ordinals, draw_weights(generator, 5_000, 2_000))
        assert len(shapes) > 4  # several tables for the scores, and as many for the sums
        assert sum(rows * width for rows, width in shapes) < 2 * (3_000 + 1_400 + size * 16)


def test_many_tables(make_forward: MakeForward, monkeypatch: pytest.MonkeyPatch) -> None:
    """More cells than are read at once come in several tables."""
    monkeypatch.setattr(forward, "_CELLS_AT_ONCE", 256)
    generator = np.random.default_rng(2)
    documents = [generator.permutation(50)[: 8 + number % 9].tolist() for number in range(100)]
    index = make_forward(documents, 50)
    shapes = count_tables(monkeypatch)
    scores = index.score(np.arange(100), np.arange(5), np.arange(1.0, 6.0))
    assert scores.tolist() == [float(sum(row + 1 for row in terms if row < 5)) for terms in documents]
    assert len(shapes) > 5
    assert all(rows * width <= 256 for rows, width in shapes)


def test_more_terms_than_16_bits_count(make_forward: MakeForward) -> None:
    """With more than 65,536 terms rows take 32 bits, and the highest are told from the lowest."""
    documents = [[65_536, 0], [0], [65_535, 65_536], [1]]
    index = make_forward(documents, 65_537)
    assert index.rows.dtype == np.int32
    assert_scores(index, documents, [0, 1, 2, 3], {0: 0.1, 1: 0.7, 65_535: 0.2, 65_536: 0.3})
    assert make_forward([[65_535]], 65_536).rows.dtype == np.uint16


def test_largest_whole_sums(make_forward: MakeForward) -> None:
    """Sums reach 65,535 without a carry, also where all comes from places that are added side by side."""
    one = [[0], [1, 2, 3, 4, 0, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14, 15, 0]]
    lane = [[16 * n + place for n in range(8) for place in range(8)] for _ in range(2)]
    documents = [*one, *lane]
    index = make_forward(documents, 200)
    ordinals = np.arange(len(documents))
    assert index.sum_whole(ordinals, np.array([0]), np.array([65_535], np.uint16)).tolist() == [65_535] * 5
    rows = np.arange(0, 128, 4)  # one lane in four of the last documents
    whole = np.full(len(rows), 65_535 // len(rows), np.uint16)
    whole[0] += 65_535 - whole.sum(dtype=np.int64)
    by_row = dict(zip(rows.tolist(), whole.tolist(), strict=True))
    sums = [sum(by_row.get(row, 0) for row in terms) for terms in documents]
    assert index.sum_whole(ordinals, rows, whole).tolist() == sums
    spread = np.arange(128)
    whole = np.full(128, 511, np.uint16)
    whole[-1] += 65_535 - whole.sum(dtype=np.int64)
    everything = make_forward([list(range(128)), list(range(64)), []], 128)
    assert everything.sum_whole(np.arange(3), spread, whole).tolist() == [65_535, 64 * 511, 0]


@settings(max_examples=150)
@given(st.data())
def test_scores_property(make_forward: MakeForward, data: st.DataObject) -> None:
    """Whatever the documents, one or more are scored as Python adds up, however the query is ordered."""
    term_count = data.draw(st.integers(1, 40))
    terms = st.lists(st.integers(0, term_count - 1), unique=True, max_size=40)
    documents = data.draw(st.lists(terms, min_size=1, max_size=20))
    index = make_forward(documents, term_count)
    ordinals = data.draw(st.lists(st.integers(0, len(documents) - 1), unique=True, min_size=1))
    rows = data.draw(st.lists(st.integers(0, term_count - 1), unique=True, min_size=1))
    weights = data.draw(st.lists(st.floats(1e-9, 1e9), min_size=len(rows), max_size=len(rows)))
    assert_scores(index, documents, ordinals, dict(zip(rows, weights, strict=True)))


TERMS = st.sampled_from(["", *"abcdefghij", "é", "\U0001d518", "\ud800"])
DOCUMENTS = st.lists(st.lists(TERMS, max_size=12) | st.dictionaries(TERMS, st.integers(1, 300)), min_size=1)


@settings(max_examples=60)
@given(DOCUMENTS, st.integers(1, 9))
def test_round_trip(documents: list[list[str] | dict[str, int]], buffered: int) -> None:
    """However much is held in memory, each document comes back with its terms in the order they were added."""
    with tempfile.TemporaryDirectory() as folder:
        with SparseIndexBuilder(Path(folder), buffered_postings=buffered) as builder:
            for number, terms in enumerate(documents):
                builder.add(str(number), terms)
            builder.commit()
        (segment,) = SparseIndex.open(folder).segments
        counts, rows, frequencies = segment.read_documents(np.arange(len(documents)))
        names = [segment.terms[row] for row in rows.tolist()]
        repeated = [1] * len(names) if frequencies is None else frequencies.tolist()
        found = iter(zip(names, repeated, strict=True))
        came_back = [dict(next(found) for _ in range(count)) for count in counts.tolist()]
        expected = [terms if isinstance(terms, dict) else dict.fromkeys(terms, 1) for terms in documents]
        assert [list(bag.items()) for bag in came_back] == [list(bag.items()) for bag in expected]
