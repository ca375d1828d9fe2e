"""Which model a batch will be asked of, seen from a terminal that need not be the workers'."""

from pathlib import Path
from typing import Any

import pytest

from tamis_cli.dry_run.first_questions import workers_model
from tamis_producer.config.stack_file import StackFile
from tamis_worker.config.settings import WorkerSettings

SERVERS = {"broker_url": "redis://b/0", "database_url": "postgresql://d"}


@pytest.mark.parametrize(
    ("named", "here", "stack", "answered", "name", "note"),
    [
        ("given", "here", {"model": "own"}, "old", "given", None),
        (None, "here", {"model": "here"}, None, "here", None),
        (None, "here", {"model": "own"}, None, "here", "the workers' model is own"),
        (
            None,
            "here",
            {"model": "small", "llm_embedded": True},
            None,
            "small",
            "not TAMIS_MODEL of this",
        ),
        (None, None, {"model": "own"}, "old", "own", None),
        (None, None, {"model": "small", "llm_embedded": True}, None, "small", None),
        (None, "here", None, "old", "here", None),
        (None, None, None, "old", "old", "from the workers' latest answers"),
        (None, None, None, None, None, "only the workers know it: add --model, or set TAMIS_MODEL"),
    ],
)
def test_the_model_that_will_be_asked_is_the_one_that_is_rehearsed(
    tmp_path: Path,
    named: str | None,
    here: str | None,
    stack: dict[str, Any] | None,
    answered: str | None,
    name: str | None,
    note: str | None,
) -> None:
    if stack is None:
        settings = WorkerSettings(model=here, **SERVERS)
    else:
        StackFile(**SERVERS, **stack).write(tmp_path)
        settings = WorkerSettings(model=here, home=tmp_path)
    model, model_note = workers_model(named, settings, lambda: answered)
    assert model == name
    assert (model_note is None) is (note is None)
    assert (note or "") in (model_note or "")


def test_the_ledger_is_asked_only_where_nothing_else_says_it() -> None:
    def latest() -> str:
        raise AssertionError

    assert workers_model("given", WorkerSettings(**SERVERS), latest)[0] == "given"
    assert workers_model(None, WorkerSettings(model="here", **SERVERS), latest)[0] == "here"
