"""A chat model that is asked for answers of one form."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, Self, TypeVar

from sicetnon.errors import EndpointError
from sicetnon.remote.cache import AnswerCache
from sicetnon.remote.client import Client, Limits
from sicetnon.remote.settings import URL, Settings, read_settings

Answer = TypeVar("Answer")

KIND = "chat, JSON object, temperature 0"
REMINDER = "Answer with that one JSON object and nothing else."


class Chat:
    """Asks ``/chat/completions`` at temperature 0 for a JSON object. Used by many threads."""

    def __init__(self, settings: Settings, *, client: Client | None = None) -> None:
        self._client = client or Client(settings)
        self._cache = AnswerCache(settings)
        self._name = f'"{settings.model}" at {settings.url}'

    @classmethod
    def from_environment(cls, *, until: float = inf) -> Self:
        """The chat model that the environment names: see ``read_settings``; ``until``: see ``Limits``."""
        settings = read_settings(chat=True)
        return cls(settings, client=Client(settings, limits=Limits(until=until)))

    def ask(self, system: str, user: str, read: Callable[[str], Answer | None]) -> Answer | None:
        """What ``read`` makes of the model's answer, which is kept then; None where it made nothing of two answers.

        Raises:
            EndpointError: the endpoint cannot be reached, refuses, or is no chat endpoint.
        """
        prompt = f"{system}\n\n{user}"
        for kept in self._cache.read(KIND, [prompt]).values():
            if (answer := read(kept.decode(errors="replace"))) is not None:
                return answer
        for asked in (user, f"{user}\n\n{REMINDER}"):
            messages = [{"role": "system", "content": system}, {"role": "user", "content": asked}]
            body = {"messages": messages, "temperature": 0, "response_format": {"type": "json_object"}}
            said = self._read_content(self._client.post("chat/completions", body))
            if (answer := read(said)) is not None:
                self._cache.write(KIND, {prompt: said.encode(errors="replace")})
                return answer
        return None

    def _read_content(self, answer: dict[str, Any]) -> str:
        """What the model said; nothing where it refused to."""
        try:
            content = answer["choices"][0]["message"].get("content")
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise EndpointError(
                f"from the endpoint {self._name}: an answer without choices[0].message",
                expected="a chat completion as the OpenAI API gives it",
                remedy=f"check {URL} and that the model is a chat model",
            ) from error
        return content if isinstance(content, str) else ""
