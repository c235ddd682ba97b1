"""The parts of a legal index, by name; ``docs/format.md`` describes them file by file.

A *unit* is a stretch of text with a vector of its own: a passage or a sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from sicetnon.collection.memory import Memory
from sicetnon.collection.store import DOCUMENTS, DocumentStore, DocumentStoreWriter
from sicetnon.dense.encoder import Vectors
from sicetnon.sparse import SparseIndex, SparseIndexBuilder
from sicetnon.storage import DirectoryWriter, StoredDirectory, open_stored
from sicetnon.storage.strings import StringTable, write_strings
from sicetnon.types import Document, Span

KIND = "legal"
LEXICAL = "lexical"
STANCE_MODEL = "stance-model.json"
EXPANDED = "expanded"
RANKER = "ranker.json"
OWN_ENCODER, OWN_TOKENIZER = "encoder.onnx", "tokenizer.json"
RERANKER, BLEND = "reranker.onnx", "reranker.json"
KNOWN = "memory-texts"


class Units:
    """The passages or the sentences of all documents, in document order.

    ``vectors`` float32 [units, dimensions] has rows of length 1; ``starts`` int64 [documents] is the first unit of each
    document, and every document has at least one.
    """

    def __init__(self, stored: StoredDirectory, name: str, document_count: int) -> None:
        # int32 [units, 2]: start and end in the document's text
        self._spans = stored.array(f"{name}-spans.npy", dtype=np.int32)
        self.vectors: Vectors = stored.array(f"{name}-vectors.npy", dtype=np.float32)
        self.starts: npt.NDArray[np.int64] = stored.array(f"{name}-starts.npy", dtype=np.int64, length=document_count)
        if self.starts[:1] != [0] or (np.diff(self.starts) < 1).any() or not self.starts[-1] < len(self._spans):
            raise stored.damage(
                f"{stored.path(f'{name}-starts.npy')} does not rise from 0 within {len(self._spans):,} spans",
                expected="the first span of each document",
            )
        if len(self._spans) != len(self.vectors):
            raise stored.damage(
                f"{stored.path(f'{name}-vectors.npy')} holds {len(self.vectors):,} vectors",
                expected=f"one for each of {len(self._spans):,} spans",
            )

    def rows(self, ordinal: int) -> slice:
        """Which rows of ``vectors`` are the units of a document."""
        end = self.starts[ordinal + 1] if ordinal + 1 < len(self.starts) else len(self._spans)
        return slice(int(self.starts[ordinal]), int(end))

    def span(self, row: int) -> Span:
        """Where a unit stands in the text of its document."""
        start, end = self._spans[row].tolist()
        return Span(start, end)

    def spans(self, ordinal: int) -> list[Span]:
        """Where the units of a document stand in its text."""
        return [Span(int(start), int(end)) for start, end in self._spans[self.rows(ordinal)]]


class Collection:
    """An opened legal index. Read-only; safe from many threads.

    ``stance_model`` is the JSON of the stance model it was built with, None where that was the one that ships;
    ``memory``, ``ranker`` (JSON) and ``model``, the fingerprint of the model that brought them, come from labelled
    examples, None where there were none.
    """

    def __init__(self, stored: StoredDirectory) -> None:
        self.encoder = str(stored.setting("encoder"))
        self.encoder_fingerprint = str(stored.setting("encoder_fingerprint"))
        self.model: str | None = stored.settings.get("model")
        count = stored.count("documents")
        self.documents = DocumentStore(stored.path(DOCUMENTS))
        self.passages = Units(stored, "passage", count)
        self.sentences = Units(stored, "sentence", count)
        self.document_vectors: Vectors = stored.array("document-vectors.npy", dtype=np.float32, length=count)
        self.lexical = SparseIndex.open(stored.folder / LEXICAL)
        self.stance_model = _read_text(stored, STANCE_MODEL)
        self.ranker = _read_text(stored, RANKER)
        self.memory = _open_memory(stored, count) if stored.has("memory-vectors.npy") else None
        self._known = _open_known(stored, self.memory)
        self._stored = stored
        if len(self.documents) != count or len(self.lexical) != count:
            raise stored.damage(
                f"{len(self.documents):,} documents in {DOCUMENTS}, {len(self.lexical):,} in {LEXICAL}",
                expected=f"{count:,} in both",
            )

    def read_encoder(self) -> tuple[bytes, str]:
        """The ONNX model and the tokenizer (JSON) of an index that holds its encoder.

        Raises:
            IndexDamaged: it holds none.
        """
        tokenizer = _read_text(self._stored, OWN_TOKENIZER)
        if tokenizer is None or not self._stored.has(OWN_ENCODER):
            raise self._stored.damage(f"no {OWN_ENCODER}", expected="the encoder that the index says it holds")
        return self._stored.path(OWN_ENCODER).read_bytes(), tokenizer

    def read_reranker(self) -> tuple[bytes, str, str] | None:
        """The ONNX model of the cross-encoder, its tokenizer (JSON) and its blend (JSON); None where there is none.

        Raises:
            IndexDamaged: a part is missing.
        """
        if not self._stored.has(RERANKER):
            return None
        tokenizer, blend = _read_text(self._stored, OWN_TOKENIZER), _read_text(self._stored, BLEND)
        if tokenizer is None or blend is None or self._known is None:
            parts = {OWN_TOKENIZER: tokenizer, BLEND: blend, f"{KNOWN}.bin": self._known}
            missing = [name for name, part in parts.items() if part is None]
            raise self._stored.damage(f"{RERANKER} without {', '.join(missing)}", expected="that beside it")
        return self._stored.path(RERANKER).read_bytes(), tokenizer, blend

    def read_known(self, row: int) -> str:
        """The text of one of the memory's propositions, of an index that has a cross-encoder to read it."""
        assert self._known is not None
        with self._stored.naming_damage():
            return self._known[row]

    @classmethod
    def open(cls, path: Path) -> Collection:
        """Open the index at ``path``.

        Raises:
            IndexNotFound, IndexForeign, IndexTooNew, IndexDamaged: it cannot be used; the message says why.
        """
        return open_stored(path, kind=KIND, read=cls)


