"""Each part of Celery and kombu that is used without their promise does what is needed of it.

A new release fails here first, by the name of what moved; docs/celery-internals.md says what each part is used for.
"""

import pytest

from internals import (
    imported,
    on_the_page,
    own_private_names,
    private_attributes,
    private_names_of_bases,
    read,
    sources,
)
from internals.celery_parts import CELERY
from internals.kombu_parts import KOMBU
from tamis_producer.transport.chord_backend import ChordBackend
from tamis_worker.celery_adapter.awaited_strategy import SentRequest
from tamis_worker.celery_adapter.consumer_step import ConsumerWithoutDelayQueues, ResilientQoS

INTERNALS = CELERY | KOMBU
ROOMS = ("worker/tamis_worker/celery_adapter", "producer/tamis_producer/transport")
PACKAGES = ("celery", "kombu", "billiard", "vine", "amqp")
# Documented for whoever writes an application: these may be used anywhere.
PUBLIC = {
    *("celery.Celery", "celery.bootsteps", "celery.maybe_signature", "celery.signals"),
    *("kombu.Exchange", "kombu.Queue", "kombu.pools", "kombu.exceptions.ChannelError"),
    *(
        "kombu.exceptions",
        "kombu.exceptions.OperationalError",
        "kombu.Consumer",
        "celery.exceptions.Ignore",
        "celery.states.READY_STATES",
    ),
}


@pytest.mark.parametrize("name", INTERNALS)
def test_celery_and_kombu_have(name: str) -> None:
    INTERNALS[name]()


def test_the_page_names_exactly_these() -> None:
    assert set(on_the_page("Celery and kombu")) == set(INTERNALS)


def test_each_stands_in_the_file_that_the_page_names() -> None:
    for name, files in on_the_page("Celery and kombu").items():
        for file in files:
            assert name.split(".")[-1] in read(file), f"{name} is not used in {file}"


def test_whatever_is_imported_and_not_public_stands_in_the_two_rooms_and_in_the_contract() -> None:
    found = list(imported(*PACKAGES))
    assert len(found) > 20
    for file, name in found:
        if name not in PUBLIC:
            assert file.startswith(ROOMS), f"{file} imports {name}"
            assert [one for one in INTERNALS if f"{one}.".startswith(f"{name}.")], f"{file}: {name} has no assertion"


def test_every_private_attribute_of_theirs_that_the_two_rooms_touch_is_in_the_contract() -> None:
    touched = {(file, name) for file, text in sources(*ROOMS) for name in private_attributes(text)}
    assert len(touched) >= 6
    asserted = {name.split(".")[-1] for name in INTERNALS}
    assert [one for one in touched if one[1] not in asserted] == []


@pytest.mark.parametrize("ours", [ChordBackend, ConsumerWithoutDelayQueues, ResilientQoS, SentRequest])
def test_no_private_name_of_a_class_of_ours_is_one_of_theirs(ours: type) -> None:
    assert private_names_of_bases(ours)
    assert own_private_names(ours) & private_names_of_bases(ours) == set()
