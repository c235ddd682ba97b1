"""Means of retrieval measures over all queries, and over each group of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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
    """Group -> measure -> mean, with the number of queries under "queries"; the group "overall" holds every query.

    Every query of ``relevant`` counts, one without an answer as 0. ``groups`` names the group of a query, such as its
    stance. Measures are binary and in the notation of ir-measures (MacAvaney et al. 2022), such as "nDCG@10".

    Raises:
        InputError: a measure that is unknown or cannot be computed, or a result of a query that was not judged.
        MissingExtra: ir-measures is not installed.
    """
    wanted = _parse_measures(measures)
    run: list[tuple[str, str, int]] = []
    for row in results:
        if row.query_id not in relevant:
            raise InputError(
                f'results of query "{row.query_id}", which has no judgment',
                expected="results of judged queries",
                remedy="give the judgments of the same queries",
            )
        # By rank and not by score: trec_eval, underneath, would put equal scores into an order of its own.
        run += [(row.query_id, doc_id, -rank) for rank, doc_id in enumerate(row.doc_ids)]
    values = _measure(wanted, relevant, run)
    members: dict[str, list[str]] = {"overall": list(relevant)}
    for query_id in relevant:
        if groups and query_id in groups:
            members.setdefault(groups[query_id], []).append(query_id)
    return {
        group: {"queries": float(len(ids)), **{m: sum(values[i][m] for i in ids) / len(ids) for m in measures}}
        for group, ids in members.items()
    }


def _parse_measures(names: Sequence[str]) -> dict[str, Any]:
    """Name -> measure of ir-measures."""
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtra("ir-measures", extra="evaluate", purpose="measuring results") from error
    try:
        wanted: dict[str, Any] = {name: ir_measures.parse_measure(name) for name in names}
        for measure in wanted.values():
            measure.validate_params()
        below = [name for name, measure in wanted.items() if measure.params.get("cutoff", 1) < 1]
    except (ValueError, NameError, AssertionError) as error:
        raise InputError(
            f"a measure that ir-measures does not know ({error})",
            expected='a name such as "nDCG@10"',
            remedy="correct it",
        ) from error
    if below:  # trec_eval, underneath, would end the process
        raise InputError(f"the measure {below[0]}", expected="a cutoff of 1 or more", remedy="correct it")
    return wanted


def _measure(
    wanted: Mapping[str, Any], relevant: Mapping[str, frozenset[str]], run: Sequence[tuple[str, str, int]]
) -> dict[str, dict[str, float]]:
    """Query -> name of the measure -> value; 0 where nothing was computed."""
    import ir_measures

    qrels = [ir_measures.Qrel(query_id, doc_id, 1) for query_id, ids in relevant.items() for doc_id in ids]
    try:
        metrics = list(ir_measures.iter_calc(set(wanted.values()), qrels, [ir_measures.ScoredDoc(*row) for row in run]))
    except Exception as error:  # whatever the programs behind a measure raise
        raise InputError(
            f"measures that ir-measures cannot compute here ({type(error).__name__}: {error})",
            expected="measures of ranked documents that need no other program",
            remedy="leave out that measure",
        ) from error
    values: dict[str, dict[str, float]] = {query_id: dict.fromkeys(wanted, 0.0) for query_id in relevant}
    for metric in metrics:
        for name, measure in wanted.items():
            if measure == metric.measure:  # under several names, too: RR and MRR
                values[metric.query_id][name] = metric.value
    return values
