"""The way of a document: what a build leaves, and that a failed or killed one leaves what stood there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sicetnon
from sicetnon.collection import Collection
from sicetnon.corpora import read_documents
from sicetnon.errors import IndexForeign, IndexLocked, IndexNotFound, InputError, MalformedRow
from sicetnon.ingest import BUNDLED, IndexReport, build_index, digest_corpus
from sicetnon.search import Searcher
from sicetnon.stance import StanceModel
from sicetnon.storage import StoredDirectory
from sicetnon.types import Document, Query, Ranking

BAD_LINE = 70_001
QUERY = Query(proposition="The police may search a phone.", top_k=100)


class NoEncoder:
    """An encoder that must not be reached."""

    name, fingerprint, dimensions = "none", "none 1", 2

    def encode_documents(self, texts: Sequence[str], progress: Any = None) -> Any:
        """Fail."""
        raise AssertionError("the encoder was called", len(texts), progress)

    encode_queries = encode_documents


def ask(index: Path, encoder: Any) -> Ranking:
    """Ask an index one query."""
    return Searcher.open(index, encoder=encoder).search(QUERY)


def files_of(folder: Path) -> dict[str, bytes]:
    """Read every file beneath a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def old_index(tmp_path: Path, small_corpus: tuple[Document, ...], cheap_encoder: Any) -> Path:
    """Build an index of the small corpus with the cheap encoder."""
    build_index(small_corpus, tmp_path / "index", encoder=cheap_encoder)
    return tmp_path / "index"


def test_by_hand(tmp_path: Path, cheap_encoder: Any) -> None:
    """Two documents: sentences and passages where they stand, vectors of length 1, terms counted."""
    documents = [
        Document(doc_id="b", title="Phones", text="One phone. Two phones.\n\nThree cars."),
        Document(doc_id="a", text="Four."),
    ]
    assert build_index(documents, tmp_path / "index", encoder=cheap_encoder) == IndexReport(2, 3, 4, 0)
    collection = Collection.open(tmp_path / "index")
    text = documents[0].text
    assert [span.of(text) for span in collection.sentences.spans(0)] == ["One phone.", "Two phones.", "Three cars."]
    assert [span.of(text) for span in collection.passages.spans(0)] == ["One phone. Two phones.", "Three cars."]
    counts = StoredDirectory.open(tmp_path / "index", kind="legal").counts
    assert counts == {"documents": 2, "passages": 3, "sentences": 4}
    expected = cheap_encoder.encode_documents(["One phone. Two phones.", "Three cars."])
    assert (collection.passages.vectors[:2] == expected).all()
    mean = expected.sum(axis=0) / np.linalg.norm(expected.sum(axis=0))
    assert collection.document_vectors[0] == pytest.approx(mean)
    assert np.linalg.norm(collection.document_vectors, axis=1) == pytest.approx(1)
    assert (collection.lexical.scores(["phone"]) > 0).tolist() == [True, False]
    assert collection.documents.read([0, 1]) == documents


def test_title_is_searched(tmp_path: Path, cheap_encoder: Any) -> None:
    """Words of the title are among the terms."""
    build_index([Document(doc_id="a", title="Zebra", text="x.")], tmp_path / "index", encoder=cheap_encoder)
    assert Collection.open(tmp_path / "index").lexical.scores(["zebra"])[0] > 0


def test_same_input_same_bytes(tmp_path: Path, small_corpus: tuple[Document, ...], cheap_encoder: Any) -> None:
    """Two builds of the same documents are the same, file by file."""
    for name in ("one", "two"):
        build_index(small_corpus, tmp_path / name, encoder=cheap_encoder)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_settings(old_index: Path, small_corpus: tuple[Document, ...], cheap_encoder: Any) -> None:
    """An index says which corpus, encoder and stance model it is of; another order is another corpus."""
    settings = StoredDirectory.open(old_index, kind="legal").settings
    assert settings["corpus_digest"] == digest_corpus(small_corpus) != digest_corpus(small_corpus[::-1])
    assert (settings["encoder"], settings["encoder_fingerprint"]) == (cheap_encoder.name, cheap_encoder.fingerprint)
    assert settings["stance_model"] == BUNDLED


