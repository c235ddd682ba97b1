"""The encoder behind an embeddings endpoint, tried on a fake one on this machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_endpoint import DIMENSIONS, KEY, FakeEndpoint, Reply, clear_environment, embed, embeddings, serve_endpoint

from sicetnon.dense import load_encoder
from sicetnon.dense.endpoint import BATCH, PROBE, EndpointEncoder
from sicetnon.errors import EndpointError, InputError, MissingExtra, ModelError
from sicetnon.ingest import build_index
from sicetnon.remote import Client, Limits, Settings
from sicetnon.remote.cache import FILE
from sicetnon.search import Searcher
from sicetnon.types import Document, Query, Stance

TEXTS = ["The police may not search a phone.", "No.", "The contract is void."]
Corpus = tuple[Document, ...]


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEndpoint]:
    """Run a fake endpoint that the environment names."""
    clear_environment(monkeypatch)
    with serve_endpoint() as fake:
        monkeypatch.setenv("SICETNON_ENDPOINT_URL", fake.url)
        monkeypatch.setenv("SICETNON_ENDPOINT_MODEL", "m")
        monkeypatch.setenv("SICETNON_ENDPOINT_KEY", KEY)
        yield fake


@pytest.fixture
def encoder(endpoint: FakeEndpoint) -> EndpointEncoder:
    """Load the encoder, and forget the call that told its dimensions."""
    encoder = EndpointEncoder.from_environment()
    endpoint.asked.clear()
    return encoder


def inputs(endpoint: FakeEndpoint) -> list[list[str]]:
    """List the texts of each call."""
    return [asked.body["input"] for asked in endpoint.asked]


def unit(text: str) -> Any:
    """Make the vector that a text should have."""
    vector = np.array(embed(text))
    return vector / np.linalg.norm(vector)


def test_chosen_by_name(endpoint: FakeEndpoint) -> None:
    """It is loaded by its name, after one call that tells how long vectors are."""
    encoder = load_encoder("endpoint")
    assert (encoder.name, encoder.dimensions, encoder.fingerprint) == (
        "endpoint",
        DIMENSIONS,
        f"endpoint m {DIMENSIONS}",
    )
    (asked,) = endpoint.asked
    assert asked.path == "/v1/embeddings"
    assert asked.body == {"model": "m", "input": [PROBE], "encoding_format": "float"}
    assert asked.headers["Authorization"] == f"Bearer {KEY}"


def test_nothing_is_called_unless_asked_for(endpoint: FakeEndpoint, small_corpus: Corpus, tmp_path: Path) -> None:
    """With the whole environment set, the default encoder, an index and a search with it call nothing."""
    build_index(small_corpus, tmp_path / "index")
    Searcher.open(tmp_path / "index").search_both(Query(proposition=TEXTS[0]))
    assert endpoint.asked == []


def test_not_set(endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a URL or a model the name alone is an error."""
    monkeypatch.delenv("SICETNON_ENDPOINT_MODEL")
    with pytest.raises(InputError, match="no SICETNON_ENDPOINT_MODEL in the environment"):
        load_encoder("endpoint")
    assert endpoint.asked == []


@pytest.mark.usefixtures("endpoint")
def test_library_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library it is an error that names the command that installs it."""
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sicetnon\[endpoint\]'"):
        load_encoder("endpoint")


def test_unit_vectors(encoder: EndpointEncoder) -> None:
    """Vectors are float32 of length 1, in the order of the texts, whatever the order and length of the answer's."""
    for vectors in (encoder.encode_documents(TEXTS), encoder.encode_queries(TEXTS)):
        assert vectors.dtype == np.float32
        assert vectors == pytest.approx(np.array([unit(text) for text in TEXTS]), abs=1e-6)
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)


def test_batches(endpoint: FakeEndpoint, encoder: EndpointEncoder) -> None:
    """Documents are sent in batches, each text once; progress counts every text."""
    texts = [f"text {number % (2 * BATCH + 1)}" for number in range(3 * BATCH)]
    told: list[int] = []
    vectors = encoder.encode_documents(texts, told.append)
    assert sorted(map(len, inputs(endpoint))) == [1, BATCH, BATCH]
    assert sorted(text for batch in inputs(endpoint) for text in batch) == sorted(set(texts))
    assert (len(told), sum(told)) == (3, len(texts))
    assert vectors == pytest.approx(np.array([unit(text) for text in texts]), abs=1e-6)


def test_queries(endpoint: FakeEndpoint, encoder: EndpointEncoder) -> None:
    """Queries are sent one a call, and none twice; their vectors are the same bits alone and in company."""
    together = encoder.encode_queries(TEXTS)
    assert sorted(inputs(endpoint)) == sorted([text] for text in TEXTS)
    assert encoder.encode_queries(TEXTS[::-1])[::-1].tobytes() == together.tobytes()
    assert encoder.encode_queries([TEXTS[1]])[0].tobytes() == together[1].tobytes()
    assert len(endpoint.asked) == 3


