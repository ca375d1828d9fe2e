"""`tamis blind`: hide people's and the model's decisions while reviewers read, or show them."""

from collections.abc import Iterator
from typing import Annotated, Literal

import typer
from rich.markup import escape

from tamis_review import get_screening_mode, set_screening_mode
from tamis_schemas import ScreeningMode

from .app import app, out
from .arguments import BatchId, Reviewer, named
from .opened import opened

_MODES = {
    "pair": ScreeningMode.PAIR,
    "model": ScreeningMode.MODEL_SECOND,
    "audit": ScreeningMode.MODEL_AUDITED,
    "off": ScreeningMode.SINGLE,
}
_MEANINGS = {
    ScreeningMode.SINGLE: "not blind: over HTTP, everyone sees all decisions",
    ScreeningMode.PAIR: "in pairs: over HTTP, decisions on a record are hidden until two people have decided",
    ScreeningMode.MODEL_SECOND: "the model is the second reader: over HTTP, decisions on a record are hidden from "
    "people who have not decided on it",
    ScreeningMode.MODEL_AUDITED: "the model decides, and people audit it: over HTTP, decisions on a record drawn for "
    "the audit are hidden until it is judged",
}


@app.command(
    examples=(
        "tamis blind 3f2a91c0",
        'tamis blind 3f2a91c0 pair --reviewer "Lead"',
        'tamis blind 3f2a91c0 off --reviewer "Lead"',
    ),
)
def blind(
    batch_id: BatchId,
    mode: Annotated[
        Literal["pair", "model", "audit", "off"] | None,
        typer.Argument(
            help="pair, model (the second reader), audit (of its exclusions) or off. Without it, show the mode.",
            metavar="MODE",
        ),
    ] = None,
    reviewer: Reviewer = None,
) -> Iterator[object]:
    """Show or set how people read: in pairs, after the model, or as an audit. HTTP and TAMIS_PERSON hide decisions."""
    with opened(batch_id) as batch:
        if mode is None:
            current = get_screening_mode(batch)
        else:
            current = set_screening_mode(batch, _MODES[mode], set_by=named(reviewer, "who sets it?"))
    yield {"id": batch.id, **current.model_dump(mode="json")}
    who = "" if current.set_at is None else f" (set by {current.set_by}, {current.set_at:%Y-%m-%d %H:%M %Z})"
    out.say(f"batch {batch.id}: {_MEANINGS[current.mode]}{escape(who)}.")
