"""Judged propositions to a stance model and its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from sicetnon.errors import InputError
from sicetnon.stance import StanceModel
from sicetnon.train import stance, train_stance
from sicetnon.types import Document, JudgedProposition, Judgment, Side

SUBJECTS = [
    "phones",
    "cars",
    "flags",
    "fences",
    "wages",
    "schools",
    "letters",
    "boats",
    "trees",
    "roads",
    "mills",
    "dogs",
]


def make_examples(subjects: Sequence[str] = SUBJECTS) -> tuple[list[JudgedProposition], dict[str, Document]]:
    """Make a decision about each subject, and propositions that it supports, refutes and says nothing of."""
    documents = {}
    propositions: list[JudgedProposition] = []
    for number, subject in enumerate(subjects):
        doc_id = f"d-{subject}"
        carries = f"The Court held that the police may not search {subject}."
        documents[doc_id] = Document(doc_id=doc_id, text=f"A man had {subject}. {carries} It was late.")
        other = f"d-{subjects[number - 1]}"
        for_it = Judgment(doc_id=doc_id, side=Side.SUPPORTS, evidence=carries)
        against_it = Judgment(doc_id=doc_id, side=Side.REFUTES, evidence=carries)
        silent = Judgment(doc_id=other, side=Side.NEITHER)
        for text, judgment in (
            (f"{subject} may not be searched.", for_it),
            (f"{subject} may be searched.", against_it),
        ):
            proposition_id = f"p-{len(propositions)}"
            propositions.append(
                JudgedProposition(proposition_id=proposition_id, proposition=text, judgments=(judgment, silent))
            )
    return propositions, documents


@pytest.fixture(scope="module")
def trained(cheap_encoder: Any) -> tuple[StanceModel, stance.StanceReport]:
    """Train on the made examples."""
    return train_stance(*make_examples(), cheap_encoder)


def test_report(trained: tuple[StanceModel, stance.StanceReport]) -> None:
    """The report counts what was learnt from, and each figure lies in its range."""
    report = asdict(trained[1])
    assert report["decisions"] == len(SUBJECTS)
    assert report["propositions"] == 2 * len(SUBJECTS)
    assert report["pairs"] == {"supports": 12, "refutes": 12, "neither": 24}
    for name, value in report.items():
        if name.endswith(("accuracy", "auc", "error")) or name.startswith("evidence"):
            assert isinstance(value, float)
            assert 0 <= value <= 1, name
    assert trained[1].evidence_sentence <= trained[1].evidence_passage


def test_it_learns(trained: tuple[StanceModel, stance.StanceReport]) -> None:
    """On decisions left out it finds the evidence, and tells sides better than chance and than their shares do."""
    report = trained[1]
    assert report.evidence_sentence > 0.9
    assert report.auc > 0.9
    assert report.log_loss < report.prior_log_loss


def test_deterministic(trained: tuple[StanceModel, stance.StanceReport], cheap_encoder: Any) -> None:
    """The same examples give the same model and the same report."""
    model, report = train_stance(*make_examples(), cheap_encoder)
    assert model.to_json() == trained[0].to_json()
    assert report == trained[1]


def test_usable(trained: tuple[StanceModel, stance.StanceReport]) -> None:
    """The model comes back from its JSON."""
    assert StanceModel.from_json(trained[0].to_json()).fingerprint == trained[0].fingerprint


def test_folds_by_decision(monkeypatch: pytest.MonkeyPatch, cheap_encoder: Any) -> None:
    """What a decision is tested with was trained without any example of that decision."""
    propositions, documents = make_examples()
    pairs = stance._read_pairs(propositions, documents, cheap_encoder)
    decisions = {id(pair.reading): pair.fold for pair in pairs}
    assert len(decisions) == len(documents)
    assert len(set(decisions.values())) > 1
    assert all(pair.fold == decisions[id(pair.reading)] for pair in pairs)
    trained_on: list[set[tuple[str, ...]]] = []
    tested: list[set[tuple[str, ...]]] = []
    fit, read = stance._fit, stance._side_features

    def watch_fit(given: Any) -> Any:
        trained_on.append({tuple(pair.reading.sentences) for pair in given})
        before = len(tested)
        model = fit(given)
        assert tested[before:] == trained_on[-1:]
        del tested[before:]  # read to learn from, not to test
        return model

    def watch_features(weights: Any, given: Any) -> Any:
        tested.append({tuple(pair.reading.sentences) for pair in given})
        return read(weights, given)

    monkeypatch.setattr(stance, "_fit", watch_fit)
    monkeypatch.setattr(stance, "_side_features", watch_features)
    train_stance(propositions, documents, cheap_encoder)
    assert len(trained_on) == len(tested) + 1  # the last is trained on everything
    assert len(trained_on[-1]) == len(documents)
    assert all(not seen & left_out for seen, left_out in zip(trained_on, tested, strict=False))
    assert set().union(*tested) == trained_on[-1]


def test_a_fold_is_the_decision_s_own() -> None:
    """A decision keeps its fold whatever else is trained on."""
    assert [stance._fold(f"d-{number}") for number in range(8)] == [stance._fold(f"d-{n}") for n in range(8)]
    assert {stance._fold(f"d-{number}") for number in range(100)} == set(range(stance.FOLDS))


def test_claim_only_model_knows_the_proposition_alone(trained: tuple[StanceModel, stance.StanceReport]) -> None:
    """A model shown only the proposition cannot tell silence from the rest, where each proposition has one of both."""
    assert trained[1].claim_only_accuracy <= 0.75


def change(propositions: list[JudgedProposition], **fields: Any) -> list[JudgedProposition]:
    """Change the first judgment of the first proposition."""
    first = propositions[0]
    judgment = replace(first.judgments[0], **fields)
    return [replace(first, judgments=(judgment, *first.judgments[1:])), *propositions[1:]]


def test_unknown_document(cheap_encoder: Any) -> None:
    """A judgment of a document that is not in the corpus is named."""
    propositions, documents = make_examples()
    with pytest.raises(InputError, match='a judgment of "d-absent"'):
        train_stance(change(propositions, doc_id="d-absent"), documents, cheap_encoder)


def test_evidence_that_is_not_in_the_document(cheap_encoder: Any) -> None:
    """Evidence that the document does not hold is named with proposition and document."""
    propositions, documents = make_examples()
    with pytest.raises(InputError, match='evidence of proposition "p-0" that is not in document "d-phones"'):
        train_stance(change(propositions, evidence="It never said so."), documents, cheap_encoder)


@pytest.mark.parametrize("side", list(Side))
def test_side_without_example(cheap_encoder: Any, side: Side) -> None:
    """Each side needs an example."""
    propositions, documents = make_examples()
    kept = [
        replace(p, judgments=tuple(judgment for judgment in p.judgments if judgment.side is not side))
        for p in propositions
    ]
    with pytest.raises(InputError, match=f"no example of {side}"):
        train_stance(kept, documents, cheap_encoder)


def test_too_little_evidence(cheap_encoder: Any) -> None:
    """Where no decision, or one alone, has marked evidence there is nothing to learn from and to test on."""
    propositions, documents = make_examples()
    unmarked = [replace(p, judgments=tuple(replace(j, evidence=None) for j in p.judgments)) for p in propositions]
    with pytest.raises(InputError, match="too few decisions with marked evidence"):
        train_stance(unmarked, documents, cheap_encoder)
    with pytest.raises(InputError, match="too few decisions with marked evidence"):
        train_stance([propositions[0], *unmarked[1:]], documents, cheap_encoder)


def test_marked_sentence() -> None:
    """Evidence is found as a whole sentence, as part of one, and around one."""
    sentences = ["A man had a phone.", "The Court held that it is private.", "It was late."]
    proposition = JudgedProposition(proposition_id="p", proposition="x", judgments=())
    for evidence, number in (
        ("The Court held that it is private.", 1),
        (" it is private ", 1),
        ("The Court held that it is private. It was", 1),
        (None, None),
    ):
        judgment = Judgment(doc_id="d", side=Side.SUPPORTS, evidence=evidence)
        assert stance._marked_sentence(proposition, judgment, sentences) == number


def test_features_that_never_vary() -> None:
    """A feature that is the same everywhere has no weight and breaks nothing."""
    features = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    _, scale, weights = stance._fit_standardised(features, np.array([0, 1, 2]), 1.0)
    assert scale[0] == 1
    assert weights[:, 0] == pytest.approx(0)
