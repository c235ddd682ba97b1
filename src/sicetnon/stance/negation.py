"""A proposition -> its denial, by rule.

The encoder hears little of a "not" by itself, but which of two sentences, the proposition and its denial, a passage is
nearer to tells something of its side: docs/experiments.md.
"""

from __future__ import annotations

import re

# Denied verb phrase -> the same affirmed. Longer phrases stand before those that they contain.
AFFIRMED = {
    "cannot": "can",
    "can't": "can",
    "can not": "can",
    "may not": "may",
    "must not": "may",
    "need not": "must",
    "is not": "is",
    "isn't": "is",
    "are not": "are",
    "aren't": "are",
    "was not": "was",
    "were not": "were",
    "does not": "does",
    "doesn't": "does",
    "do not": "do",
    "don't": "do",
    "did not": "did",
    "has not": "has",
    "have not": "have",
    "will not": "will",
    "won't": "will",
    "would not": "would",
    "should not": "should",
    "could not": "could",
    "shall not": "shall",
    "might not": "might",
    "had not": "had",
    "never": "always",
    "no longer": "still",
}
DENIED = {"can": "cannot", "must": "need not"}
DENIAL = re.compile(r"\b(" + "|".join(AFFIRMED) + r")\b", re.IGNORECASE)
AUXILIARY = re.compile(
    r"\b(is|are|was|were|can|could|may|might|must|shall|should|will|would|does|do|did|has|have|had)\b", re.IGNORECASE
)
VERB = re.compile(r"\b([a-z]+?)(?:s|es|ed)\b(?= (?:the|a|an|that|to|for|only|all|any|every)\b)")


def negate(proposition: str) -> str:
    """The proposition with its first denial taken out, or else its first auxiliary or verb denied."""
    if denial := DENIAL.search(proposition):
        return _replace(proposition, denial, AFFIRMED[denial[1].lower()])
    if proposition.startswith("No "):
        return "Some" + proposition.removeprefix("No")
    if auxiliary := AUXILIARY.search(proposition):
        return _replace(proposition, auxiliary, DENIED.get(auxiliary[1].lower(), f"{auxiliary[1]} not"))
    if verb := VERB.search(proposition):
        return _replace(proposition, verb, f"does not {verb[1]}")
    return "It is not true that " + proposition[:1].lower() + proposition[1:]


def _replace(text: str, found: re.Match[str], by: str) -> str:
    return text[: found.start()] + by + text[found.end() :]
