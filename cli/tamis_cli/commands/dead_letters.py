"""`tamis dead-letters`: the messages that no worker understood, and what is wrong with each."""

import json
import sys
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

from tamis_producer.client.client import Client
from tamis_producer.config.redaction import HIDDEN
from tamis_producer.ledger import ledger_errors
from tamis_producer.ledger.dead_letters import (
    DeadLetter,
    count_dead_letters,
    purge_dead_letters,
    read_dead_letter,
)
from tamis_schemas import InvalidRequest

from .app import app, err, out
from .commands import Commands
from .exit_codes import EXIT_FAILED
from .json_document import AsJson, print_json
from .tables import facts_by_name, listing

LIST = "list"


class ListUnlessNamed(TyperGroup):
    """`tamis dead-letters` is `tamis dead-letters list`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # of the click that typer brings along
        """Parse as always, with `list` put before options, and where there is nothing."""
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = [LIST, *args]
        return super().parse_args(ctx, args)


dead_letters = Commands(
    cls=ListUnlessNamed,
    help="Messages that no worker understood, and what is wrong with each. `tamis dead-letters` lists them.",
    rich_markup_mode="rich",
)
app.add_typer(dead_letters, name="dead-letters")

Number = Annotated[int, typer.Argument(metavar="N", help="Its number in the list.")]


@dead_letters.command(LIST, examples=("tamis dead-letters", "tamis dead-letters --limit 100 --json"))
def list_letters(
    limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the latest ones: when each came, from which queue, of which task, and what is wrong with it."""
    with Client() as client:
        letters = client.dead_letters(limit)
        with ledger_errors(), client.engine.connect() as connection:
            total = count_dead_letters(connection)
    if as_json:
        print_json(letters)
    elif letters:
        _print_list(letters, total)
    else:
        out.print("there are no dead letters: the workers understood every message")


@dead_letters.command("show", examples=("tamis dead-letters show 12", "tamis dead-letters show 12 --json"))
def show(number: Number, as_json: AsJson = False) -> None:
    """Show one whole: where it came from, what is wrong with it, its headers and its body, as far as they are kept."""
    with Client() as client, ledger_errors(), client.engine.connect() as connection:
        letter = read_dead_letter(connection, number)
    if as_json:
        print_json(letter)
    else:
        _print(letter)


@dead_letters.command("resend", examples=("tamis dead-letters resend 12",))
def resend_letter(number: Number, as_json: AsJson = False) -> None:
    """Send one again as it came, for example after an upgrade that knows its task; it leaves the list.

    One that is still not understood comes back into the list.
    """
    with Client() as client:
        letter = client.resend_dead_letter(number)
    if as_json:
        print_json({"id": letter.id, "queue": letter.queue, "task": letter.task, "task_id": letter.task_id})
    else:
        out.say(f"sent again to {letter.queue}, and gone from the list", markup=False)


@dead_letters.command("purge", examples=("tamis dead-letters purge", "tamis dead-letters purge --yes"))
def purge(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete all of them; they cannot be brought back."""
    if not yes:
        if not (sys.stdin.isatty() and err.is_terminal):
            raise InvalidRequest("nobody can be asked here: say --yes")
        if not typer.confirm("Delete all dead letters? They cannot be brought back.", err=True):
            raise typer.Exit(EXIT_FAILED)
    with Client() as client, ledger_errors(), client.engine.begin() as connection:
        purged = purge_dead_letters(connection)
    if as_json:
        print_json({"purged": purged})
    else:
        out.print(f"deleted {purged:,} dead letter{'' if purged == 1 else 's'}")


def _print_list(letters: list[DeadLetter], total: int) -> None:
    table = listing("n", "came", "queue", "task", "what is wrong")
    table.columns[-1].overflow = "fold"
    for letter in letters:
        more = f" (and {letter.more:,} more that were counted alone)" if letter.more else ""
        row = (letter.queue or "", letter.task or "", f"{letter.why}{more}")
        table.add_row(str(letter.id), _moment(letter.created_at), *map(escape, row))
    out.print(table)
    if total > len(letters):
        out.print(
            f"{total:,} messages in all: [bold]--limit[/] lists more, [bold]tamis dead-letters show N[/] shows one"
        )


def _print(letter: DeadLetter) -> None:
    size = f"{letter.body_bytes:,} bytes"
    rows = {
        "dead letter": str(letter.id),
        "came": f"{_moment(letter.created_at)}, to worker {letter.worker}",
        "queue": letter.queue or "(it does not say)",
        "task": letter.task or "(it names none)",
        "task id": letter.task_id or "(it has none)",
        "what is wrong": letter.why,
        "body": f"{size} of {letter.content_type or 'no type'}, {letter.content_encoding or 'no encoding'}",
    }
    if letter.more:
        rows["and more"] = f"{letter.more:,} further messages were counted and not kept"
    if not letter.whole:
        rows["kept"] = f"in part: what is too long is cut off, and a secret is {HIDDEN}; it cannot be sent again"
    out.print(facts_by_name((name, escape(text)) for name, text in rows.items()))
    for title, text in (("headers", _json(letter.headers)), ("properties", _json(letter.properties))):
        _print_part(title, text)
    _print_part("body, in base64" if letter.in_base64 else "body", letter.body)


def _print_part(title: str, text: str) -> None:
    out.print(f"\n[dim]{title}[/]")
    out.print(text, markup=False, emoji=False, soft_wrap=True)


def _json(values: dict[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False, indent=2)


def _moment(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"
