"""The options that every submitting command has."""

from decimal import Decimal
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from tamis_producer.cli import app
from tamis_producer.cli.submission import Submission, submitting
from tamis_schemas import Priority

# Imported for their commands.
from tamis_producer.cli import judge, review, submit  # noqa: F401  # isort: skip

RUNNER = CliRunner()
SHARED = ("--model", "--idempotency-key", "--detach", "--no-cache", "--keep-duplicates", "--max-cost", "--priority")


def test_a_command_gets_its_own_options_and_the_shared_ones() -> None:
    seen: list[tuple[Submission, str, int]] = []
    app = typer.Typer()

    @app.command()
    @submitting("model")
    def command(submission: Submission, name: str, times: Annotated[int, typer.Option()] = 1) -> None:
        """Said in the help."""
        seen.append((submission, name, times))

    told = RUNNER.invoke(app, ["x", "--times", "3", "--max-cost", "$2.5", "--priority", "high", "--dry-run"])
    assert told.exit_code == 0, told.output
    assert RUNNER.invoke(app, ["x"]).exit_code == 0
    assert seen == [
        (Submission(max_cost=Decimal("2.5"), priority=Priority.HIGH, dry_run=True), "x", 3),
        (Submission(), "x", 1),
    ]
    assert "Said in the help." in RUNNER.invoke(app, ["--help"]).output
    assert RUNNER.invoke(app, ["x", "--model", "m"]).exit_code == 2


@pytest.mark.parametrize("wrong", ["two", "-1", "nan"])
def test_a_budget_that_is_no_amount_is_wrong_use(wrong: str) -> None:
    told = RUNNER.invoke(app, ["filter", "records.ris", "--criteria", "x", "--max-cost", wrong])
    assert told.exit_code == 2
    assert "amount" in told.output


@pytest.mark.parametrize("command", ["screen", "filter", "score", "extract", "fields", "answer"])
def test_every_submitting_command_has_every_shared_option(command: str) -> None:
    text = RUNNER.invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
    for option in (*SHARED, "--dry-run"):
        assert option in text, option


@pytest.mark.parametrize(
    ("command", "without"),
    [
        (["judge"], {"--keep-duplicates"}),
        (["review", "run"], {"--model", "--idempotency-key", "--keep-duplicates", "--max-cost"}),
    ],
)
def test_judge_and_review_have_those_that_mean_something(command: list[str], without: set[str]) -> None:
    text = RUNNER.invoke(app, [*command, "--help"], env={"COLUMNS": "200"}).output
    for option in (*SHARED, "--dry-run"):
        assert (option in text) is (option not in without), option
