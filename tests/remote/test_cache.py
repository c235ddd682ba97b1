"""Answers kept on disk: found again by whoever asks the same, and never guessed from a file that is damaged."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from sicetnon.errors import EndpointError
from sicetnon.remote import AnswerCache, Settings
from sicetnon.remote.cache import FILE

KIND = "kind"
WRITE_FROM_OUTSIDE = """
import sys
from pathlib import Path
from sicetnon.remote import AnswerCache, Settings
cache = AnswerCache(Settings(url="http://h/v1", model="m", cache=Path(sys.argv[1])))
for number in range(50):
    cache.write("kind", {f"{sys.argv[2]} {number}": sys.argv[2].encode(), "both": b"same"})
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Name a cache folder that is not there yet."""
    return Settings(url="http://h/v1", model="m", cache=tmp_path / "a" / "cache")


def test_round_trip(settings: Settings) -> None:
    """What was written is read, by text, also by another object; what was not is left out."""
    answers = {"one": b"\x00\xff", "two": b"", "\ud800": b"half", "": b"empty"}
    AnswerCache(settings).write(KIND, answers)
    assert AnswerCache(settings).read(KIND, [*answers, "three"]) == answers
    AnswerCache(settings).write(KIND, {"one": b"new"})
    assert AnswerCache(settings).read(KIND, ["one"]) == {"one": b"new"}


@pytest.mark.parametrize("change", [{"url": "http://i/v1"}, {"model": "n"}, {}])
def test_key(settings: Settings, change: dict[str, str]) -> None:
    """Another URL, another model and another kind of call have answers of their own; the key does not matter."""
    AnswerCache(settings).write(KIND, {"one": b"1"})
    assert AnswerCache(replace(settings, **change)).read(KIND if change else "other", ["one"]) == {}
    assert AnswerCache(replace(settings, key="k")).read(KIND, ["one"]) == {"one": b"1"}


def test_no_text_on_disk(settings: Settings) -> None:
    """The file holds the answers but not what was asked."""
    AnswerCache(settings).write(KIND, {"a privileged sentence": b"an answer"})
    assert settings.cache is not None
    raw = (settings.cache / FILE).read_bytes()
    assert b"an answer" in raw
    assert b"privileged" not in raw


def test_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no folder is named nothing is kept."""
    monkeypatch.chdir(tmp_path)
    cache = AnswerCache(Settings(url="http://h/v1", model="m"))
    cache.write(KIND, {"one": b"1"})
    assert cache.read(KIND, ["one"]) == {}
    assert list(tmp_path.iterdir()) == []


def test_many_writers(settings: Settings) -> None:
    """Threads and processes that make and fill one file at the same time lose nothing."""
    assert settings.cache is not None
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITE_FROM_OUTSIDE, settings.cache, name]) for name in ("p", "q")
    ]
    cache = AnswerCache(settings)

    def write(number: int) -> None:
        cache.write(KIND, {f"t {number}": b"t", "both": b"same"})
        assert cache.read(KIND, [f"t {number}"]) == {f"t {number}": b"t"}

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(100)))
    assert [process.wait() for process in processes] == [0, 0]
    texts = [*(f"t {n}" for n in range(100)), *(f"{name} {n}" for name in "pq" for n in range(50)), "both"]
    assert set(cache.read(KIND, texts)) == set(texts)


def damage_start(file: Path) -> None:
    """Write over the header."""
    file.write_bytes(b"x" * 100 + file.read_bytes()[100:])


def damage_pages(file: Path) -> None:
    """Write over all but the header."""
    raw = file.read_bytes()
    file.write_bytes(raw[:100] + b"x" * (len(raw) - 100))


def cut(file: Path) -> None:
    """Lose the end."""
    file.write_bytes(file.read_bytes()[:5_000])


def make_later(file: Path) -> None:
    """Pretend that a later version wrote it."""
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()


def make_foreign(file: Path) -> None:
    """Put another program's database there."""
    file.unlink()
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE other (x)")
    connection.close()


def make_folder(file: Path) -> None:
    """Put a folder there."""
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("damage", [damage_start, damage_pages, cut, make_later, make_foreign, make_folder])
def test_damage(settings: Settings, damage: Callable[[Path], None]) -> None:
    """A file that is damaged, or something else, is an error that names it and says that it may be removed."""
    cache = AnswerCache(settings)
    cache.write(KIND, {str(number): b"x" * 1_000 for number in range(20)})
    assert settings.cache is not None
    file = settings.cache / FILE
    damage(file)
    for use in (lambda: cache.read(KIND, ["1", "7", "19"]), lambda: cache.write(KIND, {"1": b"y"})):
        with pytest.raises(EndpointError) as caught:
            use()
        assert f"the cache {file} cannot be used" in str(caught.value)
        assert "if it is damaged remove it" in str(caught.value)
    if file.is_file():
        file.unlink()
        assert cache.read(KIND, ["1"]) == {}


def test_folder_that_cannot_be_made(settings: Settings, tmp_path: Path) -> None:
    """A file where the folder should be is the same error."""
    (tmp_path / "a").write_text("")
    with pytest.raises(EndpointError, match="cannot be used"):
        AnswerCache(settings).read(KIND, ["one"])
