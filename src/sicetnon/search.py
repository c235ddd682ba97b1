"""The way of a query: Query -> relevance of every document -> sides of the candidates, with evidence -> Ranking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from sicetnon.collection import Collection
from sicetnon.dense import QUERIES_AT_ONCE, Encoder, load_encoder
from sicetnon.errors import InputError, ModelError
from sicetnon.relevance import Scores, fused_scores, relevance_probability
from sicetnon.stance import Claim, Reading, StanceModel, Verdict, negate, read_statement
from sicetnon.types import Document, Evidence, Hit, Query, Ranking, Span, Stance

CANDIDATES = 50  # documents whose side is judged for a query, at least; the side of the rest cannot lift them enough
DECIMALS = 9  # of a score: below that lies rounding


class Searcher:
    """Answers queries over one index. Opened once, used by many threads."""

    def __init__(self, collection: Collection, encoder: Encoder) -> None:
        if encoder.fingerprint != collection.settings["encoder_fingerprint"]:
            raise ModelError(
                f'the encoder "{encoder.name}" is {encoder.fingerprint}',
                expected=f"{collection.settings['encoder_fingerprint']}, which built the index",
                remedy="name the encoder that built the index, or build the index again",
            )
        self._collection = collection
        self._encoder = encoder
        own = collection.stance_model
        self._stance = StanceModel.bundled() if own is None else StanceModel.from_json(own)

    @classmethod
    def open(cls, path: Path | str, *, encoder: Encoder | None = None) -> Self:
        """Open the index at ``path``, with the encoder its manifest names if ``encoder`` is None.

        Raises:
            IndexDirectoryError: there is no index, or it is of another kind or version, or damaged.
            ModelError: the encoder is not the one that built the index.
        """
        collection = Collection.open(Path(path))
        return cls(collection, encoder or load_encoder(str(collection.settings["encoder"])))

    def search(self, query: Query) -> Ranking:
        """The best ``query.top_k`` documents, fewer only where filters leave fewer.

        ``ALL`` orders by relevance; ``SUPPORTED`` and ``REFUTED`` by relevance times the probability of that side.
        """
        return next(self.search_many([query]))

    def search_many(self, queries: Sequence[Query]) -> Iterator[Ranking]:
        """The ranking of each query in order, the same as one at a time; propositions asked twice are scored once."""
        for query in queries:
            _check(query)
        for query, claim, fused in self._score(queries):
            hits = self._judge_candidates(query, claim, fused)
            yield Ranking(query=query, hits=_best(hits, query.top_k))

    def search_both(self, query: Query) -> tuple[Ranking, Ranking]:
        """The documents that support the proposition and those that refute it, whatever ``query.stance`` says.

        Each document stands on the side it is likelier to take, by relevance times the probability of that side.
        """
        _check(query)
        supported, refuted = (replace(query, stance=stance) for stance in (Stance.SUPPORTED, Stance.REFUTED))
        ((_, claim, fused),) = self._score([query])
        judged = self._judge_candidates(query, claim, fused)
        for_it = [_score_side(hit, Stance.SUPPORTED) for hit in judged if hit.sides.supports >= hit.sides.refutes]
        against_it = [_score_side(hit, Stance.REFUTED) for hit in judged if hit.sides.supports < hit.sides.refutes]
        return (
            Ranking(query=supported, hits=_best(for_it, query.top_k)),
            Ranking(query=refuted, hits=_best(against_it, query.top_k)),
        )

    def find(self, doc_id: str) -> Document | None:
        """The document of that ID, or None."""
        ordinal = self._collection.documents.find(doc_id)
        return None if ordinal is None else self._collection.documents.read([ordinal])[0]

    def judge(self, query: Query, doc_id: str) -> Hit:
        """What one document says of the proposition, whatever the query's filters and however little it is on point.

        Raises:
            InputError: the index holds no such document, or the query cannot be asked.
        """
        _check(query)
        ordinal = self._collection.documents.find(doc_id)
        if ordinal is None:
            raise InputError(f'document "{doc_id}"', expected="a document of the index", remedy="check the ID")
        ((_, claim, fused),) = self._score([query])
        return next(self._judge(query, claim, fused, np.array([ordinal])))

    def _score(self, queries: Sequence[Query]) -> Iterator[tuple[Query, Claim, Scores]]:
        """Each query with its proposition as read, and the fused score of every document."""
        uses = Counter(query.proposition for query in queries)
        propositions = list(uses)
        scored: dict[str, tuple[Claim, Scores]] = {}
        starts = iter(range(0, len(propositions), QUERIES_AT_ONCE))
        for query in queries:
            while query.proposition not in scored:
                start = next(starts)
                block = propositions[start : start + QUERIES_AT_ONCE]
                vectors = self._encoder.encode_queries(block)
                denials = self._encoder.encode_queries([negate(text) for text in block])
                claims = map(Claim, map(read_statement, block), vectors, denials)
                fused = fused_scores(self._collection, block, vectors)
                scored |= dict(zip(block, zip(claims, fused, strict=True), strict=True))
            yield query, *scored[query.proposition]
            uses[query.proposition] -= 1
            if not uses[query.proposition]:
                del scored[query.proposition]  # scores of every document: kept no longer than they are needed

    def _judge_candidates(self, query: Query, claim: Claim, fused: Scores) -> list[Hit]:
        allowed = self._collection.documents.allowed(query.filters, query.as_of)
        candidates = self._candidates(fused, allowed, max(CANDIDATES, query.top_k))
        candidates = candidates[relevance_probability(fused[candidates]) >= query.min_relevance]
        return list(self._judge(query, claim, fused, candidates))

    def _candidates(self, fused: Scores, allowed: npt.NDArray[np.bool_], count: int) -> npt.NDArray[np.int64]:
        """Ordinals of the ``count`` most relevant allowed documents, equal ones by ascending document ID."""
        ordinals = np.flatnonzero(allowed)
        if len(ordinals) > count:
            least = np.partition(fused[ordinals], -count)[-count]
            ordinals = ordinals[fused[ordinals] >= least]
        order = np.lexsort((self._collection.tie_rank[ordinals], -fused[ordinals]))
        best: npt.NDArray[np.int64] = ordinals[order[:count]]
        return best

    def _judge(self, query: Query, claim: Claim, fused: Scores, ordinals: npt.NDArray[np.int64]) -> Iterator[Hit]:
        """The documents as hits of a query, in the order given."""
        documents = self._collection.documents.read(ordinals.tolist())
        relevance = relevance_probability(fused[ordinals])
        sentences = self._collection.sentences
        for document, ordinal, probability in zip(documents, ordinals.tolist(), relevance.tolist(), strict=True):
            spans = sentences.spans(ordinal)
            reading = Reading([span.of(document.text) for span in spans], sentences.vectors[sentences.rows(ordinal)])
            yield _hit(query, document, probability, self._stance.judge(claim, reading), spans)


def _check(query: Query) -> None:
    if not query.proposition.strip():
        raise InputError("an empty proposition", expected="a sentence to look for", remedy="state the proposition")
    try:
        query.proposition.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            "a proposition with half of a surrogate pair",
            expected="text that can be written as UTF-8",
            remedy="correct it",
        ) from error
    if query.top_k < 1:
        raise InputError(f"top_k of {query.top_k}", expected="1 or more", remedy="ask for at least one document")
    if not 0 <= query.min_relevance <= 1:
        raise InputError(
            f"min_relevance of {query.min_relevance}", expected="a probability from 0 to 1", remedy="correct it"
        )


def _hit(query: Query, document: Document, relevance: float, verdict: Verdict, spans: Sequence[Span]) -> Hit:
    passage = spans[verdict.passage]
    whole = Span(passage[0].start, passage[-1].end)
    treatment = document.treatment
    known = treatment is not None and treatment.date <= (query.as_of or date.max)
    hit = Hit(
        document=document,
        score=relevance,
        relevance=relevance,
        sides=verdict.sides,
        evidence=Evidence(passage=whole, sentence=spans[verdict.sentence], text=whole.of(document.text)),
        treatment=treatment if known else None,
    )
    return _score_side(hit, query.stance)


def _score_side(hit: Hit, stance: Stance) -> Hit:
    """The hit with the score it has where ``stance`` is asked for."""
    asked = {Stance.SUPPORTED: hit.sides.supports, Stance.REFUTED: hit.sides.refutes, Stance.ALL: 1.0}
    return replace(hit, score=round(hit.relevance * asked[stance], DECIMALS))


def _best(hits: Sequence[Hit], top_k: int) -> tuple[Hit, ...]:
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.document.doc_id))[:top_k])
