"""Documents and examples as a training takes them, and how they are dealt into folds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sicetnon.errors import InputError
from sicetnon.ingest import PASSAGE_WORDS, document_terms
from sicetnon.train.labelled import (
    Labelled,
    deal_folds,
    label_propositions,
    list_queries,
    list_tuned,
    list_unknown,
    read_texts,
)
from sicetnon.types import Document, Example, Stance

LONG = " ".join(f"The court held number {number}." for number in range(60))


def example(proposition: str, stance: Stance, *doc_ids: str) -> Example:
    """Make a labelled query."""
    return Example(proposition=proposition, stance=stance, doc_ids=frozenset(doc_ids))


def test_texts_by_hand() -> None:
    """Passages of all documents one after another, each with its owner; terms with those of the title."""
    documents = [
        Document(doc_id="b", title="Phones", text="One phone. Two phones.\n\nThree cars."),
        Document(doc_id="a", text="Four."),
        Document(doc_id="c", text=LONG),
    ]
    texts = read_texts(documents)
    assert texts.doc_ids == ["b", "a", "c"]
    assert texts.passages[:3] == ["One phone. Two phones.", "Three cars.", "Four."]
    assert texts.starts.tolist() == [0, 2, 3]
    assert texts.owners.tolist() == [0, 0, 1] + [2] * (len(texts.passages) - 3)
    assert len(texts.passages) > 4
    assert max(len(passage.split()) for passage in texts.passages) <= PASSAGE_WORDS
    assert texts.terms == [document_terms(document) for document in documents]
    assert [span.of(documents[0].text) for span in texts.sentences[0]] == ["One phone.", "Two phones.", "Three cars."]


@pytest.mark.parametrize(
    ("documents", "found"),
    [([], "no document"), ([Document(doc_id="a", text="x."), Document(doc_id="b", text=" ")], '"b" without text')],
)
def test_texts_that_are_refused(documents: list[Document], found: str) -> None:
    """A corpus without a document, or with one that says nothing, is refused as an index refuses it."""
    with pytest.raises(InputError, match=found):
        read_texts(documents)


def test_labels_by_hand() -> None:
    """Each proposition once, in the order met; documents by stance and of all; those that are not there left out."""
    examples = [
        example("P", Stance.SUPPORTED, "a", "gone"),
        example("Q", Stance.REFUTED, "gone"),
        example("R", Stance.ALL, "c"),
        example("P", Stance.REFUTED, "c"),
        example("P", Stance.SUPPORTED, "b"),
        example("R", Stance.SUPPORTED),
    ]
    assert label_propositions(examples, ["a", "b", "c"]) == [
        Labelled("P", frozenset({0, 1, 2}), {Stance.SUPPORTED: frozenset({0, 1}), Stance.REFUTED: frozenset({2})}),
        Labelled("R", frozenset({2}), {Stance.ALL: frozenset({2})}),
    ]


def test_documents_that_are_not_there() -> None:
    """What examples name but the corpus lacks is listed, each document once."""
    examples = [example("P", Stance.SUPPORTED, "b", "gone", "away"), example("Q", Stance.ALL, "gone")]
    assert list_unknown(examples, ["a", "b"]) == ["away", "gone"]
    assert list_unknown(examples, ["gone", "b", "away"]) == []


def test_what_is_tuned_on() -> None:
    """An encoder that is told the stance: each labelled query. Another one: each proposition with all it has."""
    by_stance = {Stance.SUPPORTED: frozenset({0, 1}), Stance.REFUTED: frozenset({2})}
    labelled = [
        Labelled("P", frozenset({0, 1, 2}), by_stance),
        Labelled("R", frozenset({2}), {Stance.ALL: frozenset({2})}),
    ]
    assert list_tuned(labelled, by_stance=True) == list_queries(labelled)
    assert [tuple(query) for query in list_tuned(labelled, by_stance=True)] == [
        (0, "P", Stance.SUPPORTED, frozenset({0, 1})),
        (0, "P", Stance.REFUTED, frozenset({2})),
        (1, "R", Stance.ALL, frozenset({2})),
    ]
    assert [tuple(query) for query in list_tuned(labelled, by_stance=False)] == [
        (0, "P", Stance.ALL, frozenset({0, 1, 2})),
        (1, "R", Stance.ALL, frozenset({2})),
    ]


@pytest.mark.parametrize("examples", [[], [example("P", Stance.ALL, "gone")], [example("P", Stance.ALL)]])
def test_labels_of_nothing(examples: list[Example]) -> None:
    """Examples of which no document is in the corpus are refused."""
    with pytest.raises(InputError, match="no example with a document of the corpus"):
        label_propositions(examples, ["a"])


@given(st.integers(0, 300), st.integers(1, 12), st.integers(0, 2**32))
def test_folds_are_of_equal_size(count: int, folds: int, seed: int) -> None:
    """Each fold has as many as the others, or one more; the same seed deals the same."""
    dealt = deal_folds(count, folds, seed=seed)
    sizes = Counter(dealt.tolist())
    assert len(dealt) == count
    assert set(sizes) == set(range(min(folds, count)))
    assert not sizes or max(sizes.values()) - min(sizes.values()) <= 1
    assert (deal_folds(count, folds, seed=seed) == dealt).all()


def test_folds_are_dealt_by_chance() -> None:
    """Neighbours do not share a fold more often than chance has it, and another seed deals otherwise."""
    dealt = deal_folds(10_000, 10, seed=0)
    assert 0.08 < (dealt[1:] == dealt[:-1]).mean() < 0.12
    assert 0.08 < (dealt == deal_folds(10_000, 10, seed=1)).mean() < 0.12
    assert not (dealt == np.arange(10_000) % 10).all()
