"""Figures of a made-up screening, as they would come from a ledger."""

from datetime import UTC, datetime
from typing import Any

from tamis_review.report.figures import (
    BatchCosts,
    BatchFigures,
    ConfidenceSeries,
    Figures,
    Prompts,
    Quotes,
    SubjectKind,
)
from tamis_schemas import BatchStatus, Counts, wilson
from tamis_schemas.batches.flow import Flow, FlowStage, Tally

from .screened import SCREENING, SOURCE

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

# 12 = 2 duplicates + 3 ineligible + 7 screened; 7 = 2 included + 3 excluded + 1 uncertain + 1 failed
FLOW = Flow(
    identified=(Tally(name="citations.ris", n=12),),
    duplicates=2,
    ineligible=(Tally(name="title_pattern", n=2), Tally(name="date_range", n=1)),
    stages=(
        FlowStage(
            operation="inclusion",
            entered=7,
            passed=2,
            excluded=(Tally(name="Animal studies", n=2), Tally(name="A randomised controlled trial", n=1)),
            uncertain=1,
            failed=(Tally(name="timeout", n=1),),
        ),
    ),
)


def batch(**changes: Any) -> BatchFigures:
    """The figures of the only batch; what is given stands instead."""
    given: dict[str, Any] = {
        "id": "0a1b2c3d-0000-4000-8000-000000000000",
        "label": "citations.ris",
        "operation": "inclusion",
        "parameters": SCREENING.model_dump(mode="json"),
        "model_asked": "double",
        "models": {"double-1": 7},
        "state": BatchStatus.COMPLETED,
        "round": 1,
        "use_cache": True,
        "sources": (SOURCE,),
        "created_at": NOON,
        "started_at": NOON,
        "finished_at": NOON,
        "first_result_at": NOON,
        "last_result_at": NOON,
        "counts": Counts(n_items=12, excluded_by_filter=5, decided=6, failed=1),
        "outcomes": {"duplicate": 2, "ineligible": 3, "passed": 2, "excluded": 3, "uncertain": 1, "failed": 1},
        "pass_rate": wilson(2, 6),
        "exclusions": (Tally(name="duplicate", n=2), *FLOW.ineligible),
        "reasons": FLOW.stages[0].excluded,
        "errors": FLOW.stages[0].failed,
        "confidence": (
            ConfidenceSeries(outcome="passed", bins=(0, 0, 0, 0, 0, 0, 0, 0, 1, 1)),
            ConfidenceSeries(outcome="excluded", bins=(0, 0, 0, 0, 0, 0, 0, 0, 0, 3)),
            ConfidenceSeries(outcome="uncertain", bins=(0, 0, 0, 0, 1, 0, 0, 0, 0, 0)),
        ),
        "quotes": Quotes(given=9, found=7, altered=1, flagged=1),
        "spending": BatchCosts(calls=8, prompt_tokens=7000, completion_tokens=900, call_seconds_median=0.8),
        "prompts": Prompts(records=7, sha256="ab" * 32, parameters_sha256="cd" * 32),
    }
    return BatchFigures(**given | changes)


def figures(**changes: Any) -> Figures:
    """The figures of a finished screening; what is given stands instead."""
    given: dict[str, Any] = {
        "kind": SubjectKind.BATCH,
        "id": "0a1b2c3d-0000-4000-8000-000000000000",
        "label": "citations.ris",
        "read_at": NOON,
        "software": "Tamis 9.9",
        "flow": FLOW,
        "planned": ("inclusion",),
        "ended": True,
        "batches": (batch(),),
    }
    return Figures(**given | changes)
