"""The page of one decision."""

from __future__ import annotations

import html
import re

from starlette.testclient import TestClient

PROPOSITION = "The police may not search a phone without a warrant."
PHONE = "/documents/for%2Fit%3F%231"


def read(client: TestClient, address: str, **parameters: str) -> str:
    """Return a page."""
    response = client.get(address, params=parameters)
    assert response.status_code == 200, response.text
    return response.text


def test_whole_document(client: TestClient) -> None:
    """All of its text, paragraph by paragraph, and all of its metadata; nothing marked if nothing is asked."""
    page = read(client, PHONE)
    assert "<h1>Phone v. State</h1>" in page
    for name, value in (
        ("Citation", "1 T.R. 1"),
        ("Court", "Supreme Court of Testland"),
        ("Decided", "2014-06-25"),
        ("Docket", "13-132"),
        ("Areas", "search, privacy"),
        ("ID", "for/it?#1"),
        ("judges", '["A", "B"]'),
        ("source", "made"),
    ):
        assert f"<dt>{name}</dt><dd>{value}</dd>" in html.unescape(page)
    assert re.findall("<p>(.*)</p>", page[page.index("<h2>Text</h2>") :])[:3] == [
        "An arrested man carried a phone.",
        "The Court held that the police may not search a phone without a warrant.",
        "Privacy weighs more.",
    ]
    assert "<mark" not in page
    assert "None known" in page


def test_carrying_sentence_is_marked(client: TestClient) -> None:
    """With a proposition, the sentence that bears on it is marked and can be reached, and the answer is a link away."""
    page = read(client, PHONE, proposition=PROPOSITION)
    sentence = "The Court held that the police may not search a phone without a warrant."
    assert f'<mark id="carrying">{sentence}</mark>' in page
    assert 'href="#carrying"' in page
    assert 'href="/?proposition=The+police+may+not' in page
    assert re.search(r"supports</strong> \(\d\d%\)", page)


def test_marked_whatever_the_filters(client: TestClient) -> None:
    """A filter or a day that leaves the decision out of the answer does not leave it unread."""
    page = read(client, PHONE, proposition=PROPOSITION, court="noca", as_of="1999-01-01")
    assert page.count("<mark") == 1


def test_every_decision_has_a_sentence_marked(client: TestClient) -> None:
    """One that is off point, and one without a court, too."""
    for address in ("/documents/other-07", "/documents/hostile"):
        assert read(client, address, proposition=PROPOSITION).count("<mark") == 1


def test_link_of_a_card_leads_to_its_document(client: TestClient) -> None:
    """Whatever characters its ID has."""
    page = read(client, "/", proposition=PROPOSITION, court="sct")
    (link,) = re.findall(r'href="(/documents/[^"]*)"', page)
    assert link == f"{PHONE}?proposition=The+police+may+not+search+a+phone+without+a+warrant.&amp;court=sct#carrying"
    assert "<h1>Phone v. State</h1>" in read(client, html.unescape(link))


def test_treatment(client: TestClient) -> None:
    """The treatment, its note, and whether it came after the day asked about."""
    page = read(client, "/documents/against-it", proposition=PROPOSITION)
    assert re.search(r"Overruled</span> by Phone v. State, .*2014-06-25</time>.\s+In full.", page)
    page = read(client, "/documents/against-it", proposition=PROPOSITION, as_of="2000-01-01")
    assert "2014-06-25</time> (after 2000-01-01)." in page


def test_hostile_document(client: TestClient) -> None:
    """No title, text or metadata becomes an element."""
    page = read(client, "/documents/hostile", proposition="A fence on the land must be removed.")
    assert not re.search("<(script|img)|49", page)
    assert page.count("&lt;script&gt;") >= 6


def test_unknown_document(client: TestClient) -> None:
    """404, in words, and the ID in them is text."""
    response = client.get("/documents/<b>no</b>")
    assert response.status_code == 404
    assert "no document with the ID “&lt;b&gt;no&lt;/b&gt;” in this index" in response.text
