"""Seismic: clustered inverted lists with summaries (Bruch et al., SIGIR 2024), compiled from Rust; approximate."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import seismic

from peers.collection import Collection
from peers.peer import Setting

_SETTINGS = ((10, 0.9), (20, 0.9), (50, 0.9), (50, 0.8), (50, 0.7), (100, 0.4))  # query_cut, heap_factor
_MOST_TERMS = 2**16  # components of the plain index; above, the one for large vocabularies
_LARGE = 50_000_000  # postings, above which summaries built with the defaults would not fit beside the other peers
_FOR_LARGE = {"centroid_fraction": 0.02, "summary_energy": 0.2}


class Seismic:
    """One thread; default build parameters but for large collections."""

    package = "pyseismic-lsr"
    compiled = True

    def __init__(self, *, root: bool) -> None:
        """Say how the weight of a term is shared: all with the query, or its square root with query and postings."""
        self._root = root
        where = "its square root with the query and with the postings" if root else "with the query"
        self.note = (
            f"index in memory, built with the defaults, above {_LARGE:,} postings with {_FOR_LARGE}; the weight of a "
            f"term is {where}"
        )

    def build(self, collection: Collection, folder: Path) -> None:
        dataset_kind, index_kind = _kinds(collection)
        dataset = dataset_kind(dim=collection.term_count)
        values = collection.posting_weights
        if self._root:
            values = values * np.sqrt(collection.term_weights).astype(np.float32)[collection.terms]
        step = 100_000
        for first in range(0, collection.document_count, step):
            offsets = collection.offsets[first : first + step + 1]
            part = slice(offsets[0], offsets[-1])
            doc_ids = [str(first + place) for place in range(len(offsets) - 1)]
            components = collection.terms[part].astype(np.int64)
            dataset.add_documents_by_id(doc_ids, components, np.array(values[part]), offsets - offsets[0])
        options = _FOR_LARGE if len(collection.terms) > _LARGE else {}
        index_kind.build_from_dataset(dataset, num_threads=1, **options).save(str(folder / "index"))

    def open(self, collection: Collection, folder: Path, *, k: int) -> list[Setting]:
        (path,) = folder.iterdir()
        index = _kinds(collection)[1].load(str(path))
        weights = np.sqrt(collection.term_weights) if self._root else collection.term_weights
        kind = seismic.get_seismic_string()
        ids = np.array([str(number) for number in range(len(collection.queries))], kind)
        components = [query.astype(kind) for query in collection.queries]
        values = [weights[query].astype(np.float32) for query in collection.queries]
        search = partial(index.batch_search, ids, components, values, k, num_threads=1)
        read = partial(_read, len(ids))
        return [
            Setting(
                f"query_cut {c}, heap_factor {h}", partial(search, query_cut=c, heap_factor=h), read, approximate=True
            )
            for c, h in _SETTINGS
        ]


def _kinds(collection: Collection) -> tuple[Any, Any]:
    if collection.term_count > _MOST_TERMS:
        return seismic.SeismicDatasetLV, seismic.SeismicIndexLV
    return seismic.SeismicDataset, seismic.SeismicIndex


def _read(count: int, answers: list[list[tuple[str, float, str]]]) -> list[list[int]]:
    """Sort the answers by query: a batch may come back in another order."""
    by_query: list[list[int]] = [[] for _ in range(count)]
    for found in answers:
        for query, _, doc_id in found:
            by_query[int(query)].append(int(doc_id))
    return by_query


def make_peer(variant: str) -> Seismic:
    return Seismic(root=variant == "root_weights")
