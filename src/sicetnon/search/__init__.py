"""The way of a query: Query -> relevance of every document -> sides of the candidates, with evidence -> Ranking."""

from sicetnon.search.searcher import CANDIDATES, STANCE_WEIGHT, Searcher

__all__ = ["CANDIDATES", "STANCE_WEIGHT", "Searcher"]
