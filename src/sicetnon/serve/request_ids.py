"""A name for each request, that an answer, its error and the log have in common."""

from __future__ import annotations

import re
import uuid
from contextvars import ContextVar

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = "X-Request-ID"
GIVEN = re.compile(r"[A-Za-z0-9._~-]{1,64}", re.ASCII)  # what a proxy or a client may name a request

_current: ContextVar[str] = ContextVar("request_id", default="")


def read_request_id() -> str:
    """The ID of the request that is being answered; empty outside of one."""
    return _current.get()


class RequestIds:
    """Middleware: takes a well-formed ID that came with the request, or makes one, and sends it back."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        request_id = given if GIVEN.fullmatch(given) else uuid.uuid4().hex

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = request_id
            await send(message)

        token = _current.set(request_id)
        try:
            await self._app(scope, receive, send_named)
        finally:
            _current.reset(token)
