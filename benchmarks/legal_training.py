"""What does a model trained on labelled queries add, and how long does it take?

    legal_training.py --corpus C --train DIR --dev DIR [--fresh] [--model MODEL] [--work DIR] [--out FILE]

C is the corpus, each DIR holds queries.jsonl and ground_truth.jsonl. Trains by the contract's train.sh unless MODEL is
there already, builds, and answers the dev queries as an evaluator would. "seen" are the queries one of whose documents
a training query names, "unseen" the others. The batch is timed over all dev queries, which are to be answered within
55 s, and over the first 311, within 18 s. What was measured out of fold, and what each part adds, is from the model's
report.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
from pathlib import Path

from machine import keep_figures, measure_wall

from sicetnon.corpora import read_queries, read_relevant, read_results
from sicetnon.evaluate import evaluate_results

CONTRACT = Path(__file__).resolve().parent.parent / "contracts" / "legal-stance"
MEASURES = ("nDCG@10", "R@100")
CONTRACT_QUERIES = 311
FEW_WITHIN, ALL_WITHIN = {"SICETNON_DEADLINE": "18s"}, {"SICETNON_DEADLINE": "55s"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--corpus", "--train", "--dev"):
        parser.add_argument(flag, type=Path, required=True)
    parser.add_argument(
        "--fresh", action="store_true", help="train for queries that are no rest of the same collection"
    )
    for flag in ("--model", "--work", "--out"):
        parser.add_argument(flag, type=Path)
    options = parser.parse_args()
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        work = options.work or Path(folder)
        model, index_dir = options.model or work / "model", work / "index"
        corpus = ["--corpus", str(options.corpus)]
        if not model.exists():
            training = [str(CONTRACT / "train.sh"), *corpus, "--examples", str(options.train), "--out", str(model)]
            training += ["--fresh"] if options.fresh else []
            figures["train_s"] = round(measure_wall(training))
        (report,) = (json.loads(path.read_text()) for path in model.glob("generation-*/report.json"))
        figures["out of fold"] = {
            name: held["ndcg"] | {"R@100": held["recall"]} for name, held in report["slices"].items()
        }
        figures["ablation"] = report["ablation"]
        build = [str(CONTRACT / "build.sh"), *corpus, "--index-dir", str(index_dir)]
        figures["build_s"] = round(measure_wall(build, {"SICETNON_MODEL": str(model)}), 1)
        asked = options.dev / "queries.jsonl"
        few = work / "few.jsonl"
        with asked.open() as source:
            few.write_text("".join(itertools.islice(source, CONTRACT_QUERIES)))
        run = [str(CONTRACT / "run.sh"), "--index-dir", str(index_dir), "--output", str(work / "results.jsonl")]
        figures[f"batch_of_{CONTRACT_QUERIES}_s"] = round(
            measure_wall([*run, "--queries", str(few), "--top-k", "10"], FEW_WITHIN), 1
        )
        figures["batch_s"] = round(measure_wall([*run, "--queries", str(asked), "--top-k", "10"], ALL_WITHIN), 1)
        measured = {name: measure(work / "results.jsonl", options, name) for name in ("stance", "slice")}
        measure_wall([*run, "--queries", str(asked), "--top-k", "100"], ALL_WITHIN)
        deep = measure(work / "results.jsonl", options, "stance")["overall"]
    figures["nDCG@10"] = {name: values["nDCG@10"] for groups in measured.values() for name, values in groups.items()}
    figures["queries"] = {name: values["queries"] for groups in measured.values() for name, values in groups.items()}
    figures["R@100"] = deep["R@100"]
    keep_figures(options.out, figures)


def measure(results: Path, options: argparse.Namespace, grouped_by: str) -> dict[str, dict[str, float]]:
    """The measures of all queries, and by stance or by whether training names a document."""
    truth = read_relevant(options.dev / "ground_truth.jsonl")
    if grouped_by == "stance":
        groups = {str(query.query_id): str(query.stance) for query in read_queries(options.dev / "queries.jsonl")}
    else:
        named = frozenset().union(*read_relevant(options.train / "ground_truth.jsonl").values())
        groups = {query_id: "seen" if own & named else "unseen" for query_id, own in truth.items()}
    table = evaluate_results(read_results(results), truth, groups=groups, measures=MEASURES)
    return {group: {name: round(value, 4) for name, value in values.items()} for group, values in table.items()}


if __name__ == "__main__":
    main()
