"""The encoder of an index that was built with a model: a directory within the model, checked before it is used."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tiny_models import make_qwen3, needs_torch
from toy_model import make_corpus, make_ranker

from sicetnon.errors import ModelError
from sicetnon.ingest import build_index
from sicetnon.relevance import RetrievalModel, write_model
from sicetnon.relevance.model import ENCODER, LOCAL, TOKENIZER
from sicetnon.search import Searcher
from sicetnon.storage import DirectoryWriter, StoredDirectory
from sicetnon.types import Query

pytestmark = needs_torch
DOCUMENTS, KNOWN = make_corpus(6, 4)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a random Qwen3."""
    return make_qwen3(tmp_path_factory.mktemp("base"), [document.text for document in DOCUMENTS])


def write(path: Path, encoder: Path) -> None:
    """Write a model that keeps a copy of this encoder."""

    def save(writer: DirectoryWriter) -> None:
        shutil.copytree(encoder, writer.folder / LOCAL)

    write_model(path, ranker=make_ranker(), propositions=KNOWN, save_more=save, settings={})


def search(index: Path) -> list[str]:
    """Search an index with the encoder that it finds."""
    hits = Searcher.open(index).search(Query(proposition="A ship may be taxed.", top_k=3)).hits
    return [hit.document.doc_id for hit in hits]


@pytest.fixture
def model(base: Path, tmp_path: Path) -> Path:
    """Write a model and build an index with it beside."""
    write(tmp_path / "model", base)
    build_index(DOCUMENTS, tmp_path / "index", model=RetrievalModel.open(tmp_path / "model"))
    return tmp_path / "model"


def test_model_is_named(model: Path, tmp_path: Path) -> None:
    """The index names the model directory, not what is inside: the next generation with the same encoder will do."""
    assert StoredDirectory.open(tmp_path / "index", kind="legal").settings["encoder"] == str(model.resolve())
    found = search(tmp_path / "index")
    assert len(found) == 3
    write(model, model / "generation-000001" / LOCAL)
    assert [path.name for path in model.glob("generation-*")] == ["generation-000002"]
    assert search(tmp_path / "index") == found


def test_model_that_was_trained_again(base: Path, model: Path, tmp_path: Path) -> None:
    """Where another encoder has taken its place, the search says so, and how to go on."""
    shutil.copytree(base, tmp_path / "other")
    (tmp_path / "other" / "more.txt").write_text("other")
    write(model, tmp_path / "other")
    expected = (
        r"model was trained again since .* encoder is encoder [0-9a-f]{12}; expected encoder [0-9a-f]{12}, .*--model"
    )
    with pytest.raises(ModelError, match=expected):
        Searcher.open(tmp_path / "index")

    def save(writer: DirectoryWriter) -> None:
        writer.save_bytes(ENCODER, [b"none"])
        writer.save_bytes(TOKENIZER, [b"none"])

    write_model(model, ranker=make_ranker(), propositions=KNOWN, save_more=save, settings={})
    with pytest.raises(ModelError, match=r"model was trained again since .* encoder is of another kind"):
        Searcher.open(tmp_path / "index")


def test_model_that_is_gone(model: Path, tmp_path: Path) -> None:
    """Where there is no model any more, the search says which one it needs."""
    fingerprint = RetrievalModel.open(model).fingerprint
    model.rename(tmp_path / "elsewhere")
    with pytest.raises(ModelError, match=f"there is no directory .*model.* the model {fingerprint}.* put it back"):
        Searcher.open(tmp_path / "index")
    (tmp_path / "elsewhere").rename(model)
    assert len(search(tmp_path / "index")) == 3
