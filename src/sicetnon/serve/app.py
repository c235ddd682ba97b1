"""The Starlette app: its routes, its error pages, and the headers of every response.

Handlers are plain functions where they search or render, so Starlette runs them in its thread pool and the event loop
stays free.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from importlib.resources import files
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from sicetnon.errors import InputError
from sicetnon.search import Searcher
from sicetnon.serve.asking import Form, form_query, parse_query, read_form
from sicetnon.serve.marking import mark_sentence, name_tone, split_paragraphs
from sicetnon.stance import tell_side
from sicetnon.types import SideProbabilities
from sicetnon.wording import say_percent, say_probability

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",  # a URL holds what was asked
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "private, no-cache",
}


class _AnyConvertor(StringConvertor):
    """The rest of a path, whatever it holds: an ID may have slashes and line breaks."""

    regex = "(?s:.+)"


register_url_convertor("any", _AnyConvertor())


def create_app(searcher: Searcher) -> Starlette:
    """The web page over one index."""
    pages = _Pages(searcher)
    app = Starlette(
        routes=[
            Route("/", pages.show_search),
            Route("/documents/{doc_id:any}", pages.show_document),
            Route("/style.css", pages.send_stylesheet),
        ],
        exception_handlers={HTTPException: pages.tell_http_error, Exception: pages.tell_failure},
    )
    app.router.redirect_slashes = False  # a redirect would go out without our headers
    return app


def _name_side(sides: SideProbabilities) -> str:
    return tell_side(sides) or "unclear"


class _Pages:
    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._stylesheet = (files("sicetnon.serve") / "style.css").read_bytes()
        self._templates = Environment(
            loader=PackageLoader("sicetnon.serve"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals |= {"mark_sentence": mark_sentence}
        self._templates.filters |= {
            "json": lambda value: json.dumps(value, ensure_ascii=False),
            "path": lambda doc_id: quote(doc_id, safe=""),
            "percent": say_percent,
            "side": _name_side,
            "tone": name_tone,
            "words": say_probability,
        }

    def show_search(self, request: Request) -> Response:
        form = read_form(request.query_params)
        try:
            query = parse_query(form)
        except InputError as error:
            return self._tell_misuse(error, form)
        answer = self._searcher.search_both(query) if query else None
        return self._respond("search.html", {"form": form, "again": form_query(form), "answer": answer})

    def show_document(self, request: Request) -> Response:
        doc_id = request.path_params["doc_id"]
        form = read_form(request.query_params)
        try:
            query = parse_query(form)
        except InputError as error:
            return self._tell_misuse(error, form)
        document = self._searcher.find(doc_id)
        if document is None:
            return self._tell(
                HTTPStatus.NOT_FOUND,
                found=f"no document with the ID “{doc_id}” in this index",
                expected="the ID of one of its documents",
                remedy="check the address, or search for the decision",
            )
        hit = self._searcher.judge(query, doc_id) if query else None
        paragraphs = split_paragraphs(document.text, hit.evidence.sentence if hit else None)
        asked = {"form": form, "again": form_query(form), "query": query}
        return self._respond("document.html", {"document": document, "hit": hit, "paragraphs": paragraphs, **asked})

    async def send_stylesheet(self, _: Request) -> Response:
        return Response(self._stylesheet, media_type="text/css", headers=HEADERS)

    def tell_http_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        response = self._tell(
            HTTPStatus(error.status_code),
            found=f"{request.method} {request.scope['path']}",
            expected="to read one of the pages of this site",
            remedy="start from the search page",
        )
        response.headers.update(error.headers or {})  # such as Allow
        return response

    def tell_failure(self, _request: Request, _error: Exception) -> Response:
        """Without a word of what failed: Starlette raises it again, and the server logs it."""
        return self._tell(
            HTTPStatus.INTERNAL_SERVER_ERROR,
            found="a failure on our side",
            expected="an answer",
            remedy="try again; if that fails too, tell whoever runs this site, whose log says more",
        )

    def _tell_misuse(self, error: InputError, form: Form) -> Response:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        return self._tell(status, found=error.found, expected=error.expected, remedy=error.remedy, form=form)

    def _tell(
        self, status: HTTPStatus, *, found: str, expected: str, remedy: str, form: Form | None = None
    ) -> Response:
        """An error page; ``form`` is shown again where it can be corrected."""
        context = {"found": found, "expected": expected, "remedy": remedy, "form": form, "status": status}
        return self._respond("error.html", context, status=status)

    def _respond(self, template: str, context: Mapping[str, object], *, status: HTTPStatus = HTTPStatus.OK) -> Response:
        page = self._templates.get_template(template).render(context)
        return HTMLResponse(page, status_code=status, headers=HEADERS)
