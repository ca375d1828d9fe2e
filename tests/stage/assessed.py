"""Parts of tests on full texts: records that a model decided, people's decisions on their reports, figures of both."""

from tamis_producer import Batch, Client
from tamis_review import overrides
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_review.report import Figures
from tamis_review.report.reading import find_subject, read_figures, snapshot
from tamis_schemas import HumanStage, InclusionDecision
from tamis_schemas.batches.flow import Tally

from .screened import CRITERIA

A, B, C = "Reviewer A", "Reviewer B", "Reviewer C"


def record(n: int) -> dict[str, object]:
    """One record, by its number."""
    return {"id": f"r{n}", "title": f"Title {n}"}


def said(status: str) -> InclusionDecision:
    """A model's decision."""
    reason = CRITERIA.exclusion_criteria[0] if status == "exclude" else None
    return InclusionDecision.model_validate(
        {"status": status, "confidence": 0.8, "rationale": "because", "exclusion_reason": reason}
    )


def figures(client: Client, subject: str) -> Figures:
    """The figures of a batch or a review, of one moment."""
    with snapshot(client.engine) as connection:
        return read_figures(connection, find_subject(connection, subject))


def by_name(tallies: tuple[Tally, ...]) -> dict[str, int]:
    """Numbers by what they are of."""
    return {tally.name: tally.n for tally in tallies}


def decide(batch: Batch, stage: HumanStage, value: str, *places: int, reviewer: str = A, **more: object) -> None:
    """Record one decision on the reports of these records."""
    made = [HumanDecision(place, value, reviewer, stage=stage, **more) for place in places]  # type: ignore[arg-type]
    overrides.decide(batch, made)
