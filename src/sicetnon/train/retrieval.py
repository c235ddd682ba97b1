"""Documents and labelled queries -> a model directory: the encoder tuned, a ranker fitted, both told apart from luck.

The encoder that is shipped is tuned on all propositions; what is fitted on its candidates, and what is reported, comes
from encoders that had not seen them (``describing``).
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from sicetnon import __version__
from sicetnon.dense import encode_asked
from sicetnon.dense.local import fingerprint_directory
from sicetnon.errors import InputError
from sicetnon.relevance import KnownProposition, write_model
from sicetnon.relevance.model import BLEND, ENCODER, KIND, LOCAL, RERANKER, STANCE_MODEL, TOKENIZER
from sicetnon.relevance.reranker import SCORE
from sicetnon.storage import DirectoryWriter
from sicetnon.train.contrastive import TuningPair, mine_pairs
from sicetnon.train.describing import build_lexical, describe_all
from sicetnon.train.export import export_cross_encoder, export_onnx
from sicetnon.train.labelled import (
    Labelled,
    Texts,
    deal_folds,
    label_propositions,
    list_queries,
    list_tuned,
    list_unknown,
    read_texts,
)
from sicetnon.train.page import write_page
from sicetnon.train.ranker import calibrate_left_out, fit_ranker, require_trees
from sicetnon.train.report import CrossEncoder, RetrievalReport, make_report
from sicetnon.train.reranking import try_reranking, tune_shipped
from sicetnon.train.sides import find_doubts, fit_stance_model, weigh_stance
from sicetnon.train.training import MEMORY_FOLDS, Training, TrainingSettings
from sicetnon.train.tunable import TunableEncoder, find_base
from sicetnon.train.work import Arrays, Work
from sicetnon.types import Document, Example, Progress

# What a training costs, as measured: tuning on a pair takes as long as encoding so many passages, all passages are
# encoded once for each half and once before, and the ranker and its report are as long as another time or two.
PAIR_COST, ENCODINGS, EPOCH_STEP = 11.0, 5.0, 0.25
GROUP_COST = 11.0  # what a cross-encoder reads in a step of one proposition
SPENT = 0.9  # of a budget


def train_retrieval(
    documents: Iterable[Document],
    examples: Iterable[Example],
    out: Path,
    *,
    settings: TrainingSettings | None = None,
    progress: Progress | None = None,
) -> RetrievalReport:
    """Train a model and write it to ``out``; return how good it is on what was left out.

    A training that is stopped goes on where it was when it is started again with the same input: what is finished lies
    beside ``out`` until then.

    Raises:
        InputError: nothing to train on, a cross-encoder that this encoder cannot become, or the work of another
            training lies there.
        IndexLocked: another training to ``out`` is under way.
        MissingExtra: what the extra "train" brings is not installed.
    """
    require_trees()
    settings = settings or TrainingSettings()
    out = out.resolve()
    with DirectoryWriter(out, kind=KIND):
        pass  # that a model may be written there is seen now, not after hours
    report = progress or (lambda _step, _done, _total: None)
    texts = read_texts(documents)
    examples = list(examples)
    labelled = label_propositions(examples, texts.doc_ids)
    unknown = list_unknown(examples, texts.doc_ids)
    if len(labelled) < MEMORY_FOLDS:
        raise InputError(
            f"{len(labelled)} labelled propositions with a document of the corpus",
            expected=f"at least {MEMORY_FOLDS}, and hundreds for a model of use",
            remedy="label more",
        )
    if settings.reranks and not TunableEncoder(find_base(settings.base)).exports:
        raise InputError(
            f"a cross-encoder beside {settings.base}",
            expected="one that starts from a BERT with the mean over its tokens, such as the embedded encoder",
            remedy="train this encoder without a cross-encoder",
        )
    with Work(out.with_name(f"{out.name}.training"), _describe_training(texts, labelled, settings)) as work:
        lexical = build_lexical(work.folder / "lexical", texts, [[]] * len(texts.doc_ids))
        folds = deal_folds(len(labelled), MEMORY_FOLDS, seed=settings.seed)
        return _train(Training(texts, labelled, folds, lexical, work, settings, report), out, unknown=unknown)


def _train(training: Training, out: Path, *, unknown: Sequence[str]) -> RetrievalReport:
    """Train and write the model; remove the work that led there. ``unknown``: the report says that they are."""
    texts, labelled, work, settings = training.texts, training.labelled, training.work, training.settings
    pairs, encoding_seconds = _mine(training)
    settings = _fit_budget(settings, len(pairs), len(texts.passages), encoding_seconds)
    training = training._replace(settings=settings)
    seen = describe_all(training, pairs)
    described, candidates = seen.described, seen.candidates
    ranker, left_out = fit_ranker(described, settings=settings.ranker)
    queries = list_queries(labelled)
    probabilities = calibrate_left_out(described, left_out)
    weight, gain = weigh_stance(queries, described, candidates, probabilities, seen.sides)
    tried = try_reranking(training, pairs, seen, probabilities)
    encoder = training.tune("encoder", pairs)
    reranker = tune_shipped(training, encoder, seen, probabilities) if tried and tried.gain.low > 0 else None
    stance_model = fit_stance_model(encoder)
    made = make_report(
        labelled,
        queries,
        described,
        candidates,
        left_out,
        probabilities=probabilities,
        settings=settings.ranker,
        stance_weight=weight,
        stance_gain=gain,
        cross_encoder=None
        if tried is None
        else CrossEncoder(tried.queries, tried.without, tried.gain, kept=reranker is not None),
        doubts=find_doubts(queries, described, candidates, seen.sides, texts.doc_ids),
        unknown=unknown,
        seconds=work.seconds,
    )

    def save(writer: DirectoryWriter) -> None:
        _save_encoder(encoder, writer)
        if tried and reranker:
            writer.save_bytes(RERANKER, [export_cross_encoder(reranker, SCORE)])
            writer.save_bytes(BLEND, [tried.blend.to_json().encode()])
        writer.save_bytes(STANCE_MODEL, [stance_model.to_json().encode()])
        writer.save_bytes("report.json", [json.dumps(asdict(made), indent=2).encode()])
        writer.save_bytes("report.html", [write_page(made).encode()])

    write_model(
        out,
        ranker=ranker.with_stance(weight),
        propositions=[
            KnownProposition(known.proposition, tuple(texts.doc_ids[ordinal] for ordinal in sorted(known.documents)))
            for known in labelled
        ],
        save_more=save,
        settings={"base": settings.base, "seed": settings.seed, "version": __version__},
    )
    work.remove()
    return made


def _describe_training(texts: Texts, labelled: Sequence[Labelled], settings: TrainingSettings) -> dict[str, object]:
    digest = hashlib.sha256()
    for document in zip(texts.doc_ids, texts.texts, texts.terms, strict=True):
        digest.update(json.dumps(document).encode())
    for known in labelled:
        by_stance = {str(stance): sorted(own) for stance, own in known.by_stance.items()}
        digest.update(json.dumps([known.proposition, by_stance], sort_keys=True).encode())
    base = fingerprint_directory(find_base(settings.base))
    return {"version": __version__, "input": digest.hexdigest(), "base": base, "settings": asdict(settings)}


def _mine(training: Training) -> tuple[list[TuningPair], float]:
    """Pairs to tune on, by the vectors of the encoder as it is before, and how long the passages took."""
    texts, labelled = training.texts, training.labelled

    def encode() -> Arrays:
        encoder = TunableEncoder(find_base(training.settings.base))
        started = time.monotonic()
        passages = training.encode_passages(encoder, "passages before")
        seconds = time.monotonic() - started
        by_stance = encoder.instructs_by_stance
        asked = [(query.text, query.stance) for query in list_tuned(labelled, by_stance=by_stance)]
        queries = encode_asked(encoder, asked)
        return {
            "passages": passages,
            "queries": queries,
            "by_stance": np.array(by_stance),
            "seconds": np.array(seconds),
        }

    before = training.work.once("before", encode)
    queries = list_tuned(labelled, by_stance=bool(before["by_stance"]))
    documents = [known.documents for known in labelled]
    pairs = mine_pairs(queries, documents, before["queries"], before["passages"], texts.starts)
    return pairs, float(before["seconds"])


def _fit_budget(settings: TrainingSettings, pairs: int, passages: int, encoding_seconds: float) -> TrainingSettings:
    """The settings that the budget leaves time for, judged by how long encoding all passages took.

    What is tuned is tuned twice: on the halves and on all. A cross-encoder is given up where it leaves no epoch of
    tuning the encoder, which gains more.
    """
    if settings.budget is None:
        return settings
    tuning, a_passage = settings.tuning, encoding_seconds / passages
    left = max(SPENT * settings.budget - ENCODINGS * encoding_seconds, 0)
    an_epoch = 2 * pairs * PAIR_COST * a_passage
    reading = 2 * pairs * GROUP_COST * a_passage * settings.reranker.epochs
    reranks = settings.reranks and left - reading >= min(tuning.epochs, 1) * an_epoch
    epochs = math.floor((left - reading * reranks) / an_epoch / EPOCH_STEP) * EPOCH_STEP
    return replace(settings, tuning=replace(tuning, epochs=min(epochs, tuning.epochs)), reranks=reranks)


def _save_encoder(encoder: TunableEncoder, writer: DirectoryWriter) -> None:
    if encoder.exports:
        writer.save_bytes(ENCODER, [export_onnx(encoder)])
        writer.save_bytes(TOKENIZER, [encoder.tokenizer_json.encode()])
    else:
        encoder.save(writer.folder / LOCAL)
