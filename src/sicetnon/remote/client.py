"""JSON posted to an endpoint, and the JSON object that comes back; or one error that says what came in its place.

A failure that may pass (429, 5xx, a connection that breaks or keeps silent) is met by asking again: exponential
backoff with jitter (Brooker 2015, "Exponential Backoff And Jitter"), or what ``Retry-After`` says (RFC 9110, section
10.2.3). Redirects are not followed: the key and the texts go to the URL that was named and nowhere else.
"""

from __future__ import annotations

import json
import random
import re
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import inf
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from sicetnon.errors import EndpointError, InputError, MissingExtra
from sicetnon.remote.settings import KEY, URL, Settings

if TYPE_CHECKING:
    import httpx2

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

PARALLEL = 8  # calls at a time
TOO_MANY, FAILED = 429, 500  # status codes; from FAILED on the fault is the server's
REFUSED = (401, 403)
LEAST_WAIT = 0.01  # a timeout of nothing is none
SAID_BYTES, SAID_CHARACTERS = 4_096, 200  # of a refusal: read, and told
SECONDS = re.compile(r"\d{1,9}(\.\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long and how often an endpoint is waited for, in seconds, and how much of it is read."""

    attempts: int = 5
    first_wait: float = 0.5  # before the second attempt; doubles with each
    longest_wait: float = 60.0  # that ``Retry-After`` may ask for
    connect: float = 10.0
    silence: float = 120.0  # without a byte: a chat model may think for a while
    answer: float = 600.0  # for all of one answer, once it has begun
    until: float = inf  # by ``time.monotonic``: no call is waited for any longer
    answer_bytes: int = 64 * 2**20


class Client:
    """Posts to one endpoint. Used by many threads."""

    def __init__(
        self, settings: Settings, *, limits: Limits | None = None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        try:
            import httpx2
        except ImportError as error:
            raise MissingExtra("httpx2", extra="endpoint", purpose="an embedding or chat endpoint") from error
        self._settings = settings
        self._limits = limits or Limits()
        self._sleep = sleep
        self._jitter = random.Random()  # noqa: S311 - no secret; unseeded, since processes must not wait in step
        headers = {"Authorization": f"Bearer {settings.key}"} if settings.key else {}
        try:
            httpx2.URL(settings.url)
            self._http = httpx2.Client(headers=headers, follow_redirects=False)
        except (httpx2.InvalidURL, ValueError, ImportError) as error:  # the last where a proxy needs another package
            raise InputError(
                "an endpoint's URL, or a proxy's, that cannot be used",
                expected="URLs such as http://localhost:8000/v1",
                remedy=f"correct {URL}, or the proxy in the environment",
            ) from error
        weakref.finalize(self, self._http.close)

    def post(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        """The JSON object that the endpoint answers at ``path``, below its base URL.

        Raises:
            EndpointError: it cannot be reached, refuses, or answers something else.
        """
        attempt = 1
        while True:
            if time.monotonic() >= self._limits.until:
                self._fail("no answer in time", expected="one by the deadline", remedy="allow more time")
            try:
                return self._post_once(path, body)
            except _PassingError as passing:
                wait = self._find_wait(passing, attempt)
            self._sleep(wait)
            attempt += 1

    def _find_wait(self, passing: _PassingError, attempt: int) -> float:
        """Seconds to the next attempt; an error where there is to be none."""
        asked = passing.wait
        if attempt >= self._limits.attempts or (asked is not None and asked > self._limits.longest_wait):
            self._fail(
                f"{passing}{f' and asks to wait {asked:,.0f} s' if asked else ''}, at attempt {attempt}",
                expected="an answer",
                remedy="check that the server runs and is reached from here, and try again later",
            )
        if asked is not None:
            wait = asked + self._limits.first_wait * self._jitter.random()
        else:
            wait = self._limits.first_wait * 2.0 ** (attempt - 1) * self._jitter.uniform(0.5, 1)
        return min(wait, max(self._limits.until - time.monotonic(), 0))

    def _post_once(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        import httpx2

        raw = json.dumps({"model": self._settings.model, **body}).encode()
        url = f"{self._settings.url}/{path}"
        try:
            with self._http.stream(
                "POST",
                url,
                content=raw,
                headers={"Content-Type": "application/json", "Accept": "application/json"},
                timeout=self._find_timeout(),
            ) as response:
                if not response.is_success:
                    self._refuse(response)
                answer = self._read(response)
        except httpx2.TransportError as error:
            raise _PassingError(f"no answer ({type(error).__name__}: {self._tell(str(error))})") from None
        except httpx2.HTTPError as error:
            self._fail(
                f"an answer that cannot be unpacked ({type(error).__name__})",
                expected="JSON",
                remedy="check what stands between here and the server",
            )
        try:
            value = json.loads(answer, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            self._fail(
                f'an answer that is no JSON object, "{self._tell(answer[:SAID_BYTES].decode(errors="replace"))}"',
                expected="one as the OpenAI API gives it",
                remedy=f"check {URL}: it ends where /embeddings and /chat/completions begin",
            )
        return value

    def _find_timeout(self) -> httpx2.Timeout:
        """How long this call waits for a connection, and for each piece of an answer."""
        import httpx2

        left = max(self._limits.until - time.monotonic(), LEAST_WAIT)
        return httpx2.Timeout(min(self._limits.silence, left), connect=min(self._limits.connect, left), pool=None)

    def _refuse(self, response: httpx2.Response) -> NoReturn:
        """Raise what an answer that is no success calls for."""
        status = response.status_code
        said = next(response.iter_bytes(SAID_BYTES), b"").decode(errors="replace")
        told = self._tell(_message(said))
        found = f'status {status} ("{told}")' if told else f"status {status}"
        if status == TOO_MANY or status >= FAILED:
            raise _PassingError(found, wait=_read_wait(response.headers.get("Retry-After")))
        if status in REFUSED:  # what it says may hold parts of the key
            self._fail(f"status {status}", expected="a key that it accepts", remedy=f"check {KEY}")
        if response.is_redirect:
            self._fail(
                f"status {status}, a redirect",
                expected="an answer: the texts are sent to no other URL than the one that was named",
                remedy=f"set {URL} to where the server is",
            )
        self._fail(found, expected="an answer", remedy=f"check {URL} and that the server has that model")

    def _read(self, response: httpx2.Response) -> bytes:
        answer = bytearray()
        deadline = min(time.monotonic() + self._limits.answer, self._limits.until)
        for part in response.iter_bytes():
            answer += part
            if len(answer) > self._limits.answer_bytes:
                self._fail(
                    f"an answer of more than {self._limits.answer_bytes:,} bytes",
                    expected="less",
                    remedy=f"check that {URL} is an OpenAI-compatible endpoint",
                )
            if time.monotonic() > deadline:
                raise _PassingError(f"an answer not finished after {self._limits.answer:,.0f} s")
        return bytes(answer)

    def _tell(self, text: str) -> str:
        """What was said, on one line, cut, and without the key."""
        if self._settings.key:
            text = text.replace(self._settings.key, "***")
        return " ".join(text[:SAID_CHARACTERS].split())

    def _fail(self, found: str, *, expected: str, remedy: str) -> NoReturn:
        model = f'"{self._settings.model}" at {self._settings.url}'
        raise EndpointError(f"from the endpoint {model}: {found}", expected=expected, remedy=remedy) from None


class _PassingError(Exception):
    """A failure that may be gone at the next attempt; ``wait`` is how many seconds the server asks to be left alone."""

    def __init__(self, found: str, *, wait: float | None = None) -> None:
        super().__init__(found)
        self.wait = wait


def map_parallel(function: Callable[[Asked], Answer], items: Sequence[Asked]) -> Iterator[Answer]:
    """The result for each item in order, ``PARALLEL`` at a time. Once one has failed no other is begun."""
    with ThreadPoolExecutor(max(1, min(PARALLEL, len(items)))) as pool:
        yield from pool.map(function, items)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _message(said: str) -> str:
    """What a refusal says, in the form of the OpenAI API or near it, else all of it."""
    try:
        value = json.loads(said)
    except (ValueError, RecursionError):
        return said
    for name in ("error", "message", "detail"):
        if isinstance(value, dict) and name in value:
            value = value[name]
    return value if isinstance(value, str) else said


def _read_wait(header: str | None) -> float | None:
    """Seconds from now that ``Retry-After`` asks for: a number or a date; None where it says nothing sensible."""
    if header is None:
        return None
    if SECONDS.fullmatch(header.strip()):
        return float(header)
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
