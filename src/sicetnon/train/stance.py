"""Judged propositions -> the stance model, and what it is worth on decisions it was not trained on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sicetnon.dense import Encoder
from sicetnon.errors import InputError
from sicetnon.stance import Claim, Reading, StanceModel, Statement, negate, read_statement
from sicetnon.stance.cues import OPPOSITES
from sicetnon.stance.features import evidence_features, side_features
from sicetnon.stance.model import SIDES, find_evidence, softmax
from sicetnon.text import split_sentences
from sicetnon.train.logistic import Floats, Ints, fit_multinomial, fit_temperature, log_loss
from sicetnon.types import Document, JudgedProposition, Judgment, Side

FOLDS = 5
# Chosen by log loss on left-out decisions, which is flat from 30 to 300: docs/experiments.md.
SIDE_PENALTY = 100.0
EVIDENCE_PENALTY = 1.0
BINS = 10  # of the calibration error


@dataclass(frozen=True, slots=True)
class StanceReport:
    """Figures on pairs whose decision was left out of training (``FOLDS`` folds by decision).

    ``accuracy`` is of three sides; ``two_sided_accuracy`` and ``auc`` (area under the ROC curve) of supports against
    refutes; ``claim_only_*`` are those of the same model shown nothing but the proposition. ``calibration_error`` is
    the expected calibration error of the likeliest side over ``BINS`` equal bins (Guo et al. 2017); ``brier`` the sum
    over sides of squared errors; ``evidence_*`` the share of marked sentences that were found, or lay in the passage.
    """

    decisions: int
    propositions: int
    pairs: dict[str, int]
    accuracy: float
    two_sided_accuracy: float
    auc: float
    claim_only_accuracy: float
    claim_only_two_sided_accuracy: float
    claim_only_auc: float
    log_loss: float
    prior_log_loss: float
    brier: float
    calibration_error: float
    temperature: float
    evidence_sentence: float
    evidence_passage: float


@dataclass(frozen=True, slots=True)
class _Pair:
    claim: Claim
    reading: Reading
    evidence_features: Floats
    evidence: int | None  # number of the marked sentence
    side: int  # index into SIDES
    fold: int


def train_stance(
    propositions: Sequence[JudgedProposition], documents: Mapping[str, Document], encoder: Encoder
) -> tuple[StanceModel, StanceReport]:
    """Train on every judgment; report on folds by decision.

    Raises:
        InputError: a judgment names an unknown document, marks a sentence that is not in it, or a side has no example.
    """
    pairs = _read_pairs(propositions, documents, encoder)
    folds = np.array([pair.fold for pair in pairs])
    sides = np.array([pair.side for pair in pairs])
    for number, side in enumerate(SIDES):
        if not (sides == number).any():
            raise InputError(f"no example of {side}", expected="examples of each side", remedy="add some")
    if len({pair.fold for pair in pairs if pair.evidence is not None}) < 2:  # noqa: PLR2004 - one to learn, one to test
        raise InputError(
            "too few decisions with marked evidence",
            expected="marked evidence in several decisions",
            remedy="mark more, or add decisions",
        )
    logits = np.zeros((len(pairs), len(SIDES)))
    claim_only = np.zeros((len(pairs), len(SIDES)))
    found: list[tuple[bool, bool]] = []
    claims = np.array([_claim_features(pair.claim.statement) for pair in pairs])
    for fold in range(FOLDS):
        held_out = folds == fold
        if not held_out.any():
            continue
        model = _fit([pair for pair in pairs if pair.fold != fold])
        tested = [pair for pair in pairs if pair.fold == fold]
        logits[held_out] = model.side_logits(_side_features(model.evidence_weights, tested))
        found += [_evidence_found(model, pair) for pair in tested if pair.evidence is not None]
        mean, scale, weights = _fit_standardised(claims[~held_out], sides[~held_out], SIDE_PENALTY)
        claim_only[held_out] = ((claims[held_out] - mean) / scale) @ weights[:, :-1].T + weights[:, -1]
    temperature = fit_temperature(logits, sides)
    model = replace(_fit(pairs), temperature=temperature)
    probabilities = softmax(logits / temperature)
    shares = np.bincount(sides, minlength=len(SIDES)) / len(sides)
    report = StanceReport(
        decisions=len({judgment.doc_id for p in propositions for judgment in p.judgments}),
        propositions=len(propositions),
        pairs={str(side): int((sides == number).sum()) for number, side in enumerate(SIDES)},
        **measure_accuracies(probabilities, sides),
        **{f"claim_only_{name}": value for name, value in measure_accuracies(softmax(claim_only), sides).items()},
        log_loss=log_loss(probabilities, sides),
        prior_log_loss=float(-(shares * np.log(shares)).sum()),
        brier=float(((probabilities - np.eye(len(SIDES))[sides]) ** 2).sum(axis=1).mean()),
        calibration_error=calibration_error(probabilities, sides),
        temperature=temperature,
        evidence_sentence=float(np.mean([sentence for sentence, _ in found])),
        evidence_passage=float(np.mean([passage for _, passage in found])),
    )
    return model, report


def calibration_error(probabilities: Floats, classes: Ints) -> float:
    """Expected calibration error of the likeliest class: mean over bins of |accuracy - confidence|, by their size."""
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == classes
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    error = sum(abs(right[bins == b].sum() - confidence[bins == b].sum()) for b in range(BINS))
    return float(error / len(classes))


def area_under_roc(scores: Floats, positive: npt.NDArray[np.bool_]) -> float:
    """The chance that a positive scores above a negative, ties counting half (Mann and Whitney 1947)."""
    above = scores[positive][:, None] - scores[~positive][None, :]
    return float((above > 0).mean() + (above == 0).mean() / 2)


def _read_pairs(
    propositions: Sequence[JudgedProposition], documents: Mapping[str, Document], encoder: Encoder
) -> list[_Pair]:
    wanted = sorted({judgment.doc_id for p in propositions for judgment in p.judgments})
    if unknown := [doc_id for doc_id in wanted if doc_id not in documents]:
        raise InputError(
            f'a judgment of "{unknown[0]}"',
            expected="documents of the corpus only",
            remedy="correct the ID or the corpus",
        )
    texts = {
        doc_id: [span.of(documents[doc_id].text) for span in split_sentences(documents[doc_id].text)]
        for doc_id in wanted
    }
    flat = encoder.encode_documents([sentence for doc_id in wanted for sentence in texts[doc_id]])
    readings, start = {}, 0
    for doc_id in wanted:
        readings[doc_id] = Reading(texts[doc_id], flat[start : start + len(texts[doc_id])])
        start += len(texts[doc_id])
    texts_asked = [p.proposition for p in propositions]
    vectors = encoder.encode_queries(texts_asked)
    denials = encoder.encode_queries([negate(text) for text in texts_asked])
    claims = map(Claim, map(read_statement, texts_asked), vectors, denials)
    return [
        _Pair(
            claim=claim,
            reading=readings[judgment.doc_id],
            evidence_features=evidence_features(claim, readings[judgment.doc_id]),
            evidence=_marked_sentence(p, judgment, texts[judgment.doc_id]),
            side=SIDES.index(judgment.side),
            fold=_fold(judgment.doc_id),
        )
        for p, claim in zip(propositions, claims, strict=True)
        for judgment in p.judgments
    ]


def _marked_sentence(proposition: JudgedProposition, judgment: Judgment, sentences: Sequence[str]) -> int | None:
    if judgment.evidence is None:
        return None
    marked = judgment.evidence.strip()
    for number, sentence in enumerate(sentences):
        if sentence in marked or marked in sentence:
            return number
    raise InputError(
        f'evidence of proposition "{proposition.proposition_id}" that is not in document "{judgment.doc_id}"',
        expected="a sentence of that document, character for character",
        remedy="correct the evidence",
    )


def _fold(doc_id: str) -> int:
    """The same fold for a decision on every machine, whatever else is trained on."""
    return hashlib.sha256(doc_id.encode()).digest()[0] % FOLDS


def _fit(pairs: Sequence[_Pair]) -> StanceModel:
    marked = [pair for pair in pairs if pair.evidence is not None]
    rows = np.concatenate([pair.evidence_features for pair in marked])
    carries = np.concatenate([np.arange(len(pair.evidence_features)) == pair.evidence for pair in marked])
    two = fit_multinomial(rows, carries.astype(np.int64), class_count=2, penalty=EVIDENCE_PENALTY)
    evidence_weights = two[1, :-1] - two[0, :-1]
    features = _side_features(evidence_weights, pairs)
    sides = np.array([pair.side for pair in pairs])
    return StanceModel(evidence_weights, *_fit_standardised(features, sides, SIDE_PENALTY), 1.0)


def _fit_standardised(features: Floats, classes: Ints, penalty: float) -> tuple[Floats, Floats, Floats]:
    """Mean, scale and weights; a feature that never varies keeps scale 1 and so weight 0."""
    mean, deviation = features.mean(axis=0), features.std(axis=0)
    scale = np.where(deviation > 0, deviation, 1.0)
    weights = fit_multinomial((features - mean) / scale, classes, class_count=len(SIDES), penalty=penalty)
    return mean, scale, weights


def _side_features(evidence_weights: Floats, pairs: Sequence[_Pair]) -> Floats:
    return np.array(
        [
            side_features(pair.claim, pair.reading, *find_evidence(evidence_weights, pair.evidence_features))
            for pair in pairs
        ]
    )


def _evidence_found(model: StanceModel, pair: _Pair) -> tuple[bool, bool]:
    sentence, passage = find_evidence(model.evidence_weights, pair.evidence_features)
    return sentence == pair.evidence, pair.evidence in range(*passage.indices(len(pair.reading.sentences)))


def _claim_features(statement: Statement) -> list[float]:
    return [statement.negations, *(statement.signs.get(concept, 0.0) for concept in OPPOSITES)]


def measure_accuracies(probabilities: Floats, sides: Ints) -> dict[str, float]:
    """Accuracy of three sides, of supports against refutes, and the area under the ROC curve of the latter.

    ``probabilities`` float64 [n, 3] in the order of ``SIDES``; ``sides`` int64 [n], indices into it.
    """
    two = sides != SIDES.index(Side.NEITHER)
    lean = probabilities[two, 0] - probabilities[two, 1]
    return {
        "accuracy": float((probabilities.argmax(axis=1) == sides).mean()),
        "two_sided_accuracy": float(((lean > 0) == (sides[two] == 0)).mean()),
        "auc": area_under_roc(probabilities[two, 0] / probabilities[two, :2].sum(axis=1), sides[two] == 0),
    }
