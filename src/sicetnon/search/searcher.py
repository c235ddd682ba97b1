"""One opened index and the queries it answers, one at a time, many at a time, or a document at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from sicetnon.collection import Collection
from sicetnon.dense import QUERIES_AT_ONCE, Encoder, encode_asked, load_encoder, load_own_encoder
from sicetnon.dense.encoder import OWN
from sicetnon.errors import InputError, ModelError
from sicetnon.relevance import Ranker, Relevance, measure_relevance
from sicetnon.stance import Claim, Reading, StanceJudge, StanceModel, Verdict, negate, read_statement, tell_side
from sicetnon.types import BothSides, Document, Evidence, Hit, Query, Ranking, Side, Span, Stance

CANDIDATES = 50  # documents whose side is judged for a query, at least; the side of the rest cannot lift them enough
STANCE_WEIGHT = 0.2  # the exponent of the asked side's probability: it decides between documents about as much on point
DECIMALS = 9  # of a score: below that lies rounding


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
        self._encoder = encoder
        own = collection.stance_model
        self._ranker = None if collection.ranker is None else Ranker.from_json(collection.ranker)
        measured = STANCE_WEIGHT if self._ranker is None else self._ranker.stance_weight
        self._stance_weight = measured if judge is None else 1.0  # who names a judge of their own trusts it
        self._stance = judge or (StanceModel.bundled() if own is None else StanceModel.from_json(own))

    @classmethod
    def open(cls, path: Path | str, *, encoder: Encoder | None = None, judge: StanceJudge | None = None) -> Self:
        """Open the index at ``path``, with the encoder its manifest names if ``encoder`` is None.

        ``judge`` tells the sides in place of the stance model that the index holds, or else of the one that ships.

        Raises:
            IndexDirectoryError: there is no index, or it is of another kind or version, or damaged.
            ModelError: the encoder is not the one that built the index.
        """
        collection = Collection.open(Path(path))
        if encoder is None and collection.encoder == OWN:
            encoder = load_own_encoder(*collection.read_encoder())
        return cls(collection, encoder or load_encoder(collection.encoder), judge=judge)

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
            _check(query)
        groups = [(asked, list(group)) for asked, group in groupby(queries, key=self._say)]
        for start in range(0, len(groups), QUERIES_AT_ONCE):
            block = groups[start : start + QUERIES_AT_ONCE]
            scored = self._score([asked for asked, _ in block])
            for (_, group), (claim, relevance) in zip(block, scored, strict=True):
                judged: dict[Query, list[Hit]] = {}
                for query in group:
                    asked = replace(query, stance=Stance.ALL, query_id=None)
                    if asked not in judged:
                        judged[asked] = self._judge_candidates(asked, claim, relevance)
                    yield Ranking(
                        query=query, hits=_best(judged[asked], query.stance, query.top_k, self._stance_weight)
                    )

    def search_both(self, query: Query) -> BothSides:
        """The documents on each side and those of no clear side, ``query.top_k`` of each, whatever its stance."""
        _check(query)
        ((claim, relevance),) = self._score([(query.proposition, Stance.ALL)])
        sides: dict[Side | None, list[Hit]] = {Side.SUPPORTS: [], Side.REFUTES: [], None: []}
        for hit in self._judge_candidates(query, claim, relevance):
            sides[tell_side(hit.sides)].append(hit)
        return BothSides(
            query=query,
            supports=_best(sides[Side.SUPPORTS], Stance.SUPPORTED, query.top_k, self._stance_weight),
            refutes=_best(sides[Side.REFUTES], Stance.REFUTED, query.top_k, self._stance_weight),
            unclear=_best(sides[None], Stance.ALL, query.top_k, self._stance_weight),
        )

    def find(self, doc_id: str) -> Document | None:
        """The document of that ID, or None."""
        ordinal = self._collection.documents.find(doc_id)
        return None if ordinal is None else self._collection.documents.read([ordinal])[0]

    def judge(self, query: Query, doc_id: str) -> Hit:
        """What one document says of the proposition, whatever the query's filters and however little it is on point.

        Its relevance is that of a query for all stances.

        Raises:
            InputError: the index holds no such document, or the query cannot be asked.
        """
        _check(query)
        ordinal = self._collection.documents.find(doc_id)
        if ordinal is None:
            raise InputError(f'document "{doc_id}"', expected="a document of the index", remedy="check the ID")
        ((claim, relevance),) = self._score([(query.proposition, Stance.ALL)])
        ordinals = np.array([ordinal])
        hit = next(self._judge(query, claim, ordinals, relevance.probability(ordinals)))
        return _score_side(hit, query.stance, self._stance_weight)

    def _say(self, query: Query) -> tuple[str, Stance]:
        """The proposition, and the stance that the encoder is told: what queries have in common if they have this."""
        return query.proposition, query.stance if self._encoder.instructs_by_stance else Stance.ALL

    def _score(self, asked: Sequence[tuple[str, Stance]]) -> list[tuple[Claim, Relevance]]:
        """At most ``QUERIES_AT_ONCE`` propositions as read, each with how much every document is on point.

        Claims, and what known propositions are compared with, are encoded for all stances, as they were in training.
        """
        propositions = [proposition for proposition, _ in asked]
        plain = [(proposition, Stance.ALL) for proposition in propositions]
        denials = [(negate(proposition), Stance.ALL) for proposition in propositions]
        distinct = list(dict.fromkeys([*asked, *plain, *denials]))
        vectors = dict(zip(distinct, encode_asked(self._encoder, distinct), strict=True))
        own, unsided, denied = (np.stack([vectors[each] for each in some]) for some in (asked, plain, denials))
        claims = map(Claim, map(read_statement, propositions), unsided, denied, propositions)
        relevance = measure_relevance(self._collection, self._ranker, propositions, own, recalling=unsided)
        return list(zip(claims, relevance, strict=True))

    def _judge_candidates(self, query: Query, claim: Claim, relevance: Relevance) -> list[Hit]:
        allowed = self._collection.documents.allowed(query.filters, query.as_of)
        candidates = relevance.pick(allowed, max(CANDIDATES, query.top_k))
        probabilities = relevance.probability(candidates)
        on_point = probabilities >= query.min_relevance
        return list(self._judge(query, claim, candidates[on_point], probabilities[on_point]))

    def _judge(
        self, query: Query, claim: Claim, ordinals: npt.NDArray[np.int64], probabilities: npt.NDArray[np.float64]
    ) -> Iterator[Hit]:
        """The documents as hits of a query, in the order given, each with its probability of being on point."""
        documents = self._collection.documents.read(ordinals.tolist())
        sentences = self._collection.sentences
        spans = [sentences.spans(ordinal) for ordinal in ordinals.tolist()]
        readings = [
            Reading([span.of(document.text) for span in own], sentences.vectors[sentences.rows(ordinal)])
            for document, ordinal, own in zip(documents, ordinals.tolist(), spans, strict=True)
        ]
        verdicts = self._stance.judge_all(claim, readings)
        for document, probability, verdict, own in zip(documents, probabilities.tolist(), verdicts, spans, strict=True):
            yield _hit(query, document, probability, verdict, own)


def _check(query: Query) -> None:
    days = (query.as_of, query.filters.decided_from, query.filters.decided_to)
    kinds = {
        "proposition": isinstance(query.proposition, str),
        "stance": isinstance(query.stance, Stance),
        "top_k": type(query.top_k) is int,
        "min_relevance": isinstance(query.min_relevance, int | float),
        "courts": all(isinstance(court, str) for court in query.filters.courts),
        "as_of or a filter's day": all(day is None or type(day) is date for day in days),
    }
    if wrong := [name for name, fits in kinds.items() if not fits]:
        raise InputError(
            f"a query whose {wrong[0]} is of another type", expected="what Query declares", remedy="correct the query"
        )
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
    """The document as a hit, with the score it has where every side is asked for."""
    passage = spans[verdict.passage]
    whole = Span(passage[0].start, passage[-1].end)
    treatment = document.treatment
    known = treatment is not None and treatment.date <= (query.as_of or date.max)
    return Hit(
        document=document,
        score=round(relevance, DECIMALS),
        relevance=relevance,
        sides=verdict.sides,
        evidence=Evidence(passage=whole, sentence=spans[verdict.sentence], text=whole.of(document.text)),
        treatment=treatment if known else None,
    )


def _score_side(hit: Hit, stance: Stance, weight: float) -> Hit:
    asked = {Stance.SUPPORTED: hit.sides.supports, Stance.REFUTED: hit.sides.refutes, Stance.ALL: 1.0}
    return replace(hit, score=round(hit.relevance * asked[stance] ** weight, DECIMALS))


def _best(hits: Sequence[Hit], stance: Stance, top_k: int, weight: float) -> tuple[Hit, ...]:
    """The best hits where ``stance`` is asked for, equal scores by ascending document ID."""
    scored = [_score_side(hit, stance, weight) for hit in hits]
    return tuple(sorted(scored, key=lambda hit: (-hit.score, hit.document.doc_id))[:top_k])
