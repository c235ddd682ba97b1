"""Files of rows -> the arrays that every peer builds from, kept in a folder and mapped by each process.

Weighted collections score BM25 (k1 0.9, b 0.4), the others the sum of ln(1 + N / df) over shared terms. Both are a
weight of the term times a weight of the posting, so peers that know only inner products get the same.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

K1, B = 0.9, 0.4
FREQUENCY_RULE = (
    "tf = 1 + floor(log2(1 / u)), at most 255, with u in (0, 1] from splitmix64 of the 64-bit BLAKE2b digests of "
    "document ID and term, xor-ed: geometric with p = 0.5"
)


class Collection:
    """A prepared collection; terms and documents are ordinals (from 0), terms numbered by first appearance."""

    def __init__(self, folder: Path, *, weighted: bool) -> None:
        """Map the arrays of a folder that `prepare_collection` wrote."""
        self._folder = folder
        self.weighted = weighted
        self.offsets: NDArray[np.int64] = self._load("offsets")  # int64[documents + 1], where each document starts
        self.terms: NDArray[np.int32] = self._load("terms")  # int32[postings], ascending within a document
        self.document_frequencies: NDArray[np.int64] = self._load("document-frequencies")  # int64[terms]
        self.document_count = len(self.offsets) - 1
        self.term_count = len(self.document_frequencies)

    def _load(self, name: str) -> NDArray[np.generic]:
        return np.load(self._folder / f"{name}.npy", mmap_mode="r")

    def _read(self, name: str) -> list:
        return json.loads((self._folder / f"{name}.json").read_text(encoding="utf-8"))

    @cached_property
    def facts(self) -> dict[str, object]:
        """Counts, and where frequencies come from."""
        return json.loads((self._folder / "facts.json").read_text(encoding="utf-8"))

    @cached_property
    def doc_ids(self) -> list[str]:
        """The documents' own IDs, by ordinal."""
        return self._read("doc-ids")

    @cached_property
    def names(self) -> list[str]:
        """The terms' own strings, by ordinal."""
        return self._read("names")

    @cached_property
    def tokens(self) -> list[str]:
        """A string for each term, without white space, for peers that need one."""
        return [f"t{number}" for number in range(self.term_count)]

    @cached_property
    def queries(self) -> list[NDArray[np.int32]]:
        """The known terms of each query, each once, ascending: int32[terms]."""
        return [np.array(sorted(query), np.int32) for query in self._read("queries")]

    @cached_property
    def frequencies(self) -> NDArray[np.uint8]:
        """The frequency of each posting's term in its document, 1 where the collection is unweighted: uint8."""
        return self._load("frequencies") if self.weighted else np.ones(len(self.terms), np.uint8)

    @cached_property
    def term_weights(self) -> NDArray[np.float64]:
        """The weight of each term: float64[terms]."""
        df = self.document_frequencies
        if self.weighted:
            return np.log1p((self.document_count - df + 0.5) / (df + 0.5))
        return np.log1p(self.document_count / df)

    @cached_property
    def posting_weights(self) -> NDArray[np.float32]:
        """The weight of each posting, in (0, 1], 1 where the collection is unweighted: float32."""
        if not self.weighted:
            return np.ones(len(self.terms), np.float32)
        counts = np.diff(self.offsets)
        lengths, is_full = np.zeros(self.document_count, np.int64), counts > 0
        lengths[is_full] = np.add.reduceat(self.frequencies, self.offsets[:-1][is_full], dtype=np.int64)
        norms = (K1 * (1 - B + B * lengths / lengths.mean())).astype(np.float32)
        frequencies = self.frequencies.astype(np.float32)
        return frequencies / (frequencies + np.repeat(norms, counts))

    def scale_posting_weights(self, highest: int) -> NDArray[np.uint16]:
        """The weight of each posting as an integer from 1 to `highest`; 1 where the collection is unweighted."""
        if not self.weighted:
            return np.ones(len(self.terms), np.uint16)
        return _round_up_to(highest, self.posting_weights, most=1.0)

    def scale_impacts(self, highest: int) -> NDArray[np.uint16]:
        """The weight of each posting times that of its term, as an integer from 1 to `highest`."""
        impacts = self.impacts
        return _round_up_to(highest, impacts, most=float(impacts.max()))

    @property
    def impacts(self) -> NDArray[np.float32]:
        """The weight of each posting times that of its term: float32."""
        return self.posting_weights * self.term_weights.astype(np.float32)[self.terms]

    def iter_documents(self, values: NDArray[np.generic]) -> Iterator[tuple[list[int], list]]:
        """Yield the terms of each document and their `values` (one for each posting)."""
        step = 10_000
        for first in range(0, self.document_count, step):
            offsets = self.offsets[first : first + step + 1].tolist()
            start = offsets[0]
            terms, part = self.terms[start : offsets[-1]].tolist(), values[start : offsets[-1]].tolist()
            for begin, end in pairwise(offsets):
                yield terms[begin - start : end - start], part[begin - start : end - start]

    def invert(self, values: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int64]]:
        """Return values, document ordinals and offsets by term: the columns of documents x terms."""
        from scipy.sparse import csr_array

        shape = (self.document_count, self.term_count)
        columns = csr_array((values, self.terms, self.offsets), shape=shape, copy=False).tocsc()
        return columns.data, columns.indices.astype(np.int32, copy=False), columns.indptr.astype(np.int64, copy=False)


