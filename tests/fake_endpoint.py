"""An OpenAI-compatible endpoint on the loopback interface that answers as a test tells it to."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

DIMENSIONS = 16
KEY = "sk-very-secret-0123456789"


@dataclass(frozen=True)
class Reply:
    """What is sent back in place of an answer; ``delay`` seconds before, ``pause`` in the middle of the body."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0
    pause: float = 0


@dataclass(frozen=True)
class Asked:
    """A request as it came in."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


def embed(text: str) -> list[float]:
    """Count hashed words; not of length 1."""
    vector = [0.5] + [0.0] * (DIMENSIONS - 1)
    for word in text.lower().split():
        vector[hashlib.sha256(word.strip(".,?!").encode()).digest()[0] % DIMENSIONS] += 3.0
    return vector


def embeddings(body: dict[str, Any]) -> dict[str, Any]:
    """Answer with the vectors of the texts, last text first."""
    data = [{"index": index, "embedding": embed(text)} for index, text in enumerate(body["input"])]
    return {"object": "list", "model": body["model"], "data": data[::-1]}


def chat(content: str | None) -> dict[str, Any]:
    """Give the answer of a chat model that says this."""
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]}


class FakeEndpoint:
    """Notes what it is asked. ``replies`` are sent first, one a request; ``embeddings`` and ``say`` answer the rest."""

    def __init__(self) -> None:
        """Answer with embeddings, and with nothing to say."""
        self.asked: list[Asked] = []
        self.replies: deque[Reply] = deque()
        self.embeddings: Callable[[dict[str, Any]], Any] = embeddings
        self.say: Callable[[dict[str, Any]], str | None] = lambda _body: "{}"
        self.url = ""
        self.closing = threading.Event()
        self._lock = threading.Lock()

    def answer(self, asked: Asked) -> Reply:
        """Answer one request."""
        with self._lock:
            self.asked.append(asked)
            if self.replies:
                return self.replies.popleft()
        if asked.path == "/v1/embeddings":
            return Reply(body=json.dumps(self.embeddings(asked.body)).encode())
        if asked.path == "/v1/chat/completions":
            return Reply(body=json.dumps(chat(self.say(asked.body))).encode())
        return Reply(404, b'{"error": {"message": "no such path"}}')


@contextmanager
def serve_endpoint() -> Iterator[FakeEndpoint]:
    """Run an endpoint on a free port of this machine until the block is left."""
    fake = FakeEndpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            reply = fake.answer(Asked(self.path, dict(self.headers), json.loads(raw)))
            fake.closing.wait(reply.delay)
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            half = len(reply.body) // 2 if reply.pause else 0
            self.wfile.write(reply.body[:half])
            fake.closing.wait(reply.pause)
            self.wfile.write(reply.body[half:])

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_arguments: object) -> None:
            """Say nothing of clients that have left."""

    with Server(("127.0.0.1", 0), Handler) as server:
        fake.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield fake
        finally:
            fake.closing.set()
            server.shutdown()
            thread.join()


def clear_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave neither settings nor proxies in the environment."""
    for name in ("URL", "KEY", "MODEL", "CHAT_MODEL", "CACHE", "QUERY_PROMPT"):
        monkeypatch.delenv(f"SICETNON_ENDPOINT_{name}", raising=False)
    monkeypatch.delenv("SICETNON_STANCE_JUDGE", raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
