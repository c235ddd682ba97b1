"""Where one type of number ends and the next begins, and what is beyond the last."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle.sparse import SparseOracle

from sicetnon.errors import InputError
from sicetnon.sparse import Bm25, Budget, SparseIndex, SparseIndexBuilder, layout, segment_builder
from sicetnon.storage import StoredDirectory

Build = Callable[..., SparseIndex]

SEGMENT = "segment-000001"


def pairs(index: SparseIndex, query: list[str], **options: Any) -> list[tuple[str, float]]:
    """Return (ID, score) of each document found."""
    return [(hit.doc_id, hit.score) for hit in index.search(query, **options)]


@pytest.mark.parametrize(
    ("term_count", "dtype"), [(1, np.uint16), (65_535, np.uint16), (65_536, np.uint16), (65_537, np.int32)]
)
def test_rows_of_the_forward_index(
    build: Build, no_cost: pytest.MonkeyPatch, looks: list[Any], term_count: int, dtype: type
) -> None:
    """Up to 65,536 terms rows take 16 bits, then 32; the last term is found and scored like any other."""
    no_cost.setattr("sicetnon.sparse.bitmaps._DOCUMENTS_A_POSTING", 3)
    names = [f"t{number}" for number in range(term_count)]
    corpus = [(f"d{number:03}", names[number::100] + names[-1:]) for number in range(100)]
    corpus += [(f"e{number}", names[:1]) for number in range(5)]
    index, oracle = build(corpus), SparseOracle(corpus)
    assert index.term_count == term_count
    stored = index.stored.array(f"{SEGMENT}/forward.npy")
    assert stored.dtype == dtype
    assert stored.max() == term_count - 1
    query = list(dict.fromkeys([names[-1], names[0], names[term_count // 2]]))
    expected = oracle.score_overlap(query)
    for budget in (None, Budget(0.9, 200)):
        assert pairs(index, query, top_k=3, budget=budget) == oracle.rank(expected, 3)
        assert pairs(index, query, top_k=200, budget=budget) == oracle.rank(expected, 200)
    assert [look is not None for look in looks] == [True, False, True, True]


@pytest.mark.parametrize(
    ("highest", "dtype"),
    [
        (2, np.uint8),
        (255, np.uint8),
        (256, np.uint16),
        (65_535, np.uint16),
        (65_536, np.uint32),
        (layout.MAX_LENGTH - 6, np.uint32),
    ],
)
@pytest.mark.parametrize("buffered", [1, 4, 1_000])
def test_frequencies(tmp_path: Path, highest: int, dtype: type, buffered: int) -> None:
    """Frequencies take the fewest bytes that hold the highest, by term and by document, however they were buffered."""
    corpus = [("set", ["b", "b", "c"]), ("bag", {"a": highest, "b": 2}), ("more", ["b", "a"]), ("one", {"c": 4})]
    with SparseIndexBuilder(tmp_path, buffered_postings=buffered) as builder:
        for doc_id, terms in corpus:
            builder.add(doc_id, terms)
        builder.commit()
    stored = StoredDirectory.open(tmp_path, kind="sparse")
    by_term, by_document = (stored.array(f"{SEGMENT}/{name}.npy") for name in ("frequencies", "forward-frequencies"))
    assert by_term.dtype == by_document.dtype == dtype
    assert by_term.tolist() == [1, 2, 1, 1, 4, highest, 1]  # of b, c and a
    assert by_document.tolist() == [1, 1, highest, 2, 1, 1, 4]
    lengths = stored.array(f"{SEGMENT}/document-lengths.npy")
    assert lengths.dtype == np.uint32
    assert lengths.tolist() == [2, highest + 2, 2, 4]
    assert stored.count("tokens") == highest + 10
    oracle = SparseOracle([(doc_id, bag if isinstance(bag, dict) else dict.fromkeys(bag, 1)) for doc_id, bag in corpus])
    expected = oracle.score_bm25(["a", "b"], 0.9, 0.4)
    assert dict(pairs(SparseIndex.open(tmp_path), ["a", "b"], scoring=Bm25())) == pytest.approx(
        {doc_id: score for doc_id, score in expected.items() if score > 0}
    )


def test_longest_document(tmp_path: Path) -> None:
    """A document has as many tokens as 32 bits count, and no more."""
    with SparseIndexBuilder(tmp_path) as builder:
        builder.add("fits", {"a": layout.MAX_LENGTH - 1, "b": 1})
        with pytest.raises(InputError, match="'beyond' with a frequency that is no count"):
            builder.add("beyond", {"a": layout.MAX_LENGTH, "b": 1})
        builder.commit()
    index = SparseIndex.open(tmp_path)
    assert index.segments[0].lengths.tolist() == [layout.MAX_LENGTH]
    assert index.statistics.average_length == layout.MAX_LENGTH


def test_more_terms_than_rows_can_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Terms past the range of their rows are refused when they are spilled, and the old index stays."""
    with SparseIndexBuilder(tmp_path / "index") as builder:
        builder.add("old", ["a"])
        builder.commit()
    monkeypatch.setattr(segment_builder, "MAX_COUNT", 3)
    with SparseIndexBuilder(tmp_path / "index", buffered_postings=2) as builder:
        builder.add("1", ["a", "b", "a"])
        builder.add("2", ["c"])
        with pytest.raises(
            InputError, match="more than 3 distinct terms; expected at most that many; split the corpus"
        ):
            builder.add("3", ["d", "e"])
    assert pairs(SparseIndex.open(tmp_path / "index"), ["a"])[0][0] == "old"


def test_as_many_as_can_be_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Just as many documents and terms as their ordinals and rows count are fine."""
    monkeypatch.setattr(segment_builder, "MAX_COUNT", 3)
    with SparseIndexBuilder(tmp_path) as builder:
        for doc_id, term in zip("123", "abc", strict=True):
            builder.add(doc_id, [term])
        with pytest.raises(InputError, match="more than 3 documents; expected at most that many; split the corpus"):
            builder.add("4", ["a"])
        builder.commit()
    assert SparseIndex.open(tmp_path).term_count == 3


def test_terms_given_once(tmp_path: Path) -> None:
    """Terms that can be read only once are read once."""

    def spell() -> Iterator[str]:
        yield from ("a", "b", "a")

    with SparseIndexBuilder(tmp_path) as builder:
        builder.add("d", spell())
        builder.commit()
    assert SparseIndex.open(tmp_path).read_terms(0) == ["a", "b"]


@pytest.mark.parametrize(("longest", "padding"), [(0, 8), (1, 8), (8, 8), (9, 16), (1_025, 1_032)])
def test_padding(build: Build, longest: int, padding: int) -> None:
    """The forward index ends in as many zeros as the longest document may be read beyond the last."""
    index = build([("a", [f"t{number}" for number in range(longest)]), ("b", [])])
    rows = index.stored.array(f"{SEGMENT}/forward.npy")
    assert len(rows) == longest + padding
    assert not rows[longest:].any()
