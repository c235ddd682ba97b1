"""A trained model directory: an encoder, a ranker, the labelled propositions they came from, perhaps a cross-encoder.

``train`` writes it, building an index uses it up: an index holds all that a search needs of it, save a
sentence-transformers encoder, which it names.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from sicetnon.dense import Encoder, load_own_encoder
from sicetnon.dense.local import LocalEncoder
from sicetnon.relevance.ranker import Ranker
from sicetnon.storage import DirectoryWriter, StoredDirectory, open_stored

KIND = "model"
ENCODER, TOKENIZER, LOCAL = "encoder.onnx", "tokenizer.json", "encoder"
RERANKER, BLEND = "reranker.onnx", "reranker.json"
RANKER, PROPOSITIONS, STANCE_MODEL = "ranker.json", "propositions.jsonl", "stance-model.json"


class KnownProposition(NamedTuple):
    """A labelled proposition, and the documents on point for it, whatever their side."""

    proposition: str
    doc_ids: tuple[str, ...]


class RetrievalModel:
    """An opened model directory."""

    def __init__(self, stored: StoredDirectory) -> None:
        self._stored = stored
        stored.verify()  # else damage would go into an index, and be whole there
        with stored.naming_damage():
            self.ranker = Ranker.from_json(stored.path(RANKER).read_text(encoding="utf-8"))
            lines = stored.path(PROPOSITIONS).read_text(encoding="utf-8").splitlines()
        try:
            rows = [json.loads(line) for line in lines]
            self.propositions = [KnownProposition(str(row["proposition"]), tuple(row["doc_ids"])) for row in rows]
        except (ValueError, KeyError, TypeError) as error:
            raise stored.damage(
                f"{stored.path(PROPOSITIONS)} holds a row that is none",
                expected='rows {"proposition": ..., "doc_ids": [...]}',
            ) from error

    @classmethod
    def open(cls, path: Path | str) -> RetrievalModel:
        """Open the model at ``path``; every file of it is read and compared with its checksum.

        Raises:
            IndexDirectoryError: there is none, or it is of another version, or damaged.
            ModelError: its ranker is of another version.
        """
        return open_stored(path, kind=KIND, read=cls)

    @property
    def fingerprint(self) -> str:
        """Changes with every training that gives something else."""
        return str(self._stored.setting("fingerprint"))

    @property
    def onnx(self) -> tuple[bytes, str] | None:
        """The encoder's ONNX model and tokenizer (JSON); None where it is a sentence-transformers directory."""
        if not self._stored.has(ENCODER):
            return None
        with self._stored.naming_damage():
            tokenizer = self._stored.path(TOKENIZER).read_text(encoding="utf-8")
        return self._stored.path(ENCODER).read_bytes(), tokenizer

    @property
    def stance_model(self) -> str | None:
        """The JSON of the stance model for the tuned encoder's vectors; None for the one that ships."""
        if not self._stored.has(STANCE_MODEL):
            return None
        with self._stored.naming_damage():
            return self._stored.path(STANCE_MODEL).read_text(encoding="utf-8")

    @property
    def reranker(self) -> tuple[bytes, str] | None:
        """The ONNX model of the cross-encoder and its blend (JSON); None where none was kept."""
        if not self._stored.has(RERANKER):
            return None
        with self._stored.naming_damage():
            blend = self._stored.path(BLEND).read_text(encoding="utf-8")
        return self._stored.path(RERANKER).read_bytes(), blend

    def load_encoder(self) -> Encoder:
        """The tuned encoder."""
        own = self.onnx
        return load_local(self._stored) if own is None else load_own_encoder(*own)


def load_local(stored: StoredDirectory) -> Encoder:
    """The sentence-transformers encoder of a model directory, by whose name it goes: generations come and go."""
    encoder = LocalEncoder(stored.folder / LOCAL)
    encoder.name = str(stored.directory.resolve())
    return encoder


def write_model(
    path: Path,
    *,
    ranker: Ranker,
    propositions: Sequence[KnownProposition],
    save_more: Callable[[DirectoryWriter], None],
    settings: dict[str, object],
) -> None:
    """Write a model directory; what stood at ``path`` stays until it is whole.

    ``save_more`` writes ``ENCODER`` and ``TOKENIZER``, or a sentence-transformers directory called ``LOCAL``, and
    whatever else is to be kept beside; a report is no part of the fingerprint.
    """
    rows = [json.dumps({"proposition": known.proposition, "doc_ids": known.doc_ids}) + "\n" for known in propositions]
    with DirectoryWriter(path, kind=KIND) as writer:
        save_more(writer)
        writer.save_bytes(RANKER, [ranker.to_json().encode()])
        writer.save_bytes(PROPOSITIONS, (row.encode() for row in rows))
        digest = hashlib.sha256()
        for file in sorted(file for file in writer.folder.rglob("*") if file.is_file()):
            if not file.name.startswith("report."):  # it tells the time
                digest.update(file.read_bytes())
        writer.commit(
            settings={**settings, "fingerprint": digest.hexdigest()[:12]}, counts={"propositions": len(propositions)}
        )
