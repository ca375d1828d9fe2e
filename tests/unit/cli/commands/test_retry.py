"""Before everything that failed is paid for again, whoever sits at a terminal is asked, with `--json` too."""

import json
from uuid import uuid4

import pytest

from tamis_cli.commands import retry
from tamis_cli.commands.app import EXIT_FAILED, EXIT_OK
from tamis_producer import Client
from tamis_producer.client.client import Retried
from tamis_producer.runs.rounds import Retryable


class OneFailed(Client):
    """Has one batch with three failed items."""

    def __init__(self) -> None:
        self.retried = 0

    def retryable(self, kinds: object = None) -> list[Retryable]:
        return [Retryable(uuid4(), None, "filter", 3, None)]

    def retry_all_failed(self, kinds: object = None) -> list[Retried]:
        self.retried += 1
        return []


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(("says", "code", "retried"), [(True, EXIT_OK, 1), (False, EXIT_FAILED, 0)])
def test_a_person_is_asked_and_no_leaves_everything_as_it_is(
    says: bool,
    code: int,
    retried: int,
    as_json: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[str] = []

    def confirm(question: str, *, err: bool) -> bool:
        assert err, "standard output is the document's"
        asked.append(question)
        return says

    monkeypatch.setattr("typer.confirm", confirm)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(retry.err, "_force_terminal", True)
    client = OneFailed()
    assert retry._all_failed(client, None, ask=True, as_json=as_json) == code
    assert asked == ["Retry 3 items of 1 batch, at an unknown cost?"]
    assert client.retried == retried
    assert not as_json or json.loads(capsys.readouterr().out) == []


def test_yes_is_an_answer_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.confirm", pytest.fail)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(retry.err, "_force_terminal", True)
    client = OneFailed()
    assert retry._all_failed(client, None, ask=False, as_json=True) == EXIT_OK
    assert client.retried == 1
