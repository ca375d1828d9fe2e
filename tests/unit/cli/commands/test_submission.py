"""The options that every submitting command has."""

from decimal import Decimal
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from tamis_cli.commands import app
from tamis_cli.commands.submission import SubmissionOptions, submitting
from tamis_schemas import NO_STEERING, InvalidRequest, Priority, Steering, Tier, TierFallback

# Imported for their commands.
from tamis_cli.commands import judge, review, submit  # noqa: F401  # isort: skip

RUNNER = CliRunner()
STEERING = ("--reasoning-effort", "--extra-body", "--extra-header", "--tier", "--tier-patience", "--tier-fallback")
SHARED = (
    *("--model", "--idempotency-key", "--detach", "--no-cache", "--keep-duplicates", "--max-cost", "--priority"),
    *("--callback-url", "--strict", "--encoding"),
    *STEERING,
)


def test_a_command_gets_its_own_options_and_the_shared_ones() -> None:
    seen: list[tuple[SubmissionOptions, str, int]] = []
    app = typer.Typer()

    @app.command()
    @submitting("model")
    def command(submission: SubmissionOptions, name: str, times: Annotated[int, typer.Option()] = 1) -> None:
        """Said in the help."""
        seen.append((submission, name, times))

    told = RUNNER.invoke(app, ["x", "--times", "3", "--max-cost", "$2.5", "--priority", "high", "--dry-run"])
    assert told.exit_code == 0, told.output
    assert RUNNER.invoke(app, ["x"]).exit_code == 0
    assert seen == [
        (SubmissionOptions(max_cost=Decimal("2.5"), priority=Priority.HIGH, dry_run=True), "x", 3),
        (SubmissionOptions(), "x", 1),
    ]
    assert "Said in the help." in RUNNER.invoke(app, ["--help"]).output
    assert RUNNER.invoke(app, ["x", "--model", "m"]).exit_code == 2


@pytest.mark.parametrize("wrong", ["two", "-1", "nan"])
def test_a_budget_that_is_no_amount_is_wrong_use(wrong: str) -> None:
    told = RUNNER.invoke(app, ["filter", "records.ris", "--criteria", "x", "--max-cost", wrong])
    assert isinstance(told.exception, InvalidRequest)
    assert "is not an amount" in str(told.exception)


@pytest.mark.parametrize("command", ["screen", "filter", "score", "extract", "fields", "answer"])
def test_every_submitting_command_has_every_shared_option(command: str) -> None:
    text = RUNNER.invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
    for option in (*SHARED, "--dry-run"):
        assert option in text, option


@pytest.mark.parametrize(
    ("command", "without"),
    [
        (["judge"], {"--keep-duplicates", "--strict", "--encoding"}),
        (["review", "run"], {"--model", "--idempotency-key", "--keep-duplicates", "--max-cost"}),
    ],
)
def test_judge_and_review_have_those_that_mean_something(command: list[str], without: set[str]) -> None:
    text = RUNNER.invoke(app, [*command, "--help"], env={"COLUMNS": "200"}).output
    for option in (*SHARED, "--dry-run"):
        assert (option in text) is (option not in without), option


def steered(*words: str) -> tuple[int, str, list[Steering]]:
    """The exit code, what was said, and the steering of a command with these words."""
    seen: list[Steering] = []
    app = typer.Typer()

    @app.command()
    @submitting()
    def command(submission: SubmissionOptions) -> None:
        seen.append(submission.steering)

    told = RUNNER.invoke(app, words)
    return told.exit_code, f"{told.output} {told.exception}", seen


@pytest.mark.parametrize(
    ("words", "steering"),
    [
        ([], NO_STEERING),
        (["--reasoning-effort", "low"], Steering(reasoning_effort="low")),
        (["--extra-body", '{"top_p": 0.9, "x": {"y": [1]}}'], Steering(extra_body={"top_p": 0.9, "x": {"y": [1]}})),
        (
            ["--extra-header", "X-Team: reviews", "--extra-header", "X-Url:https://a.example:8/"],
            Steering(extra_headers={"X-Team": "reviews", "X-Url": "https://a.example:8/"}),
        ),
        (
            ["--tier", "flex", "--tier-patience", "90", "--tier-fallback", "wait"],
            Steering(tier=Tier.FLEX, tier_patience=90, tier_fallback=TierFallback.WAIT),
        ),
    ],
)
def test_the_command_line_says_how_the_model_is_steered(words: list[str], steering: Steering) -> None:
    assert steered(*words) == (0, " None", [steering])


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--reasoning-effort", "Very High"], "--reasoning-effort"),
        (["--extra-body", "{top_p: 0.9}"], "not JSON"),
        (["--extra-body", "[1]"], "not a JSON object"),
        (["--extra-body", '{"model": "x"}'], "--extra-body: 'model' is set by Tamis"),
        (["--extra-header", "X-Team reviews"], "--extra-header: write 'Name: value'"),
        (["--extra-header", "Authorization: Bearer x"], "--extra-header: 'Authorization' is set by Tamis"),
        (["--extra-header", "X-A: 1", "--extra-header", "X-A: 2"], "--extra-header: 'X-A' is given twice"),
        (["--tier", "cheap"], "--tier"),
        (["--tier-patience", "-1"], "--tier-patience"),
        (["--tier-fallback", "never"], "--tier-fallback"),
    ],
)
def test_a_wrong_steering_names_its_option_before_anything_is_read(words: list[str], complaint: str) -> None:
    code, told, seen = steered(*words)
    assert code != 0
    assert complaint in " ".join(told.replace("\n", " ").replace("│", " ").split())
    assert seen == []
