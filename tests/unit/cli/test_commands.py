"""The whole command line: each command has examples that it takes, and JSON; exit codes stand in one place."""

import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from stage.command_words import parse
from stage.imports import imported_by, imported_by_command
from tamis_cli.commands.app import EXIT_CODES, EXIT_INTERRUPTED, EXIT_STALLED, NAME, app, know_the_shells, load_commands
from tamis_cli.commands.command_list import COMMANDS, Listed, Theme
from tamis_cli.commands.commands import Page, pages
from tamis_cli.embedded import commands as embedded_commands
from tamis_schemas.release import described
from tamis_worker.liveness import watchdog
from tamis_worker.liveness.watchdog import AliveFile

load_commands()

ROOT = Path(__file__).parents[3]
RUNNER = CliRunner()
ROOT_COMMAND: Any = get_command(app)
PAGES = {page.path: page for page in pages(ROOT_COMMAND)}
WIDE = {"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"}
# The heavy modules that a command waits for if it submits records.
SUBMITS = {"rich", "typer", "pydantic", "psycopg", "asyncio", "opentelemetry", "rapidfuzz", "re2", "yaml"} | {
    "tamis_producer.client.client",
    "tamis_schemas.operations",
}
READS = SUBMITS - {"rapidfuzz", "re2", "yaml"} | {"sqlalchemy"}