def test_stance_model_is_kept(tmp_path: Path, small_corpus: tuple[Document, ...], cheap_encoder: Any) -> None:
    """A stance model given to the build is the one that answers."""
    bundled = StanceModel.bundled()
    flat = StanceModel(
        bundled.evidence_weights, bundled.side_mean, bundled.side_scale, np.zeros_like(bundled.side_weights), 1.0
    )
    build_index(small_corpus, tmp_path / "index", encoder=cheap_encoder, stance_model=flat)
    for hit in ask(tmp_path / "index", cheap_encoder).hits:
        assert hit.sides.supports == hit.sides.refutes == hit.sides.neither


def test_progress(tmp_path: Path, small_corpus: tuple[Document, ...], cheap_encoder: Any) -> None:
    """Each step tells how far it is, and ends at its whole."""
    told: list[tuple[str, int, int]] = []

    def report(step: str, done: int, total: int) -> None:
        told.append((step, done, total))

    done = build_index(small_corpus, tmp_path / "index", encoder=cheap_encoder, progress=report)
    assert [step for step, _, _ in told[: done.documents]] == ["reading"] * done.documents
    assert ("passages", done.passages, done.passages) in told
    assert ("sentences", done.sentences, done.sentences) in told


def test_unread_dates(tmp_path: Path, cheap_encoder: Any) -> None:
    """Documents whose date could not be read are counted; those that give none are not."""
    documents = [
        Document(doc_id="a", text="x.", metadata={"decided": "May 1990"}),
        Document(doc_id="b", text="x.", metadata={"decided": None}),
        Document(doc_id="c", text="x."),
    ]
    assert build_index(documents, tmp_path / "index", encoder=cheap_encoder).unread_dates == 1


@pytest.mark.parametrize(
    ("documents", "found"),
    [
        ([], "no document"),
        ([Document(doc_id="a", text="x."), Document(doc_id="b", text=" \n")], 'document "b" without text'),
        ([Document(doc_id="a", text="x."), Document(doc_id="a", text="y.")], 'doc_id "a" twice'),
        ([Document(doc_id="a", text="\ud800.")], "document 'a' with half of a surrogate pair"),
    ],
)
def test_documents_that_are_refused(tmp_path: Path, documents: list[Document], found: str) -> None:
    """No document, one without text, and one that comes twice are refused before anything is encoded."""
    with pytest.raises(InputError, match=found):
        build_index(documents, tmp_path / "index", encoder=NoEncoder())
    assert not (tmp_path / "index").exists()


def test_foreign_directory(tmp_path: Path, small_corpus: tuple[Document, ...]) -> None:
    """A directory of other files is not built over, and nothing in it is touched."""
    (tmp_path / "photo.jpg").write_text("photo")
    with pytest.raises(IndexForeign, match=r"photo\.jpg"):
        build_index(small_corpus, tmp_path, encoder=NoEncoder())
    assert files_of(tmp_path) == {"photo.jpg": b"photo"}


def test_two_builds_at_once(old_index: Path, small_corpus: tuple[Document, ...], cheap_encoder: Any) -> None:
    """A second build of the same index is refused while the first goes on, which is not harmed."""

    def documents() -> Iterator[Document]:
        yield small_corpus[0]
        with pytest.raises(IndexLocked):
            build_index(small_corpus, old_index, encoder=cheap_encoder)

    assert build_index(documents(), old_index, encoder=cheap_encoder).documents == 1
    assert len(ask(old_index, cheap_encoder).hits) == 1