def test_query_prompt(endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """An instruction goes before queries only, space included."""
    monkeypatch.setenv("SICETNON_ENDPOINT_QUERY_PROMPT", "query: ")
    encoder = EndpointEncoder.from_environment()
    endpoint.asked.clear()
    encoder.encode_queries(["a"])
    encoder.encode_documents(["a"])
    assert inputs(endpoint) == [["query: a"], ["a"]]


def test_no_instruction_by_stance(endpoint: FakeEndpoint, encoder: EndpointEncoder) -> None:
    """A query is asked once, whatever the stances it comes with."""
    vectors = {encoder.encode_queries(["a"], stance).tobytes() for stance in Stance}
    assert len(vectors) == len(endpoint.asked) == 1
    assert not encoder.instructs_by_stance


def test_no_text(endpoint: FakeEndpoint, encoder: EndpointEncoder) -> None:
    """No texts give no vectors, of the right length, and no call."""
    assert encoder.encode_documents([]).shape == encoder.encode_queries([]).shape == (0, DIMENSIONS)
    assert endpoint.asked == []


def test_numbers_of_any_size(endpoint: FakeEndpoint, encoder: EndpointEncoder) -> None:
    """Numbers whose squares cannot be told apart from 0 or overflow still have a direction."""
    for size in (1e-300, 1e300):
        data = [{"index": 0, "embedding": [3 * size, 4 * size] + [0] * (DIMENSIONS - 2)}]
        endpoint.replies.append(Reply(body=json.dumps({"data": data}).encode()))
        assert encoder.encode_documents([f"{size}"])[0, :2] == pytest.approx([0.6, 0.8])


def vectors_of(*items: object) -> Callable[[dict[str, Any]], Any]:
    """Make an answer of these items."""
    return lambda _body: {"data": list(items)}


GOOD = embed("a")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda body: {"data": embeddings(body)["data"][:-1]}, "2 vectors for 3 texts; expected one for each"),
        (lambda body: {"data": embeddings(body)["data"] * 2}, "6 vectors for 3 texts"),
        (vectors_of(*[{"index": 0, "embedding": GOOD}] * 3), "the index of some texts twice"),
        (vectors_of(*({"index": n, "embedding": GOOD} for n in (1, 2, 3))), "the index of some texts twice"),
        (vectors_of(*[{"embedding": GOOD}] * 3), "has no index"),
        (vectors_of(*[{"index": [], "embedding": GOOD}] * 3), "no list of numbers, or has no index"),
        (vectors_of(*[{"index": n} for n in range(3)]), "that is no list of numbers"),
        (vectors_of(*[{"index": n, "embedding": "AACAPw=="} for n in range(3)]), "that is no list of numbers"),
        (vectors_of(*[{"index": n, "embedding": {"a": 1}} for n in range(3)]), "that is no list of numbers"),
        (vectors_of(*[{"index": n, "embedding": [GOOD]} for n in range(3)]), "that is no list of numbers"),
        (vectors_of(*[{"index": n, "embedding": GOOD[:-1]} for n in range(3)]), f"vectors of {DIMENSIONS - 1} numbers"),
        (vectors_of(*[{"index": n, "embedding": GOOD[n:]} for n in range(3)]), "vectors of 14, 15, 16 numbers"),
        (vectors_of(*[{"index": n, "embedding": []} for n in range(3)]), "vectors of 0 numbers"),
        (vectors_of(*[{"index": n, "embedding": 1} for n in range(3)]), "that is no list of numbers"),
        (vectors_of(*[{"index": n, "embedding": [None, *GOOD[1:]]} for n in range(3)]), "number that is not finite"),
        (vectors_of(*[{"index": n, "embedding": [0.0] * DIMENSIONS} for n in range(3)]), "a vector of zeros"),
        (lambda _body: {"data": None}, "without a list of objects under data"),
        (lambda _body: {"data": [1, 2, 3]}, "without a list of objects under data"),
        (lambda _body: {"object": "list"}, "without a list of objects under data"),
        (lambda _body: [], "no JSON object"),
    ],
)  # fmt: skip
def test_wrong_answer(endpoint: FakeEndpoint, encoder: EndpointEncoder, answer: Any, message: str) -> None:
    """An answer that is not a vector for each text is an error that says what it is, and nothing is guessed."""
    endpoint.embeddings = answer
    with pytest.raises(EndpointError, match=message) as caught:
        encoder.encode_documents(TEXTS)
    assert KEY not in f"{caught.value!r} {encoder!r}"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999", "-1e999"])
def test_no_finite_number(endpoint: FakeEndpoint, encoder: EndpointEncoder, number: str) -> None:
    """What JSON allows or Python reads as a number, but is none to compute with, is refused."""
    body = json.dumps({"data": [{"index": 0, "embedding": GOOD}]}).replace("0.5", number)
    assert number in body
    endpoint.replies.append(Reply(body=body.encode()))
    with pytest.raises(EndpointError, match=r"not finite|no JSON object"):
        encoder.encode_documents(["a"])


