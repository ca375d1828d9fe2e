"""Typer's parts: the classes that it makes commands of, and how it completes in a shell."""

import pytest
import typer
from typer._click.exceptions import NoArgsIsHelpError
from typer.completion import get_completion_script  # type: ignore[attr-defined] # imported there, not listed
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command, get_install_completion_arguments

from . import Contract, takes

TYPER = Contract()
internal = TYPER.internal


@internal("typer.core.TyperCommand.format_help")
def _() -> None:
    assert takes(TyperCommand.format_help, "self", "ctx", "formatter")


@internal("typer.core.TyperGroup.parse_args")
def _() -> None:
    assert takes(TyperGroup.parse_args, "self", "ctx", ["an argument"])


@internal("typer._click.exceptions.NoArgsIsHelpError")
@internal("typer.exceptions.TyperException")
def _() -> None:
    app = typer.Typer(no_args_is_help=True)
    for name in ("first", "second"):
        app.command(name)(lambda: None)
    with pytest.raises(NoArgsIsHelpError):
        get_command(app).main([], standalone_mode=False)
    with pytest.raises(TyperException, match="No such command 'third'") as raised:
        get_command(app).main(["third"], standalone_mode=False)
    assert not isinstance(raised.value, NoArgsIsHelpError)
    assert raised.value.ctx.parent is None  # type: ignore[attr-defined]


@internal("typer.completion.get_completion_script")
def _() -> None:
    script = get_completion_script(prog_name="tamis", complete_var="_TAMIS_COMPLETE", shell="bash")  # noqa: S604 - no shell is run
    assert "_TAMIS_COMPLETE=complete_bash" in script


@internal("typer.main.get_install_completion_arguments")
def _() -> None:
    assert len(get_install_completion_arguments()) == 2  # and Typer knows the shells from now on
