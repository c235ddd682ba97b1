"""Calls to an endpoint: what is sent, what is asked again, and what each failure says."""

from __future__ import annotations

import gzip
import json
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from fake_endpoint import KEY, FakeEndpoint, Reply

from sicetnon.errors import EndpointError, InputError, MissingExtra
from sicetnon.remote import Client, Settings, map_parallel
from sicetnon.remote.client import PARALLEL, _read_wait

MakeClient = Callable[..., Client]


def test_call(endpoint: FakeEndpoint, make_client: MakeClient, waits: list[float]) -> None:
    """The model and the body are posted below the base URL, the key as a bearer; the JSON object comes back."""
    endpoint.replies.append(Reply(body=b'{"a": [1.5]}'))
    assert make_client().post("embeddings", {"input": ["x"]}) == {"a": [1.5]}
    (asked,) = endpoint.asked
    assert (asked.path, asked.body) == ("/v1/embeddings", {"model": "m", "input": ["x"]})
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.headers["Content-Type"] == "application/json"
    assert waits == []


def test_no_key(endpoint: FakeEndpoint, make_client: MakeClient) -> None:
    """Without a key there is no such header."""
    endpoint.replies.append(Reply())
    make_client(key=None).post("x", {})
    assert "Authorization" not in endpoint.asked[0].headers


def test_packed_answer(endpoint: FakeEndpoint, make_client: MakeClient) -> None:
    """An answer may be packed; one that cannot be unpacked is an error."""
    endpoint.replies.append(Reply(body=gzip.compress(b'{"a": 1}'), headers={"Content-Encoding": "gzip"}))
    assert make_client().post("x", {}) == {"a": 1}
    endpoint.replies.append(Reply(body=b"not packed", headers={"Content-Encoding": "gzip"}))
    with pytest.raises(EndpointError, match="cannot be unpacked"):
        make_client().post("x", {})


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
def test_failure_that_passes(endpoint: FakeEndpoint, make_client: MakeClient, waits: list[float], status: int) -> None:
    """After a failure of the server it is asked again, after waits that double but for jitter."""
    endpoint.replies.extend([Reply(status, b"busy")] * 3 + [Reply(body=b'{"a": 1}')])
    assert make_client(first_wait=1).post("x", {}) == {"a": 1}
    assert len(endpoint.asked) == 4
    assert [0.5 * 2**n <= wait <= 2**n for n, wait in enumerate(waits)] == [True] * 3


def test_failure_that_stays(endpoint: FakeEndpoint, make_client: MakeClient, waits: list[float]) -> None:
    """After the last attempt what the server said is told, with the model and the URL."""
    endpoint.replies.extend([Reply(503, b'{"error": {"message": "the model\\n is loading"}}')] * 9)
    with pytest.raises(EndpointError) as caught:
        make_client().post("x", {})
    assert f'from the endpoint "m" at {endpoint.url}: status 503 ("the model is loading"), at attempt 5' in str(
        caught.value
    )
    assert (len(endpoint.asked), len(waits)) == (5, 4)


def test_retry_after(endpoint: FakeEndpoint, make_client: MakeClient, waits: list[float]) -> None:
    """The server's own word is waited for, in seconds or to a date; nonsense is passed over."""
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    said = ["7", date, "soon"]
    endpoint.replies.extend([*(Reply(429, headers={"Retry-After": wait}) for wait in said), Reply()])
    make_client(first_wait=0.5).post("x", {})
    assert 7 <= waits[0] <= 7.5
    assert 25 <= waits[1] <= 30.5
    assert waits[2] <= 2


