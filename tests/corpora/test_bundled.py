"""The decisions and propositions that ship with the package: how many there are, and that they fit together."""

from __future__ import annotations

from collections import Counter

import pytest

from sicetnon.corpora import read_bundled_contrasts, read_bundled_decisions, read_bundled_propositions
from sicetnon.text import split_sentences
from sicetnon.types import Document, JudgedProposition, Side


@pytest.fixture(scope="module")
def decisions() -> dict[str, Document]:
    """Read the bundled decisions."""
    return {document.doc_id: document for document in read_bundled_decisions()}


@pytest.fixture(scope="module")
def propositions() -> list[JudgedProposition]:
    """Read the bundled propositions."""
    return read_bundled_propositions()


def test_decisions_enough(decisions: dict[str, Document]) -> None:
    """There are at least 600 decisions, from 1803 to 2024, in at least 200 areas of law."""
    days = [document.decided for document in decisions.values() if document.decided is not None]
    assert len(days) == len(decisions) >= 600
    assert (min(days).year, max(days).year) == (1803, 2024)
    assert len({area for document in decisions.values() for area in document.areas}) >= 200


def test_decisions_whole(decisions: dict[str, Document]) -> None:
    """Every decision has a title, a citation, a court and areas, and 100 to 250 words, and stands in order of day."""
    for document in decisions.values():
        assert document.title, document.doc_id
        assert document.citation, document.doc_id
        assert (document.court, document.court_id) == ("Supreme Court of the United States", "scotus")
        assert document.areas, document.doc_id
        assert 100 <= len(document.text.split()) <= 250, document.doc_id
    days = [str(document.decided) for document in decisions.values()]
    assert days == sorted(days)
    assert len({document.citation for document in decisions.values()}) == len(decisions)


def test_overruled_pairs(decisions: dict[str, Document]) -> None:
    """At least 20 overruled decisions stand with the decision that overruled them, on whose day it happened."""
    pairs = 0
    for document in decisions.values():
        if document.treatment is None:
            continue
        assert document.decided is not None
        assert document.treatment.date > document.decided
        assert document.treatment.by_title
        if document.treatment.by is not None:
            overruling = decisions[document.treatment.by]
            assert overruling.decided == document.treatment.date, document.doc_id
            assert overruling.title == document.treatment.by_title, document.doc_id
            pairs += document.treatment.status.startswith("overruled")
    assert pairs >= 20


def test_propositions_enough(propositions: list[JudgedProposition]) -> None:
    """There are at least 11,000 judgments of propositions, no two alike, at least 400 with a decision on each side."""
    assert sum(len(p.judgments) for p in propositions) >= 11_000
    alike = Counter(" ".join(p.proposition.lower().split()) for p in propositions)
    assert max(alike.values()) == 1
    both = {Side.SUPPORTS, Side.REFUTES}
    assert sum(both <= {judgment.side for judgment in p.judgments} for p in propositions) >= 400


def test_sides_balance(propositions: list[JudgedProposition]) -> None:
    """About a third of the judgments are of each side: from 29 to 37 in a hundred."""
    sides = Counter(judgment.side for p in propositions for judgment in p.judgments)
    assert sides.keys() == set(Side)
    assert all(0.29 <= count / sides.total() <= 0.37 for count in sides.values()), sides


def test_wording_tells_no_side(propositions: list[JudgedProposition]) -> None:
    """No word of the proposition gives its side away: of those often used, each stands under each side."""
    said: dict[str, Counter[Side]] = {}
    for proposition in propositions:
        for word in set(proposition.proposition.lower().rstrip(".").split()):
            said.setdefault(word, Counter()).update(judgment.side for judgment in proposition.judgments)
    often = {word: sides for word, sides in said.items() if sides.total() >= 200}
    assert len(often) >= 40
    for word, sides in often.items():
        assert all(0.1 <= sides[side] / sides.total() <= 0.6 for side in Side), (word, sides)


def test_judgments_fit_the_decisions(decisions: dict[str, Document], propositions: list[JudgedProposition]) -> None:
    """Every judgment is of a bundled decision, once, and its evidence is a sentence of it, character for character."""
    sentences = {
        doc_id: {span.of(document.text) for span in split_sentences(document.text)}
        for doc_id, document in decisions.items()
    }
    for proposition in propositions:
        judged = [judgment.doc_id for judgment in proposition.judgments]
        assert len(set(judged)) == len(judged), proposition.proposition_id
        for judgment in proposition.judgments:
            assert judgment.doc_id in decisions, proposition.proposition_id
            if judgment.evidence is not None:
                assert judgment.evidence in decisions[judgment.doc_id].text, proposition.proposition_id
                inside = [s for s in sentences[judgment.doc_id] if s in judgment.evidence or judgment.evidence in s]
                assert inside, proposition.proposition_id
            else:
                assert judgment.side is Side.NEITHER, proposition.proposition_id


def test_evidence_is_marked(propositions: list[JudgedProposition]) -> None:
    """Every judgment for or against marks its evidence."""
    taken = [j for p in propositions for j in p.judgments if j.side is not Side.NEITHER]
    assert all(judgment.evidence for judgment in taken)


def test_contrasts() -> None:
    """Each claim of a contrast set is of different sides beside different statements: alone it tells nothing."""
    contrasts = read_bundled_contrasts()
    assert len(contrasts) >= 1_800
    for contrast in contrasts:
        assert len(set(contrast.statements)) == len(contrast.statements) >= 3, contrast
        assert len({text for text, _ in contrast.claims}) == len(contrast.claims) >= 2, contrast
        assert all(len(set(sides)) >= 2 for _, sides in contrast.claims), contrast


def test_contrasts_share_no_claim_and_no_statement() -> None:
    """No claim and no statement stands in two sets."""
    texts = [text for contrast in read_bundled_contrasts() for text, _ in contrast.claims]
    said = [statement for contrast in read_bundled_contrasts() for statement in contrast.statements]
    for each in (texts, said):
        assert [text for text, count in Counter(each).items() if count > 1] == []


def test_sides_of_contrasts_do_not_show_in_negations() -> None:
    """A claim with a negation is about as often supported as refuted."""
    counts = Counter(
        side
        for contrast in read_bundled_contrasts()
        for text, sides in contrast.claims
        if {"not", "no", "never", "cannot", "without", "nothing"} & set(text.lower().split())
        for side in sides
    )
    assert 0.9 < counts[Side.SUPPORTS] / counts[Side.REFUTES] < 1.1
