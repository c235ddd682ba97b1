"""Labelled examples -> models, with a report of how well they do on what was left out of training."""

from sicetnon.train.stance import StanceReport, train_stance

__all__ = ["StanceReport", "train_stance"]
