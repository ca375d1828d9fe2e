"""The step that an error names: its own, or one that fits its kind; one line for people, whatever is in it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tamis_cli.commands.app import say_error
from tamis_cli.commands.commands import Commands, next_step
from tamis_schemas import TamisError, errors
from tamis_schemas.errors import (
    BatchPaused,
    BrokerUnavailable,
    ConfigurationError,
    InputError,
    InvalidParameters,
    LedgerUnavailable,
    OperationFailed,
    UnknownBatch,
)
from tamis_schemas.pause import Pause, PauseKind


def kinds(of: type[TamisError] = TamisError) -> Iterator[type[TamisError]]:
    for kind in of.__subclasses__():
        if kind.__module__ == errors.__name__:
            yield kind
            yield from kinds(kind)


@pytest.mark.parametrize("kind", [kind for kind in kinds() if kind not in {InputError, BatchPaused}])
def test_every_kind_of_error_names_a_command(kind: type[TamisError]) -> None:
    step = next_step(kind("something is wrong"), "review run")
    assert step is not None
    assert "`tamis " in step


@pytest.mark.parametrize(
    ("error", "step"),
    [
        (BrokerUnavailable("the broker is away"), "`tamis doctor` checks servers, settings and LLM"),
        (LedgerUnavailable("Postgres is away"), "`tamis doctor` checks servers, settings and LLM"),
        (ConfigurationError("it is damaged"), "`tamis doctor` checks servers, settings and LLM"),
        (OperationFailed("initdb failed"), "`tamis doctor` checks servers, settings and LLM"),
        (
            UnknownBatch("there is no batch x"),
            "`tamis batches` lists the latest batches, `tamis review list` the latest reviews",
        ),
        (InputError("there is no such file", path="x.ris"), "`tamis help screen` shows its input"),
        (InvalidParameters("min_value: above max_value"), "`tamis help screen` shows its usage"),
    ],
)
def test_the_step_fits_the_kind_of_error(error: TamisError, step: str) -> None:
    assert next_step(error, "screen") == step


@pytest.mark.parametrize(
    "said",
    [
        "no stack is running: start one with `tamis up`",
        "this needs the extra 'http': pip install 'tamis[http]'",
        "who decided? Add --reviewer NAME",
        "TAMIS_MODEL is not set: name the model to ask",
    ],
)
def test_a_message_with_a_step_of_its_own_gets_no_other(said: str) -> None:
    assert next_step(ConfigurationError(said), "screen") is None


def test_a_pause_brings_its_remedy() -> None:
    paused = BatchPaused("3f2a91c0", Pause(kind=PauseKind.BUDGET, message="$1.50 of $1.50 is spent"))
    assert next_step(paused, "screen") is None
    assert "`tamis resume" in str(paused)


def test_a_pause_that_ends_by_itself_says_when() -> None:
    until = datetime(2026, 11, 27, 22, 44, tzinfo=UTC)
    pause = Pause(kind=PauseKind.RATE_LIMITED, message="429: slow down", until=until)
    assert pause.reason == "rate_limited until 2026-11-27 22:44 UTC: 429: slow down"
    assert "resumes by itself" in pause.remedy("3f2a91c0")


def test_the_doctor_is_not_sent_to_the_doctor() -> None:
    assert next_step(LedgerUnavailable("Postgres is away"), "doctor") is None


def test_an_error_learns_the_command_that_it_ended_at_any_depth() -> None:
    app = Commands(name="tamis")
    inner = Commands(name="review")
    app.add_typer(inner)

    @inner.command(examples=("tamis review run x",))
    def run(plan: Path) -> None:
        raise InputError("there is no such file", path=plan)

    @inner.command()
    def other() -> None:
        """So that the group is one."""

    done = CliRunner().invoke(app, ["review", "run", "plan.yaml"])
    assert isinstance(done.exception, InputError)
    assert done.exception.__notes__ == ["`tamis help review run` shows its input"]


def test_error_and_step_are_one_line_without_secrets_and_without_markup(capsys: pytest.CaptureFixture[str]) -> None:
    error = InputError("holds [bold]hunter2[/]", path="x.ris")
    error.add_note("`tamis help screen` shows its input")
    say_error(error, lambda text: text.replace("hunter2", "***"))
    said = capsys.readouterr().err
    assert said == "tamis: x.ris: holds [bold]***[/] (`tamis help screen` shows its input)\n"


def test_the_step_stands_on_a_line_of_its_own_below_a_quoted_log(capsys: pytest.CaptureFixture[str]) -> None:
    error = OperationFailed("Postgres ended. The end of its log:\nfirst\nlast")
    error.add_note("`tamis doctor` checks servers, settings and LLM")
    say_error(error)
    assert capsys.readouterr().err.splitlines()[-2:] == ["last", "(`tamis doctor` checks servers, settings and LLM)"]
