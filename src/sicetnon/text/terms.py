"""Text -> terms for the lexical index: lower case, letters and digits, English stop words out, Snowball stems."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import Stemmer

TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
# Function words that say nothing of a subject. Negations are among them: they matter to the side a document takes,
# not to whether it is on point, and the stance model reads the text itself.
_STOP_WORDS = """
    a about after all also an and any are as at be been before being between both but by can cannot could did do does
    doing during each either for from had has have having he her here him his how however i if in into is it its itself
    may me might more most must my neither no nor not of off on only or other ought our over own same shall she should
    so some such than that the their them then there these they this those through to under until up upon us was we
    were what when where whether which while who whom whose why will with within without would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
_local = threading.local()


def analyze(text: str) -> list[str]:
    """The terms of ``text`` in order of appearance, repeats kept."""
    return stem([token for token in TOKEN.findall(straighten_quotes(text.lower())) if token not in STOP_WORDS])


def straighten_quotes(text: str) -> str:
    """The text with typewriter apostrophes, as in "can't"."""
    return text.replace("\u2019", "'")


def stem(words: list[str]) -> list[str]:
    """The Snowball stem of each lower-case word."""
    stems: list[str] = _stemmer().stemWords(words)
    return stems


def _stemmer() -> Stemmer.Stemmer:
    """One stemmer a thread: PyStemmer's objects may not be shared between threads."""
    if not hasattr(_local, "stemmer"):
        import Stemmer

        _local.stemmer = Stemmer.Stemmer("english")
    return _local.stemmer
