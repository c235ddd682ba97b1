"""The one shape of an error: JSON for programs (RFC 9457, "Problem Details for HTTP APIs"), a page for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sicetnon.errors import SicetnonError
from sicetnon.serve.request_ids import read_request_id

MEDIA_TYPE = "application/problem+json"
FOR_PROGRAMS = ("/v1/", "/healthz", "/readyz", "/metrics")


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a request is not answered. ``headers`` go with it, such as Retry-After."""

    status: HTTPStatus
    found: str
    expected: str
    remedy: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, error: SicetnonError, status: HTTPStatus) -> Problem:
        """The same as ``error`` says."""
        return cls(status, error.found, error.expected, error.remedy)

    @classmethod
    def of_failure(cls) -> Problem:
        """A failure of ours, without a word of what failed: the log says more."""
        return cls(
            HTTPStatus.INTERNAL_SERVER_ERROR,
            "a failure on our side",
            "an answer",
            "try again; if that fails too, tell whoever runs this site, whose log says more",
        )

    def as_row(self) -> dict[str, object]:
        """The JSON object of RFC 9457, with the three parts of the message beside it."""
        return {
            "type": "about:blank",
            "title": self.status.phrase,
            "status": self.status.value,
            "detail": f"{self.found}; expected {self.expected}; {self.remedy}",
            "found": self.found,
            "expected": self.expected,
            "remedy": self.remedy,
            "request_id": read_request_id(),
        }


Tell: TypeAlias = Callable[[Request, Problem], Response]
"""How a problem is told to whoever sent the request."""


def is_for_programs(request: Request) -> bool:
    """Whether the request is one of a program, by its path."""
    path: str = request.scope["path"]
    return path.startswith(FOR_PROGRAMS)


def send_problem(problem: Problem) -> Response:
    """The problem as JSON."""
    return JSONResponse(
        problem.as_row(), status_code=problem.status, headers=dict(problem.headers), media_type=MEDIA_TYPE
    )
