"""Rows by term, also where hashes collide."""

from __future__ import annotations

from pathlib import Path

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


def test_round_trip(tmp_path: Path) -> None:
    """Every term has its row back, an unknown one -1."""
    dictionary = store(tmp_path, WORDS)
    assert dictionary.find_rows([*WORDS, "c"]) == [0, 1, 2, 3, 4, 5, -1]
    assert [dictionary[row] for row in range(len(dictionary))] == WORDS


def test_no_terms(tmp_path: Path) -> None:
    """An empty dictionary knows no term, and no terms have no rows."""
    assert store(tmp_path, []).find_rows(["a"]) == [-1]
    assert store(tmp_path, WORDS).find_rows([]) == []


@pytest.mark.parametrize("hashed", [bytes(8), b"\xff" * 8])
def test_colliding_hashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashed: bytes) -> None:
    """Terms of equal hash are told apart."""
    monkeypatch.setattr(terms, "hash_term", lambda _: hashed)
    assert store(tmp_path, WORDS).find_rows([*WORDS, "c"]) == [0, 1, 2, 3, 4, 5, -1]


def test_hash_is_fixed() -> None:
    """The hash is part of the format: 8 bytes of BLAKE2b."""
    assert terms.hash_term(b"habeas corpus").hex() == "d35d9dbbe5db2ac7"
