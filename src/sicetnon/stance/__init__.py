"""What a document says of a proposition: the sentence that carries it, and the probability of each side.

Knows texts and vectors; knows no file, index or corpus.
"""

from sicetnon.stance.model import StanceModel, Verdict
from sicetnon.stance.reading import Reading, Statement, read_statement

__all__ = ["Reading", "StanceModel", "Statement", "Verdict", "read_statement"]
