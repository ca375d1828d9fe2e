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
    ScreeningMode.SINGLE: "not blind: over HTTP everybody sees all decisions",
    ScreeningMode.PAIR: "in pairs: over HTTP nobody sees a decision on a record before two people have decided on it",
    ScreeningMode.MODEL_SECOND: "the model is the second reader: over HTTP nobody sees a decision on a record before "
    "they have decided on it themselves",
    ScreeningMode.MODEL_AUDITED: "the model decides, and people audit it: over HTTP nobody sees a decision on a record "
    "that was drawn for the audit before it is judged",
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
            help="pair, model (it is the second reader), audit (of what it excluded) or off; without it, what is set.",
            metavar="MODE",
        ),
    ] = None,
    reviewer: Reviewer = None,
) -> Iterator[object]:
    """Show or set blind reading over HTTP: in pairs, with the model as second reader, or of an audit sample."""
    with opened(batch_id) as batch:
        if mode is None:
            current = get_screening_mode(batch)
        else:
            current = set_screening_mode(batch, _MODES[mode], set_by=named(reviewer, "who sets it?"))
    yield {"id": batch.id, **current.model_dump(mode="json")}
    who = "" if current.set_at is None else f" (set by {current.set_by}, {current.set_at:%Y-%m-%d %H:%M %Z})"
    out.say(f"batch {batch.id}: {_MEANINGS[current.mode]}{escape(who)}.")
