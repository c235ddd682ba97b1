"""Characters -> sentences, passages and terms. Offsets into the original are never lost.

Knows nothing of documents, indexes or models.
"""

from sicetnon.text.passages import split_passages
from sicetnon.text.sentences import split_sentences
from sicetnon.text.terms import STOP_WORDS, analyze, stem, straighten_quotes

__all__ = ["STOP_WORDS", "analyze", "split_passages", "split_sentences", "stem", "straighten_quotes"]
