"""The figures that the README quotes are those that were kept."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def kept(name: str) -> dict[str, Any]:
    """Read the figures of one benchmark."""
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))["figures"]


def quoted(row: str) -> list[float]:
    """Read the numbers in the last cell of the row of a table that begins so."""
    (line,) = (line for line in README.splitlines() if line.startswith(f"| {row}"))
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", line.split("|")[-2])]


def test_labelled_set() -> None:
    """Quality over all queries and by stance."""
    measures = kept("legal_batch")["measures"]
    assert quoted("the labelled set, mean") == [round(measures["overall"]["nDCG@10"], 3)]
    by_stance = [round(measures[name]["nDCG@10"], 3) for name in ("all", "supported", "refuted")]
    assert quoted("by stance") == by_stance


def test_relevance_alone() -> None:
    """Quality of the summed signals."""
    values = kept("legal_signals")["the sum"]
    assert quoted("by relevance alone") == [round(values["nDCG@10"], 3), round(values["R@100"], 3)]


def test_times_of_the_legal_contract() -> None:
    """Seconds for a build and for a batch."""
    figures = kept("legal_batch")
    assert quoted("untrained, building that index") == [round(figures["build_s"]), round(figures["batch_s"], 1)]


def test_training() -> None:
    """Quality with a model trained on other propositions, and what it costs."""
    figures = kept("legal_training")
    ndcg = figures["nDCG@10"]
    assert quoted("trained on 5,239") == [round(ndcg["overall"], 3), round(figures["R@100"], 3)]
    slices = [round(ndcg["seen"], 3), round(ndcg["unseen"], 3)]
    assert quoted("... nDCG@10 where training names") == slices
    fresh = kept("legal_training_fresh")
    both = [round(fresh["nDCG@10"]["overall"], 3), round(fresh["R@100"], 3)]
    assert quoted("... trained for fresh queries") == both + [
        round(fresh["nDCG@10"][name], 3) for name in ("seen", "unseen")
    ]
    times = [figures["train_s"], round(figures["build_s"]), round(figures["batch_s"], 1)]
    assert quoted("... that training") == times


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("the sparse contract over 198,564", "sparse_wall"),
        ("the same over 1,000,000", "sparse_wall_synthetic"),
    ],
)
def test_sparse_contract(row: str, name: str) -> None:
    """Wall time next to the reference, what fast finds of the exact answers, and how many of exact are the same."""
    figures = kept(name)
    fast = [
        round(figures["fast_ratio"], 3),
        round(figures["fast_overlap_10"], 3),
        round(figures["fast_overlap_100"], 3),
    ]
    exact = [round(figures["exact_ratio"], 3), figures["exact_same_rankings_and_scores"], figures["queries"]]
    assert quoted(row) == fast + exact


def test_start_up() -> None:
    """Milliseconds of imports and of a cold search."""
    figures = kept("start_up")
    names = ("import_sicetnon_ms", "import_sicetnon_sparse_ms", "search_on_the_demo_index_ms")
    assert quoted("`import sicetnon`") == [figures[name] for name in names]


def test_stance() -> None:
    """What the stance model is worth, with and without a document."""
    report = json.loads((ROOT / "docs" / "stance-report.json").read_text(encoding="utf-8"))
    cells = {line.split("|")[1].strip(): line for line in README.splitlines() if line.startswith("| the ")}
    for row, prefix in (("the model", ""), ("the same model shown the proposition alone", "claim_only_")):
        numbers = [float(cell) for cell in cells[row].split("|")[2:-1]]
        assert numbers == [
            pytest.approx(report[f"{prefix}{name}"], abs=0.005) for name in ("accuracy", "two_sided_accuracy", "auc")
        ]
    assert f"expected calibration error {report['calibration_error']:.3f}" in README.replace("\n", " ")
    assert f"under ROC is {kept('stance_pairs')['auc']:.2f}" in README.replace("\n", " ")
    assert f"for {report['evidence_passage']:.2f} of them" in README.replace("\n", " ")


def test_every_command_is_shown() -> None:
    """The README shows every command of the program."""
    for command in ("demo", "search", "batch", "train", "evaluate", "serve"):
        assert re.search(rf"sicetnon {command}\b|make {command}\b", README), command
    for command in ("index build", "index info", "index verify", "sparse build", "sparse search"):
        assert f"sicetnon {command}" in README
