"""Results and known relevant documents -> measures, by ir-measures; knows no index and no model."""

from sicetnon.evaluate.measures import DEFAULT_MEASURES, evaluate_results

__all__ = ["DEFAULT_MEASURES", "evaluate_results"]