def test_open_searcher_outlives_a_rebuild(
    old_index: Path, small_corpus: tuple[Document, ...], cheap_encoder: Any
) -> None:
    """Who has an index open goes on reading the old one while and after it is replaced."""
    searcher = Searcher.open(old_index, encoder=cheap_encoder)
    before = searcher.search(QUERY)
    build_index(small_corpus[:2], old_index, encoder=cheap_encoder)
    assert searcher.search(QUERY) == before
    assert len(ask(old_index, cheap_encoder).hits) == 2


def test_bad_row_late_in_the_corpus(old_index: Path, tmp_path: Path, cheap_encoder: Any) -> None:
    """A bad row at line 70,001 is named before anything is encoded; the old index answers as before."""
    corpus = tmp_path / "corpus.jsonl"
    rows = (json.dumps({"doc_id": f"d{number}", "text": "x"}) + "\n" for number in range(BAD_LINE - 1))
    corpus.write_text("".join(rows) + '{"doc_id": "late", "text": 7}\n')
    before, bytes_before = ask(old_index, cheap_encoder), files_of(old_index)
    for place in (old_index, tmp_path / "new"):
        with pytest.raises(MalformedRow, match=f'corpus.jsonl, line {BAD_LINE}: "text" is a number'):
            build_index(read_documents(corpus), place, encoder=NoEncoder())
    assert not (tmp_path / "new").exists()
    assert files_of(old_index) == bytes_before
    assert ask(old_index, cheap_encoder) == before


# Builds an index with an encoder that knows nothing, says that it has reached one point of the build, and waits there.
BUILD_AND_WAIT = """
import sys, time
import numpy as np
from sicetnon import Document, build_index
from sicetnon.collection import CollectionWriter

point, path = sys.argv[1:]

def wait():
    print("reached", flush=True)
    time.sleep(60)

class Slow:
    name, fingerprint, dimensions = "cheap", "cheap 1", 32
    def encode_documents(self, texts, progress=None):
        if point == "encoding":
            wait()
        return np.ones((len(texts), 32), np.float32) / np.sqrt(np.float32(32))

def documents():
    for number in range(500):
        yield Document(doc_id=f"new-{number}", text="One phone. Two phones.")
        if point == "reading" and number == 400:
            wait()

if point == "committing":
    CollectionWriter.commit = lambda *_, **__: wait()
build_index(documents(), path, encoder=Slow())
"""


@pytest.mark.parametrize("point", ["reading", "encoding", "committing"])
def test_killed_build(
    old_index: Path, tmp_path: Path, small_corpus: tuple[Document, ...], cheap_encoder: Any, point: str
) -> None:
    """A build that is killed leaves the old index, or none; the next build removes what it left."""
    before = ask(old_index, cheap_encoder)
    for place in (old_index, tmp_path / "new"):
        environment = {**os.environ, "PYTHONPATH": str(Path(sicetnon.__file__).parents[1])}
        with subprocess.Popen(
            [sys.executable, "-c", BUILD_AND_WAIT, point, place], env=environment, stdout=subprocess.PIPE, text=True
        ) as building:
            assert building.stdout is not None
            assert building.stdout.readline() == "reached\n"
            building.send_signal(signal.SIGKILL)
        assert building.returncode == -signal.SIGKILL
    assert ask(old_index, cheap_encoder) == before
    assert len(list(old_index.glob("generation-*"))) == 2
    with pytest.raises(IndexNotFound):
        Searcher.open(tmp_path / "new", encoder=cheap_encoder)
    for place in (old_index, tmp_path / "new"):
        build_index(small_corpus, place, encoder=cheap_encoder)
        assert ask(place, cheap_encoder) == before
        assert len(list(place.glob("generation-*"))) == 1


def test_moved_index(old_index: Path, tmp_path: Path, cheap_encoder: Any) -> None:
    """An index that is moved, to a path with a space in it, answers as before."""
    before = ask(old_index, cheap_encoder)
    shutil.move(old_index, tmp_path / "a moved index")
    assert ask(tmp_path / "a moved index", cheap_encoder) == before
