"""Facts: what programs are told of a batch or a review, by every command that is about one."""

from typing import TYPE_CHECKING, Any

from tamis_producer.ledger.batch_view import BatchView, ReviewView
from tamis_schemas import Summary

if TYPE_CHECKING:
    from tamis_producer.client.batch import Batch
    from tamis_producer.client.glance import BatchGlance
    from tamis_producer.client.review import Review


def view_facts(view: BatchView) -> dict[str, Any]:
    """How a batch stands, its counts beside everything else."""
    return view.model_dump(mode="json", exclude={"counts"}) | view.counts.model_dump() | {"waits_for": view.waits_for}


def batch_facts(batch: "Batch | BatchGlance") -> dict[str, Any]:
    """How a batch stands, what people decided about it, its rounds, and the latest summary if it is of this round."""
    view, summaries, humans = batch.status(), batch.summaries(), batch.overrides()
    latest: Summary | None = summaries[-1] if summaries and summaries[-1].round == view.round else None
    return view_facts(view) | {
        "human_decisions": len(humans),
        "overridden": sum(not one.confirms for one in humans),
        "rounds": [one.model_dump(mode="json", include={"round", "counts", "errors"}) for one in summaries],
        "summary": None if latest is None else latest.model_dump(mode="json"),
    }


def review_facts(review: "Review") -> dict[str, Any]:
    """How a review stands, stage by stage."""
    return review_view_facts(review.status())


def review_view_facts(view: ReviewView) -> dict[str, Any]:
    """How a review stands at one moment."""
    return view.model_dump(mode="json") | {"state": view.state, "finished": view.finished}


def facts_of(found: "Batch | Review") -> dict[str, Any]:
    """Of whichever it is."""
    from tamis_producer.client.batch import Batch

    return batch_facts(found) if isinstance(found, Batch) else review_facts(found)
