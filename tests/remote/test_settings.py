"""Settings of an endpoint: read from the environment when asked for, checked, and silent about the key."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_endpoint import KEY, clear_environment

from sicetnon.dense.endpoint import QUERY_PROMPT
from sicetnon.errors import InputError
from sicetnon.remote import Settings, read_settings, settings
from sicetnon.stance.endpoint import SHOWN

URL = "http://localhost:8000/v1"


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    clear_environment(monkeypatch)


def test_all_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every variable is read, without the space around it and the slash at the end."""
    for name, value in (("URL", f" {URL}/ "), ("MODEL", "m"), ("KEY", f"{KEY}\n"), ("CACHE", str(tmp_path))):
        monkeypatch.setenv(f"SICETNON_ENDPOINT_{name}", value)
    assert read_settings() == Settings(url=URL, model="m", key=KEY, cache=tmp_path)


def test_least_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """URL and model are enough; empty variables are as good as none."""
    for name, value in (("URL", URL), ("MODEL", "m"), ("KEY", ""), ("CACHE", "")):
        monkeypatch.setenv(f"SICETNON_ENDPOINT_{name}", value)
    assert read_settings() == Settings(url=URL, model="m", key=None, cache=None)


def test_chat_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of its own may be named for chat; without it the one model does both."""
    monkeypatch.setenv("SICETNON_ENDPOINT_URL", URL)
    monkeypatch.setenv("SICETNON_ENDPOINT_MODEL", "m")
    assert read_settings(chat=True).model == "m"
    monkeypatch.setenv("SICETNON_ENDPOINT_CHAT_MODEL", "c")
    assert (read_settings().model, read_settings(chat=True).model) == ("m", "c")
    monkeypatch.delenv("SICETNON_ENDPOINT_MODEL")
    assert read_settings(chat=True).model == "c"


def test_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is named, all at once."""
    with pytest.raises(InputError, match="no SICETNON_ENDPOINT_URL and no SICETNON_ENDPOINT_MODEL in the environment"):
        read_settings()
    monkeypatch.setenv("SICETNON_ENDPOINT_URL", URL)
    with pytest.raises(InputError, match=r"^no SICETNON_ENDPOINT_MODEL in"):
        read_settings()


@pytest.mark.parametrize(
    "url",
    ["", "localhost:8000", "ftp://host/v1", "http://", "http:///v1", "http://h:99999/v1", "http://h:x", "http://[1"],
)
def test_no_url(url: str) -> None:
    """What is no URL of HTTP is refused."""
    with pytest.raises(InputError, match="a URL that is none; expected a base URL"):
        Settings(url=url, model="m")


@pytest.mark.parametrize(
    "url", [f"http://me:{KEY}@h/v1", f"http://{KEY}@h/v1", f"http://h/v1?key={KEY}", f"http://h/#{KEY}"]
)
def test_secret_in_the_url(url: str) -> None:
    """A URL that holds more than a base is refused, without repeating what it holds."""
    with pytest.raises(InputError, match="a URL with a") as caught:
        Settings(url=url, model="m")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "clé", "\x00"])
def test_key_that_cannot_be_sent(key: str) -> None:
    """A key that no header may hold is refused, without repeating it."""
    with pytest.raises(InputError, match="a key with characters") as caught:
        Settings(url=URL, model="m", key=key)
    assert key not in str(caught.value)


def test_readme_names_every_variable() -> None:
    """The README tells every variable that is read, and how much of a document is sent."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    for name in (settings.URL, settings.KEY, settings.MODEL, settings.CHAT_MODEL, settings.CACHE, QUERY_PROMPT):
        assert f"`{name}`" in readme
    assert f"up to {SHOWN:,} characters of each document" in " ".join(readme.split())


def test_key_is_not_shown() -> None:
    """Settings can be printed."""
    assert KEY not in repr(Settings(url=URL, model="m", key=KEY))