def test_retry_after_too_long(endpoint: FakeEndpoint, make_client: MakeClient, waits: list[float]) -> None:
    """A server that asks for an hour is not waited for."""
    endpoint.replies.append(Reply(429, headers={"Retry-After": "3600"}))
    with pytest.raises(EndpointError, match=r"status 429.* asks to wait 3,600 s, at attempt 1"):
        make_client().post("x", {})
    assert waits == []


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        (None, None),
        ("0", 0),
        (" 1.5 ", 1.5),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("9" * 5_000, None),
        ("٣", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("Wed, 21 Oct 2015 07:28:00", 0),
        ("Wed, 21 Oct 99999 07:28:00 GMT", None),
    ],
)
def test_reading_of_retry_after(header: str | None, wait: float | None) -> None:
    """Only a number of seconds or a date is a wait."""
    assert _read_wait(header) == wait


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_refusal(endpoint: FakeEndpoint, make_client: MakeClient, status: int) -> None:
    """A refusal is not asked again, and what it says is told."""
    endpoint.replies.append(Reply(status, b'{"error": {"message": "no model m"}}'))
    with pytest.raises(EndpointError, match=rf'status {status} \("no model m"\)'):
        make_client().post("x", {})
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_refused_key(endpoint: FakeEndpoint, make_client: MakeClient, status: int) -> None:
    """A refused key names the variable that holds it, and nothing of what the server says of it."""
    endpoint.replies.append(Reply(status, f"Incorrect API key provided: {KEY[:6]}***{KEY[-4:]}".encode()))
    with pytest.raises(EndpointError, match=rf"status {status}; .*check SICETNON_ENDPOINT_KEY$") as caught:
        make_client().post("x", {})
    assert KEY[-4:] not in str(caught.value)
    assert len(endpoint.asked) == 1


def test_redirect(endpoint: FakeEndpoint, make_client: MakeClient) -> None:
    """A redirect is not followed: nothing is sent elsewhere."""
    endpoint.replies.append(Reply(307, headers={"Location": f"{endpoint.url}/elsewhere"}))
    with pytest.raises(EndpointError, match="status 307, a redirect"):
        make_client().post("x", {})
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize(
    "body",
    [b"<!DOCTYPE html><html><body>Welcome</body></html>", b"", b"[1]", b'"a"', b'{"a": NaN}', b'{"a": 1', b"\xff\xfe{",
     b"[" * 100_000],
)  # fmt: skip
def test_no_json_object(endpoint: FakeEndpoint, make_client: MakeClient, body: bytes) -> None:
    """A page, or whatever else is no JSON object, is one line that shows its beginning."""
    endpoint.replies.append(Reply(body=body))
    with pytest.raises(EndpointError, match=r"an answer that is no JSON object.*check SICETNON_ENDPOINT_URL") as caught:
        make_client().post("x", {})
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize("packed", [False, True])
def test_huge_answer(endpoint: FakeEndpoint, make_client: MakeClient, *, packed: bool) -> None:
    """Of an answer that is too long, packed or not, no more is read than allowed."""
    body = json.dumps({"a": "x" * 100_000}).encode()
    reply = Reply(body=gzip.compress(body), headers={"Content-Encoding": "gzip"}) if packed else Reply(body=body)
    endpoint.replies.append(reply)
    with pytest.raises(EndpointError, match="an answer of more than 50,000 bytes"):
        make_client(answer_bytes=50_000).post("x", {})
    endpoint.replies.append(reply)
    assert len(make_client(answer_bytes=200_000).post("x", {})["a"]) == 100_000


@pytest.mark.parametrize("reply", [Reply(delay=30), Reply(pause=30)])
def test_silence(endpoint: FakeEndpoint, make_client: MakeClient, reply: Reply) -> None:
    """A server that keeps silent, before or amid its answer, is given up and asked again."""
    endpoint.replies.extend([reply, Reply(body=b'{"a": 1}')])
    started = time.monotonic()
    assert make_client(silence=0.5).post("x", {}) == {"a": 1}
    assert time.monotonic() - started < 10
    endpoint.replies.extend([reply] * 2)
    with pytest.raises(EndpointError, match=r"no answer \(ReadTimeout: .*at attempt 2"):
        make_client(silence=0.5, attempts=2).post("x", {})


