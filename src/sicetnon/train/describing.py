"""Labelled propositions -> their candidates as a ranker is told of them, each by what had not seen it.

What is learned from is measured as a search would, on what it will see in use: a proposition is scored by an encoder
that was not tuned on it, and by a memory that does not hold it. So the propositions are dealt into folds, of which
every other one makes a half: one encoder is tuned on each half and scores the other, and the memory leaves out one fold
at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sicetnon.collection import Memory
from sicetnon.dense import QUERIES_AT_ONCE
from sicetnon.dense.encoder import Vectors
from sicetnon.ingest import mean_vectors
from sicetnon.relevance.features import describe, join_signals, pick_scores
from sicetnon.relevance.order import RANKED
from sicetnon.relevance.reranker import Nearest, find_known, find_nearest
from sicetnon.relevance.signals import Sources, measure_signals
from sicetnon.sparse import SparseIndex, SparseIndexBuilder, select_top
from sicetnon.text import analyze
from sicetnon.train.contrastive import TuningPair
from sicetnon.train.labelled import Labelled, Texts
from sicetnon.train.measuring import Candidates
from sicetnon.train.ranker import Described
from sicetnon.train.sides import JUDGED, choose_judged, judge_candidates
from sicetnon.train.training import HALVES, MEMORY_FOLDS, Training
from sicetnon.train.tunable import TunableEncoder
from sicetnon.train.work import Arrays

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Seen(NamedTuple):
    """The candidates of all propositions, one proposition after the other, as they were found without it.

    ``sides`` float64 [candidates, 2] to support and to refute, NaN where not told; ``nearest`` what of each candidate a
    cross-encoder reads. ``nearest_of_half`` int64 [candidates]: the nearest known proposition where those of the other
    half are not known either.
    """

    described: Described
    candidates: Candidates
    sides: Floats
    nearest: Nearest
    nearest_of_half: Ints


def describe_all(training: Training, pairs: Sequence[TuningPair]) -> Seen:
    """The candidates of all propositions. ``pairs`` are what each half's encoder is tuned on, those of the other."""
    halves = [
        training.work.once(f"half-{half}", lambda half=half: _describe_half(training, pairs, half))  # type: ignore[misc]
        for half in range(HALVES)
    ]
    return _join(halves, training)


def tune_half(training: Training, pairs: Sequence[TuningPair], half: int) -> TunableEncoder:
    """The encoder that was tuned on the propositions that are not of this half."""
    others = {training.labelled[index].proposition for index in np.flatnonzero(training.halves != half).tolist()}
    return training.tune(f"half {half + 1}", [pair for pair in pairs if pair.proposition in others])


def _describe_half(training: Training, pairs: Sequence[TuningPair], half: int) -> Arrays:
    """The candidates of the propositions of one half, by an encoder that was tuned on the other.

    A proposition is described once, by the instruction for all stances where the encoder has one by stance: what is
    learned here is what is on point, of which a document labelled for the wrong side is an example too.
    """
    encoder = tune_half(training, pairs, half)
    passages = training.encode_passages(encoder, f"passages of half {half + 1}")
    vectors = encoder.encode_queries([known.proposition for known in training.labelled])
    starts = training.texts.starts
    means = mean_vectors(passages, np.diff(starts, append=len(passages)).tolist())
    sources = Sources(training.lexical, passages, starts, means, None)
    parts = [
        _describe_fold(training, fold, sources, vectors)
        for fold in range(MEMORY_FOLDS)
        if fold % HALVES == half and (training.folds == fold).any()
    ]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return joined | (_judge_some(training, encoder, joined) if half == 0 else {})


def _judge_some(training: Training, encoder: TunableEncoder, described: Arrays) -> Arrays:
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


