"""Many strings in two files, any of them back by its number."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sicetnon.errors import IndexDamaged
from sicetnon.storage import DirectoryWriter, StoredDirectory, StringTable, strings, write_strings

ANY_TEXT = st.text(st.characters())  # surrogates too


def store(path: Path, values: list[str]) -> StoredDirectory:
    """Write the strings and open the directory."""
    with DirectoryWriter(path, kind="strings") as writer:
        write_strings(writer, "names", values)
        writer.commit({}, {})
    return StoredDirectory.open(path, kind="strings")


def test_by_hand(tmp_path: Path) -> None:
    """Three strings are their UTF-8 bytes end to end, and four offsets."""
    stored = store(tmp_path, ["a", "", "é\n"])
    assert stored.path("names.bin").read_bytes() == b"a\xc3\xa9\n"
    assert np.load(stored.path("names-offsets.npy")).tolist() == [0, 1, 1, 4]


@settings(max_examples=30)
@given(st.lists(ANY_TEXT | st.sampled_from(["", "\n", "\0", "\U0001d518", "\ud800"])))
def test_round_trip(values: list[str]) -> None:
    """Any strings come back: empty, with newlines, beyond the basic plane, lone surrogates."""
    with tempfile.TemporaryDirectory() as folder:
        table = StringTable.open(store(Path(folder), values), "names")
        assert len(table) == len(values)
        assert table.to_list() == list(table) == [table[number] for number in range(len(table))] == values
        assert table.take(np.arange(len(values))[::-1]) == values[::-1]


def test_many_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strings that are encoded in several chunks are the same table."""
    monkeypatch.setattr(strings, "_CHUNK", 3)
    values = [str(number) for number in range(10)]
    assert StringTable.open(store(tmp_path, values), "names").to_list() == values


@pytest.mark.parametrize("number", [-1, 2])
def test_numbers_out_of_range(tmp_path: Path, number: int) -> None:
    """A number that no string has is an IndexError, one at a time or among many."""
    table = StringTable.open(store(tmp_path, ["a", "b"]), "names")
    with pytest.raises(IndexError):
        table[number]
    with pytest.raises(IndexError):
        table.take([0, number])


def test_offsets_that_do_not_fit(tmp_path: Path) -> None:
    """Offsets that do not end at the size of the bytes are damage, and so is another number of strings."""
    with DirectoryWriter(tmp_path, kind="strings") as writer:
        writer.save_bytes("names.bin", [b"abc"])
        writer.save("names-offsets.npy", np.array([0, 2]))
        writer.commit({}, {})
    stored = StoredDirectory.open(tmp_path, kind="strings")
    with pytest.raises(IndexDamaged, match=r"names-offsets\.npy"):
        StringTable.open(stored, "names")
    with pytest.raises(IndexDamaged, match="length 4"):
        StringTable.open(stored, "names", length=3)


@pytest.mark.parametrize("offsets", [[0, 4, 3], [0, -2, 3], [0, 9, 3], [0, -(2**63), 3], [0, 2**63 - 1, 3], [-1, 0, 3]])
def test_offsets_that_do_not_rise(offsets: list[int]) -> None:
    """Bytes taken by altered offsets are those of some place within the table, or an IndexError."""
    table = StringTable(b"abc", np.array(offsets))
    refused = 0
    for number in (0, 1):
        try:
            found = table.take_bytes(np.array([number]))
        except IndexError:
            refused += 1
        else:
            assert found is None or found.tobytes() in b"abc"
    assert refused
