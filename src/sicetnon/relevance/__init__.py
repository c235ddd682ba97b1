"""How much a document is on point, whatever its side.

Without labelled examples signals are summed (``fusion``). With them a ranker takes the place of the sum (``ranker``,
told of each candidate what ``features`` makes of the ``signals``), and a cross-encoder, if one was kept, reads the
ranker's first candidates once more (``reranker``).
"""

from sicetnon.relevance.encoder import load_encoder_of
from sicetnon.relevance.fusion import Scores, fused_scores, relevance_probability, standard_signals
from sicetnon.relevance.model import KnownProposition, RetrievalModel, write_model
from sicetnon.relevance.order import Relevance, measure_relevance
from sicetnon.relevance.ranker import Ranker
from sicetnon.relevance.reranker import Reranker, find_nearest, join_texts

__all__ = [
    "KnownProposition",
    "Ranker",
    "Relevance",
    "Reranker",
    "RetrievalModel",
    "Scores",
    "find_nearest",
    "fused_scores",
    "join_texts",
    "load_encoder_of",
    "measure_relevance",
    "relevance_probability",
    "standard_signals",
    "write_model",
]
