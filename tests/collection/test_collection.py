"""The parts of a legal index: units of text with their vectors, and what happens when a part does not fit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from sicetnon.collection import Collection, CollectionWriter
from sicetnon.errors import IndexDamaged, IndexForeign, IndexNotFound
from sicetnon.storage import StoredDirectory
from sicetnon.types import Document, Span

SETTINGS: dict[str, object] = {"encoder": "none", "encoder_fingerprint": "none 1"}
SPANS = [[Span(0, 2)], [Span(0, 3), Span(4, 6)], [Span(1, 2)]]


def write(
    path: Path,
    *,
    vectors: int = 4,
    document_vectors: int = 3,
    in_lexical: tuple[str, ...] = ("b", "a", "c"),
    settings: dict[str, object] = SETTINGS,
    counts: tuple[str, ...] = ("documents", "passages", "sentences"),
) -> None:
    """Write a collection of three documents, perhaps with parts that do not fit."""
    with CollectionWriter.create(path) as writer:
        for doc_id in in_lexical:
            writer.add(Document(doc_id=doc_id, text="x y z."), ["x", "y", "x"])
        for name in ("passage", "sentence"):
            writer.save_units(name, SPANS, np.ones((vectors, 2), np.float32))
        writer.save_document_vectors(np.ones((document_vectors, 2), np.float32))
        sizes = {"documents": len(in_lexical), "passages": 4, "sentences": 4}
        writer.commit(settings=settings, counts={name: sizes[name] for name in counts})


def test_round_trip(tmp_path: Path) -> None:
    """Documents, units, lexical index and the order of the IDs come back."""
    write(tmp_path / "index")
    collection = Collection.open(tmp_path / "index")
    stored = StoredDirectory.open(tmp_path / "index", kind="legal")
    assert stored.settings == SETTINGS
    assert (collection.encoder, collection.encoder_fingerprint) == ("none", "none 1")
    assert stored.counts == {"documents": 3, "passages": 4, "sentences": 4}
    assert collection.documents.doc_ids() == ["b", "a", "c"]
    assert collection.lexical.tie_rank.tolist() == [1, 0, 2]
    assert [collection.sentences.spans(ordinal) for ordinal in range(3)] == SPANS
    assert [collection.passages.rows(ordinal) for ordinal in range(3)] == [slice(0, 1), slice(1, 3), slice(3, 4)]
    assert collection.passages.starts.tolist() == [0, 1, 3]
    assert collection.stance_model is None
    assert len(collection.lexical) == 3


def test_stance_model_of_its_own(tmp_path: Path) -> None:
    """A collection keeps the stance model it was built with, as it was given."""
    with CollectionWriter.create(tmp_path / "index") as writer:
        writer.add(Document(doc_id="a", text="x"), ["x"])
        for name in ("passage", "sentence"):
            writer.save_units(name, [[Span(0, 1)]], np.ones((1, 2), np.float32))
        writer.save_document_vectors(np.ones((1, 2), np.float32))
        writer.save_stance_model('{"é": 1}\n')
        writer.commit(settings=SETTINGS, counts={"documents": 1, "passages": 1, "sentences": 1})
    assert Collection.open(tmp_path / "index").stance_model == '{"é": 1}\n'


def test_without_commit(tmp_path: Path) -> None:
    """Leaving the block without commit leaves nothing, or the collection that stood there."""
    with CollectionWriter.create(tmp_path / "index") as writer:
        writer.add(Document(doc_id="a", text="x"), ["x"])
    with pytest.raises(IndexNotFound):
        Collection.open(tmp_path / "index")
    write(tmp_path / "index")
    with pytest.raises(KeyboardInterrupt), CollectionWriter.create(tmp_path / "index"):
        raise KeyboardInterrupt
    assert len(Collection.open(tmp_path / "index").documents) == 3
    assert sorted(path.name for path in (tmp_path / "index").glob("generation-*")) == ["generation-000001"]


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({"vectors": 3}, r"passage-vectors\.npy holds 3 vectors; expected one for each of 4 spans"),
        ({"document_vectors": 2}, r"document-vectors\.npy"),
        ({"in_lexical": ("b", "a")}, r"passage-starts\.npy"),
    ],
)
def test_parts_that_do_not_fit(tmp_path: Path, parts: dict[str, int], named: str) -> None:
    """A part with another number of rows is damage that names its file."""
    write(tmp_path / "index", **parts)  # type: ignore[arg-type]
    with pytest.raises(IndexDamaged, match=named):
        Collection.open(tmp_path / "index")


@pytest.mark.parametrize("name", ["encoder", "encoder_fingerprint"])
def test_missing_setting(tmp_path: Path, name: str) -> None:
    """A manifest that does not say which encoder built the index is damage that names what is missing."""
    settings = {other: value for other, value in SETTINGS.items() if other != name}
    write(tmp_path / "index", settings=settings)
    with pytest.raises(IndexDamaged, match=f"no setting '{name}'"):
        Collection.open(tmp_path / "index")


def test_missing_count(tmp_path: Path) -> None:
    """A manifest holds the counts that were given to it; without the number of documents it is damage."""
    write(tmp_path / "index", counts=("passages", "sentences"))
    with pytest.raises(IndexDamaged, match="no count 'documents'"):
        Collection.open(tmp_path / "index")


def test_another_kind(small_index: Path) -> None:
    """The lexical index within a legal one opens by itself, but is no legal index."""
    (lexical,) = small_index.glob("generation-*/lexical")
    with pytest.raises(IndexForeign, match="'sparse'; expected kind 'legal'"):
        Collection.open(lexical)


@pytest.mark.parametrize(
    "name",
    [
        "documents.sqlite",
        "passage-vectors.npy",
        "sentence-spans.npy",
        "document-vectors.npy",
        "lexical/manifest.json",
        "lexical/generation-000001/segment-000001/tie-rank.npy",
        "lexical/generation-000001/segment-000001/postings.npy",
    ],
)
def test_truncated_and_missing_files(small_index: Path, tmp_path: Path, name: str) -> None:
    """A file that is cut short or gone is named when the index is opened."""
    shutil.copytree(small_index, tmp_path / "index")
    file = tmp_path / "index" / "generation-000001" / name
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(IndexDamaged, match=name.replace(".", r"\.")):
        Collection.open(tmp_path / "index")
    file.unlink()
    with pytest.raises(IndexDamaged, match=name.replace(".", r"\.")):
        Collection.open(tmp_path / "index")


def test_altered_documents(small_index: Path, tmp_path: Path) -> None:
    """A flipped bit in the documents is found by verifying."""
    shutil.copytree(small_index, tmp_path / "index")
    file = tmp_path / "index" / "generation-000001" / "documents.sqlite"
    raw = bytearray(file.read_bytes())
    raw[-10] ^= 1
    file.write_bytes(raw)
    with pytest.raises(IndexDamaged, match=r"documents\.sqlite"):
        StoredDirectory.open(tmp_path / "index", kind="legal").verify()


def test_manifest_says_what_built_it(small_index: Path) -> None:
    """The manifest names encoder, model and corpus, and lists every file."""
    manifest = json.loads((small_index / "manifest.json").read_text())
    assert manifest["kind"] == "legal"
    assert manifest["settings"]["encoder"] == "embedded"
    assert len(manifest["settings"]["corpus_digest"]) == 64
    files = {
        str(p.relative_to(small_index / "generation-000001"))
        for p in small_index.rglob("*")
        if p.is_file() and "generation" in str(p.relative_to(small_index)) and p.name != "write.lock"
    }
    assert files == set(manifest["files"])
