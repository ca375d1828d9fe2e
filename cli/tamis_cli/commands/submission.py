"""The options of every command that submits a batch or a review."""

import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, wraps
from typing import Annotated, Any, Concatenate, ParamSpec

import typer
from pydantic import ValidationError

from tamis_producer.runs.dry_run import Planned
from tamis_producer.submission.budget import amount_of
from tamis_review import known_records
from tamis_review.filter.known_records import KnownRecords
from tamis_schemas import Callback, InvalidParameters, Item, Operation, Priority, Steering, Tier, TierFallback
from tamis_schemas.batches.steering import TIER_PATIENCE
from tamis_schemas.operations import Inclusion

from .arguments import CallbackUrl, Encoding, Strict, callback_of
from .commands import signed
from .connected import connected
from .json_document import AsJson

P = ParamSpec("P")

SHOWN = 80  # characters of an error


def _dollars(text: str) -> Decimal:
    try:
        return amount_of(text)
    except InvalidParameters as error:
        raise typer.BadParameter(f"{text!r} is not an amount of dollars, for example 2.50") from error


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"{text[:SHOWN]!r} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise typer.BadParameter(f"{text[:SHOWN]!r} is not a JSON object, such as '{{\"top_p\": 0.9}}'")
    return value


def _headers(lines: Sequence[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:  # the whole text may be a secret, so the message omits the text
            raise InvalidParameters("--extra-header: write 'Name: value', with a colon between the two")
        if name.strip() in headers:
            raise InvalidParameters(f"--extra-header: {name.strip()!r} is given twice")
        headers[name.strip()] = value.strip()
    return headers


@dataclass(frozen=True)
class SubmissionOptions:
    """The options on the command line of a command that submits a batch or a review."""

    model: Annotated[str | None, typer.Option(help="The model to ask.  [default: the workers' model]")] = None
    idempotency_key: Annotated[
        str | None, typer.Option("--idempotency-key", help="Submitting the same key again returns the first batch.")
    ] = None
    detach: Annotated[bool, typer.Option("--detach", help="Print the id and return at once.")] = False
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Ask again, even if the cache has an answer.")] = False
    keep_duplicates: Annotated[
        bool, typer.Option("--keep-duplicates", help="Ask about every copy of a record, not only one.")
    ] = False
    strict: Strict = False
    encoding: Encoding = None
    updates: Annotated[
        str | None,
        typer.Option(
            "--updates",
            metavar="ID",
            help="Update this batch or review with a later search: ask only about new records. Reports count both.",
        ),
    ] = None
    max_cost: Annotated[
        Decimal | None,
        typer.Option(
            "--max-cost",
            metavar="DOLLARS",
            parser=_dollars,
            help="The budget. The batch pauses before a call that could exceed it.  [default: no budget]",
        ),
    ] = None
    priority: Annotated[Priority, typer.Option(help="The priority among waiting batches.")] = Priority.NORMAL
    callback_url: CallbackUrl = None
    reasoning_effort: Annotated[
        str | None,
        typer.Option(
            metavar="WORD", help="The model's reasoning effort: none, low, high, ...  [default: the workers' setting]"
        ),
    ] = None
    extra_body: Annotated[
        Any, typer.Option(metavar="JSON", parser=_object, help="Provider-specific request fields, as an object.")
    ] = None
    extra_header: Annotated[
        list[str] | None,
        typer.Option(metavar="'NAME: VALUE'", help="An extra request header, stored in the ledger. Repeatable."),
    ] = None
    tier: Annotated[
        Tier | None, typer.Option(help="flex: half the price, but slow.  [default: the workers' setting, else none]")
    ] = None
    tier_patience: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help=f"How long an item waits for capacity.  [default: the workers' setting, else {TIER_PATIENCE:g}]",
        ),
    ] = None
    tier_fallback: Annotated[
        TierFallback | None,
        typer.Option(
            help="After --tier-patience: change tier, or wait on.  [default: the workers' setting, else standard]"
        ),
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Submit nothing. Show three prompts, and estimate calls, time and cost.")
    ] = False
    as_json: AsJson = False

    @property
    def use_cache(self) -> bool:
        """Return whether a cached answer may be used."""
        return not self.no_cache

    @property
    def options(self) -> dict[str, Any]:
        """Return the options that `Client.submit` takes, as its keyword arguments."""
        same = ("model", "idempotency_key", "use_cache", "priority", "callback", "max_cost", "steering", "updates")
        return {name: getattr(self, name) for name in same}

    def known(self) -> KnownRecords | None:
        """Return the records of the earlier batch or review that `--updates` names; None without this option."""
        if self.updates is None:
            return None
        with connected() as client:
            return known_records(client, self.updates)

    def planned(self, operation: Operation, items: Sequence[Item]) -> Planned:
        """Return the batch to estimate in a dry run: its operation, its records, and these options."""
        return Planned(operation, items, self.model, use_cache=self.use_cache, steering=self.steering)

    @cached_property
    def callback(self) -> Callback | None:
        """Return the receiver of the batch's webhooks; None without `--callback-url`.

        Raise `InvalidParameters` for an unusable URL.
        """
        return None if self.callback_url is None else callback_of(self.callback_url)

    @cached_property
    def steering(self) -> Steering:
        """Return how the model is asked: reasoning effort, tier, and extra request fields and headers.

        If an option is invalid, raise `InvalidParameters` with its name.
        """
        same = ("reasoning_effort", "extra_body", "tier", "tier_patience", "tier_fallback")
        values = {name: getattr(self, name) for name in same}
        values["extra_headers"] = _headers(self.extra_header) if self.extra_header else None
        try:
            return Steering.model_validate({name: value for name, value in values.items() if value is not None})
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            option = str(first["loc"][0]).replace("_", "-").replace("headers", "header")
            raise InvalidParameters(f"--{option}: {first['msg'].removeprefix('Value error, ')}") from error


def with_examples(operation: Operation) -> Operation:
    """Return the operation with its examples: records that people decided in the batch `examples_from`.

    An operation that names no such batch is returned unchanged. Raises the errors of `Client.with_examples`.
    """
    if not isinstance(operation, Inclusion) or operation.examples_from is None:
        return operation
    with connected() as client:
        return client.with_examples(operation)


def submitting(*without: str) -> Callable[[Callable[Concatenate[SubmissionOptions, P], None]], Callable[..., None]]:
    """Return a decorator for commands whose first argument is a `SubmissionOptions`.

    The decorated command has its own options, then the submission options. Submission options named in `without` are
    not offered, and keep their defaults.
    """
    options = {
        name: parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(SubmissionOptions).parameters.items()
        if name not in without
    }

    def decorate(command: Callable[Concatenate[SubmissionOptions, P], None]) -> Callable[..., None]:
        parameters = list(inspect.signature(command, eval_str=True).parameters.values())[1:]

        @wraps(command)
        def run(**arguments: Any) -> None:
            submission = SubmissionOptions(**{name: arguments.pop(name) for name in options})
            _ = submission.steering, submission.callback  # raises for invalid options before anything is read
            command(submission, **arguments)  # type: ignore[call-arg]  # arguments by name, as from Typer

        by_name = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        return signed(run, [*by_name, *options.values()])

    return decorate
