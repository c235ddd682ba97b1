"""Means of retrieval measures over all queries, and over each group of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sicetnon.corpora import ResultRow
from sicetnon.errors import InputError, MissingExtra

DEFAULT_MEASURES = ("nDCG@10", "R@10", "RR")


def evaluate_results(
    results: Iterable[ResultRow],
    relevant: Mapping[str, frozenset[str]],
    *,
    groups: Mapping[str, str] | None = None,
    measures: Sequence[str] = DEFAULT_MEASURES,
) -> dict[str, dict[str, float]]:
    """Group -> measure -> mean, with the number of queries under "queries"; the group "all" holds every query.

    Every query of ``relevant`` counts, one without an answer as 0. ``groups`` names the group of a query, such as its
    stance. Measures are binary and in the notation of ir-measures (MacAvaney et al. 2022), such as "nDCG@10".

    Raises:
        InputError: an unknown measure, or a result of a query that was not judged.
        MissingExtra: ir-measures is not installed.
    """
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtra("ir-measures", extra="evaluate", purpose="measuring results") from error
    try:
        wanted = [ir_measures.parse_measure(name) for name in measures]
    except (ValueError, NameError) as error:
        raise InputError(
            f"a measure that ir-measures does not know ({error})",
            expected='a name such as "nDCG@10"',
            remedy="correct it",
        ) from error
    qrels = [ir_measures.Qrel(query_id, doc_id, 1) for query_id, ids in relevant.items() for doc_id in ids]
    run = []
    for row in results:
        if row.query_id not in relevant:
            raise InputError(
                f'results of query "{row.query_id}", which has no judgment',
                expected="results of judged queries",
                remedy="give the judgments of the same queries",
            )
        # By rank and not by score: trec_eval, underneath, would put equal scores into an order of its own.
        run += [ir_measures.ScoredDoc(row.query_id, doc_id, -rank) for rank, doc_id in enumerate(row.doc_ids)]
    values: dict[str, dict[str, float]] = {query_id: dict.fromkeys(measures, 0.0) for query_id in relevant}
    for metric in ir_measures.iter_calc(wanted, qrels, run):
        values[metric.query_id][measures[wanted.index(metric.measure)]] = metric.value
    members: dict[str, list[str]] = {"all": list(relevant)}
    for query_id in relevant:
        if groups and query_id in groups:
            members.setdefault(groups[query_id], []).append(query_id)
    return {
        group: {"queries": float(len(ids)), **{m: sum(values[i][m] for i in ids) / len(ids) for m in measures}}
        for group, ids in members.items()
    }
