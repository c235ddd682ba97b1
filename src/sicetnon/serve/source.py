"""Where handlers get the searcher from: the one that is current when a request begins serves it to its end."""

from __future__ import annotations

from typing import Protocol

from sicetnon.search import Searcher


class SearcherSource(Protocol):
    """Hands out the current searcher. Used by many threads."""

    def current(self) -> Searcher:
        """The searcher of now; whoever holds it may use it to the end, whatever becomes current meanwhile."""


class FixedSearcher:
    """A source that never changes."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher

    def current(self) -> Searcher:
        return self._searcher
