"""How good is each relevance signal, and their sum, on labelled queries?

    legal_signals.py --index-dir DIR --queries queries.jsonl --truth ground_truth.jsonl [--out FILE]

The index must be built already. Stance is left aside: every query is ranked by relevance alone. Mean binary nDCG@10 and
R@100 over all queries, for each signal alone, for the sum without it, and for the sum.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from machine import keep_figures

from sicetnon.collection import Collection
from sicetnon.corpora import ResultRow, read_queries, read_relevant
from sicetnon.dense import QUERIES_AT_ONCE, load_encoder
from sicetnon.evaluate import evaluate_results
from sicetnon.relevance import standard_signals

MEASURES = ("nDCG@10", "R@100")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--index-dir", "--queries", "--truth"):
        parser.add_argument(flag, type=Path, required=True)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    collection = Collection.open(options.index_dir)
    encoder = load_encoder(collection.encoder)
    queries, truth = read_queries(options.queries), read_relevant(options.truth)
    doc_ids = collection.documents.doc_ids()
    texts = list(dict.fromkeys(query.proposition for query in queries))
    vectors = encoder.encode_queries(texts)
    ranked: dict[str, dict[str, tuple[str, ...]]] = {}
    for start in range(0, len(texts), QUERIES_AT_ONCE):
        block = texts[start : start + QUERIES_AT_ONCE]
        signals = standard_signals(collection, block, vectors[start : start + QUERIES_AT_ONCE])
        whole = np.sum(list(signals.values()), axis=0)
        systems = {"the sum": whole}
        systems |= {f"{name} alone": signal for name, signal in signals.items()}
        systems |= {f"without {name}": whole - signal for name, signal in signals.items()}
        for label, scores in systems.items():
            for text, row in zip(block, scores, strict=True):
                best = np.lexsort((collection.lexical.tie_rank, -row))[:100]
                ranked.setdefault(label, {})[text] = tuple(doc_ids[document] for document in best)
    figures: dict[str, object] = {}
    for label, ranking in ranked.items():
        results = [ResultRow(str(q.query_id), ranking[q.proposition], (0.0,) * 100) for q in queries]
        values = evaluate_results(results, truth, measures=MEASURES)["overall"]
        figures[label] = {name: round(values[name], 4) for name in MEASURES}
    keep_figures(options.out, figures)


if __name__ == "__main__":
    main()
