"""Texts -> unit vectors, and the nearest of many vectors.

Knows nothing of documents, passages or index directories.
"""

from sicetnon.dense.encoder import Encoder, encode_asked, load_encoder, load_own_encoder
from sicetnon.dense.search import QUERIES_AT_ONCE, max_similarity, similarities

__all__ = [
    "QUERIES_AT_ONCE",
    "Encoder",
    "encode_asked",
    "load_encoder",
    "load_own_encoder",
    "max_similarity",
    "similarities",
]
