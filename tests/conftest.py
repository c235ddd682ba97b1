"""What the tests of the legal half share: encoders, small corpora, indexes built once, and the command line."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from sicetnon.cli import main
from sicetnon.dense import Encoder, load_encoder
from sicetnon.dense.encoder import Progress, Vectors
from sicetnon.ingest import build_index
from sicetnon.search import Searcher
from sicetnon.types import Document, Stance, Treatment

TESTS = Path(__file__).parent
if str(TESTS) not in sys.path:
    sys.path.insert(0, str(TESTS))  # for the package `oracle`

settings.register_profile("no deadline", deadline=None)  # the machine may be busy
settings.load_profile("no deadline")

OVERRULED = Treatment(status="overruled", by="d-flag", by_title="Flag v. State", date=date(1990, 5, 1), note="in full")

SMALL_CORPUS = (
    Document(
        doc_id="d-phone",
        title="Phone v. State",
        text="The police took a phone from an arrested man and read it. "
        "The Court held that the police may not search a phone without a warrant. Privacy weighs more.",
        citation="1 T.R. 1",
        docket="13-132",
        court="Supreme Court of Testland",
        court_id="sct",
        decided=date(2014, 6, 25),
        areas=("search and seizure", "privacy"),
        metadata={"judges": ["A", "B"], "pages": 12},
    ),
    Document(
        doc_id="d-car",
        title="Car v. State",
        text="Officers stopped a car.\n\nMay the police search a car without a warrant? Yes. "
        "The Court held that a warrant is not required to search a car on the road.",
        court="Supreme Court of Testland",
        court_id="sct",
        decided=date(1925, 3, 2),
    ),
    Document(
        doc_id="d-flag",
        title="Flag v. State",
        text="A man burned the flag in protest. The Court held that burning the flag is protected speech. "
        "The State cannot punish it as a crime.",
        court="Court of Appeals of Nowhere",
        court_id="noca",
        decided=date(1990, 5, 1),
    ),
    Document(
        doc_id="d-salute",
        title="Salute v. Board",
        text="A school expelled children who did not salute the flag. The Court upheld the rule. "
        "Schools may require every pupil to salute the flag.",
        court="Supreme Court of Testland",
        court_id="sct",
        decided=date(1940, 6, 3),
        treatment=OVERRULED,
    ),
    Document(doc_id="d-undated", title="Contract v. Wages", text="Wages were owed. The contract is void."),
    Document(
        doc_id="d-twin-b",
        text="A fence stood on the land of the neighbour. It must be removed.",
        court_id="noca",
        decided=date(2001, 1, 31),
    ),
    Document(
        doc_id="d-twin-a",
        text="A fence stood on the land of the neighbour. It must be removed.",
        court_id="noca",
        decided=date(2001, 2, 1),
    ),
)


class CheapEncoder:
    """Words hashed into 32 places: unit vectors that are the same alone and in company, at next to no cost."""

    name = "cheap"
    dimensions = 32
    instructs_by_stance = False

    def __init__(self, fingerprint: str = "cheap 1") -> None:
        """Pretend to be the model of that fingerprint."""
        self.fingerprint = fingerprint

    def encode_documents(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """Count hashed words."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            vectors[row, 0] = 0.1  # a text without words has a direction too
            for word in text.lower().split():
                vectors[row, hashlib.sha256(word.strip(".,?!").encode()).digest()[0] % self.dimensions] += 1
        if progress:
            progress(len(texts))
        units: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return units

    def encode_queries(self, texts: Sequence[str], stance: Stance = Stance.ALL) -> Vectors:
        """Do the same, whatever the stance."""
        del stance
        return self.encode_documents(texts)


class InstructedEncoder(CheapEncoder):
    """The same with the stance as a word before each query; it keeps a list of what it was asked."""

    instructs_by_stance = True

    def __init__(self) -> None:
        """Begin with an empty list."""
        super().__init__("instructed 1")
        self.asked: list[tuple[str, Stance]] = []

    def encode_queries(self, texts: Sequence[str], stance: Stance = Stance.ALL) -> Vectors:
        """Put the stance before the texts."""
        self.asked += [(text, stance) for text in texts]
        return self.encode_documents([f"{stance} {text}" for text in texts])


@dataclass(frozen=True)
class Outcome:
    """What a run of the program left."""

    status: int
    out: str
    err: str


RunCli = Callable[..., Outcome]
WriteRows = Callable[[str, Iterable[Mapping[str, object]]], Path]


@pytest.fixture
def run_cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> RunCli:
    """Run the program in this process and return its exit status and both streams."""

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["sicetnon", *map(str, arguments)])
        capsys.readouterr()
        try:
            main()
        except SystemExit as leaving:
            status = leaving.code if isinstance(leaving.code, int) else 0
        else:
            status = 0
        return Outcome(status, *capsys.readouterr())

    return run


@pytest.fixture
def write_lines(tmp_path: Path) -> Callable[..., Path]:
    """Write lines, as text or bytes, into a file and return its path."""

    def write(*lines: str | bytes, name: str = "rows.jsonl") -> Path:
        raw = [line.encode() if isinstance(line, str) else line for line in lines]
        (tmp_path / name).write_bytes(b"".join(line + b"\n" for line in raw))
        return tmp_path / name

    return write


@pytest.fixture
def write_jsonl(tmp_path: Path) -> WriteRows:
    """Write rows into a JSONL file of that name and return its path."""

    def write(name: str, rows: Iterable[Mapping[str, object]]) -> Path:
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        return tmp_path / name

    return write


@pytest.fixture(scope="session")
def cheap_encoder() -> CheapEncoder:
    """Give the cheap encoder."""
    return CheapEncoder()


@pytest.fixture(scope="session")
def other_encoder() -> CheapEncoder:
    """Give an encoder with another fingerprint."""
    return CheapEncoder("cheap 2")


@pytest.fixture
def instructed_encoder() -> InstructedEncoder:
    """Give a cheap encoder that instructs by stance, of which nothing was asked yet."""
    return InstructedEncoder()


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    """Load the embedded encoder once."""
    return load_encoder()


@pytest.fixture(scope="session")
def small_corpus() -> tuple[Document, ...]:
    """Give seven made decisions: an overruled one, an undated one, and two with the same words."""
    return SMALL_CORPUS


@pytest.fixture(scope="session")
def small_index(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder) -> Path:
    """Build an index of the small corpus with the embedded encoder."""
    path = tmp_path_factory.mktemp("small") / "index"
    build_index(SMALL_CORPUS, path, encoder=encoder)
    return path


@pytest.fixture(scope="session")
def small_searcher(small_index: Path, encoder: Encoder) -> Searcher:
    """Open the index of the small corpus."""
    return Searcher.open(small_index, encoder=encoder)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Run the demo once, in a cache of its own; return how it went and the cache."""
    cache = tmp_path_factory.mktemp("cache")
    return run_demo(cache), cache


def run_demo(cache: Path) -> subprocess.CompletedProcess[str]:
    """Run ``sicetnon demo`` with its index in this cache."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, "-m", "sicetnon", "demo"], env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="session")
def bundled_index(demo: tuple[subprocess.CompletedProcess[str], Path]) -> Path:
    """Give the demo's index: all bundled decisions."""
    ran, cache = demo
    assert ran.returncode == 0, ran.stderr
    return cache / "sicetnon" / "demo-index"


@pytest.fixture(scope="session")
def bundled_searcher(bundled_index: Path, encoder: Encoder) -> Searcher:
    """Open the index of all bundled decisions."""
    return Searcher.open(bundled_index, encoder=encoder)
