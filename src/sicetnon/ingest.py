"""The way of a document: Document -> sentences and passages -> terms and vectors -> index directory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sicetnon.collection import CollectionWriter
from sicetnon.corpora.documents import document_row
from sicetnon.dense import Encoder, load_encoder
from sicetnon.dense.encoder import Vectors
from sicetnon.errors import InputError
from sicetnon.relevance import KnownProposition, RetrievalModel
from sicetnon.stance import StanceModel
from sicetnon.text import analyze, split_passages, split_sentences
from sicetnon.types import Document, Progress, Span

BUNDLED = "bundled"  # what the settings call the stance model that ships with the package
PASSAGE_WORDS = 110  # about 150 WordPiece tokens: well within every encoder's limit, so no word of a passage is lost


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What ``build_index`` did: how many of each, and which rows it could not read as fully as they were written."""

    documents: int
    passages: int
    sentences: int
    unread_dates: int


def build_index(
    documents: Iterable[Document],
    path: Path | str,
    *,
    encoder: Encoder | None = None,
    model: RetrievalModel | None = None,
    stance_model: StanceModel | None = None,
    progress: Progress | None = None,
) -> IndexReport:
    """Build a legal index of ``documents`` at ``path``; what stood there stays usable until it is finished.

    ``encoder`` is the embedded one if None. ``model`` brings an encoder of its own in its place, a ranker, and labelled
    propositions, of which those of the documents here are remembered. ``stance_model`` is kept in the index; if None,
    searches use the one that ships with the package that searches. Takes memory for all texts and vectors at once:
    about 40 kB a document of 400 words.

    Raises:
        InputError: no document, one without text, or a doc_id twice.
        IndexDirectoryError: ``path`` holds something else, is being written, or cannot be written.
    """
    report = progress or (lambda _step, _done, _total: None)
    encoder = model.load_encoder() if model else encoder or load_encoder()
    known = _Known(model.propositions if model else [])
    if stance_model is None and model and (own_stance := model.stance_model) is not None:
        stance_model = StanceModel.from_json(own_stance)
    texts: list[str] = []
    sentences: list[list[Span]] = []
    passages: list[list[Span]] = []
    unread_dates = 0
    digest = hashlib.sha256()
    with CollectionWriter.create(Path(path), remembers=model is not None) as writer:
        for document in documents:
            own_sentences, own_passages = split_document(document)
            texts.append(document.text)
            sentences.append(own_sentences)
            passages.append(own_passages)
            digest.update(_digest_row(document))
            terms = document_terms(document)
            writer.add(document, terms, known.link(document.doc_id, len(texts) - 1))
            unread_dates += document.decided is None and bool(document.metadata.get("decided"))
            report("reading", len(texts), 0)

        if not texts:
            raise InputError("no document", expected="at least one", remedy="check where they come from")

        def encode(step: str, units: list[list[Span]]) -> Vectors:
            flat = [span.of(text) for text, spans in zip(texts, units, strict=True) for span in spans]
            done = 0

            def count(more: int) -> None:
                nonlocal done
                done += more
                report(step, done, len(flat))

            return encoder.encode_documents(flat, count)

        passage_vectors = encode("passages", passages)
        writer.save_units("passage", passages, passage_vectors)
        writer.save_document_vectors(mean_vectors(passage_vectors, [len(spans) for spans in passages]))
        writer.save_units("sentence", sentences, encode("sentences", sentences))
        if model:
            writer.save_memory(encoder.encode_queries(known.texts), *known.links)
            writer.save_ranker(model.ranker.to_json())
            if (own := model.onnx) is not None:
                writer.save_encoder(*own)
            if (reranker := model.reranker) is not None:
                writer.save_reranker(*reranker, known.texts)
        if stance_model:
            writer.save_stance_model(stance_model.to_json())
        counts = {"documents": len(texts), "passages": sum(map(len, passages)), "sentences": sum(map(len, sentences))}
        settings: dict[str, object] = {
            "corpus_digest": digest.hexdigest(),
            "encoder": encoder.name,
            "encoder_fingerprint": encoder.fingerprint,
            "dimensions": encoder.dimensions,
            "passage_words": PASSAGE_WORDS,
            "model": model.fingerprint if model else None,
            "stance_model": stance_model.fingerprint if stance_model else BUNDLED,
        }
        writer.commit(settings=settings, counts=counts)
    return IndexReport(len(texts), counts["passages"], counts["sentences"], unread_dates)


def split_document(document: Document) -> tuple[list[Span], list[Span]]:
    """The sentences and the passages of a document, as they are indexed.

    Raises:
        InputError: it has no text.
    """
    sentences = split_sentences(document.text)
    if not sentences:
        raise InputError(
            f'document "{document.doc_id}" without text', expected="some text", remedy="leave the document out"
        )
    return sentences, split_passages(document.text, sentences, max_words=PASSAGE_WORDS)


def document_terms(document: Document) -> list[str]:
    """What a document is found by in a lexical index."""
    return analyze(f"{document.title}\n{document.text}")


class _Known:
    """The labelled propositions of the documents of an index, as the documents come."""

    def __init__(self, propositions: Sequence[KnownProposition]) -> None:
        self._of_document: dict[str, list[str]] = {}
        for known in propositions:
            for doc_id in known.doc_ids:
                self._of_document.setdefault(doc_id, []).append(known.proposition)
        self._rows: dict[str, int] = {}
        self._propositions: list[int] = []
        self._documents: list[int] = []

    def link(self, doc_id: str, ordinal: int) -> list[str]:
        """Take note of a document; return the terms of its propositions."""
        terms: list[str] = []
        for proposition in self._of_document.get(doc_id, ()):
            self._propositions.append(self._rows.setdefault(proposition, len(self._rows)))
            self._documents.append(ordinal)
            terms += analyze(proposition)
        return terms

    @property
    def texts(self) -> list[str]:
        """The propositions of which there is a document, by row."""
        return list(self._rows)

    @property
    def links(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Row of a proposition and ordinal of its document, link by link, by document."""
        return np.array(self._propositions, np.int32), np.array(self._documents, np.int32)


def digest_corpus(documents: Iterable[Document]) -> str:
    """What an index of ``documents``, in this order, says under ``corpus_digest``."""
    digest = hashlib.sha256()
    for document in documents:
        digest.update(_digest_row(document))
    return digest.hexdigest()


def _digest_row(document: Document) -> bytes:
    return json.dumps(document_row(document), sort_keys=True).encode() + b"\n"


def mean_vectors(vectors: Vectors, counts: list[int]) -> Vectors:
    """The mean of each document's passage vectors, scaled to length 1: float32 [documents, dimensions]."""
    starts: npt.NDArray[np.int64] = np.cumsum(counts) - np.array(counts)
    sums = np.add.reduceat(vectors, starts, axis=0)
    means: Vectors = (sums / np.linalg.norm(sums, axis=1, keepdims=True)).astype(np.float32)
    return means
