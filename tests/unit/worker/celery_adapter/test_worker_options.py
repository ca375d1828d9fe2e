"""`celery worker`: each option is heeded, or the worker does not start and says what to use."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from celery import Celery
from celery.bin.worker import worker as command
from celery.utils.nodenames import nodename

from tamis_worker.celery_adapter.worker_options import BY_CELERY, HERE, REFUSED, WorkerOptions

SERVERS = {"TAMIS_BROKER_URL": "redis://h/0", "TAMIS_RESULT_BACKEND_URL": "redis://h/1"}
NO_OPTIONS = {"help", "no_color", "quiet", "skip_checks", "workdir", "app"}  # of every command, or of the whole one


def read(arguments: Sequence[str]) -> WorkerOptions:
    """As Celery reads a command line, in the context in which it makes the worker."""
    context = click.Context(click.Command("celery"), obj=SimpleNamespace(app=Celery(set_as_current=False)))
    with command.make_context("worker", list(arguments), parent=context) as inner:
        return WorkerOptions.read(inner.params, SERVERS)


def test_each_option_of_celerys_is_known() -> None:
    options = {option.name for option in command.params}
    assert options - NO_OPTIONS == BY_CELERY | HERE | set(REFUSED)


def test_without_options_the_worker_has_a_name_of_its_own() -> None:
    assert read([]) == WorkerOptions()


def test_names_levels_and_files_are_heeded(tmp_path: Path) -> None:
    options = read(
        ["-n", "w1@h", "-l", "debug", "-f", f"{tmp_path}/%n.log", "--pidfile", "w.pid", "-P", "threads", "-E"]
    )
    assert options == WorkerOptions(nodename("w1", "h"), 10, "w.pid")


@pytest.mark.parametrize(
    ("arguments", "use"),
    [
        (["-c", "8"], "TAMIS_CONCURRENCY"),
        (["-P", "prefork"], "TAMIS_CONCURRENCY"),
        (["-P", "solo"], "TAMIS_CONCURRENCY"),
        (["--autoscale", "8,2"], "more workers"),
        (["-Q", "items.low.0"], "tamis priority"),
        (["--prefetch-multiplier", "1"], "TAMIS_CONCURRENCY"),
        (["--time-limit", "60"], "TAMIS_CALL_TIMEOUT"),
        (["--max-tasks-per-child", "10"], "supervisor"),
        (["-B"], "beat"),
        (["--purge"], "celery -A tamis_worker.celery purge"),
        (["worker.prefetch_multiplier=4"], "TAMIS_ variables"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_with_what_does(arguments: list[str], use: str) -> None:
    with pytest.raises(click.UsageError, match=use):
        read(arguments)


def test_a_broker_that_is_not_the_settings_own_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELERY_BROKER_URL", "redis://h/0")
    assert read([]) == WorkerOptions()
    monkeypatch.setenv("CELERY_BROKER_URL", "redis://elsewhere/0")
    with pytest.raises(click.UsageError, match="TAMIS_BROKER_URL"):
        read([])


def test_what_is_given_without_a_command_line_is_read_as_well() -> None:
    assert WorkerOptions.read({"hostname": "w1@h", "concurrency": None}, SERVERS) == WorkerOptions("w1@h")
    with pytest.raises(click.UsageError, match="TAMIS_CONCURRENCY"):
        WorkerOptions.read({"concurrency": 4}, SERVERS)
