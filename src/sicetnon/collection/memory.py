"""Labelled propositions that an index remembers: which documents each is known to be on point for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sicetnon.dense.encoder import Vectors
from sicetnon.sparse import SparseIndex


class Memory(NamedTuple):
    """Propositions with links to documents.

    ``vectors`` float32 [propositions, dimensions] has rows of length 1. Link by link, ordered by document:
    ``propositions`` int32 the row of ``vectors``, ``documents`` int32 the ordinal. ``expanded`` is a sparse index of
    all documents, each with the terms of its propositions added to its own.
    """

    vectors: Vectors
    propositions: npt.NDArray[np.int32]
    documents: npt.NDArray[np.int32]
    expanded: SparseIndex
