"""For how long a broker that was away is taken to be away."""

from tamis_producer.client.session import LASTS, BrokerAbsence


def test_an_absence_is_remembered_for_some_seconds_and_then_the_broker_is_asked_again() -> None:
    now = 100.0
    absence = BrokerAbsence(clock=lambda: now)
    assert not absence.lasts
    absence.begins()
    assert absence.lasts
    now += LASTS - 0.1
    assert absence.lasts
    now += 0.1
    assert not absence.lasts
    absence.begins()
    assert absence.lasts


def test_only_the_first_message_names_an_error_that_no_message_has_named() -> None:
    absence = BrokerAbsence()
    absence.begins(ConnectionError("no server listens"))
    assert [absence.reason(), absence.reason()] == ["no server listens", "the broker did not answer a moment ago"]
