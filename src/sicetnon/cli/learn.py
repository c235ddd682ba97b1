"""``train``: a stance model from judged propositions. ``evaluate``: how good results are."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: sicetnon train --corpus corpus.jsonl --propositions judged.jsonl --out stance.json")(
        train
    )
    app.command(epilog="Example: sicetnon evaluate --results results.jsonl --truth ground_truth.jsonl")(evaluate)


def train(
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the stance model (JSON).")],
    corpus: Annotated[
        Path | None, typer.Option(help="JSONL documents that were judged; without it, the bundled decisions.")
    ] = None,
    propositions: Annotated[
        Path | None, typer.Option(help="JSONL judged propositions; without it, the bundled ones.")
    ] = None,
    encoder: Annotated[
        str, typer.Option(envvar="SICETNON_ENCODER", help="The encoder of the indexes it is for.")
    ] = "embedded",
) -> None:
    """Train a stance model; print how well it does on decisions left out of training, as JSON.

    A judged proposition is {"proposition_id", "proposition", "judgments": [{"doc_id", "stance", "evidence"}, ...]} with
    a stance of supports, refutes or neither, and the sentence that carries it (or null).
    """
    from sicetnon.corpora import (
        read_bundled_decisions,
        read_bundled_propositions,
        read_documents,
        read_propositions,
    )
    from sicetnon.dense import load_encoder
    from sicetnon.jsonl import whole_file
    from sicetnon.train import train_stance

    documents = read_documents(corpus) if corpus else read_bundled_decisions()
    judged = read_propositions(propositions) if propositions else read_bundled_propositions()
    model, report = train_stance(judged, {document.doc_id: document for document in documents}, load_encoder(encoder))
    with whole_file(out) as sink:
        sink.write(model.to_json())
    typer.echo(json.dumps(asdict(report), indent=2))


def evaluate(
    *,
    results: Annotated[Path, typer.Option(help="A results file, as batch writes it.")],
    truth: Annotated[Path, typer.Option(help='JSONL rows {"query_id", "doc_ids": [...]}.')],
    queries: Annotated[Path | None, typer.Option(help="The queries, to report each stance on its own as well.")] = None,
    measure: Annotated[
        list[str] | None, typer.Option(help="A measure in the notation of ir-measures; may be given again.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure results against known relevant documents. A query without an answer counts 0."""
    from sicetnon.corpora import read_queries, read_relevant, read_results
    from sicetnon.evaluate import DEFAULT_MEASURES, evaluate_results

    stances = {str(query.query_id): str(query.stance) for query in read_queries(queries)} if queries else {}
    table = evaluate_results(
        read_results(results), read_relevant(truth), groups=stances, measures=measure or DEFAULT_MEASURES
    )
    if as_json:
        typer.echo(json.dumps(table, indent=2))
        return
    for group, values in table.items():
        figures = "  ".join(f"{name} {value:.4f}" for name, value in values.items() if name != "queries")
        typer.echo(f"{group:<12}{figures}  ({values['queries']:.0f} queries)")
