"""Documents and examples -> texts, passages and labelled propositions, in folds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sicetnon.errors import InputError
from sicetnon.ingest import document_terms, split_document
from sicetnon.types import Document, Example, Span, Stance

Ints = npt.NDArray[np.int64]


class Texts(NamedTuple):
    """The documents of a corpus, as they are encoded and indexed.

    ``passages`` are those of all documents one after another; ``starts`` int64 [documents] is the first of each, and
    ``owners`` int64 [passages] the document of each. ``terms``: what a lexical index finds each document by.
    """

    doc_ids: list[str]
    texts: list[str]
    sentences: list[list[Span]]
    passages: list[str]
    starts: Ints
    owners: Ints
    terms: list[list[str]]


class Labelled(NamedTuple):
    """A proposition with the documents on point for it, by ordinal: whatever the side, and for each stance asked."""

    proposition: str
    documents: frozenset[int]
    by_stance: dict[Stance, frozenset[int]]


class LabelledQuery(NamedTuple):
    """A proposition, by its number and its text, with what is on point for it where a stance is asked."""

    proposition: int
    text: str
    stance: Stance
    relevant: frozenset[int]


def list_queries(labelled: Sequence[Labelled]) -> list[LabelledQuery]:
    """The labelled queries, proposition by proposition."""
    return [
        LabelledQuery(number, known.proposition, stance, own)
        for number, known in enumerate(labelled)
        for stance, own in known.by_stance.items()
    ]


def list_tuned(labelled: Sequence[Labelled], *, by_stance: bool) -> list[LabelledQuery]:
    """What an encoder is tuned on, proposition by proposition.

    ``by_stance``: the labelled queries, for an encoder that is told the stance. Else each proposition once, with all
    that is on point for it.
    """
    if by_stance:
        return list_queries(labelled)
    return [
        LabelledQuery(number, known.proposition, Stance.ALL, known.documents) for number, known in enumerate(labelled)
    ]


def read_texts(documents: Iterable[Document]) -> Texts:
    """Split the documents as an index does."""
    texts = Texts([], [], [], [], np.empty(0, np.int64), np.empty(0, np.int64), [])
    counts = []
    known: set[str] = set()
    for document in documents:
        sentences, passages = split_document(document)
        if document.doc_id in known:
            raise InputError(
                f'doc_id "{document.doc_id}" twice', expected="each document once", remedy="remove one of the two"
            )
        known.add(document.doc_id)
        texts.doc_ids.append(document.doc_id)
        texts.texts.append(document.text)
        texts.sentences.append(sentences)
        texts.passages.extend(span.of(document.text) for span in passages)
        texts.terms.append(document_terms(document))
        counts.append(len(passages))
    if not counts:
        raise InputError("no document", expected="at least one", remedy="check where they come from")
    sizes = np.array(counts, np.int64)
    return texts._replace(starts=np.cumsum(sizes) - sizes, owners=np.repeat(np.arange(len(sizes)), sizes))


def label_propositions(examples: Iterable[Example], doc_ids: Sequence[str]) -> list[Labelled]:
    """The propositions of the examples in order, each once, with those of their documents that are in the corpus.

    Raises:
        InputError: none of the documents is.
    """
    ordinals = {doc_id: ordinal for ordinal, doc_id in enumerate(doc_ids)}
    found: dict[str, dict[Stance, set[int]]] = {}
    for example in examples:
        own = {ordinals[doc_id] for doc_id in example.doc_ids if doc_id in ordinals}
        if own:
            found.setdefault(example.proposition, {}).setdefault(example.stance, set()).update(own)
    if not found:
        raise InputError(
            "no example with a document of the corpus", expected="some", remedy="check that the two belong together"
        )
    return [
        Labelled(
            proposition,
            frozenset().union(*by_stance.values()),
            {stance: frozenset(own) for stance, own in by_stance.items()},
        )
        for proposition, by_stance in found.items()
    ]


def list_unknown(examples: Iterable[Example], doc_ids: Sequence[str]) -> list[str]:
    """The documents that examples name but the corpus lacks, each once, in order of their IDs."""
    return sorted({doc_id for example in examples for doc_id in example.doc_ids}.difference(doc_ids))


def draw_some(own: Ints, most: int, *, seed: int) -> Ints:
    """At most so many of the numbers ``own`` int64 [n], by chance, in their order; all, if they are no more."""
    if len(own) <= most:
        return own
    return np.sort(np.random.default_rng([seed, len(own)]).permutation(own)[:most])


def deal_folds(count: int, folds: int, *, seed: int) -> Ints:
    """Deal ``count`` things into folds of equal size, by chance: int64 [count], from 0."""
    dealt = np.empty(count, np.int64)
    dealt[np.random.default_rng([seed, count]).permutation(count)] = np.arange(count) % folds
    return dealt
