"""The pages: search, a document, and what tells of a problem."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from importlib.resources import files
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from sicetnon.errors import InputError
from sicetnon.serve.pages.asking import Form, form_query, parse_query, read_form
from sicetnon.serve.pages.marking import mark_sentence, name_tone, split_paragraphs
from sicetnon.serve.problems import Problem
from sicetnon.serve.settings import ServeSettings
from sicetnon.serve.source import SearcherSource
from sicetnon.stance import tell_side
from sicetnon.types import SideProbabilities
from sicetnon.wording import say_percent, say_probability


class _AnyConvertor(StringConvertor):
    """The rest of a path, whatever it holds: an ID may have slashes and line breaks."""

    regex = "(?s:.+)"


register_url_convertor("any", _AnyConvertor())


def _name_side(sides: SideProbabilities) -> str:
    return tell_side(sides) or "unclear"


class Pages:
    """The pages, by their routes, and how they tell of a problem."""

    def __init__(self, source: SearcherSource, settings: ServeSettings) -> None:
        self._source = source
        self._settings = settings
        self._stylesheet = (files("sicetnon.serve.pages") / "static" / "style.css").read_bytes()
        self.routes = [
            Route("/", self.show_search),
            Route("/documents/{doc_id:any}", self.show_document),
            Route("/style.css", self.send_stylesheet),
        ]
        self._templates = Environment(
            loader=PackageLoader("sicetnon.serve.pages"),
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
        answer = self._source.current().search_both(query) if query else None
        return self._respond("search.html", {"form": form, "again": form_query(form), "answer": answer})

    def show_document(self, request: Request) -> Response:
        doc_id = request.path_params["doc_id"]
        form = read_form(request.query_params)
        try:
            query = parse_query(form)
        except InputError as error:
            return self._tell_misuse(error, form)
        document = self._source.current().find(doc_id)
        if document is None:
            return self._tell(
                HTTPStatus.NOT_FOUND,
                found=f"no document with the ID “{doc_id}” in this index",
                expected="the ID of one of its documents",
                remedy="check the address, or search for the decision",
            )
        hit = self._source.current().judge(query, doc_id) if query else None
        paragraphs = split_paragraphs(document.text, hit.evidence.sentence if hit else None)
        asked = {"form": form, "again": form_query(form), "query": query}
        return self._respond("document.html", {"document": document, "hit": hit, "paragraphs": paragraphs, **asked})

    async def send_stylesheet(self, _: Request) -> Response:
        return Response(self._stylesheet, media_type="text/css")

    def tell(self, problem: Problem) -> Response:
        """The page of a problem."""
        response = self._tell(problem.status, found=problem.found, expected=problem.expected, remedy=problem.remedy)
        response.headers.update(problem.headers)
        return response

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
        return HTMLResponse(page, status_code=status)
