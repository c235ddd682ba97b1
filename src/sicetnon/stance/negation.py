"""A proposition -> its denial, by rule.

The encoder hears little of a "not" by itself, but which of two sentences, the proposition and its denial, a passage is
nearer to tells something of its side: docs/experiments.md.
"""

from __future__ import annotations

import re

from sicetnon.stance.cues import AUXILIARIES, CONTRACTIONS
from sicetnon.text import straighten_quotes

# Denied verb phrase -> the same affirmed.
AFFIRMED = {
    **{f"{auxiliary} not": auxiliary for auxiliary in AUXILIARIES},
    **CONTRACTIONS,
    "must not": "may",
    "mustn't": "may",
    "need not": "must",
    "needn't": "must",
    "never": "always",
    "no longer": "still",
}
DENIED = {"can": "cannot", "must": "need not"}
DENIAL = re.compile(r"\b(" + "|".join(AFFIRMED) + r")\b", re.IGNORECASE)
AUXILIARY = re.compile(r"\b(" + "|".join(AUXILIARIES) + r")\b", re.IGNORECASE)
# A verb in the third person: a word in -s before what usually follows a verb and seldom a plural.
VERB = re.compile(r"\b([a-z]+(?<![sui])s)\b(?= (?:the|a|an|that|to|for|only|all|any|every)\b)")
SIBILANTS = ("sses", "xes", "ches", "shes", "zzes")


def negate(proposition: str) -> str:
    """The proposition with its first denial taken out, or else its first auxiliary or verb denied."""
    text = straighten_quotes(proposition)
    if denial := DENIAL.search(text):
        return _replace(text, denial, AFFIRMED[denial[1].lower()])
    if text.startswith("No "):
        return "Some" + text.removeprefix("No")
    if auxiliary := AUXILIARY.search(text):
        return _replace(text, auxiliary, DENIED.get(auxiliary[1].lower(), f"{auxiliary[1]} not"))
    if verb := VERB.search(text):
        return _replace(text, verb, f"does not {_base_form(verb[1])}")
    return "It is not true that " + text[:1].lower() + text[1:]


def _base_form(verb: str) -> str:
    if verb.endswith("ies"):
        return verb.removesuffix("ies") + "y"
    return verb.removesuffix("es") if verb.endswith(SIBILANTS) else verb.removesuffix("s")


def _replace(text: str, found: re.Match[str], by: str) -> str:
    return text[: found.start()] + by + text[found.end() :]
