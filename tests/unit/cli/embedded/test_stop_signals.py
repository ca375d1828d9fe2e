"""What the first and the second Ctrl-C mean, and how long the gateway has to stop."""

import signal
from pathlib import Path

import pytest

from tamis_cli.embedded.programs import Gateway
from tamis_cli.embedded.stack import StopSignals
from tamis_producer.gateway.server import STOP_WITHIN


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_interrupts_and_the_second_hurries(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_DFL)  # under nohup a hang-up is ignored, and stays so
    try:
        with StopSignals() as signals:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(number)
            assert not signals.hurry.is_set()
            signal.raise_signal(number)
            assert signals.hurry.is_set()
    finally:
        signal.signal(number, before)


def test_a_stop_that_has_begun_is_never_interrupted() -> None:
    with StopSignals() as signals:
        signals.stopping()
        signal.raise_signal(signal.SIGINT)
        assert signals.hurry.is_set()


def test_the_signals_mean_afterwards_what_they_meant_before() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with StopSignals():
        pass
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_a_hang_up_that_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_gateway_ends_its_requests_before_the_stack_kills_it(tmp_path: Path) -> None:
    command = Gateway(tmp_path, {}, usual_port=None).prepare()
    assert command.stop_within >= STOP_WITHIN + 5
