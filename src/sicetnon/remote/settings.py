"""Where the endpoint is, which of its models is asked, and with which key: from the environment, when asked for."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from sicetnon.errors import InputError

URL = "SICETNON_ENDPOINT_URL"
KEY = "SICETNON_ENDPOINT_KEY"
MODEL = "SICETNON_ENDPOINT_MODEL"
CHAT_MODEL = "SICETNON_ENDPOINT_CHAT_MODEL"
CACHE = "SICETNON_ENDPOINT_CACHE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One model of one endpoint.

    ``url`` is the base that ``/embeddings`` and ``/chat/completions`` are put after. ``cache`` is a folder, or None to
    keep nothing on disk.

    Raises:
        InputError: a URL or a key that cannot be sent.
    """

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    cache: Path | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", self.url.rstrip("/"))
        _check_url(self.url)
        if self.key is not None and not (self.key.isascii() and self.key.isprintable() and " " not in self.key):
            raise InputError(
                "a key with characters that no header may hold",
                expected="printable ASCII without spaces",
                remedy=f"set {KEY} to the key alone",
            )


def read_settings(*, chat: bool = False) -> Settings:
    """The settings in the environment; for chat, ``CHAT_MODEL`` goes before ``MODEL``.

    Raises:
        InputError: the URL or the model is missing, or a value cannot be used.
    """
    models = (CHAT_MODEL, MODEL) if chat else (MODEL,)
    url = _read(URL)
    model = next((found for name in models if (found := _read(name))), "")
    if missing := [name for name, value in ((URL, url), (MODEL, model)) if not value]:
        raise InputError(
            f"no {' and no '.join(missing)} in the environment",
            expected="the base URL of an OpenAI-compatible endpoint, such as http://localhost:8000/v1, and its model",
            remedy="set both, or do not ask for the endpoint",
        )
    folder = _read(CACHE)
    return Settings(url=url, model=model, key=_read(KEY) or None, cache=Path(folder) if folder else None)


def _read(name: str) -> str:
    return os.environ.get(name, "").strip()


def _check_url(url: str) -> None:
    """A URL that is a base and nothing more. What is wrong with it is told without it: it may hold a password."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        found = "a URL that is none"
    elif parts.username is not None or parts.password is not None:
        found = "a URL with a user name or password"
    elif parts.query or parts.fragment:
        found = "a URL with a query or fragment"
    else:
        return
    raise InputError(
        found,
        expected="a base URL such as http://localhost:8000/v1",
        remedy=f"correct {URL}; a key goes into {KEY}",
    )
