"""JSON about a batch or a review, in the same form for all commands."""

from typing import TYPE_CHECKING, Any

import tamis_review
from tamis_producer.client.glance import BatchGlance
from tamis_producer.ledger.batch_view import BatchView, ReviewView
from tamis_producer.ledger.snapshots import SnapshotChange, read_snapshot_change
from tamis_schemas import Blinded, Summary

if TYPE_CHECKING:
    from tamis_producer.client.batch import Batch
    from tamis_producer.ledger import HumanCounts
    from tamis_review.plans.reviews import Review
    from tamis_review.report.team import Team


def view_facts(view: BatchView) -> dict[str, Any]:
    """Return a batch's state as a dict for JSON, with the counts of its items at the top level."""
    return view.model_dump(mode="json", exclude={"counts"}) | view.counts.model_dump() | {"waits_for": view.waits_for}


def people_counts(batch: "Batch | BatchGlance") -> "tuple[HumanCounts | None, Team | None]":
    """Return the counts of people's decisions, and the progress of people's reading.

    Both are None if `batch` is a `BatchGlance` without work of people. The progress is also None if the batch has no
    readers and hides no decisions.
    """
    if isinstance(batch, BatchGlance):
        if not batch.read_by_people():
            return None, None
        from .connected import connected  # only a client can read these counts

        with connected() as client:
            return people_counts(client.batch(batch.id))
    from tamis_review.reading import read_team

    team = read_team(batch)
    return tamis_review.count_human_decisions(batch), team if team.people or team.mode.blind else None


def snapshot_change(batch: "Batch | BatchGlance") -> SnapshotChange | None:
    """Return the models that answered the batch if they changed in it or since its pilot batch, else None."""
    if isinstance(batch, BatchGlance):
        return batch.snapshot_change()
    with batch.session.reading() as connection:
        return read_snapshot_change(connection, batch.uuid)


def batch_facts(batch: "Batch | BatchGlance") -> dict[str, Any]:
    """Return a dict for JSON: a batch's state, people's decisions, rounds, and the summary of the present round.

    Until the present round ends, its summary is None. If decisions are hidden from the terminal's user, return only
    the batch's state.
    """
    view = batch.status()
    try:
        summaries, (humans, team) = batch.summaries(), people_counts(batch)
    except Blinded:
        return view_facts(view)
    latest: Summary | None = summaries[-1] if summaries and summaries[-1].round == view.round else None
    change = None if latest is None else snapshot_change(batch)
    return view_facts(view) | {
        "human_decisions": 0 if humans is None else humans.decided,
        "overridden": 0 if humans is None else humans.overridden,
        "conflicts": 0 if humans is None else humans.conflicts,
        "team": team,
        "rounds": [summary.model_dump(mode="json", include={"round", "counts", "errors"}) for summary in summaries],
        "snapshots": None if change is None else change.model_dump(mode="json"),
        "summary": None if latest is None else latest.model_dump(mode="json"),
    }


def review_facts(view: ReviewView) -> dict[str, Any]:
    """Return the state of a review and its stages as a dict for JSON."""
    return view.model_dump(mode="json") | {"state": view.state, "finished": view.finished}


def facts_of(subject: "Batch | Review") -> dict[str, Any]:
    """Return the state of a batch or a review as a dict for JSON."""
    from tamis_producer.client.batch import Batch

    return batch_facts(subject) if isinstance(subject, Batch) else review_facts(subject.status())
