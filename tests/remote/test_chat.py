"""A chat model asked for an answer of one form."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_endpoint import FakeEndpoint, Reply, chat

from sicetnon.errors import EndpointError
from sicetnon.remote import Chat, Client, Settings
from sicetnon.remote.chat import REMINDER

MakeClient = Callable[..., Client]


def read_number(said: str) -> int | None:
    """Take what is a number."""
    return int(said) if said.isdecimal() else None


@pytest.fixture
def settings(endpoint: FakeEndpoint, tmp_path: Path) -> Settings:
    """Name the fake endpoint and a cache."""
    return Settings(url=endpoint.url, model="c", cache=tmp_path)


def test_call(endpoint: FakeEndpoint, settings: Settings) -> None:
    """Both messages are sent, for one JSON object at temperature 0; what was read of the answer comes back."""
    endpoint.say = lambda _body: "7"
    assert Chat(settings).ask("be brief", "how many?", read_number) == 7
    (asked,) = endpoint.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.body == {
        "model": "c",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "how many?"}],
        "temperature": 0,
        "response_format": {"type": "json_object"},
    }


@pytest.mark.parametrize("first", ["seven", "", None])
def test_asked_once_more(endpoint: FakeEndpoint, settings: Settings, first: str | None) -> None:
    """An answer of another form is asked for once more, with a reminder."""
    said = iter([first, "7"])
    endpoint.say = lambda _body: next(said)
    assert Chat(settings).ask("s", "u", read_number) == 7
    assert endpoint.asked[1].body["messages"][1]["content"] == f"u\n\n{REMINDER}"


def test_given_up(endpoint: FakeEndpoint, settings: Settings) -> None:
    """After two such answers there is none, and neither is kept."""
    endpoint.say = lambda _body: "seven"
    assert Chat(settings).ask("s", "u", read_number) is None
    assert len(endpoint.asked) == 2
    endpoint.say = lambda _body: "7"
    assert Chat(settings).ask("s", "u", read_number) == 7


def test_kept(endpoint: FakeEndpoint, settings: Settings) -> None:
    """What was asked before is not asked again, also by another object; another prompt is."""
    endpoint.say = lambda _body: "7"
    Chat(settings).ask("s", "u", read_number)
    endpoint.say = lambda _body: "8"
    assert Chat(settings).ask("s", "u", read_number) == 7
    assert len(endpoint.asked) == 1
    assert Chat(settings).ask("t", "u", read_number) == 8
    assert Chat(Settings(url=endpoint.url, model="c")).ask("s", "u", read_number) == 8


def test_kept_answer_of_another_form(endpoint: FakeEndpoint, settings: Settings) -> None:
    """A kept answer that is no longer what is asked for is asked for again, and replaced."""
    endpoint.say = lambda _body: "seven"
    assert Chat(settings).ask("s", "u", lambda said: said) == "seven"
    endpoint.say = lambda _body: "7"
    assert [Chat(settings).ask("s", "u", read_number) for _ in range(2)] == [7, 7]
    assert len(endpoint.asked) == 2


@pytest.mark.parametrize(
    "answer", [{}, {"choices": []}, {"choices": None}, {"choices": [{}]}, {"choices": [{"message": "7"}]}]
)
def test_no_chat_endpoint(endpoint: FakeEndpoint, settings: Settings, answer: dict[str, object]) -> None:
    """An answer that is no chat completion is an error."""
    endpoint.replies.append(Reply(body=json.dumps(answer).encode()))
    with pytest.raises(EndpointError, match=r'"c" at http.*without choices\[0\]\.message'):
        Chat(settings).ask("s", "u", read_number)


def test_half_a_surrogate_pair(endpoint: FakeEndpoint, settings: Settings) -> None:
    """Text that is no UTF-8 is sent and kept like any other."""
    endpoint.replies.append(Reply(body=json.dumps(chat("\ud800 answer")).encode()))
    assert Chat(settings).ask("s", "\udc00", lambda said: said) == "\ud800 answer"
    assert Chat(settings).ask("s", "\udc00", lambda said: said) == "? answer"
    assert len(endpoint.asked) == 1


def test_from_environment(endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names the endpoint; a model for chat goes first."""
    monkeypatch.setenv("SICETNON_ENDPOINT_URL", endpoint.url)
    monkeypatch.setenv("SICETNON_ENDPOINT_MODEL", "m")
    monkeypatch.setenv("SICETNON_ENDPOINT_CHAT_MODEL", "c")
    endpoint.say = lambda body: {"c": "1", "m": "2"}[body["model"]]
    assert Chat.from_environment().ask("s", "u", read_number) == 1