def prepare_collection(data: Path, folder: Path, *, documents: int, queries: int) -> None:
    """Read the first rows of corpus.jsonl and queries.jsonl and write their arrays; twice is once."""
    if (folder / "facts.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    numbers: dict[str, int] = {}
    doc_ids, terms, frequencies, counts = [], array("i"), array("B"), array("q", [0])
    with (data / "corpus.jsonl").open(encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            if len(doc_ids) == documents:
                break
            doc_ids.append(row["doc_id"])
            bag = Counter(numbers.setdefault(name, len(numbers)) for name in row["terms"])
            chosen = sorted(bag)
            terms.extend(chosen)
            frequencies.extend(min(bag[term], 255) for term in chosen)
            counts.append(len(bag))
    if len(doc_ids) < documents:
        raise SystemExit(f"{data} has {len(doc_ids):,} documents; expected {documents:,}: name fewer with --documents")
    offsets = np.cumsum(np.frombuffer(counts, np.int64))
    by_document = np.frombuffer(terms, np.int32)
    kept = np.frombuffer(frequencies, np.uint8)
    is_bag = bool((kept > 1).any())
    if not is_bag:
        kept = _draw_frequencies(doc_ids, list(numbers), offsets, by_document)
    arrays = {"offsets": offsets, "terms": by_document, "frequencies": kept}
    arrays["document-frequencies"] = np.bincount(by_document, minlength=len(numbers))
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)
    with (data / "queries.jsonl").open(encoding="utf-8") as rows:
        asked = [json.loads(row)["terms"] for _, row in zip(range(queries), rows, strict=False)]
    known = [sorted({numbers[name] for name in query if name in numbers}) for query in asked]
    strings = {"doc-ids": doc_ids, "names": list(numbers), "queries": known}
    facts = {"documents": len(doc_ids), "terms": len(numbers), "postings": len(by_document), "queries": len(known)}
    facts["frequencies"] = "repeated terms of the rows" if is_bag else FREQUENCY_RULE
    for name, values in (strings | {"facts": facts}).items():
        (folder / f"{name}.json").write_text(json.dumps(values), encoding="utf-8")


def _draw_frequencies(
    doc_ids: list[str], names: list[str], offsets: NDArray[np.int64], terms: NDArray[np.int32]
) -> NDArray[np.uint8]:
    """Return a frequency for each posting by FREQUENCY_RULE."""
    of_documents, of_terms = _digest(doc_ids), _digest(names)
    frequencies = np.empty(len(terms), np.uint8)
    step = 50_000  # documents at a time
    for first in range(0, len(doc_ids), step):
        bounds = offsets[first : first + step + 1]
        part = slice(bounds[0], bounds[-1])
        mixed = np.repeat(of_documents[first : first + step], np.diff(bounds)) ^ of_terms[terms[part]]
        mixed = _mix(mixed)
        uniform = ((mixed >> np.uint64(11)).astype(np.float64) + 1) * 2.0**-53
        frequencies[part] = np.minimum(1 + np.floor(-np.log2(uniform)), 255)
    return frequencies


def _round_up_to(highest: int, values: NDArray[np.float32], *, most: float) -> NDArray[np.uint16]:
    scaled = values * np.float32(highest / most)
    return np.maximum(np.rint(scaled, out=scaled), 1).astype(np.uint16)


def _digest(strings: list[str]) -> NDArray[np.uint64]:
    digests = b"".join(hashlib.blake2b(string.encode(), digest_size=8).digest() for string in strings)
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the splitmix64 finaliser of each value (Steele, Lea and Flood, OOPSLA 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
