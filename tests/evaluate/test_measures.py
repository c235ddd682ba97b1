"""Measures of results against known relevant documents, worked by hand."""

from __future__ import annotations

import math
import sys

import pytest

from sicetnon.corpora import ResultRow
from sicetnon.errors import InputError, MissingExtra
from sicetnon.evaluate import DEFAULT_MEASURES, evaluate_results

RELEVANT = {"q1": frozenset({"a", "b"}), "q2": frozenset({"c"}), "q3": frozenset({"d"})}


def answer(query_id: str, *doc_ids: str, scores: tuple[float, ...] | None = None) -> ResultRow:
    """Make a result whose scores fall by one a rank, unless others are given."""
    return ResultRow(query_id, doc_ids, scores or tuple(float(len(doc_ids) - rank) for rank in range(len(doc_ids))))


def test_by_hand() -> None:
    """nDCG@10, recall and reciprocal rank of two answered queries and one that is not."""
    results = [answer("q1", "x", "a", "y", "b"), answer("q2", "c", "x")]
    table = evaluate_results(results, RELEVANT)
    gain = (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))
    assert table == {
        "overall": {
            "queries": 3,
            "nDCG@10": pytest.approx((gain + 1 + 0) / 3),
            "R@10": pytest.approx((1 + 1 + 0) / 3),
            "RR": pytest.approx((1 / 2 + 1 + 0) / 3),
        }
    }


def test_unanswered_query_counts_zero() -> None:
    """A query without an answer, or with an empty one, lowers the mean."""
    alone = evaluate_results([answer("q2", "c")], {"q2": frozenset("c")})["overall"]["nDCG@10"]
    assert alone == 1
    assert evaluate_results([answer("q2", "c")], RELEVANT)["overall"]["nDCG@10"] == pytest.approx(1 / 3)
    empty = [answer("q2", "c"), answer("q1"), answer("q3")]
    assert evaluate_results(empty, RELEVANT)["overall"]["nDCG@10"] == pytest.approx(1 / 3)
    assert evaluate_results([], RELEVANT)["overall"] == {"queries": 3, "nDCG@10": 0, "R@10": 0, "RR": 0}


def test_ties_keep_the_order_of_the_file() -> None:
    """Equal scores are ranked as they stand, whatever the documents are called."""
    for first, second in (("a", "z"), ("z", "a")):
        tied = answer("q", first, second, scores=(1.0, 1.0))
        for name in (first, second):
            found = evaluate_results([tied], {"q": frozenset({name})}, measures=["RR"])["overall"]["RR"]
            assert found == (1 if name == first else 0.5)


def test_scores_do_not_reorder() -> None:
    """The order of the file is the ranking, even where scores rise."""
    rising = answer("q", "x", "a", scores=(1.0, 2.0))
    assert evaluate_results([rising], {"q": frozenset("a")}, measures=["RR"])["overall"]["RR"] == 0.5


def test_groups() -> None:
    """Each group has means of its own; a query without a group counts overall alone."""
    results = [answer("q1", "a", "b"), answer("q2", "x", "c")]
    table = evaluate_results(results, RELEVANT, groups={"q1": "supported", "q2": "refuted"}, measures=["RR"])
    assert table == {
        "overall": {"queries": 3, "RR": pytest.approx(0.5)},
        "supported": {"queries": 1, "RR": 1},
        "refuted": {"queries": 1, "RR": 0.5},
    }


def test_cutoff() -> None:
    """What stands below a cutoff does not count."""
    results = [answer("q2", "x", "y", "c")]
    table = evaluate_results(results, {"q2": frozenset("c")}, measures=["R@2", "R@3", "P@3", "nDCG@3"])
    assert table["overall"] == {
        "queries": 1,
        "R@2": 0,
        "R@3": 1,
        "P@3": pytest.approx(1 / 3),
        "nDCG@3": pytest.approx(0.5),
    }


def test_one_measure_under_two_names() -> None:
    """A measure that is asked for twice, or by two names, has its value under each."""
    table = evaluate_results([answer("q2", "x", "c")], {"q2": frozenset("c")}, measures=["RR", "MRR", "RR"])
    assert table["overall"] == {"queries": 1, "RR": 0.5, "MRR": 0.5}


def test_default_measures() -> None:
    """Without a choice, nDCG@10, recall at 10 and reciprocal rank are given."""
    assert DEFAULT_MEASURES == ("nDCG@10", "R@10", "RR")


@pytest.mark.parametrize(
    "name", ["nDCG@ten", "Quality", "", "(", "nDCG@10 RR", "P", "RR(foo=1)", "nDCG@-1", "nDCG@0", "1"]
)
def test_measure_that_is_none(name: str) -> None:
    """What is no measure is refused in one line."""
    with pytest.raises(InputError, match="measure") as caught:
        evaluate_results([answer("q2", "c")], RELEVANT, measures=["RR", name])
    assert "\n" not in str(caught.value)


def test_measure_of_something_else() -> None:
    """A measure that cannot be computed of ranked documents is refused."""
    with pytest.raises(InputError, match="cannot compute"):
        evaluate_results([answer("q2", "c")], RELEVANT, measures=["Accuracy"])


def test_query_that_was_not_judged() -> None:
    """Results of a query that has no judgment are named."""
    with pytest.raises(InputError, match='results of query "q9"'):
        evaluate_results([answer("q9", "a")], RELEVANT)


def test_library_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ir-measures the error names the command that installs it."""
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sicetnon\[evaluate\]'"):
        evaluate_results([], RELEVANT)
