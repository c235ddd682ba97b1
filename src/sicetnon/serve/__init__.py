"""One app over a ``Searcher``: a web page for people (``pages``), an API for programs (``api``).

Stands on a ``Searcher`` and its answers; knows nothing of how documents are ranked or judged, or how an index is built.
Needs the ``serve`` extra.
"""

from sicetnon.errors import MissingExtra

try:
    from sicetnon.serve.app import create_app
    from sicetnon.serve.server import name_address, open_listener, run_server
    from sicetnon.serve.settings import ServeSettings
    from sicetnon.serve.source import FixedSearcher, SearcherSource
except ModuleNotFoundError as error:
    package = (error.name or "").partition(".")[0]
    if package not in {"fastapi", "jinja2", "starlette", "uvicorn"}:
        raise
    raise MissingExtra(package, extra="serve", purpose="the web page and the API") from error

__all__ = [
    "FixedSearcher",
    "SearcherSource",
    "ServeSettings",
    "create_app",
    "name_address",
    "open_listener",
    "run_server",
]
