"""What a document says of a proposition: the sentence that carries it, and the probability of each side.

Knows texts and vectors; knows no file, index or corpus.
"""

from sicetnon.stance.judge import StanceJudge
from sicetnon.stance.model import StanceModel, Verdict
from sicetnon.stance.negation import negate
from sicetnon.stance.reading import Claim, Reading, Statement, read_statement
from sicetnon.stance.sides import tell_side

__all__ = [
    "Claim",
    "Reading",
    "StanceJudge",
    "StanceModel",
    "Statement",
    "Verdict",
    "negate",
    "read_statement",
    "tell_side",
]
