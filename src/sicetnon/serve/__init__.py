"""The web page: given a proposition in a browser, show the decisions for it and those against it.

Stands on a ``Searcher`` and its answers; knows nothing of how documents are ranked or judged, how an index is built, or
who is asking. Needs the ``serve`` extra. No script runs in the browser and no other host is asked for anything.
"""

from sicetnon.errors import MissingExtra

try:
    from sicetnon.serve.app import create_app
    from sicetnon.serve.server import name_address, open_listener, run_server
except ModuleNotFoundError as error:
    package = (error.name or "").partition(".")[0]
    if package not in {"starlette", "uvicorn", "jinja2"}:
        raise
    raise MissingExtra(package, extra="serve", purpose="the web page") from error

__all__ = ["create_app", "name_address", "open_listener", "run_server"]
