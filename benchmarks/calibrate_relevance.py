"""Which logistic curve turns a fused score into the probability of being on point?

Fitted on the bundled propositions over the bundled decisions: a judged decision, of whatever side, is on point, every
other is not. Prints slope and intercept for ``sicetnon.relevance``, and how well the curve holds by bins.

    calibrate_relevance.py [--out results/calibrate_relevance.json]
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
from machine import keep_figures

from sicetnon.collection import Collection
from sicetnon.corpora import read_bundled_decisions, read_bundled_propositions
from sicetnon.dense import QUERIES_AT_ONCE, load_encoder
from sicetnon.ingest import build_index
from sicetnon.relevance import fused_scores
from sicetnon.stance.model import softmax
from sicetnon.train.logistic import fit_multinomial

BOUNDS = (0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    encoder = load_encoder()
    propositions = read_bundled_propositions()
    with tempfile.TemporaryDirectory() as folder:
        build_index(read_bundled_decisions(), Path(folder) / "index", encoder=encoder)
        collection = Collection.open(Path(folder) / "index")
        blocks = []
        for start in range(0, len(propositions), QUERIES_AT_ONCE):
            texts = [p.proposition for p in propositions[start : start + QUERIES_AT_ONCE]]
            blocks.append(fused_scores(collection, texts, encoder.encode_queries(texts)))
    fused = np.concatenate(blocks)
    number = {doc_id: ordinal for ordinal, doc_id in enumerate(collection.documents.doc_ids())}
    on_point = np.zeros(fused.shape, np.int64)
    for row, p in enumerate(propositions):
        on_point[row, [number[judgment.doc_id] for judgment in p.judgments]] = 1
    scores, classes = fused.reshape(-1, 1), on_point.ravel()
    weights = fit_multinomial(scores, classes, class_count=2, penalty=1e-6)
    slope, intercept = weights[1] - weights[0]
    predicted = softmax(scores @ weights[:, :1].T + weights[:, 1])[:, 1]
    bins = []
    for low, high in pairwise(BOUNDS):
        inside = (predicted >= low) & (predicted < high)
        share = {"predicted": predicted[inside].mean(), "found": classes[inside].mean()}
        bins.append({"from": low, "to": high, "pairs": int(inside.sum())} | {k: round(v, 4) for k, v in share.items()})
    figures = {"slope": round(slope, 3), "intercept": round(intercept, 3), "propositions": len(fused), "bins": bins}
    keep_figures(options.out, figures)


if __name__ == "__main__":
    main()
