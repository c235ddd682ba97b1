"""One opened index and the queries it answers, one at a time, many at a time, or a document at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Self

import numpy as np

from sicetnon.collection import Collection
from sicetnon.dense import QUERIES_AT_ONCE, Encoder
from sicetnon.dense.encoder import Vectors
from sicetnon.errors import EndpointError, InputError, ModelError
from sicetnon.relevance import Ranker, Relevance, Reranker, load_encoder_of
from sicetnon.search.batch import BatchAnswer, measure_doubt, rank_candidates
from sicetnon.search.checking import check_query
from sicetnon.search.close_reading import read_passages
from sicetnon.search.deadline import Deadline
from sicetnon.search.finding import Finder, Found
from sicetnon.search.scoring import best_hits, make_hit, score_hit
from sicetnon.stance import Claim, Reading, StanceJudge, StanceModel, tell_side
from sicetnon.types import (
    BothSides,
    Document,
    DocumentReading,
    Hit,
    IndexDescription,
    Progress,
    Query,
    Ranking,
    Side,
    Stance,
)

STANCE_WEIGHT = 0.0  # the exponent of the asked side's probability: by the model that ships, any other ranks worse


class Searcher:
    """Answers queries over one index. Opened once, used by many threads."""

    def __init__(self, collection: Collection, encoder: Encoder, *, judge: StanceJudge | None = None) -> None:
        if encoder.fingerprint != collection.encoder_fingerprint:
            raise ModelError(
                f'the encoder "{encoder.name}" is {encoder.fingerprint}',
                expected=f"{collection.encoder_fingerprint}, which built the index",
                remedy="name the encoder that built the index, or build the index again",
            )
        self._collection = collection
        own = collection.stance_model
        ranker = None if collection.ranker is None else Ranker.from_json(collection.ranker)
        reranker = None if (stored := collection.read_reranker()) is None else Reranker(*stored)
        self._finder = Finder(collection, encoder, ranker, reranker)
        measured = STANCE_WEIGHT if ranker is None else ranker.stance_weight
        self._stance_weight = measured if judge is None else 1.0  # who names a judge of their own trusts it
        self._stance = judge or (StanceModel.bundled() if own is None else StanceModel.from_json(own))

    @classmethod
    def open(cls, path: Path | str, *, encoder: Encoder | None = None, judge: StanceJudge | None = None) -> Self:
        """Open the index at ``path``, with the encoder that built it if ``encoder`` is None.

        ``judge`` tells the sides in place of the stance model that the index holds, or else of the one that ships.

        Raises:
            IndexDirectoryError: there is no index, or it is of another kind or version, or damaged.
            ModelError: the encoder is not the one that built the index, or a model does not load.
            MissingExtra: what the encoder needs is not installed.
        """
        collection = Collection.open(Path(path))
        return cls(collection, encoder or load_encoder_of(collection), judge=judge)

    def search(self, query: Query) -> Ranking:
        """The best ``query.top_k`` documents, fewer only where filters leave fewer.

        ``ALL`` orders by relevance, ``SUPPORTED`` and ``REFUTED`` by relevance times a power of the side's probability.
        """
        return next(self.search_many([query]))

    def search_many(self, queries: Iterable[Query]) -> Iterator[Ranking]:
        """The ranking of each query in order, the same as one at a time.

        What queries side by side have in common is done once: a proposition asked for several stances is scored and
        judged once, unless the encoder instructs by stance.
        """
        queries = list(queries)
        for query in queries:
            check_query(query)
        groups = [(asked, list(group)) for asked, group in groupby(queries, key=self._finder.asked_of)]
        for start in range(0, len(groups), QUERIES_AT_ONCE):
            block = groups[start : start + QUERIES_AT_ONCE]
            measured = self._finder.measure([asked for asked, _ in block])
            vectors = {said: vector for ((said, _), _), (vector, _) in zip(block, measured, strict=True)}
            read = self._finder.read_claims(list(vectors), list(vectors.values()))
            claims = dict(zip(vectors, read, strict=True))
            for ((said, _), group), (vector, relevance) in zip(block, measured, strict=True):
                judged: dict[Query, list[Hit]] = {}
                for query in group:
                    shared = self._share(query)
                    if shared not in judged:
                        judged[shared] = self._judge_found(self._finder.pick(shared, vector, relevance), claims[said])
                    hits = best_hits(judged[shared], query.stance, query.top_k, self._stance_weight)
                    yield Ranking(query=query, hits=hits)

    def rank_many(
        self, queries: Iterable[Query], *, deadline: Deadline | None = None, progress: Progress | None = None
    ) -> BatchAnswer:
        """The documents of each query by ID and score, as ``search_many`` ranks them, without their passages.

        First all candidates are found, which no deadline cuts short. Then, query by query, the first are read by the
        cross-encoder, and sides are judged where one is asked for. With a ``deadline`` the queries come first that this
        may change most, and when time is up, or a judge at an endpoint fails, the rest stay as they are.

        Raises:
            EndpointError: a judge at an endpoint fails, and there is no deadline.
        """
        queries = list(queries)
        for query in queries:
            check_query(query)
        report = progress or (lambda _step, _done, _total: None)
        found = self._find_all(queries, report)
        sided = {self._share(query) for query in queries if query.stance is not Stance.ALL and self._stance_weight}
        waiting = [shared for shared in found if self._finder.reranks or shared in sided]
        if deadline:
            waiting.sort(key=lambda shared: -measure_doubt(found[shared]))
        refined, fault = 0, None
        for shared in waiting:
            if deadline and not deadline.allows_another():
                break
            try:
                found[shared] = self._refine(found[shared], sided=shared in sided)
            except EndpointError as error:
                if deadline is None:
                    raise
                fault = error
                break
            refined += 1
            report("reading", refined, len(waiting))
        rankings = []
        for query in queries:
            own = found[self._share(query)]
            doc_ids = self._collection.documents.read_ids(own.ordinals.tolist())
            rankings.append(rank_candidates(query, own, doc_ids, self._stance_weight))
        return BatchAnswer(rankings, refined, len(waiting), fault)

    def _find_all(self, queries: Sequence[Query], report: Progress) -> dict[Query, Found]:
        """The candidates of all queries, those that have them in common once."""
        asked: dict[tuple[str, Stance], dict[Query, None]] = {}
        for query in queries:
            asked.setdefault(self._finder.asked_of(query), {})[self._share(query)] = None
        found: dict[Query, Found] = {}
        distinct = list(asked)
        for start in range(0, len(distinct), QUERIES_AT_ONCE):
            block = distinct[start : start + QUERIES_AT_ONCE]
            for each, (vector, relevance) in zip(block, self._finder.measure(block), strict=True):
                found |= {shared: self._finder.pick(shared, vector, relevance) for shared in asked[each]}
            report("finding", start + len(block), len(distinct))
        return found

    def _share(self, query: Query) -> Query:
        """What the query has in common with others that have the same candidates."""
        return replace(query, stance=self._finder.asked_of(query)[1], query_id=None)

    def search_both(self, query: Query) -> BothSides:
        """The documents on each side and those of no clear side, ``query.top_k`` of each, whatever its stance.

        They are candidates for all stances: an encoder that instructs by stance may find others for one of them.
        """
        check_query(query)
        vector, relevance, claim = self._measure(query.proposition)
        sides: dict[Side | None, list[Hit]] = {Side.SUPPORTS: [], Side.REFUTES: [], None: []}
        for hit in self._judge_found(self._finder.pick(query, vector, relevance), claim):
            sides[tell_side(hit.sides)].append(hit)
        return BothSides(
            query=query,
            supports=best_hits(sides[Side.SUPPORTS], Stance.SUPPORTED, query.top_k, self._stance_weight),
            refutes=best_hits(sides[Side.REFUTES], Stance.REFUTED, query.top_k, self._stance_weight),
            unclear=best_hits(sides[None], Stance.ALL, query.top_k, self._stance_weight),
        )

    def find(self, doc_id: str) -> Document | None:
        """The document of that ID, or None."""
        ordinal = self._collection.documents.find(doc_id)
        return None if ordinal is None else self._collection.documents.read([ordinal])[0]

    def judge(self, query: Query, doc_id: str) -> Hit:
        """What one document says of the proposition, whatever the query's filters and however little it is on point.

        Its relevance is that of a query for all stances, read by the cross-encoder where there is one.

        Raises:
            InputError: the index holds no such document, or the query cannot be asked.
        """
        check_query(query)
        return self._judge_one(query, self._ordinal(doc_id))[0]

    def read_closely(self, query: Query, doc_id: str) -> DocumentReading:
        """What one document says of the proposition, as ``judge`` has it, and what each of its passages says alone.

        Raises:
            InputError: the index holds no such document, or the query cannot be asked.
        """
        check_query(query)
        ordinal = self._ordinal(doc_id)
        hit, claim = self._judge_one(query, ordinal)
        passages = read_passages(self._collection, self._stance, claim, ordinal, hit.document.text)
        return DocumentReading(hit=hit, passages=passages)

    def describe(self) -> IndexDescription:
        """What the index holds, and what made it."""
        collection = self._collection
        documents = collection.documents
        return IndexDescription(
            documents=len(documents),
            passages=len(collection.passages.vectors),
            sentences=len(collection.sentences.vectors),
            courts=documents.courts(),
            areas=documents.areas(),
            decided=documents.decided_range(),
            encoder=collection.encoder,
            encoder_fingerprint=collection.encoder_fingerprint,
            model=collection.model,
        )

    def _ordinal(self, doc_id: str) -> int:
        ordinal = self._collection.documents.find(doc_id)
        if ordinal is None:
            raise InputError(f'document "{doc_id}"', expected="a document of the index", remedy="check the ID")
        return ordinal

    def _judge_one(self, query: Query, ordinal: int) -> tuple[Hit, Claim]:
        vector, relevance, claim = self._measure(query.proposition)
        found = self._finder.rerank(self._finder.describe(query, vector, relevance, np.array([ordinal])))
        return score_hit(next(self._judge(found, claim)), query.stance, self._stance_weight), claim

    def _measure(self, proposition: str) -> tuple[Vectors, Relevance, Claim]:
        """A proposition for all stances: its vector, how much every document is on point, and how it is judged."""
        ((vector, relevance),) = self._finder.measure([(proposition, Stance.ALL)])
        (claim,) = self._finder.read_claims([proposition], [vector])
        return vector, relevance, claim

    def _judge_found(self, found: Found, claim: Claim) -> list[Hit]:
        """The candidates that are likely enough, as hits of the query."""
        return list(self._judge(self._read(found), claim))

    def _refine(self, found: Found, *, sided: bool) -> Found:
        """The candidates that are likely enough, with their sides if some are asked for."""
        read = self._read(found)
        if not sided:
            return read
        (claim,) = self._finder.read_claims([read.query.proposition], [read.vector])
        return read._replace(sides=[hit.sides for hit in self._judge(read, claim)])

    def _read(self, found: Found) -> Found:
        """The candidates that are likely enough once the cross-encoder, where there is one, has read the first."""
        read = self._finder.rerank(found)
        return read.take(read.probabilities >= read.query.min_relevance)

    def _judge(self, found: Found, claim: Claim) -> Iterator[Hit]:
        """The candidates as hits of the query, in their order; ``claim`` is its proposition."""
        documents = self._collection.documents.read(found.ordinals.tolist())
        sentences = self._collection.sentences
        spans = [sentences.spans(ordinal) for ordinal in found.ordinals.tolist()]
        readings = [
            Reading([span.of(document.text) for span in own], sentences.vectors[sentences.rows(ordinal)])
            for document, ordinal, own in zip(documents, found.ordinals.tolist(), spans, strict=True)
        ]
        verdicts = self._stance.judge_all(claim, readings)
        for place, (document, probability, verdict, own) in enumerate(
            zip(documents, found.probabilities.tolist(), verdicts, spans, strict=True)
        ):
            signals = {name: float(values[place]) for name, values in found.signals.items()}
            yield make_hit(found.query, document, probability, verdict, own, signals=signals)
