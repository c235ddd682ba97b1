"""How well does the stance model tell the sides of single statements: by contrast sets, or by labelled queries?

    stance_contrasts.py [--corpus corpus.jsonl --examples DIR] [--out FILE]

Without paths it is asked the bundled contrast sets, in which the same claims stand beside statements of each side, so
that the claim alone tells nothing. With them, the documents are statements of a sentence or two, and DIR holds
queries.jsonl and ground_truth.jsonl: of each proposition, those to be found where it is to be supported are to be told
from those where it is to be refuted; pairs that are labelled both ways are left out. Accuracy of the three sides
(contrast sets only), accuracy and area under the ROC curve of supports against refutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from machine import keep_figures

from sicetnon.corpora import read_bundled_contrasts, read_documents, read_examples
from sicetnon.dense import load_encoder
from sicetnon.stance import Claim, Reading, StanceModel, negate, read_statement
from sicetnon.stance.model import SIDES
from sicetnon.text import split_sentences
from sicetnon.train.labelled import label_propositions
from sicetnon.train.stance import measure_accuracies
from sicetnon.types import Side, Stance

Judged = tuple[str, str, Side]  # claim, statement, side


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--corpus", "--examples", "--out"):
        parser.add_argument(flag, type=Path)
    options = parser.parse_args()
    judged = list(list_labelled(options.corpus, options.examples) if options.corpus else list_contrasts())
    encoder, model = load_encoder(), StanceModel.bundled()
    readings = {}
    for statement in dict.fromkeys(statement for _, statement, _ in judged):
        sentences = [span.of(statement) for span in split_sentences(statement)]
        readings[statement] = Reading(sentences, encoder.encode_documents(sentences))
    claims = {
        text: Claim(read_statement(text), *encoder.encode_queries([text, negate(text)]), text)
        for text in dict.fromkeys(text for text, _, _ in judged)
    }
    verdicts = [model.judge(claims[text], readings[statement]).sides for text, statement, _ in judged]
    told = np.array([(sides.supports, sides.refutes, sides.neither) for sides in verdicts])
    sides = np.array([SIDES.index(side) for _, _, side in judged])
    measured = {name: round(value, 4) for name, value in measure_accuracies(told, sides).items()}
    figures = {
        "statements": len(readings),
        "claims": len(claims),
        "pairs": {str(side): int((sides == number).sum()) for number, side in enumerate(SIDES)},
        **measured,
        **({"accuracy": None} if options.corpus else {}),
    }
    keep_figures(options.out, figures)


def list_contrasts() -> Iterator[Judged]:
    """Every claim with every statement of its set."""
    for contrast in read_bundled_contrasts():
        for text, sides in contrast.claims:
            yield from ((text, statement, side) for statement, side in zip(contrast.statements, sides, strict=True))


def list_labelled(corpus: Path, examples: Path) -> Iterator[Judged]:
    """Every labelled query that asks for a side, with each document on point that the other side does not name."""
    documents = list(read_documents(corpus))
    for known in label_propositions(read_examples(examples), [document.doc_id for document in documents]):
        sides = [known.by_stance.get(stance, frozenset()) for stance in (Stance.SUPPORTED, Stance.REFUTED)]
        for side, own, other in zip(SIDES, sides, reversed(sides), strict=False):
            yield from ((known.proposition, documents[ordinal].text, side) for ordinal in sorted(own - other))


if __name__ == "__main__":
    main()
