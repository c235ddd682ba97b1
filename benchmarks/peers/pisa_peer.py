"""PISA through pyterrier-pisa: compressed lists and dynamic pruning, compiled from C++."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd
from pyterrier_pisa import PisaIndex

from peers.collection import Collection
from peers.peer import Setting

HIGHEST = 1023  # of an impact
_ALGORITHMS = ("maxscore", "block_max_wand", "block_max_maxscore")


class Pisa:
    """A query's weights would be repetitions of its terms here, so the weights of terms are in the postings."""

    package = "pyterrier-pisa"
    compiled = True
    note = (
        f"quantized scorer, block_simdbp lists, mapped; all weights in the postings, as integers to {HIGHEST}; asked "
        "as one batch, whose data frame of results the time holds"
    )

    def build(self, collection: Collection, folder: Path) -> None:
        tokens = collection.tokens
        documents = enumerate(collection.iter_documents(collection.scale_impacts(HIGHEST)))
        rows = (
            {"docno": str(number), "toks": {tokens[term]: value for term, value in zip(terms, values, strict=True)}}
            for number, (terms, values) in documents
        )
        index = _open(folder)
        index.toks_indexer(scale=1.0).index(rows)
        index.quantized()  # lays the compressed lists and their bounds
        for path in Path(index.path).glob("inv.*"):  # what they were laid from, which searching does not read
            path.unlink()

    def open(self, collection: Collection, folder: Path, *, k: int) -> list[Setting]:
        index, tokens = _open(folder), collection.tokens
        queries = [dict.fromkeys((tokens[term] for term in query), 1.0) for query in collection.queries]
        frame = pd.DataFrame({"qid": [str(number) for number in range(len(queries))], "query_toks": queries})
        settings = []
        for name in _ALGORITHMS:
            retriever = index.quantized(
                num_results=k, threads=1, query_algorithm=name, toks_scale=1.0, query_weighted=False
            )
            settings.append(Setting(name, partial(retriever.transform, frame), partial(_read, len(queries))))
        return settings


def _open(folder: Path) -> PisaIndex:
    return PisaIndex(str(folder / "index"), text_field="toks", stemmer="none", stops="none", threads=1)


def _read(count: int, answers: pd.DataFrame) -> list[list[int]]:
    by_query: list[list[int]] = [[] for _ in range(count)]
    for query, docno in zip(answers["qid"], answers["docno"], strict=True):
        by_query[int(query)].append(int(docno))
    return by_query


def make_peer(_variant: str) -> Pisa:
    return Pisa()