def _read_text(stored: StoredDirectory, name: str) -> str | None:
    if not stored.has(name):
        return None
    with stored.naming_damage():
        return stored.path(name).read_text(encoding="utf-8")


def _open_known(stored: StoredDirectory, memory: Memory | None) -> StringTable | None:
    if memory is None or not stored.has(f"{KNOWN}.bin"):
        return None
    return StringTable.open(stored, KNOWN, length=len(memory.vectors))


def _open_memory(stored: StoredDirectory, document_count: int) -> Memory:
    vectors: Vectors = stored.array("memory-vectors.npy", dtype=np.float32)
    propositions = stored.array("memory-propositions.npy", dtype=np.int32)
    documents = stored.array("memory-documents.npy", dtype=np.int32, length=len(propositions))
    if len(propositions) and not 0 <= propositions.min() <= propositions.max() < len(vectors):
        raise stored.damage(
            f"{stored.path('memory-propositions.npy')} holds rows beyond {len(vectors):,} propositions",
            expected="rows of memory-vectors.npy",
        )
    if (np.diff(documents, prepend=np.int32(0), append=np.int32(document_count - 1)) < 0).any():
        raise stored.damage(
            f"{stored.path('memory-documents.npy')} does not rise within {document_count:,} documents",
            expected="links of propositions to documents",
        )
    expanded = SparseIndex.open(stored.folder / EXPANDED)
    if len(expanded) != document_count:
        raise stored.damage(f"{len(expanded):,} documents in {EXPANDED}", expected=f"{document_count:,}")
    return Memory(vectors, propositions, documents, expanded)


class CollectionWriter:
    """Writes a legal index; nothing is to be seen at ``path`` until ``commit``."""

    def __init__(self, directory: DirectoryWriter, *, remembers: bool) -> None:
        self._directory = directory
        self._store = DocumentStoreWriter(directory.folder / DOCUMENTS)
        self._lexical = SparseIndexBuilder(directory.folder / LEXICAL)
        self._expanded = SparseIndexBuilder(directory.folder / EXPANDED) if remembers else None

    @classmethod
    @contextmanager
    def create(cls, path: Path, *, remembers: bool = False) -> Iterator[Self]:
        """Start an index at ``path``; leaving the block without ``commit`` leaves what stood there before.

        ``remembers``: whether it is to hold labelled propositions.
        """
        with DirectoryWriter(path, kind=KIND) as directory:
            writer = cls(directory, remembers=remembers)
            try:
                with writer._lexical, writer._expanded or nullcontext():
                    yield writer
            finally:
                writer._store.abandon()

    def add(self, document: Document, terms: Sequence[str], known_terms: Sequence[str] = ()) -> None:
        """Add a document with its terms; ``known_terms`` are those of the propositions known of it."""
        self._store.add(document)
        self._lexical.add(document.doc_id, Counter(terms))
        if self._expanded is not None:
            self._expanded.add(document.doc_id, Counter(terms) + Counter(known_terms))

    def save_units(self, name: str, spans: Sequence[Sequence[Span]], vectors: Vectors) -> None:
        """``spans``: the units of each document, one list a document; ``vectors``: float32 [units, dimensions]."""
        counts = np.array([len(of_document) for of_document in spans], np.int64)
        flat = [(span.start, span.end) for of_document in spans for span in of_document]
        self._directory.save(f"{name}-spans.npy", np.array(flat, np.int32).reshape(-1, 2))
        self._directory.save(f"{name}-starts.npy", np.cumsum(counts) - counts)
        self._directory.save(f"{name}-vectors.npy", vectors)

    def save_document_vectors(self, vectors: Vectors) -> None:
        """float32 [documents, dimensions], rows of length 1."""
        self._directory.save("document-vectors.npy", vectors)

    def save_stance_model(self, source: str) -> None:
        self._directory.save_bytes(STANCE_MODEL, [source.encode()])

    def save_memory(
        self, vectors: Vectors, propositions: npt.NDArray[np.int32], documents: npt.NDArray[np.int32]
    ) -> None:
        """The arrays of a ``Memory``."""
        self._directory.save("memory-vectors.npy", vectors)
        self._directory.save("memory-propositions.npy", propositions)
        self._directory.save("memory-documents.npy", documents)

    def save_ranker(self, source: str) -> None:
        self._directory.save_bytes(RANKER, [source.encode()])

    def save_encoder(self, model: bytes, tokenizer: str) -> None:
        self._directory.save_bytes(OWN_ENCODER, [model])
        self._directory.save_bytes(OWN_TOKENIZER, [tokenizer.encode()])

    def save_reranker(self, model: bytes, blend: str, known: Sequence[str]) -> None:
        """``known``: the texts of the memory's propositions."""
        self._directory.save_bytes(RERANKER, [model])
        self._directory.save_bytes(BLEND, [blend.encode()])
        write_strings(self._directory, KNOWN, known)

    def commit(self, *, settings: dict[str, object], counts: dict[str, int]) -> None:
        self._store.close()
        self._lexical.commit()
        if self._expanded is not None:
            self._expanded.commit()
        self._directory.commit(settings=settings, counts=counts)
