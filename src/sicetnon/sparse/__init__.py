"""The engine: documents as sets or bags of opaque terms -> an index directory -> exact ranked search.

It knows arrays and strings; it does not know what a term stands for, nor any text. NumPy and the standard library
are all it needs.
"""

from sicetnon.sparse.builder import SparseIndexBuilder
from sicetnon.sparse.contract import build_index, search_file
from sicetnon.sparse.index import Contribution, Explanation, ScoredDocument, SparseIndex
from sicetnon.sparse.scoring import Bm25, CollectionStatistics, IdfOverlap, Scoring
from sicetnon.sparse.topk import select_top

__all__ = [
    "Bm25",
    "CollectionStatistics",
    "Contribution",
    "Explanation",
    "IdfOverlap",
    "ScoredDocument",
    "Scoring",
    "SparseIndex",
    "SparseIndexBuilder",
    "build_index",
    "search_file",
    "select_top",
]