def documented(heading: str) -> list[list[str]]:
    """The cells of each row of the tables under a heading of docs/cli.md, without heads."""
    section = (ROOT / "docs" / "cli.md").read_text("utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    heads = {place for at, line in enumerate(rows) if line.startswith("|---") for place in (at - 1, at)}
    return [[cell.strip() for cell in line.strip("|").split("|")] for at, line in enumerate(rows) if at not in heads]


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("page", PAGES.values(), ids=list(PAGES))
def test_every_command_says_what_it_does_and_has_examples_that_it_takes(page: Page) -> None:
    assert page.told()["help"]
    assert page.examples, f"tamis {page.path} has no example"
    for example in page.examples:
        words = shlex.split(example.split(" > ")[0])
        assert words[0] == "tamis"
        assert parse(ROOT_COMMAND, words[1:]) == page.path


def test_an_example_with_an_option_that_does_not_exist_would_be_found() -> None:
    with pytest.raises(Exception, match="no such option"):
        parse(ROOT_COMMAND, ["status", "--no-such-option"])


def test_every_command_has_json_or_stands_among_those_that_need_none() -> None:
    rows = [(named(row[0]), row[1]) for row in documented("JSON")]
    assert all(text for _, text in rows)
    listed = [command for commands, _ in rows for command in commands]
    assert sorted(listed) == sorted(PAGES)  # each once
    without = {"up", "demo", "worker", "serve", "flower", "criteria init", "completion"}
    assert {path for path, page in PAGES.items() if "--json" not in page.options} == without
    assert set(listed[-len(without) :]) == without  # the second table


def test_the_table_of_commands_names_each_command_once() -> None:
    section = (ROOT / "docs" / "cli.md").read_text("utf-8").split("\n## Commands\n")[1].split("\n## ")[0]
    cells = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `tamis ")]
    starts = [command for cell in cells for command in re.findall(r"`tamis ([a-z]+(?:-[a-z]+)*(?: [a-z]+)*)", cell)]
    assert sorted(starts) == sorted(PAGES)


def test_the_exit_codes_in_the_document_and_the_readme_are_those_of_the_code() -> None:
    assert {int(code): meaning for code, meaning in documented("Exit codes")} == dict(EXIT_CODES)
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "docs/cli.md" in readme
    assert (EXIT_STALLED, EXIT_INTERRUPTED) == (watchdog.EXIT_STALLED, embedded_commands.INTERRUPTED)


def test_the_completion_in_the_document_is_that_of_the_examples() -> None:
    assert [named(row[-1])[-1] for row in documented("Completion")] == list(PAGES["completion"].examples)


def test_help_shows_the_page_of_a_command_with_its_examples_as_they_are() -> None:
    by_name = RUNNER.invoke(app, ["help", "review", "run"], env=WIDE)
    by_option = RUNNER.invoke(app, ["review", "run", "--help"], env=WIDE)
    assert (by_name.exit_code, by_option.exit_code) == (0, 0), by_name.output
    for said in (by_name.output, by_option.output):
        assert "Start or continue the review of a plan" in said
        assert "\n  tamis review run plan.yaml --dry-run\n" in said
        assert "`tamis help exit-codes`" in said


def test_an_example_is_not_wrapped_however_narrow_the_terminal() -> None:
    narrow = RUNNER.invoke(app, ["help", "fields"], env=WIDE | {"COLUMNS": "40"}).output
    assert f"\n  {PAGES['fields'].examples[0]}\n" in narrow


@pytest.mark.parametrize("columns", ["40", "80"])
def test_no_name_of_an_argument_or_option_is_cut_however_narrow_the_terminal(columns: str) -> None:
    for path in ("screen", "evaluate"):
        page = RUNNER.invoke(app, ["help", path], env=WIDE | {"COLUMNS": columns}).output
        for name in PAGES[path].options:
            assert re.search(rf"(?<![\w-]){name}(?![\w…-])", page), name
        assert "…" not in page


def test_help_tells_what_is_required_and_what_is_taken_otherwise() -> None:
    page = RUNNER.invoke(app, ["help", "screen"], env=WIDE).output
    words = " ".join(page.split())
    assert " --criteria <path> The review's criteria, YAML or JSON. [required] " in words
    assert " --priority <low|normal|high> The priority among waiting batches. [default: normal] " in words
    assert "Usage: tamis screen [OPTIONS] {FILE}...\n" in page
    assert " \n" not in page


def test_help_alone_lists_all_commands_and_exit_codes_have_a_page() -> None:
    everything = RUNNER.invoke(app, ["help"], env=WIDE).output
    for path in PAGES:
        assert f" {path.split()[0]} " in everything
    places = [everything.index(f" {theme} ") for theme in Theme]
    assert places == sorted(places)
    assert " Commands " not in everything  # the heading of those without a theme
    codes = RUNNER.invoke(app, ["help", "exit-codes"], env=WIDE).output
    for code, meaning in EXIT_CODES.items():
        assert f"{code:>3}  {meaning}" in codes


def test_help_tells_programs_every_page() -> None:
    told = json.loads(RUNNER.invoke(app, ["help", "--json"], env=WIDE).output)
    assert [page["command"] for page in told] == list(PAGES)
    (one,) = json.loads(RUNNER.invoke(app, ["help", "keys", "list", "--json"], env=WIDE).output)
    assert one["command"] == "keys list"
    assert "--json" in one["options"]


def test_help_of_no_command_says_how_to_find_one() -> None:
    done = RUNNER.invoke(app, ["help", "review", "walk"], env=WIDE)
    assert "no command 'review walk': `tamis help` lists them all" in str(done.exception)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_and_changes_no_file(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    done = RUNNER.invoke(app, ["completion", shell], env=WIDE)
    assert done.exit_code == 0, done.output
    assert "_TAMIS_COMPLETE" in done.output
    assert f"complete_{shell}" in done.output
    assert shell != "zsh" or done.output.startswith("#compdef tamis\n")  # in no other line does zsh look for it
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "offered", "others"),
    [
        ("tamis rev", ("review",), ("retry",)),
        ("tamis review ", ("run", "status", "list"), ("screen",)),
        ("tamis status --j", ("--json",), ("--watch",)),
        ("tamis completion ", ("bash", "zsh", "fish"), ("run",)),
        ("tamis priority 3f2a ", ("low", "normal", "high"), ("urgent",)),
    ],
)
def test_commands_options_and_choices_are_completed(
    shell: str, line: str, offered: tuple[str, ...], others: tuple[str, ...]
) -> None:
    asked = {
        "_TAMIS_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    know_the_shells()
    answer = RUNNER.invoke(app, [], prog_name=NAME, env=asked).output
    for name in offered:
        assert name in answer
    for name in others:
        assert name not in answer


def test_a_probe_tells_programs_whether_the_worker_is_well_with_the_exit_code_of_it(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    missing = RUNNER.invoke(app, ["health", str(alive), "--json"], env=WIDE)
    assert (missing.exit_code, json.loads(missing.output)["well"]) == (1, False)
    AliveFile(1, time.monotonic(), "working").write(alive)
    there = RUNNER.invoke(app, ["health", str(alive), "--json"], env=WIDE)
    assert (there.exit_code, json.loads(there.output)["well"]) == (0, True)


def test_no_option_installs_anything() -> None:
    assert not [name for param in ROOT_COMMAND.params for name in param.opts if "completion" in name]


def test_the_list_of_commands_says_where_each_is_written_and_what_its_page_says() -> None:
    declared = [
        Listed(name, _module(command), command.rich_help_panel, _first_paragraph(command))
        for name, command in ROOT_COMMAND.commands.items()
    ]
    assert list(COMMANDS) == declared


@pytest.mark.parametrize(
    ("arguments", "most", "needed"),
    [
        ("--version", 285, {"rich", "typer"}),
        ("--help", 365, {"rich", "typer"}),
        pytest.param(
            "worker --help", 355, {"rich", "typer", "pydantic"}, marks=pytest.mark.night
        ),  # by which typer reads numbers and paths
        pytest.param("health --help", 355, {"rich", "typer", "pydantic"}, marks=pytest.mark.night),
        ("status --help", 515, {"rich", "typer", "pydantic", "psycopg", "asyncio"}),
        ("filter --help", 725, SUBMITS),  # no SQLAlchemy: it adds a hundred modules
        pytest.param("next --help", 730, READS, marks=pytest.mark.night),
        ("override --help", 765, READS | {"rapidfuzz"}),  # not the figures of quality
    ],
)
def test_a_command_waits_for_no_import_that_it_does_not_need(arguments: str, most: int, needed: set[str]) -> None:
    done = imported_by_command(*arguments.split())
    assert done.code == 0, done.err
    assert done.heavy == needed
    assert len(done.modules) <= most


def test_what_a_command_imports_is_not_searched_for_garbage_and_what_it_makes_later_is() -> None:
    asked = """
import atexit, gc, sys
from tamis_cli.start import main
def searches():
    return sum(generation["collections"] for generation in gc.get_stats())
begun = searches()
atexit.register(lambda: print(searches() - begun, gc.get_freeze_count() > len(gc.get_objects()), gc.isenabled()))
sys.argv = ["tamis", "--version"]
main()
"""
    done = imported_by(asked)
    assert done.out.splitlines() == [described(), "0 True True"]


def test_the_version_and_the_list_of_all_commands_are_there_without_importing_any() -> None:
    def said(*arguments: str) -> str:
        command = [sys.executable, "-m", "tamis_cli", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=60, env=os.environ | WIDE
        ).stdout

    assert said("--version") == f"{described()}\n"
    assert said("--help") == RUNNER.invoke(app, ["--help"], prog_name="tamis", env=WIDE).stdout


def _first_paragraph(command: Any) -> str:
    return " ".join(command.help.split("\n\n")[0].split())


def _module(command: Any) -> str:
    """Where a command, or the first of a group, is written."""
    while isinstance(command, TyperGroup):
        command = next(iter(command.commands.values()))
    return str(command.callback.__module__).removeprefix("tamis_cli.commands.")


def test_a_command_of_a_plain_typer_group_is_a_page_too() -> None:
    plain = typer.Typer()
    plain.command("one")(lambda: None)
    plain.command("two")(lambda: None)
    assert [(page.path, page.examples) for page in pages(get_command(plain))] == [("one", ()), ("two", ())]
