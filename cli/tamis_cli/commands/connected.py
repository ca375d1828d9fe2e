"""The clients with which commands read and change the ledger (the database named in the settings).

If the setting `TAMIS_PERSON` names a person, commands show only the decisions that this person may see.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from tamis_producer.config.setting_files import settings_of

if TYPE_CHECKING:
    from tamis_producer import Client
    from tamis_producer.client.glance import Glance


@contextmanager
def connected() -> "Iterator[Client]":
    """Yield a client of the ledger, and close it at the end.

    If `TAMIS_PERSON` names a person, the client returns only the decisions that this person may see.
    """
    from tamis_producer.client.client import Client

    with Client() as client:
        if (person := _person()) is None:
            yield client
        else:
            from tamis_review.decisions.visibility import PersonalSight

            yield client.seen_by(PersonalSight(person))


def glanced() -> "AbstractContextManager[Client | Glance]":
    """Return a context manager that yields a `Glance`, a fast reader of batches' states.

    If `TAMIS_PERSON` is set, yield a client instead: it can hide decisions.
    """
    from tamis_producer.client.glance import glance

    return glance() if _person() is None else connected()


def _person() -> str | None:
    return settings_of(os.environ, ("person",)).get("person", "").strip() or None
