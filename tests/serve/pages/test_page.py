"""The search page: columns, filters, states, and what people and browsers need of its HTML."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from starlette.testclient import TestClient

from sicetnon.errors import IndexDamaged
from sicetnon.search import Searcher
from sicetnon.serve import FixedSearcher, create_app
from sicetnon.stance import tell_side
from sicetnon.types import (
    MIN_RELEVANCE,
    BothSides,
    Document,
    Evidence,
    Hit,
    Query,
    Side,
    SideProbabilities,
    Span,
)

FOR_AND_AGAINST = "The police may not search a phone without a warrant."
FENCE = "A fence on the land of the neighbour must be removed."
HOSTILE = "<script>alert('x')</script><img src=http://evil.example/x onerror=alert(1)>&amp;{{ 7 * 7 }}"
VOID = {"meta", "link", "input"}


@dataclass
class Page(HTMLParser):
    """A page as a browser reads it: ``texts`` by the path of elements (name#id) that hold them."""

    source: str
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: list[tuple[list[str], str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Read the source."""
        super().__init__()
        self._open: list[str] = []
        self.feed(self.source)
        assert self._open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element and step into it."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(f"{tag}.{dict(attrs).get('class', '')}")

    def handle_endtag(self, tag: str) -> None:
        """Step out of the element."""
        assert self._open.pop().partition(".")[0] == tag, "elements are nested"

    def handle_data(self, data: str) -> None:
        """Keep text."""
        self.texts.append((list(self._open), data))

    def text(self, *path: str) -> str:
        """Return all text within elements whose path has these, in order."""

        def lies_within(where: list[str]) -> bool:
            rest = iter(where)
            return all(any(step in (name, name.partition(".")[0]) for name in rest) for step in path)

        return "".join(data for where, data in self.texts if lies_within(where))

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        """Return those of every element of that name."""
        return [attributes for name, attributes in self.tags if name == tag]


def ask(client: TestClient, proposition: str = FOR_AND_AGAINST, **parameters: str) -> Page:
    """Ask for a proposition and read the page."""
    response = client.get("/", params={"proposition": proposition, **parameters})
    assert response.status_code == 200, response.text
    return Page(response.text)


class MadeSearcher:
    """Stands for a Searcher: hits whose sides are given."""

    def __init__(self, *sides: tuple[float, float, float]) -> None:
        """Make one hit for each (supports, refutes, neither)."""
        text = "It is so."
        evidence = Evidence(passage=Span(0, len(text)), sentence=Span(0, len(text)), text=text)
        self.queries: list[Query] = []
        self.hits = [
            Hit(
                document=Document(doc_id=f"d{number:03}", text=text),
                score=1.0,
                relevance=1 - number / 1000,
                sides=SideProbabilities(supports=a, refutes=b, neither=c),
                evidence=evidence,
                treatment=None,
            )
            for number, (a, b, c) in enumerate(sides)
        ]

    def search_both(self, query: Query) -> BothSides:
        """Answer as a Searcher does, in a thread where no event loop runs."""
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        self.queries.append(query)
        supports, refutes, unclear = (
            tuple(hit for hit in self.hits if tell_side(hit.sides) is side)[: query.top_k]
            for side in (Side.SUPPORTS, Side.REFUTES, None)
        )
        return BothSides(query=query, supports=supports, refutes=refutes, unclear=unclear)


def made_client(searcher: object) -> TestClient:
    """Talk to a page over a searcher of our own."""
    return TestClient(create_app(FixedSearcher(searcher)), raise_server_exceptions=False)  # type: ignore[arg-type]


def test_empty_state(client: TestClient) -> None:
    """Without a proposition there is the form and what it is for, and no answer."""
    for parameters in ({}, {"proposition": "  "}):
        page = Page(client.get("/", params=parameters).text)
        assert page.text("h1") == "Which decisions support a proposition, and which refute it?"
        assert page.text("h2") == ""
        assert "Not legal advice" in page.text("footer")


def test_two_columns(client: TestClient) -> None:
    """Decisions stand on their side, with who, where, when, how sure, and what became of them."""
    page = ask(client)
    supports, refutes = (page.text(f"section.{side}") for side in ("supports", "refutes"))
    assert page.text("h1") == f"“{FOR_AND_AGAINST}”"
    assert "Phone v. State" in page.text("section.supports", "h3")
    assert "1 T.R. 1, Supreme Court of Testland, 2014-06-25" in supports
    assert re.search(r"[Ll]ikely.* supports \(\d\d%\);\s+refutes \d+%,\s+neither \d+%. On point: \d\d%", supports)
    assert "No later treatment known" in supports
    assert "State v. Phone" in page.text("section.refutes", "h3")
    assert "Overruled by Phone v. State, 2014-06-25" in refutes
    assert "Contract" not in supports + refutes


def test_carrying_sentence_is_marked(client: TestClient, searcher: Searcher) -> None:
    """The sentence that the searcher names is marked, within its passage, and nothing else."""
    page = ask(client)
    hit = searcher.search_both(Query(proposition=FOR_AND_AGAINST)).supports[0]
    assert page.text("section.supports", "mark") == hit.evidence.sentence.of(hit.document.text)
    assert page.text("section.supports", "blockquote") == hit.evidence.text


def test_unclear_sides_are_in_no_column() -> None:
    """A lead under a twentieth, and a side less likely than neither, go to the third list, by relevance."""
    made = MadeSearcher((0.9, 0.05, 0.05), (0.41, 0.45, 0.14), (0.1, 0.8, 0.1), (0.3, 0.1, 0.6))
    page = ask(made_client(made))
    assert page.text("section.supports", "h3") == "d000"
    assert page.text("section.refutes", "h3") == "d002"
    assert page.text("section.unclear", "h3") == "d001d003"
    assert re.search(r"Side unclear: supports 41%, refutes 45%,\s+neither 14%", page.text("section.unclear"))


def test_unclear_hits_take_no_room_in_the_columns() -> None:
    """Each column has ten clear hits where there are as many, whatever the third list has, and so has that."""
    made = MadeSearcher(*[(0.49, 0.46, 0.05)] * 12, *[(0.9, 0.05, 0.05)] * 12)
    page = ask(made_client(made))
    assert page.text("section.supports", "h3") == "".join(f"d{number:03}" for number in range(12, 22))
    assert page.text("section.unclear", "h3") == "".join(f"d{number:03}" for number in range(10))


def test_query_of_the_page() -> None:
    """The page asks for ten of each list, and leaves out what the command line leaves out."""
    made = MadeSearcher((0.9, 0.05, 0.05))
    ask(made_client(made))
    assert made.queries == [Query(proposition=FOR_AND_AGAINST, top_k=10, min_relevance=MIN_RELEVANCE)]


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ({"court": "noca"}, {"State v. Phone"}),
        ({"court": "SUPREME court of testland"}, {"Phone v. State"}),
        ({"from": "2014-06-25"}, {"Phone v. State"}),
        ({"to": "2014-06-24"}, {"State v. Phone"}),
        ({"from": "1990-05-01", "to": "2014-06-25"}, {"Phone v. State", "State v. Phone"}),
        ({"as_of": "2000-01-01"}, {"State v. Phone"}),
    ],
)
def test_filters(client: TestClient, parameters: dict[str, str], found: set[str]) -> None:
    """Court and days narrow the answer, and the form shows them, open."""
    page = ask(client, **parameters)
    titles = page.text("h3")
    assert {title for title in ("Phone v. State", "State v. Phone") if title in titles} == found
    values = {field["name"]: field["value"] for field in page.attributes("input")}
    assert values == {"as_of": "", "court": "", "from": "", "to": "", "proposition": FOR_AND_AGAINST} | parameters
    assert "open" in page.attributes("details")[0]


def test_as_of_leaves_out_later_treatment(client: TestClient) -> None:
    """What was overruled later was good law on the day."""
    assert "Overruled" in ask(client).text("section.refutes")
    assert "Overruled" not in ask(client, as_of="2000-01-01").text("section.refutes")


def test_nothing_found(client: TestClient) -> None:
    """No answer is no proof that there is none; a narrowed search says that it was."""
    page = ask(client, court="elsewhere")
    assert "No decision found. That is no proof that none exists" in page.text("main")
    assert "try it without" in page.text("main")
    page = ask(client, court="noca")
    assert "No decision found on this side. That is no proof" in page.text("section.supports")


def test_hostile_text_is_text(client: TestClient) -> None:
    """Titles, courts, passages and propositions are shown to the letter; none becomes an element or a template."""
    page = ask(client, f"{FENCE} {HOSTILE}")
    assert page.text("h1") == f"“{FENCE} {HOSTILE}”"
    assert page.text("section.supports", "h3") + page.text("section.unclear", "h3") == f"Evil {HOSTILE}"
    assert HOSTILE in page.text("blockquote")
    assert {"script", "img", "style"} & {tag for tag, _ in page.tags} == set()
    assert page.attributes("input")[0]["value"] == f"{FENCE} {HOSTILE}"


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"as_of": "2001-02-30"}, "“As the law stood on” is “2001-02-30”"),
        ({"from": "20010201"}, "“Decided from” is “20010201”"),
        ({"to": "yesterday" * 9}, "“Decided to” is “yesterdayyesterdayye…”"),
        ({"to": "<script>"}, "“Decided to” is “<script>”"),
        ({"from": "2002-01-01", "to": "2001-01-01"}, "“Decided from” 2002-01-01 lies after “Decided to” 2001-01-01"),
        ({"proposition": "x" * 2001}, "a proposition of 2,001 characters"),
    ],
)
@pytest.mark.parametrize("path", ["/", "/documents/hostile"])
def test_misuse(client: TestClient, parameters: dict[str, str], told: str, path: str) -> None:
    """A wrong day or too long a proposition: what was found, what was expected, what to do; and the form again."""
    response = client.get(path, params={"proposition": "A fence", **parameters})
    page = Page(response.text)
    assert response.status_code == 422
    assert page.text("h1") == "This cannot be searched for"
    assert told in page.text("dl", "dd")
    assert "FoundExpectedWhat to do" in page.text("dl", "dt")
    assert page.attributes("input")[0]["value"] == parameters.get("proposition", "A fence")


def test_longest_proposition(client: TestClient) -> None:
    """2,000 characters are answered."""
    assert client.get("/", params={"proposition": "x" * 2000}).status_code == 200


def test_failure_tells_no_internals() -> None:
    """An unexpected failure is a page of ours that names neither path nor error."""

    class Broken:
        def search_both(self, query: Query) -> None:
            raise IndexDamaged("/secret/place is damaged", expected=query.proposition, remedy="rebuild it")

    response = made_client(Broken()).get("/", params={"proposition": "x"})
    assert response.status_code == 500
    assert Page(response.text).text("h1") == "Something went wrong"
    assert not re.search(r"secret|Damaged|Traceback|rebuild", response.text)


def test_unknown_addresses_and_methods(client: TestClient) -> None:
    """Other addresses and methods get pages of ours too."""
    assert client.get("/nothing").status_code == client.get("/documents/").status_code == 404
    assert "GET /<b>" in Page(client.get("/<b>").text).text("dd")
    posted = client.post("/")
    assert (posted.status_code, set(posted.headers["allow"].split(", "))) == (405, {"GET", "HEAD"})
    assert Page(posted.text).text("h1") == "This page can only be read"
    assert client.head("/").status_code == 200


ADDRESSES = [
    ("/", 200),
    (f"/?proposition={FOR_AND_AGAINST}", 200),
    (f"/?proposition={FENCE}", 200),
    ("/documents/hostile", 200),
    (f"/documents/hostile?proposition={FENCE}", 200),
    ("/documents/none", 404),
    ("/?from=never", 422),
    ("/style.css", 200),
    ("/documents", 404),
]


@pytest.mark.parametrize(("address", "status"), ADDRESSES)
def test_headers(client: TestClient, address: str, status: int) -> None:
    """Every response forbids scripts, other hosts, frames and guesses of its type."""
    response = client.get(address, follow_redirects=False)
    assert response.status_code == status
    policy = response.headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "style-src 'self'", "form-action 'self'", "frame-ancestors 'none'"} <= set(policy)
    assert "unsafe" not in str(policy)
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["x-frame-options"] == "DENY"
    assert response.headers["referrer-policy"] == "no-referrer"


def test_headers_of_a_failure() -> None:
    """A failure's page has them too."""
    response = made_client(object()).get("/", params={"proposition": "x"})
    assert response.status_code == 500
    assert response.headers["content-security-policy"].startswith("default-src 'none'")


@pytest.mark.parametrize("address", [address for address, _ in ADDRESSES if address != "/style.css"])
def test_no_other_host(client: TestClient, address: str) -> None:
    """No attribute that a browser would fetch or follow leads to another host, and nothing runs."""
    page = Page(client.get(address).text)
    for tag, attributes in page.tags:
        for name in ("href", "src", "action"):
            target = attributes.get(name)
            assert target is None or re.match(r"/(?!/)|#", target), (tag, target)
        assert not [name for name in attributes if name.startswith("on") or name in {"style", "srcset"}]
    stylesheet = client.get("/style.css")
    assert stylesheet.headers["content-type"].startswith("text/css")
    assert not re.search(r"url\(|@import|//", stylesheet.text)


@pytest.mark.parametrize("address", [address for address, _ in ADDRESSES if address != "/style.css"])
def test_readable_without_eyes(client: TestClient, address: str) -> None:
    """One main heading, none skipped after it; landmarks; a language; a label for every field; no ID twice."""
    page = Page(client.get(address).text)
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert all(len(page.attributes(landmark)) == 1 for landmark in ("header", "main", "footer", "title"))
    assert page.attributes("html")[0]["lang"] == "en"
    labelled = {label["for"] for label in page.attributes("label")}
    assert {field["id"] for field in page.attributes("input")} == labelled
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.tags:
        for name in ("aria-labelledby", "aria-describedby"):
            assert attributes.get(name) is None or attributes[name] in ids
