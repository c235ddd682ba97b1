"""Rankings for people: hits with their probabilities and the passage that carries the side.

Document text is never read as markup, nor its control characters sent to the terminal.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from sicetnon.types import BothSides, Hit, Ranking, Stance
from sicetnon.wording import harmless, say_percent

TWO_COLUMNS = 110  # characters a terminal must be wide for both sides to stand side by side
TITLES = {Stance.SUPPORTED: "Likeliest to support", Stance.REFUTED: "Likeliest to refute", Stance.ALL: "On point"}
NOTHING = "No decision found. That is no proof that none exists."


def print_ranking(console: Console, ranking: Ranking) -> None:
    """One list: the hits of a ranking."""
    console.print(Text(harmless(ranking.query.proposition), style="bold"))
    console.print(_list(TITLES[ranking.query.stance], "bold", ranking.hits))


def print_both(console: Console, answer: BothSides) -> None:
    """Two lists, side by side where the terminal is wide enough, and under them what is of no clear side."""
    console.print(Text(harmless(answer.query.proposition), style="bold"))
    sides = [_list("Supports", "bold green", answer.supports), _list("Refutes", "bold red", answer.refutes)]
    if console.width >= TWO_COLUMNS:
        console.print(Columns(sides, width=console.width // 2 - 2, padding=(0, 2)))
    else:
        console.print(*sides, sep="\n")
    if answer.unclear:
        console.print(_list("On point, side unclear", "bold", answer.unclear))


def _list(title: str, style: str, hits: Sequence[Hit]) -> RenderableType:
    shown: list[RenderableType] = [Text(f"\n{title}", style=style)]
    shown += [_card(number, hit) for number, hit in enumerate(hits, 1)] or [Text(NOTHING, style="dim")]
    return Group(*shown)


def _card(number: int, hit: Hit) -> RenderableType:
    document = hit.document
    parts = [document.citation, document.decided.isoformat() if document.decided else None]
    head = Text(harmless(document.title or document.doc_id), style="bold")
    head.append(harmless("".join(f", {part}" for part in parts if part)), style="not bold")
    sides = Text()
    for name, probability, style in (
        ("supports", hit.sides.supports, "green"),
        ("refutes", hit.sides.refutes, "red"),
        ("neither", hit.sides.neither, "dim"),
    ):
        sides.append(f"{name} {say_percent(probability)}", style=style).append("  ")
    sides.append(f"on point {say_percent(hit.relevance)}", style="dim")
    lines = [head, sides]
    if hit.treatment is not None:
        by = f" by {hit.treatment.by_title}" if hit.treatment.by_title else ""
        lines.append(Text(harmless(f"{hit.treatment.status}{by}, {hit.treatment.date.isoformat()}"), style="yellow"))
    evidence = hit.evidence
    passage = Text(harmless(evidence.text))
    start = evidence.sentence.start - evidence.passage.start
    passage.stylize("bold", start, start + evidence.sentence.end - evidence.sentence.start)
    card = Table.grid(padding=(0, 1))
    card.add_row(f"{number}.", Group(*lines, passage))
    return card
