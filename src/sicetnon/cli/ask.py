"""``search``: one proposition. ``batch``: a file of them."""

from __future__ import annotations

import json
import sys
from datetime import date, datetime
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import Annotated, Any

import typer

from sicetnon.cli.judge import Judge, JudgeOption, load_judge, tell_unreadable
from sicetnon.cli.times import measure_age, read_time
from sicetnon.types import MIN_RELEVANCE, BothSides, Filters, Query, Ranking, Stance
from sicetnon.wording import escape_unseen


def _day_option(*names: str, text: str) -> Any:
    return typer.Option(*names, formats=["%Y-%m-%d"], metavar="DATE", help=text)


class Asked(StrEnum):
    """The stances of a query, and both sides at once."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    ALL = "all"
    BOTH = "both"


def register(app: typer.Typer) -> None:
    app.command(epilog='Example: sicetnon search "Police may search a phone without a warrant" --stance refuted')(
        search
    )
    app.command(epilog="Example: sicetnon batch --index-dir my-index --queries queries.jsonl --output results.jsonl")(
        batch
    )


def search(
    proposition: Annotated[str, typer.Argument(help="A statement of law, in plain or in lawyers' language.")],
    *,
    index_dir: Annotated[
        Path | None, typer.Option("--index-dir", "-i", help="The index to search; without it, the demo's.")
    ] = None,
    stance: Annotated[Asked, typer.Option("--stance", "-s", help="Which side to look for.")] = Asked.BOTH,
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=1, help="Decisions shown, on each side with both.")] = 5,
    court: Annotated[list[str] | None, typer.Option(help="A court's name or ID; may be given again.")] = None,
    decided_from: Annotated[datetime | None, _day_option("--from", text="Only decisions of this day or later.")] = None,
    decided_to: Annotated[datetime | None, _day_option("--to", text="Only decisions of this day or earlier.")] = None,
    as_of: Annotated[
        datetime | None,
        _day_option("--as-of", text="The law of that day: no later decision, and marked what was overruled by then."),
    ] = None,
    min_relevance: Annotated[
        float, typer.Option(min=0, max=1, help="Leave out decisions less likely than this to be on point.")
    ] = MIN_RELEVANCE,
    stance_judge: JudgeOption = Judge.MODEL,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Find the decisions that support and those that refute a proposition.

    Decisions without a date pass no date filter and are left out under --as-of.
    """
    from sicetnon.cli.demo import open_demo
    from sicetnon.search import Searcher

    if decided_from and decided_to and decided_from > decided_to:
        raise typer.BadParameter("--from lies after --to; give the earlier day first")
    judge = load_judge(stance_judge)
    searcher = Searcher.open(index_dir, judge=judge) if index_dir else open_demo(judge=judge)
    query = Query(
        proposition=proposition,
        stance=Stance.ALL if stance is Asked.BOTH else Stance(stance),
        top_k=top_k,
        filters=Filters(courts=tuple(court or ()), decided_from=_day(decided_from), decided_to=_day(decided_to)),
        as_of=_day(as_of),
        min_relevance=min_relevance,
    )
    answer = searcher.search_both(query) if stance is Asked.BOTH else searcher.search(query)
    tell_unreadable(judge)
    if as_json:
        _print_json(answer)
    else:
        _print_text(answer)


def batch(
    *,
    index_dir: Annotated[Path, typer.Option("--index-dir", "-i", help="The index to search.")],
    queries: Annotated[Path, typer.Option(help="JSONL rows with query_id, claim and stance.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Results are written here, one JSONL row a query.")],
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=1, help="Documents for each query.")] = 10,
    deadline: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="When results are to be there, such as 18s, counted from the start of the program. Every query is "
            "answered by the quick steps first; the costly ones follow where they help most, until time is up.",
        ),
    ] = None,
    stance_judge: JudgeOption = Judge.MODEL,
) -> None:
    """Answer a file of queries, in its order: exactly top-k documents each, if the index holds as many.

    Without --deadline the same index and queries give the same results; with it, a faster machine gives better ones.
    """
    from sicetnon.cli.progress import show_progress
    from sicetnon.corpora import ResultRow, read_queries, write_results
    from sicetnon.search import Deadline, Searcher
    from sicetnon.storage import check_output

    limit = None if deadline is None else Deadline(read_time(deadline, "--deadline"), spent=measure_age())
    asked = read_queries(queries, top_k=top_k)
    check_output(output, index_dir)
    judge = load_judge(stance_judge, until=limit.end if limit else inf)
    searcher = Searcher.open(index_dir, judge=judge)
    with show_progress() as report:
        answer = searcher.rank_many(asked, deadline=limit, progress=report)
    count = write_results(
        output, (ResultRow(str(query.query_id), doc_ids, scores) for query, doc_ids, scores in answer.rankings)
    )
    tell_unreadable(judge)
    if answer.refined < answer.refinable:
        why = "time was up" if answer.fault is None else str(answer.fault)
        sys.stderr.write(
            f"note: {why}: {answer.refined:,} of {answer.refinable:,} propositions had their candidates read closely\n"
        )
    sys.stderr.write(f"{count:,} queries answered in {output}\n")


def _day(moment: datetime | None) -> date | None:
    return moment.date() if moment else None


def _print_json(answer: Ranking | BothSides) -> None:
    from sicetnon.corpora import hit_row

    if isinstance(answer, BothSides):
        lists = {"supports": answer.supports, "refutes": answer.refutes, "unclear": answer.unclear}
    else:
        lists = {str(answer.query.stance): answer.hits}
    value: dict[str, object] = {"proposition": answer.query.proposition}
    if answer.query.as_of:
        value["as_of"] = answer.query.as_of.isoformat()
    value |= {name: [hit_row(hit) for hit in hits] for name, hits in lists.items()}
    typer.echo(escape_unseen(json.dumps(value, ensure_ascii=False, indent=2)))


def _print_text(answer: Ranking | BothSides) -> None:
    from rich.console import Console

    from sicetnon.cli.render import print_both, print_ranking

    console = Console(highlight=False)
    if isinstance(answer, BothSides):
        print_both(console, answer)
    else:
        print_ranking(console, answer)
