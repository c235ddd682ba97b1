"""What the tests of the endpoint share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from fake_endpoint import KEY, FakeEndpoint, clear_environment, serve_endpoint

from sicetnon.remote import Client, Limits, Settings


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEndpoint]:
    """Run a fake endpoint, with nothing of ours in the environment."""
    clear_environment(monkeypatch)
    with serve_endpoint() as fake:
        yield fake


@pytest.fixture
def waits() -> list[float]:
    """Collect the seconds that a client would have slept."""
    return []


@pytest.fixture
def make_client(endpoint: FakeEndpoint, waits: list[float]) -> Callable[..., Client]:
    """Make a client of the fake endpoint that does not sleep; limits may be given."""

    def make(*, url: str | None = None, key: str | None = KEY, **limits: float) -> Client:
        settings = Settings(url=url or endpoint.url, model="m", key=key)
        return Client(settings, limits=Limits(**limits), sleep=waits.append)

    return make
