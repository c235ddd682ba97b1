"""The engine: documents as sets or bags of opaque terms -> an index directory -> ranked search, exact or fast.

It knows arrays and strings; it does not know what a term stands for, nor any text. NumPy and the standard library
are all it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sicetnon.sparse.budget import Budget as Budget
    from sicetnon.sparse.builder import SparseIndexBuilder as SparseIndexBuilder
    from sicetnon.sparse.contract import build_index as build_index
    from sicetnon.sparse.contract import search_file as search_file
    from sicetnon.sparse.explanation import Contribution as Contribution
    from sicetnon.sparse.explanation import Evaluation as Evaluation
    from sicetnon.sparse.explanation import Explanation as Explanation
    from sicetnon.sparse.index import ScoredDocument as ScoredDocument
    from sicetnon.sparse.index import SparseIndex as SparseIndex
    from sicetnon.sparse.inputs import build_from_csr as build_from_csr
    from sicetnon.sparse.inputs import build_from_pairs as build_from_pairs
    from sicetnon.sparse.inputs import build_from_tokens as build_from_tokens
    from sicetnon.sparse.scoring import Bm25 as Bm25
    from sicetnon.sparse.scoring import Bm25L as Bm25L
    from sicetnon.sparse.scoring import Bm25Plus as Bm25Plus
    from sicetnon.sparse.scoring import Bm25Robertson as Bm25Robertson
    from sicetnon.sparse.scoring import CollectionStatistics as CollectionStatistics
    from sicetnon.sparse.scoring import DotProduct as DotProduct
    from sicetnon.sparse.scoring import IdfOverlap as IdfOverlap
    from sicetnon.sparse.scoring import Scoring as Scoring
    from sicetnon.sparse.topk import select_top as select_top
    from sicetnon.sparse.tuning import Tuned as Tuned
    from sicetnon.sparse.tuning import tune as tune
    from sicetnon.sparse.writer import SparseIndexWriter as SparseIndexWriter

# Loaded when first used: a search from the shell is over in a fraction of a second, and needs nothing of what builds.
_HOMES = {
    "Bm25": "scoring",
    "Bm25L": "scoring",
    "Bm25Plus": "scoring",
    "Bm25Robertson": "scoring",
    "Budget": "budget",
    "CollectionStatistics": "scoring",
    "Contribution": "explanation",
    "Evaluation": "explanation",
    "Explanation": "explanation",
    "DotProduct": "scoring",
    "IdfOverlap": "scoring",
    "ScoredDocument": "index",
    "Scoring": "scoring",
    "SparseIndex": "index",
    "SparseIndexBuilder": "builder",
    "SparseIndexWriter": "writer",
    "Tuned": "tuning",
    "build_from_csr": "inputs",
    "build_from_pairs": "inputs",
    "build_from_tokens": "inputs",
    "build_index": "contract",
    "search_file": "contract",
    "select_top": "topk",
    "tune": "tuning",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - sorted gives a list


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