def _describe_fold(training: Training, fold: int, sources: Sources, vectors: Vectors) -> Arrays:
    """The candidates of the propositions of one fold, by a memory without them."""
    texts, labelled = training.texts, training.labelled
    left_out = training.folds == fold
    seed = None if training.settings.from_pool else np.random.SeedSequence([training.settings.seed, fold])
    memory = recall_others(
        training.work.folder / f"expanded-{fold}", texts, labelled, left_out=left_out, vectors=vectors, seed=seed
    )
    sources = sources._replace(memory=memory)
    of_half = training.halves[memory.propositions] == fold % HALVES
    halved = memory._replace(propositions=memory.propositions[of_half], documents=memory.documents[of_half])
    features, relevant, chosen, nearest = [], [], [], []
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
            passages_of, known = find_nearest(sources, vectors[index], candidates)
            known_of_half = find_known(halved, vectors[index], candidates)
            nearest.append(np.stack([passages_of, known, known_of_half], axis=1))
        training.progress(f"fold {fold + 1}", min(start + QUERIES_AT_ONCE, len(own)), len(own))
    return {
        "features": np.concatenate(features),
        "relevant": np.concatenate(relevant),
        "candidates": np.concatenate(chosen),
        "nearest": np.concatenate(nearest),
        "counts": np.array([len(candidates) for candidates in chosen]),
        "propositions": own,
    }


def recall_others(
    folder: Path,
    texts: Texts,
    labelled: Sequence[Labelled],
    *,
    left_out: npt.NDArray[np.bool_],
    vectors: Vectors,
    seed: np.random.SeedSequence | None,
) -> Memory:
    """The memory of an index that was built without the labelled propositions that are left out.

    Their documents are known by one proposition less then, and where most documents are known by as many, that tells
    them apart. With a ``seed`` every other known document loses one of its propositions as well, by chance.

    ``left_out`` bool [propositions]; ``vectors`` float32 [propositions, d]. Its sparse index is written to ``folder``,
    or read from there.
    """
    links = np.array(
        sorted((document, index) for index, known in enumerate(labelled) for document in known.documents), np.int32
    ).reshape(-1, 2)
    if seed is None or not left_out.any():
        links = links[~left_out[links[:, 1]]]
    else:
        turns = np.random.default_rng(seed).permutation(len(labelled))
        links = links[_choose_kept(links[:, 0], left_out[links[:, 1]], turns[links[:, 1]])]
    terms: list[list[str]] = [[] for _ in texts.doc_ids]
    for document, index in links.tolist():
        terms[document] += analyze(labelled[index].proposition)
    return Memory(vectors, links[:, 1].copy(), links[:, 0].copy(), build_lexical(folder, texts, terms))


def _choose_kept(
    documents: npt.NDArray[np.int32], left_out: npt.NDArray[np.bool_], turns: Ints
) -> npt.NDArray[np.bool_]:
    """Which links are kept, bool [links]: of each document all but those left out, or else all but the first in turn.

    ``documents`` int32 [links] names the document of each, ``turns`` int64 [links] the turn of its proposition.
    """
    kept = ~left_out
    others = np.flatnonzero(~np.isin(documents, documents[left_out]))
    ordered = others[np.lexsort((turns[others], documents[others]))]
    _, firsts = np.unique(documents[ordered], return_index=True)
    kept[ordered[firsts]] = False
    return kept


def build_lexical(folder: Path, texts: Texts, known_terms: Sequence[Sequence[str]]) -> SparseIndex:
    """The sparse index of all documents, each with more terms than its own; read from ``folder`` if it is there."""
    if not (folder / "manifest.json").exists():
        with SparseIndexBuilder(folder) as builder:
            for doc_id, terms, more in zip(texts.doc_ids, texts.terms, known_terms, strict=True):
                builder.add(doc_id, Counter(terms) + Counter(more))
            builder.commit()
    return SparseIndex.open(folder)


def _join(halves: Sequence[Arrays], training: Training) -> Seen:
    """All propositions in their order, from the halves."""
    parts: dict[int, Arrays] = {}
    for half in halves:
        cells = {name: half[name] for name in ("features", "relevant", "candidates", "nearest")}
        cells["sides"] = half.get("sides", np.full((len(half["candidates"]), 2), np.nan))
        ends = np.cumsum(half["counts"])
        for index, start, end in zip(half["propositions"].tolist(), ends - half["counts"], ends, strict=True):
            parts[index] = {name: values[start:end] for name, values in cells.items()}
    ordered = [parts[index] for index in range(len(parts))]
    documents = [part["candidates"] for part in ordered]
    described = Described(
        np.concatenate([part["features"] for part in ordered]),
        np.concatenate([part["relevant"] for part in ordered]),
        np.array([len(own) for own in documents]),
        training.folds,
    )
    nearest = np.concatenate([part["nearest"] for part in ordered]).T
    return Seen(
        described,
        Candidates(documents, training.lexical.tie_rank),
        np.concatenate([part["sides"] for part in ordered]),
        Nearest(*nearest[:2]),
        nearest[2],
    )
