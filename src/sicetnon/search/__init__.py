"""The way of a query: Query -> relevance of every document -> sides of the candidates, with evidence -> Ranking."""

from sicetnon.search.batch import BatchAnswer, Ranked
from sicetnon.search.deadline import Deadline
from sicetnon.search.finding import CANDIDATES
from sicetnon.search.searcher import STANCE_WEIGHT, Searcher

__all__ = ["CANDIDATES", "STANCE_WEIGHT", "BatchAnswer", "Deadline", "Ranked", "Searcher"]
