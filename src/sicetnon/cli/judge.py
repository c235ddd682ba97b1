"""``--stance-judge``: what tells the sides in place of the index's stance model."""

from __future__ import annotations

import sys
from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from sicetnon.stance.endpoint import EndpointJudge


class Judge(StrEnum):
    """What may tell the sides."""

    MODEL = "model"
    ENDPOINT = "endpoint"


JudgeOption: TypeAlias = Annotated[
    Judge,
    typer.Option(
        "--stance-judge",
        envvar="SICETNON_STANCE_JUDGE",
        help="What tells the sides: the index's stance model, or the chat model at the URL in SICETNON_ENDPOINT_URL, "
        "to which the proposition and the documents are sent.",
    ),
]


def load_judge(judge: Judge, *, until: float = inf) -> EndpointJudge | None:
    """The judge asked for; None for the stance model. ``until``: when it is no longer waited for."""
    if judge is Judge.MODEL:
        return None
    from sicetnon.remote import Chat
    from sicetnon.stance.endpoint import EndpointJudge

    return EndpointJudge(Chat.from_environment(until=until))


def tell_unreadable(judge: EndpointJudge | None) -> None:
    """Say on standard error how often an answer could not be read, if ever."""
    if judge is not None and judge.unreadable:
        sys.stderr.write(
            f"note: of {judge.unreadable:,} documents the endpoint's answer could not be read; each is of no side\n"
        )
