"""``train``, ``train-stance``: models from labelled examples. ``evaluate``: how good results are."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from sicetnon.cli.times import read_time

MOST_EPOCHS, MOST_SEED = 1_000.0, 2**32 - 1


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: sicetnon train corpus.jsonl examples --out my-model")(train)
    app.command(
        epilog="Example: sicetnon train-stance --corpus corpus.jsonl --propositions judged.jsonl --out stance.json"
    )(train_stance)
    app.command(epilog="Example: sicetnon evaluate --results results.jsonl --truth ground_truth.jsonl")(evaluate)


def train(
    corpus: Annotated[Path, typer.Argument(help="JSONL documents, as for index build.")],
    examples: Annotated[
        Path,
        typer.Argument(help="A folder with queries.jsonl and ground_truth.jsonl: labelled queries."),
    ],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the model directory.")],
    encoder: Annotated[
        str, typer.Option(help='The encoder to tune: "embedded", or a local sentence-transformers directory.')
    ] = "embedded",
    epochs: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=MOST_EPOCHS, help="How often tuning goes through the examples, to overrule the default."
        ),
    ] = None,
    from_pool: Annotated[
        bool,
        typer.Option(
            "--from-pool/--fresh",
            help="Whether queries to come are the rest of the collection that the examples were drawn from, where a "
            "document with few examples is likelier to be asked for, or fresh ones.",
        ),
    ] = False,
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long it may take, such as 90m or 2h: tuning is cut to that.")
    ] = None,
    cross_encoder: Annotated[
        bool,
        typer.Option("--cross-encoder", help="Tune a cross-encoder too; keep it if it ranks the first ten better."),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Another seed draws other batches and folds.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Train a retrieval model from labelled queries, for index build --model.

    The encoder is tuned, a ranker fitted, and both are measured on examples left out. What is unfinished lies beside
    the model: started again after it was stopped, the same training goes on from there.
    """
    _share_cores()
    from sicetnon.cli.progress import show_progress
    from sicetnon.corpora import read_documents, read_examples
    from sicetnon.train.contrastive import TuningSettings
    from sicetnon.train.ranker import RankerSettings
    from sicetnon.train.report import word_cross_encoder, word_unknown
    from sicetnon.train.reranker import RerankerSettings
    from sicetnon.train.retrieval import train_retrieval
    from sicetnon.train.training import TrainingSettings

    if epochs is not None and math.isnan(epochs):
        raise typer.BadParameter("--epochs nan is no number; give one such as 2")
    tuning = TuningSettings(seed=seed)
    settings = TrainingSettings(
        base=encoder,
        from_pool=from_pool,
        budget=None if budget is None else read_time(budget, "--budget"),
        tuning=tuning if epochs is None else replace(tuning, epochs=epochs),
        ranker=RankerSettings(seed=seed),
        reranks=cross_encoder,
        reranker=RerankerSettings(seed=seed),
        seed=seed,
    )
    with show_progress() as progress:
        report = train_retrieval(
            read_documents(corpus), read_examples(examples), out, settings=settings, progress=progress
        )
    if cross_encoder and report.cross_encoder is None:
        typer.echo("note: --budget left no time for a cross-encoder: none was tried", err=True)
    if budget and report.seconds > (settings.budget or 0):
        typer.echo(f"note: it took {report.seconds / 60:.0f} minutes, more than --budget {budget}", err=True)
    if report.unknown:
        typer.echo(f"note: {word_unknown(report.unknown)}", err=True)
    if as_json:
        typer.echo(json.dumps(asdict(report), indent=2))
        return
    for name, held in report.slices.items():
        typer.echo(f"{name:<16} nDCG@10 {held.ndcg:.3f}  R@100 {held.recall:.3f}  {held.queries:,} queries")
    for name, left in report.ablation.items():
        typer.echo(f"without {name:<22} {left.ndcg:.3f}: it adds {left.gain:+.3f}")
    if report.cross_encoder:
        typer.echo(word_cross_encoder(report.cross_encoder))
    typer.echo(
        f"the side counts with the exponent {report.stance_weight:g}: {report.stance_gain:+.3f} where one is asked; "
        f"{len(report.doubts)} labels doubted, see report.html"
    )
    typer.echo(f"calibration error {report.calibration_error:.3f}; {report.seconds / 60:.0f} minutes")


def train_stance(
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
    from sicetnon.train import train_stance as train_model

    documents = read_documents(corpus) if corpus else read_bundled_decisions()
    judged = read_propositions(propositions) if propositions else read_bundled_propositions()
    model, report = train_model(judged, {document.doc_id: document for document in documents}, load_encoder(encoder))
    with whole_file(out) as sink:
        sink.write(model.to_json())
    typer.echo(json.dumps(asdict(report), indent=2))


def _share_cores() -> None:
    """Let threads that wait for one another sleep, unless the user says otherwise; before torch or LightGBM is loaded.

    A thread that spins takes the core from the one it waits for, where other programs use the machine too.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


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
