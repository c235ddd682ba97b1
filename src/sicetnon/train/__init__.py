"""Labelled examples -> a stance model, with a report of how well it does on decisions left out of training."""

from sicetnon.train.stance import StanceReport, train_stance

__all__ = ["StanceReport", "train_stance"]
