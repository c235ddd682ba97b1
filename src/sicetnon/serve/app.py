"""The app: the API and the pages over one index, and what they have in common.

Handlers are plain functions where they search or render, so Starlette runs them in its thread pool and the event loop
stays free.
"""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from sicetnon import __version__
from sicetnon.errors import EndpointError, InputError
from sicetnon.search import Searcher
from sicetnon.serve.api import add_api
from sicetnon.serve.headers import SecurityHeaders
from sicetnon.serve.pages import Pages
from sicetnon.serve.problems import Problem, is_for_programs, send_problem
from sicetnon.serve.request_ids import RequestIds
from sicetnon.serve.settings import ServeSettings
from sicetnon.serve.source import FixedSearcher, SearcherSource


def create_app(searcher: Searcher | SearcherSource, settings: ServeSettings | None = None) -> ASGIApp:
    """The API and the web page over one index, or over whatever index a source has current."""
    settings = settings or ServeSettings()
    source = FixedSearcher(searcher) if isinstance(searcher, Searcher) else searcher
    pages = Pages(source, settings)

    def tell(request: Request, problem: Problem) -> Response:
        return send_problem(problem) if is_for_programs(request) else pages.tell(problem)

    async def tell_misuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, InputError)
        return tell(request, Problem.of(error, HTTPStatus.UNPROCESSABLE_ENTITY))

    async def tell_endpoint_failure(request: Request, error: Exception) -> Response:
        assert isinstance(error, EndpointError)
        return tell(request, Problem.of(error, HTTPStatus.BAD_GATEWAY))

    async def tell_http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        problem = Problem(
            HTTPStatus(error.status_code),
            f"{request.method} {request.scope['path']}",
            "one of the addresses and methods of this site",
            "see /v1/openapi.json for programs, or start from the search page",
            headers=error.headers or {},  # such as Allow
        )
        return tell(request, problem)

    async def tell_invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        problem = Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            f"{place}: {first['msg']}",
            "a request as /v1/openapi.json has it",
            "correct it",
        )
        return tell(request, problem)

    async def tell_failure(request: Request, _error: Exception) -> Response:
        """Starlette raises the error again, and the server logs it."""
        return tell(request, Problem.of_failure())

    app = FastAPI(
        title="Sicetnon",
        version=__version__,
        description="Court documents that support or refute a legal proposition. Not legal advice.",
        docs_url=None,  # they load scripts from another host
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        exception_handlers={
            InputError: tell_misuse,
            EndpointError: tell_endpoint_failure,
            HTTPException: tell_http_error,
            RequestValidationError: tell_invalid,
            Exception: tell_failure,
        },
    )
    app.router.redirect_slashes = False
    add_api(app, source, settings)
    app.router.routes.extend(pages.routes)
    # Around the app and not within it: what tells of a failure lies outside of all that FastAPI lets one add.
    return RequestIds(SecurityHeaders(app))
