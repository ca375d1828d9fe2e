"""Wrong uses of every command: one line on standard error that begins with `tamis:`, and its help."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.core import TyperArgument, TyperOption
from typer.main import get_command
from typer.testing import CliRunner

from tamis_cli.commands.app import EXIT_WRONG_USE, NAME, app, load_commands, say_error
from tamis_cli.commands.commands import Page, pages
from tamis_schemas import TamisError

load_commands()

RUNNER = CliRunner()
COMMAND: Any = get_command(app)
PAGES = {page.path: page for page in pages(COMMAND)}


def wrong_uses(page: Page) -> Iterator[list[str]]:
    """Yield wrong command lines: the arguments that are missing, too many, or of no such name or value."""
    yield ["--nosuch"]
    arguments = [param for param in page.command.params if isinstance(param, TyperArgument)]
    if any(param.required for param in arguments):
        yield []
    if all(param.nargs == 1 for param in arguments):
        yield ["x"] * (len(arguments) + 1)
    for param in page.command.params:
        if isinstance(param, TyperOption) and not param.is_flag:
            yield [param.opts[-1]]
            for wrong in ("nosuch", "-1"):
                if _refuses(page, param, wrong):
                    yield [param.opts[-1], wrong]


def _refuses(page: Page, param: Any, value: str) -> bool:
    try:
        param.process_value(page.command.context_class(page.command), [value] if param.multiple else value)
    except Exception:
        return True
    return False


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the error of a command as `tamis` prints it."""
    with pytest.raises(TamisError) as raised:
        COMMAND.main(words, prog_name=NAME)
    say_error(raised.value)
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


@pytest.mark.parametrize("path", PAGES)
def test_each_wrong_use_of_a_command_is_one_line_with_the_command_of_its_help(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in wrong_uses(PAGES[path]):
        line = said([*path.split(), *words], capsys)
        assert line.startswith("tamis: "), words
        assert line.count("\n") == 1, line
        assert line.endswith(f"(`tamis help {path}` shows its usage)\n")
        assert "Value error" not in line


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("screan x", "no such command 'screan'. Did you mean 'screen', 'score'? (`tamis help` lists the commands)"),
        ("review nosuch", "no such command 'nosuch' (`tamis help review` shows its usage)"),
        ("--nosuch", "no such option: --nosuch (`tamis help` lists the commands)"),
        (
            "results a --formt csv",
            "no such option: --formt (Possible options: --format) (`tamis help results` shows its usage)",
        ),
        (
            "results a --format xlsx",
            "invalid value for '--format': 'xlsx' is not one of 'csv', 'jsonl', 'parquet' "
            "(`tamis help results` shows its usage)",
        ),
        ("copies ID 2", "argument 'records' takes 2 values (`tamis help copies` shows its usage)"),
    ],
)
def test_the_line_names_the_mistake_and_the_likely_word(
    words: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(words.split(), capsys) == f"tamis: {line}\n"


@pytest.mark.parametrize("words", [[], ["review"], ["keys"]])
def test_a_group_without_a_command_shows_its_help(words: list[str]) -> None:
    done = RUNNER.invoke(app, words, prog_name=NAME)
    assert done.exit_code == EXIT_WRONG_USE
    assert f"Usage: {' '.join([NAME, *words])} [OPTIONS] COMMAND" in done.output


def test_the_program_prints_the_line_on_standard_error_and_exits_with_the_code_of_wrong_use() -> None:
    command = [sys.executable, "-m", "tamis_cli", "results", "--nosuch"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (EXIT_WRONG_USE, "")
    assert done.stderr == "tamis: no such option: --nosuch (`tamis help results` shows its usage)\n"