@pytest.mark.parametrize(
    "reply", [Reply(delay=30), Reply(pause=30), Reply(503), Reply(429, headers={"Retry-After": "50"})]
)
def test_no_longer_than_until(endpoint: FakeEndpoint, make_client: MakeClient, reply: Reply) -> None:
    """Whatever the endpoint does, nobody waits for it beyond the time that was set; after that nothing is asked."""
    endpoint.replies.extend([reply] * 10_000)
    started = time.monotonic()
    client = make_client(until=started + 0.5, attempts=1_000)
    with pytest.raises(EndpointError, match="no answer"):
        client.post("x", {})
    assert time.monotonic() - started < 5
    while time.monotonic() < started + 0.5:
        time.sleep(0.01)
    asked = len(endpoint.asked)
    with pytest.raises(EndpointError, match="no answer in time; expected one by the deadline"):
        client.post("x", {})
    assert len(endpoint.asked) == asked


def test_slow_answer(endpoint: FakeEndpoint, make_client: MakeClient) -> None:
    """An answer that goes on for too long is given up."""
    endpoint.replies.append(Reply(pause=0.3))
    with pytest.raises(EndpointError, match="an answer not finished after 0 s, at attempt 1"):
        make_client(answer=0.1, attempts=1).post("x", {})


def test_connection_refused(make_client: MakeClient, waits: list[float]) -> None:
    """Where nothing listens, that is said after the last attempt."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(EndpointError, match=r"no answer \(ConnectError: .*at attempt 5.*check that the server runs"):
        make_client(url=f"http://127.0.0.1:{port}/v1").post("x", {})
    assert len(waits) == 4


def test_connection_that_breaks(endpoint: FakeEndpoint, make_client: MakeClient) -> None:
    """An answer that ends too early is asked for again."""
    endpoint.replies.extend([Reply(body=b'{"a', headers={"Content-Length": "99"}), Reply(body=b'{"a": 1}')])
    assert make_client().post("x", {}) == {"a": 1}


@pytest.mark.parametrize(
    "reply",
    [
        Reply(400, f'{{"error": {{"message": "bad key {KEY}, {KEY}"}}}}'.encode()),
        Reply(400, f"bad key {KEY}".encode()),
        Reply(400, b"x" * 190 + KEY.encode()),
        Reply(503, f'{{"detail": "{KEY}"}}'.encode()),
        Reply(200, KEY.encode()),
        Reply(200, f'["{KEY}"]'.encode()),
        Reply(401, KEY.encode()),
        Reply(307, headers={"Location": f"http://localhost/{KEY}"}),
        Reply(200, headers={"Content-Length": KEY}),
    ],
)
def test_key_is_never_told(endpoint: FakeEndpoint, make_client: MakeClient, reply: Reply) -> None:
    """Whatever the server says, neither the error nor what is printed of it holds the key or its beginning."""
    endpoint.replies.append(reply)
    client = make_client(attempts=1)
    with pytest.raises(EndpointError) as caught:
        client.post("x", {})
    told = "".join([*traceback.format_exception(caught.value), repr(caught.value), repr(client), repr(vars(client))])
    assert KEY[:8] not in told


def test_proxy_that_cannot_be_used(endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy in the environment that is none is an error that names it."""
    monkeypatch.setenv("HTTP_PROXY", "nonsense://x")
    with pytest.raises(InputError, match="a proxy's, that cannot be used"):
        Client(Settings(url=endpoint.url, model="m"))


def test_library_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library an endpoint is an error that names the command that installs it."""
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sicetnon\[endpoint\]'"):
        Client(Settings(url="http://localhost/v1", model="m"))


def test_map_parallel() -> None:
    """Results come in order, some at a time; after a failure nothing new is begun."""
    together = threading.Barrier(PARALLEL, timeout=10)

    def meet(item: int) -> int:
        together.wait()
        return item * item

    assert list(map_parallel(meet, range(2 * PARALLEL))) == [n * n for n in range(2 * PARALLEL)]
    assert list(map_parallel(meet, [])) == []
    begun: list[int] = []

    def fail(item: int) -> None:
        begun.append(item)
        time.sleep(0.05)
        raise EndpointError("a", expected="b", remedy="c")

    with pytest.raises(EndpointError):
        list(map_parallel(fail, range(1_000)))
    assert len(begun) < 500
