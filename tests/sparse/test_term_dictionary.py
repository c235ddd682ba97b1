"""Rows by term, held in memory or looked up by hash, also where hashes collide."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from sicetnon.sparse import terms
from sicetnon.sparse.terms import TermDictionary, write_terms
from sicetnon.storage import DirectoryWriter, StoredDirectory

WORDS = ["b", "a", "", "é", "a\n", "\ud800"]


def store(path: Path, words: list[str]) -> TermDictionary:
    """Write a dictionary and open it."""
    with DirectoryWriter(path, kind="terms") as writer:
        write_terms(writer, "folder", words)
        writer.commit({}, {})
    return TermDictionary.open(StoredDirectory.open(path, kind="terms"), "folder", length=len(words))


@pytest.fixture(params=["held", "looked up"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[TermDictionary], None]:
    """Have dictionaries of a few terms held in memory, as they are, or looked up by hash, as larger ones are."""
    if request.param == "looked up":
        monkeypatch.setattr(terms, "_MOST_HELD", -1)

    def check(dictionary: TermDictionary) -> None:
        assert (dictionary._by_term is None) == (request.param == "looked up")

    return check


def test_round_trip(tmp_path: Path, either_way: Callable[[TermDictionary], None]) -> None:
    """Every term has its row back, an unknown one -1."""
    dictionary = store(tmp_path, WORDS)
    assert dictionary.find_rows([*WORDS, "c"]) == [0, 1, 2, 3, 4, 5, -1]
    assert dictionary.find_rows(["c", "a", "a"]) == [-1, 1, 1]
    assert [dictionary[row] for row in range(len(dictionary))] == WORDS
    either_way(dictionary)


def test_no_terms(tmp_path: Path, either_way: Callable[[TermDictionary], None]) -> None:
    """An empty dictionary knows no term, and no terms have no rows."""
    dictionary = store(tmp_path, [])
    assert dictionary.find_rows(["a"]) == [-1]
    assert store(tmp_path, WORDS).find_rows([]) == []
    either_way(dictionary)


def test_files_by_hand(tmp_path: Path) -> None:
    """Hashes lie in ascending order, each with its row."""
    dictionary = store(tmp_path, WORDS)
    hashes = [int.from_bytes(terms.hash_term(word.encode("utf-8", "surrogatepass")), "little") for word in WORDS]
    assert dictionary._hashes.tolist() == sorted(hashes)
    assert [hashes[row] for row in dictionary._rows.tolist()] == sorted(hashes)
    assert dictionary._hashes.dtype == np.uint64


@pytest.mark.parametrize("hashed", [bytes(8), b"\xff" * 8])
def test_colliding_hashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashed: bytes, either_way: Callable[[TermDictionary], None]
) -> None:
    """Terms of equal hash are told apart."""
    monkeypatch.setattr(terms, "hash_term", lambda _: hashed)
    dictionary = store(tmp_path, WORDS)
    assert dictionary.find_rows([*WORDS, "c"]) == [0, 1, 2, 3, 4, 5, -1]
    either_way(dictionary)


def test_threads(tmp_path: Path, either_way: Callable[[TermDictionary], None]) -> None:
    """Threads that ask first, all at once, have the same answers."""
    words = [f"word {number}" for number in range(500)]
    dictionary = store(tmp_path, words)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(dictionary.find_rows, [[*words, "c"]] * 16))
    assert found == [[*range(500), -1]] * 16
    either_way(dictionary)


def test_hash_is_fixed() -> None:
    """The hash is part of the format: 8 bytes of BLAKE2b."""
    assert terms.hash_term(b"habeas corpus").hex() == "d35d9dbbe5db2ac7"
