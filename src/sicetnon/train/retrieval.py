"""Documents and labelled queries -> a model directory: the encoder tuned, a ranker fitted, both told apart from luck.

What the ranker learns from is measured as a search would, on what it will see in use: a proposition is scored by an
encoder that was not tuned on it, and by a memory that does not hold it. So the propositions are dealt into folds, of
which every other one makes a half: one encoder is tuned on each half and scores the other, and the memory leaves out
one fold at a time. The encoder that is shipped is tuned on all.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sicetnon import __version__
from sicetnon.collection import Memory
from sicetnon.dense import QUERIES_AT_ONCE, encode_asked
from sicetnon.dense.encoder import EMBEDDED, Vectors
from sicetnon.dense.local import fingerprint_directory
from sicetnon.errors import InputError
from sicetnon.ingest import mean_vectors
from sicetnon.relevance import KnownProposition, write_model
from sicetnon.relevance.features import describe, join_signals, pick_scores
from sicetnon.relevance.model import ENCODER, KIND, LOCAL, STANCE_MODEL, TOKENIZER
from sicetnon.relevance.order import RANKED
from sicetnon.relevance.signals import Sources, measure_signals
from sicetnon.sparse import SparseIndex, SparseIndexBuilder, select_top
from sicetnon.storage import DirectoryWriter
from sicetnon.text import analyze
from sicetnon.train.checkpoint import Checkpoint
from sicetnon.train.contrastive import TuningPair, TuningSettings, mine_pairs, tune_encoder
from sicetnon.train.export import export_onnx
from sicetnon.train.labelled import (
    Labelled,
    Texts,
    deal_folds,
    label_propositions,
    list_queries,
    list_tuned,
    read_texts,
)
from sicetnon.train.measuring import Candidates
from sicetnon.train.page import write_page
from sicetnon.train.ranker import Described, RankerSettings, calibrate_left_out, fit_ranker
from sicetnon.train.report import RetrievalReport, make_report
from sicetnon.train.sides import JUDGED, choose_judged, find_doubts, fit_stance_model, judge_candidates, weigh_stance
from sicetnon.train.tunable import TunableEncoder, find_base
from sicetnon.train.work import Arrays, Work
from sicetnon.types import Document, Example

MEMORY_FOLDS = 10
HALVES = 2
# What a training costs, as measured: tuning on a pair takes as long as encoding so many passages, all passages are
# encoded once for each half and once before, and the ranker and its report are as long as another time or two.
PAIR_COST, ENCODINGS, EPOCH_STEP = 11.0, 5.0, 0.25
SPENT = 0.9  # of a budget
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """``base`` is the encoder to tune: "embedded" or a local sentence-transformers directory.

    ``budget`` is how many seconds the training may take; tuning is shortened to keep it, never lengthened.
    """

    base: str = EMBEDDED
    budget: float | None = None
    tuning: TuningSettings = field(default_factory=TuningSettings)
    ranker: RankerSettings = field(default_factory=RankerSettings)
    seed: int = 0


class _Training(NamedTuple):
    """What all steps need. ``folds`` int64 [propositions] is the memory's fold of each."""

    texts: Texts
    labelled: list[Labelled]
    folds: Ints
    lexical: SparseIndex
    work: Work
    settings: TrainingSettings
    progress: Progress


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
        InputError: nothing to train on, or the work of another training lies there.
        IndexLocked: another training to ``out`` is under way.
        MissingExtra: what the extra "train" brings is not installed.
    """
    settings = settings or TrainingSettings()
    out = out.resolve()
    with DirectoryWriter(out, kind=KIND):
        pass  # that a model may be written there is seen now, not after hours
    report = progress or (lambda _step, _done, _total: None)
    texts = read_texts(documents)
    labelled = label_propositions(examples, texts.doc_ids)
    if len(labelled) < MEMORY_FOLDS:
        raise InputError(
            f"{len(labelled)} labelled propositions with a document of the corpus",
            expected=f"at least {MEMORY_FOLDS}, and hundreds for a model of use",
            remedy="label more",
        )
    with Work(out.with_name(f"{out.name}.training"), _describe_training(texts, labelled, settings)) as work:
        lexical = _build_lexical(work.folder / "lexical", texts, [[]] * len(texts.doc_ids))
        folds = deal_folds(len(labelled), MEMORY_FOLDS, seed=settings.seed)
        return _train(_Training(texts, labelled, folds, lexical, work, settings, report), out)


def _train(training: _Training, out: Path) -> RetrievalReport:
    """Train and write the model; remove the work that led there."""
    texts, labelled, work, settings = training.texts, training.labelled, training.work, training.settings
    pairs, encoding_seconds = _mine(training)
    tuning = _fit_budget(settings, len(pairs), len(texts.passages), encoding_seconds)
    training = training._replace(settings=replace(settings, tuning=tuning))
    halves = [
        work.once(f"half-{half}", lambda half=half: _describe_half(training, pairs, half))  # type: ignore[misc]
        for half in range(HALVES)
    ]
    described, documents, sides = _join(halves, training.folds)
    candidates = Candidates(documents, training.lexical.tie_rank)
    ranker, left_out = fit_ranker(described, settings=settings.ranker)
    queries = list_queries(labelled)
    probabilities = calibrate_left_out(described, left_out)
    weight, gain = weigh_stance(queries, described, candidates, probabilities, sides)
    encoder = _tune(training, "encoder", pairs)
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
        doubts=find_doubts(queries, described, candidates, sides, texts.doc_ids),
        seconds=work.seconds,
    )

    def save(writer: DirectoryWriter) -> None:
        _save_encoder(encoder, writer)
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


def _mine(training: _Training) -> tuple[list[TuningPair], float]:
    """Pairs to tune on, by the vectors of the encoder as it is before, and how long the passages took."""
    texts, labelled = training.texts, training.labelled

    def encode() -> Arrays:
        encoder = TunableEncoder(find_base(training.settings.base))
        started = time.monotonic()
        passages = _encode_passages(training, encoder, "passages before")
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


def _fit_budget(settings: TrainingSettings, pairs: int, passages: int, encoding_seconds: float) -> TuningSettings:
    """The tuning that the budget leaves time for, judged by how long encoding all passages took.

    Each pair is tuned on twice an epoch: for its half and for the encoder that is shipped.
    """
    tuning = settings.tuning
    if settings.budget is None:
        return tuning
    left = SPENT * settings.budget - ENCODINGS * encoding_seconds
    an_epoch = 2 * pairs * PAIR_COST * encoding_seconds / passages
    epochs = math.floor(max(left, 0) / an_epoch / EPOCH_STEP) * EPOCH_STEP
    return replace(tuning, epochs=min(epochs, tuning.epochs))


def _tune(training: _Training, name: str, pairs: Sequence[TuningPair]) -> TunableEncoder:
    encoder = TunableEncoder(find_base(training.settings.base))
    tune_encoder(
        encoder,
        pairs,
        training.texts.passages,
        training.texts.owners,
        settings=training.settings.tuning,
        checkpoint=Checkpoint(training.work.folder / f"{name}.safetensors"),
        progress=lambda done, total: training.progress(f"tuning {name}", done, total),
    )
    return encoder


def _describe_half(training: _Training, pairs: Sequence[TuningPair], half: int) -> Arrays:
    """The candidates of the propositions of one half, by an encoder that was tuned on the other.

    A proposition is described once, by the instruction for all stances where the encoder has one by stance: what is
    learned here is what is on point, of which a document labelled for the wrong side is an example too.
    """
    is_own = training.folds % HALVES == half
    others = {training.labelled[index].proposition for index in np.flatnonzero(~is_own).tolist()}
    encoder = _tune(training, f"half {half + 1}", [pair for pair in pairs if pair.proposition in others])
    passages = _encode_passages(training, encoder, f"passages of half {half + 1}")
    vectors = encoder.encode_queries([known.proposition for known in training.labelled])
    parts = [
        _describe_fold(training, fold, passages, vectors)
        for fold in range(MEMORY_FOLDS)
        if fold % HALVES == half and (training.folds == fold).any()
    ]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return joined | (_judge_some(training, encoder, joined) if half == 0 else {})


def _judge_some(training: _Training, encoder: TunableEncoder, described: Arrays) -> Arrays:
    """The sides of the first candidates of some propositions: "sides" float64 [candidates, 2], NaN where not judged."""
    chosen = set(choose_judged(training.labelled, described["propositions"], seed=training.settings.seed).tolist())
    starts = np.cumsum(described["counts"]) - described["counts"]
    places = [
        (index, np.arange(start, start + min(count, JUDGED)))
        for index, start, count in zip(described["propositions"].tolist(), starts, described["counts"], strict=True)
        if index in chosen
    ]
    judged = [(index, described["candidates"][cells]) for index, cells in places]
    sides = np.full((len(described["candidates"]), 2), np.nan)
    if judged:
        training.progress("sides", 0, len(judged))
        for (_, cells), told in zip(
            places, judge_candidates(encoder, training.texts, training.labelled, judged), strict=True
        ):
            sides[cells] = told
        training.progress("sides", len(judged), len(judged))
    return {"sides": sides}


def _describe_fold(training: _Training, fold: int, passages: Vectors, vectors: Vectors) -> Arrays:
    """The candidates of the propositions of one fold, by a memory without them."""
    texts, labelled = training.texts, training.labelled
    left_out = training.folds == fold
    memory = recall_others(
        training.work.folder / f"expanded-{fold}", texts, labelled, left_out=left_out, vectors=vectors
    )
    means = mean_vectors(passages, np.diff(texts.starts, append=len(texts.passages)).tolist())
    sources = Sources(training.lexical, passages, texts.starts, means, memory)
    features, relevant, chosen = [], [], []
    own = np.flatnonzero(left_out)
    for start in range(0, len(own), QUERIES_AT_ONCE):
        block = own[start : start + QUERIES_AT_ONCE]
        propositions = [labelled[index].proposition for index in block.tolist()]
        joined = join_signals(measure_signals(sources, propositions, vectors[block]))
        picked = pick_scores(joined)
        for query, index in enumerate(block.tolist()):
            candidates = select_top(picked[query], training.lexical.tie_rank, RANKED, floor=-np.inf)
            features.append(describe(joined, query, picked[query], candidates))
            relevant.append(np.isin(candidates, sorted(labelled[index].documents)))
            chosen.append(candidates)
        training.progress(f"fold {fold + 1}", min(start + QUERIES_AT_ONCE, len(own)), len(own))
    return {
        "features": np.concatenate(features),
        "relevant": np.concatenate(relevant),
        "candidates": np.concatenate(chosen),
        "counts": np.array([len(candidates) for candidates in chosen]),
        "propositions": own,
    }


def recall_others(
    folder: Path, texts: Texts, labelled: Sequence[Labelled], *, left_out: npt.NDArray[np.bool_], vectors: Vectors
) -> Memory:
    """The memory of an index that was built without the labelled propositions that are left out.

    ``left_out`` bool [propositions]; ``vectors`` float32 [propositions, d]. Its sparse index is written to ``folder``,
    or read from there.
    """
    links = sorted(
        (document, index) for index in np.flatnonzero(~left_out).tolist() for document in labelled[index].documents
    )
    terms: list[list[str]] = [[] for _ in texts.doc_ids]
    for document, index in links:
        terms[document] += analyze(labelled[index].proposition)
    return Memory(
        vectors,
        np.array([index for _, index in links], np.int32),
        np.array([document for document, _ in links], np.int32),
        _build_lexical(folder, texts, terms),
    )


def _build_lexical(folder: Path, texts: Texts, known_terms: Sequence[Sequence[str]]) -> SparseIndex:
    if not (folder / "manifest.json").exists():
        with SparseIndexBuilder(folder) as builder:
            for doc_id, terms, more in zip(texts.doc_ids, texts.terms, known_terms, strict=True):
                builder.add(doc_id, Counter(terms) + Counter(more))
            builder.commit()
    return SparseIndex.open(folder)


def _encode_passages(training: _Training, encoder: TunableEncoder, step: str) -> Vectors:
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        training.progress(step, done, len(training.texts.passages))

    return encoder.encode_documents(training.texts.passages, count)


def _join(halves: Sequence[Arrays], folds: Ints) -> tuple[Described, list[Ints], Floats]:
    """All propositions in their order, from the halves: what was described, the candidates of each, their sides."""
    parts: dict[int, Arrays] = {}
    for half in halves:
        cells = {name: half[name] for name in ("features", "relevant", "candidates")}
        cells["sides"] = half.get("sides", np.full((len(half["candidates"]), 2), np.nan))
        ends = np.cumsum(half["counts"])
        for index, start, end in zip(half["propositions"].tolist(), ends - half["counts"], ends, strict=True):
            parts[index] = {name: values[start:end] for name, values in cells.items()}
    ordered = [parts[index] for index in range(len(parts))]
    candidates = [part["candidates"] for part in ordered]
    described = Described(
        np.concatenate([part["features"] for part in ordered]),
        np.concatenate([part["relevant"] for part in ordered]),
        np.array([len(own) for own in candidates]),
        folds,
    )
    return described, candidates, np.concatenate([part["sides"] for part in ordered])


def _save_encoder(encoder: TunableEncoder, writer: DirectoryWriter) -> None:
    if encoder.exports:
        writer.save_bytes(ENCODER, [export_onnx(encoder)])
        writer.save_bytes(TOKENIZER, [encoder.tokenizer_json.encode()])
    else:
        encoder.save(writer.folder / LOCAL)