@pytest.mark.parametrize("body", [b'{"data": []}', b'{"data": [{"index": 0, "embedding": []}]}', b"<html>", b"{}"])
def test_wrong_answer_at_first(endpoint: FakeEndpoint, body: bytes) -> None:
    """An endpoint that answers nothing of use is no encoder."""
    endpoint.replies.append(Reply(body=body))
    with pytest.raises(EndpointError):
        load_encoder("endpoint")


def test_failure_amid_many(endpoint: FakeEndpoint) -> None:
    """Once a batch has failed for good no others are begun."""
    settings = Settings(url=endpoint.url, model="m")
    encoder = EndpointEncoder(settings, client=Client(settings, limits=Limits(attempts=2), sleep=lambda _seconds: None))
    endpoint.replies.extend([Reply(500)] * 10_000)
    with pytest.raises(EndpointError, match=r"status 500 .*, at attempt 2"):
        encoder.encode_documents([f"text {number}" for number in range(1_000 * BATCH)])
    assert len(endpoint.asked) < 1_000


def test_cache(endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With a cache nothing is sent twice, not even by another object, and vectors are the same bits."""
    monkeypatch.setenv("SICETNON_ENDPOINT_CACHE", str(tmp_path))
    first = EndpointEncoder.from_environment()
    documents, queries = first.encode_documents(TEXTS).tobytes(), first.encode_queries(TEXTS).tobytes()
    calls = len(endpoint.asked)
    endpoint.replies.extend([Reply(400)] * 9)
    second = EndpointEncoder.from_environment()
    assert (second.dimensions, second.fingerprint) == (first.dimensions, first.fingerprint)
    assert second.encode_documents(TEXTS[::-1])[::-1].tobytes() == documents
    assert second.encode_queries(TEXTS).tobytes() == queries
    assert len(endpoint.asked) == calls
    endpoint.replies.clear()
    second.encode_documents([TEXTS[0], "new", TEXTS[1]])
    assert inputs(endpoint)[calls:] == [["new"]]
    monkeypatch.setenv("SICETNON_ENDPOINT_MODEL", "n")
    EndpointEncoder.from_environment().encode_documents(TEXTS)
    assert inputs(endpoint)[calls + 1 :] == [[PROBE], TEXTS]


@pytest.mark.parametrize("kept", [b"", b"abc", b"\0" * 4 * DIMENSIONS, b"\0\0\x80\x3f", b"\xff" * 4 * DIMENSIONS])
def test_damaged_vector_in_the_cache(
    endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kept: bytes
) -> None:
    """A kept vector that cannot be one is an error that names the file."""
    monkeypatch.setenv("SICETNON_ENDPOINT_CACHE", str(tmp_path))
    encoder = EndpointEncoder.from_environment()
    encoder._cache.write("document vector", {"a": kept})
    with pytest.raises(EndpointError, match=f"the cache .*{FILE} cannot be used .a vector of"):
        encoder.encode_documents(["a"])
    assert len(endpoint.asked) == 1


def test_many_threads(encoder: EndpointEncoder) -> None:
    """Threads that ask at the same time get their own texts' vectors."""
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda n: encoder.encode_queries([f"text {n}", TEXTS[0]]), range(30)))
    for number, vectors in enumerate(found):
        assert vectors == pytest.approx(np.array([unit(f"text {number}"), unit(TEXTS[0])]), abs=1e-6)


@pytest.fixture
def corpus(write_jsonl: Any, small_corpus: Corpus) -> Path:
    """Write the small corpus as a file."""
    rows = [{"doc_id": document.doc_id, "text": document.text} for document in small_corpus]
    return Path(write_jsonl("corpus.jsonl", rows))


def test_index(
    endpoint: FakeEndpoint, corpus: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, run_cli: Any
) -> None:
    """An index built with it on the command line is opened with it, searched, and refused to any other model."""
    index = tmp_path / "index"
    ran = run_cli("index", "build", "--corpus", corpus, "--index-dir", index, "--encoder", "endpoint")
    assert (ran.status, ran.out) == (0, "")
    assert len(endpoint.asked) < 6
    answer = Searcher.open(index).search(Query(proposition="The police may search a phone without a warrant.", top_k=2))
    assert {hit.document.doc_id for hit in answer.hits} == {"d-phone", "d-car"}
    monkeypatch.setenv("SICETNON_ENDPOINT_MODEL", "n")
    with pytest.raises(ModelError, match=f"endpoint n {DIMENSIONS}; expected endpoint m {DIMENSIONS}"):
        Searcher.open(index)


def test_error_of_the_program(run_cli: Any, endpoint: FakeEndpoint, corpus: Path, tmp_path: Path) -> None:
    """An endpoint that refuses is one line of the program, without the key."""
    endpoint.replies.append(Reply(404, f"unknown {KEY}".encode()))
    ran = run_cli("index", "build", "--corpus", corpus, "--index-dir", tmp_path / "index", "--encoder", "endpoint")
    assert ran.status == 1
    assert ran.err.startswith(f'error: from the endpoint "m" at {endpoint.url}: status 404 ("unknown ***")')
    assert ran.err.count("\n") == 1
