"""The options that every submitting command has, written once: how to submit, whatever is submitted."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import wraps
from typing import Annotated, Any, Concatenate, ParamSpec, get_type_hints

import typer

from tamis_schemas import InvalidParameters, Priority

from ..budget import amount_of
from .json_document import AsJson

P = ParamSpec("P")


def _dollars(text: str) -> Decimal:
    try:
        return amount_of(text)
    except InvalidParameters as error:
        raise typer.BadParameter(f"{text!r} is no amount of dollars, for example 2.50") from error


@dataclass(frozen=True)
class Submission:
    """What was said on the command line of how to submit."""

    model: Annotated[str | None, typer.Option(help="The model to ask.  [dim]default: the workers' own[/]")] = None
    idempotency_key: Annotated[
        str | None, typer.Option("--idempotency-key", help="Submitting the same key again returns the first batch.")
    ] = None
    detach: Annotated[bool, typer.Option("--detach", help="Print the id and return at once.")] = False
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Ask anew, even what was answered before.")] = False
    keep_duplicates: Annotated[
        bool, typer.Option("--keep-duplicates", help="Ask about every copy of a record, not only about one of them.")
    ] = False
    max_cost: Annotated[
        Decimal | None,
        typer.Option(
            "--max-cost",
            metavar="DOLLARS",
            parser=_dollars,
            help="Pause before a call that could cost more than is left of this.  [dim]default: no budget[/]",
        ),
    ] = None
    priority: Annotated[Priority, typer.Option(help="Who goes first where batches wait.")] = Priority.NORMAL
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Submit nothing: show three prompts, and what it would take and cost.")
    ] = False
    as_json: AsJson = False


def submitting(*without: str) -> Callable[[Callable[Concatenate[Submission, P], None]], Callable[..., None]]:
    """A command that takes a `Submission` first, with the options of one after its own.

    `without` names those that it does not have; they stay at their defaults.
    """
    hints = get_type_hints(Submission, include_extras=True)
    options = {
        field.name: inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(Submission)
        if field.name not in without
    }

    def decorate(command: Callable[Concatenate[Submission, P], None]) -> Callable[..., None]:
        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]

        @wraps(command)
        def run(**given: Any) -> None:
            submission = Submission(**{name: given.pop(name) for name in options})
            command(submission, **given)  # type: ignore[call-arg]  # by name, as Typer calls it

        merged = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own] + [*options.values()]
        run.__signature__ = inspect.Signature(merged)  # type: ignore[attr-defined]  # what Typer reads
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in merged}
        return run

    return decorate
