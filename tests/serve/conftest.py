"""What the tests of the web page share: a small index, one hostile decision in it, and a client."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from sicetnon.dense import load_encoder
from sicetnon.ingest import build_index
from sicetnon.search import Searcher
from sicetnon.serve import create_app
from sicetnon.types import Document, Treatment

HOSTILE = "<script>alert('x')</script><img src=http://evil.example/x onerror=alert(1)>&amp;{{ 7 * 7 }}"
FOR_IT = Document(
    doc_id="for/it?#1",
    title="Phone v. State",
    text="An arrested man carried a phone.\n\n"
    "The Court held that the police may not search a phone without a warrant.\n\nPrivacy weighs more.",
    citation="1 T.R. 1",
    docket="13-132",
    court="Supreme Court of Testland",
    court_id="sct",
    decided=date(2014, 6, 25),
    areas=("search", "privacy"),
    metadata={"judges": ["A", "B"], "source": "made"},
)
AGAINST_IT = Document(
    doc_id="against-it",
    title="State v. Phone",
    text="A man was arrested. The Court held that the police may search a phone without a warrant. "
    "No warrant is required.",
    court="Court of Appeals of Nowhere",
    court_id="noca",
    decided=date(1990, 5, 1),
    treatment=Treatment(
        status="overruled", by="for/it?#1", by_title="Phone v. State", date=date(2014, 6, 25), note="In full."
    ),
)
HOSTILE_ONE = Document(
    doc_id="hostile",
    title=f"Evil {HOSTILE}",
    text=f"A fence stood on the land of the neighbour {HOSTILE}. "
    f"The Court held that a fence on the land of the neighbour must be removed {HOSTILE}.",
    court=HOSTILE,
    decided=date(2001, 1, 31),
    metadata={HOSTILE: HOSTILE},
)
TRADES = "bakers brewers carters coopers cutlers drapers dyers fullers glaziers grocers hatters joiners masons millers"
# Relevance is by standard scores over the documents, so a decision stands out among many, not among few.
OTHERS = tuple(
    Document(
        doc_id=f"other-{number:02}",
        text=f"The {trade} asked for a tax on {goods}. The tax was lawful.",
        decided=date(1950, 1, number % 28 + 1),
    )
    for number, (trade, goods) in enumerate(
        (trade, goods) for trade in TRADES.split() for goods in ("wool", "salt", "ale")
    )
)


@pytest.fixture(scope="session")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    """Open an index of some decisions for and against one proposition, and many on something else."""
    encoder = load_encoder()
    path: Path = tmp_path_factory.mktemp("serve") / "index"
    build_index([FOR_IT, AGAINST_IT, HOSTILE_ONE, *OTHERS], path, encoder=encoder)
    return Searcher.open(path, encoder=encoder)


@pytest.fixture
def client(searcher: Searcher) -> Iterator[TestClient]:
    """Talk to the page."""
    with TestClient(create_app(searcher)) as client:
        yield client
