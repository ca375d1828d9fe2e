"""The frame of the command line: what ends a command, and what is printed of what nobody caught."""

import sys
import threading
from functools import partial

import pytest

from tamis_cli.commands.app import _print_unraisable
from tamis_producer.config.redaction import Redaction


class Finalised:
    """An object that fails as it is finalised, where Python can raise nothing."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __del__(self) -> None:
        raise self._error


@pytest.fixture(autouse=True)
def _hook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "unraisablehook", partial(_print_unraisable, Redaction(["hunter2"])))


def test_a_ctrl_c_that_comes_while_an_object_is_finalised_is_not_lost(capsys: pytest.CaptureFixture[str]) -> None:
    Finalised(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        threading.Event().wait(10)  # the bound of a command that would go on
    assert capsys.readouterr().err == ""


def test_what_fails_as_an_object_is_finalised_is_printed_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    Finalised(ValueError("postgresql://tamis:hunter2@ledger"))
    printed = capsys.readouterr().err
    assert "ValueError" in printed
    assert "hunter2" not in printed
