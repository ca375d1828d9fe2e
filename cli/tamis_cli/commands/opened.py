"""The batch or the review that a command works on, with a client that is closed at the end."""

from collections.abc import Iterator
from contextlib import contextmanager

from tamis_producer import Batch, Client
from tamis_review import Review, find_batch_or_review
from tamis_schemas import InvalidRequest

from .connected import connected
from .tables import short


@contextmanager
def chosen(of: str) -> Iterator[Batch | Review]:
    """Yield the only batch or review whose id begins with `of`."""
    with connected() as client:
        yield find_batch_or_review(client, of)


@contextmanager
def opened(of: str) -> Iterator[Batch]:
    """Yield the only batch whose id begins with `of`. Raise `InvalidRequest` for the id of a review."""
    with connected() as client:
        yield batch_of(client, of)


def seen(batch: Batch, openly: str, blind: str) -> str:
    """Return the text `blind` if decisions may be hidden from the terminal's user, otherwise the text `openly`."""
    return openly if batch.session.sight is None else blind


def batch_of(client: Client, of: str) -> Batch:
    """Return the only batch whose id begins with `of`.

    If it is the id of a review, raise `InvalidRequest` with the ids of the review's batches.
    """
    subject = find_batch_or_review(client, of)
    if isinstance(subject, Review):
        stages = ", ".join(f"{short(view.id)} ({view.operation})" for view in subject.status().stages)
        raise InvalidRequest(f"{of} is a review: name the batch of one of its stages, which are {stages}")
    return subject
