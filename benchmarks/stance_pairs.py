"""How well does the stance model tell supports from refutes on pairs read by hand?

    stance_pairs.py --index-dir DIR --pairs stance.jsonl [--out FILE]

A row of the pairs: {"claim", "doc_id", "stance": "supports" | "refutes" | "unclear", "evidence": {"start", "end"} or
null}. The documents must be in the index. Area under the ROC curve of supports against refutes, over all pairs and over
the third that the model is surest to be on point; the same by the claim's own negations alone; and how often the middle
of the marked sentence lies in the passage shown.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from machine import keep_figures

from sicetnon.collection import Collection
from sicetnon.dense import load_encoder
from sicetnon.jsonl import read_rows
from sicetnon.stance import Claim, Reading, StanceModel, negate, read_statement
from sicetnon.train.stance import area_under_roc


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--index-dir", "--pairs"):
        parser.add_argument(flag, type=Path, required=True)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    collection = Collection.open(options.index_dir)
    encoder = load_encoder(collection.encoder)
    model = StanceModel.bundled()
    lean, neither, supports, negations, shown = [], [], [], [], []
    for row in read_rows(options.pairs):
        claim, ordinal = row.string("claim"), collection.documents.find(row.string("doc_id"))
        if ordinal is None:
            raise row.fault("a document that the index does not hold", expected="one of its documents")
        text = collection.documents.read([ordinal])[0].text
        spans = collection.sentences.spans(ordinal)
        vectors = collection.sentences.vectors[collection.sentences.rows(ordinal)]
        statement = read_statement(claim)
        verdict = model.judge(
            Claim(statement, *encoder.encode_queries([claim, negate(claim)])),
            Reading([span.of(text) for span in spans], vectors),
        )
        marked = row.fields.get("evidence")
        if isinstance(marked, dict):
            passage, middle = spans[verdict.passage], (marked["start"] + marked["end"]) / 2
            shown.append(passage[0].start <= middle <= passage[-1].end)
        if row.fields["stance"] != "unclear":
            lean.append(verdict.sides.supports / (verdict.sides.supports + verdict.sides.refutes))
            neither.append(verdict.sides.neither)
            negations.append(-statement.negations)
            supports.append(row.fields["stance"] == "supports")
    right = np.array(supports)
    surest = np.argsort(neither, kind="stable")[: len(neither) // 3]
    figures = {
        "pairs": len(right),
        "supports": int(right.sum()),
        "auc": round(area_under_roc(np.array(lean), right), 4),
        "auc_surest_third": round(area_under_roc(np.array(lean)[surest], right[surest]), 4),
        "auc_by_negations_of_the_claim": round(area_under_roc(np.array(negations, float), right), 4),
        "evidence_in_passage": round(float(np.mean(shown)), 4),
    }
    keep_figures(options.out, figures)


if __name__ == "__main__":
    main()
