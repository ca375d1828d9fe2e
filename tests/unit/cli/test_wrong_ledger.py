"""A ledger that is no Postgres: one line for every command that has a ledger."""

import logging
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from tamis_cli.commands.app import NAME, app, load_commands, say_error
from tamis_cli.commands.commands import pages
from tamis_review.example import CRITERIA
from tamis_schemas import TamisError

load_commands()
PAGES = {page.path: page for page in pages(get_command(app))}
# Commands without a ledger, and commands that start their own.
WITHOUT = {
    *("initial-filter", "duplicates", "criteria init", "criteria check", "unblock", "health", "help", "completion"),
    *("up", "demo", "flower"),
}
FILES = {
    "citations.ris": "TY  - JOUR\nTI  - A title\nER  - \n",
    "criteria.yaml": CRITERIA.read_text("utf-8"),
    "fields.yaml": "type: object\nproperties: {n: {type: integer}}\n",
    "guidelines.txt": "Check each number.\n",
    "plan.yaml": "records: citations.ris\ncriteria: criteria.yaml\nstages: [inclusion]\n",
    "audit-9b1c.csv": "audit,index,include,reviewer\n9b1c,1,yes,Ann\n",
}


@pytest.fixture(autouse=True)
def _levels() -> Iterator[None]:
    """Commands set how much is logged, for their process."""
    loggers = [logging.getLogger(name) for name in (None, "tamis_worker.llm")]
    levels = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


@pytest.mark.parametrize("path", sorted(PAGES.keys() - WITHOUT))
def test_a_command_with_another_database_than_postgres_prints_one_line(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    servers = {"TAMIS_DATABASE_URL": "mysql://tamis:s3cret@ledger/tamis", "TAMIS_BROKER_URL": "redis://127.0.0.1:1/0"}
    llm = {"TAMIS_LLM_BASE_URL": "http://127.0.0.1:1/v1", "TAMIS_LLM_API_KEY": "none", "TAMIS_MODEL": "double-1"}
    example = next(line for line in PAGES[path].examples if "--dry-run" not in line)
    done = CliRunner().invoke(app, shlex.split(example)[1:], prog_name=NAME, env=servers | llm)
    if path == "doctor":  # which examines the rest all the same
        assert done.exit_code == 1
        assert "failure  ledger      TAMIS_DATABASE_URL names mysql, but the ledger needs Postgres\n" in done.output
        assert "s3cret" not in done.output
        return
    assert isinstance(done.exception, TamisError), done.exception
    say_error(done.exception)
    assert capsys.readouterr().err == "tamis: TAMIS_DATABASE_URL names mysql, but the ledger needs Postgres\n"
