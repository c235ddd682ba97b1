"""One document of an index, and what it says of a proposition."""

from __future__ import annotations

from dataclasses import replace

from sicetnon.search import CANDIDATES, Searcher
from sicetnon.serve.answer import Marked, mark_sentence
from sicetnon.text.sentences import PARAGRAPH_BREAK
from sicetnon.types import Document, Filters, Hit, Query, Span, Stance


def find_document(searcher: Searcher, doc_id: str) -> Document | None:
    store = searcher._collection.documents  # noqa: SLF001 - a Searcher has no public way yet to read a document by its ID
    ordinal = store.find(doc_id)
    return None if ordinal is None else store.read([ordinal])[0]


def judge_document(searcher: Searcher, query: Query, document: Document) -> Hit | None:
    """The document as a hit of ``query``, whatever its filters and day; None where it is not among the candidates.

    Searching the documents of its court and day alone makes it one, save where more than ``CANDIDATES`` share both.
    """
    court = document.court or document.court_id
    filters = Filters(courts=(court,) if court else (), decided_from=document.decided, decided_to=document.decided)
    alone = replace(query, stance=Stance.ALL, top_k=CANDIDATES, filters=filters, as_of=None, min_relevance=0.0)
    hits = searcher.search(alone).hits
    return next((hit for hit in hits if hit.document.doc_id == document.doc_id), None)


def split_paragraphs(text: str, sentence: Span | None) -> list[Marked]:
    """The paragraphs of a text, which blank lines part, with ``sentence`` marked in the one that holds it."""
    breaks = [match.span() for match in PARAGRAPH_BREAK.finditer(text)]
    starts = [0, *(end for _, end in breaks)]
    ends = [*(start for start, _ in breaks), len(text)]
    whole = [Span(start, end) for start, end in zip(starts, ends, strict=True) if text[start:end].strip()]
    return [mark_sentence(text, paragraph, sentence) for paragraph in whole]
