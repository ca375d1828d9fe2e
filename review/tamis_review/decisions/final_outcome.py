"""The outcome of each item of a batch, from database views. Every count of a report uses these views."""

from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import Select, Text, Uuid, column, select, table

from tamis_producer.ledger.overrides import item_decisions
from tamis_schemas import Inclusion, Judge
from tamis_schemas.operations import operation_name

INCLUSION, JUDGE = operation_name(Inclusion), operation_name(Judge)
NO_REASON = "no reason recorded"


class Outcome(StrEnum):
    """The outcome of a record."""

    DUPLICATE = "duplicate"  # this outcome and the next two are decided before any model is asked
    INELIGIBLE = "ineligible"
    REMOVED = "removed"
    PASSED = "passed"
    EXCLUDED = "excluded"
    UNCERTAIN = "uncertain"
    FAILED = "failed"
    CANCELLED = "cancelled"
    OPEN = "open"
    CONFLICT = "conflict"  # people decided differently, not settled yet


CONFIRMED = "confirmed"
BEFORE_SCREENING = (Outcome.DUPLICATE, Outcome.INELIGIBLE, Outcome.REMOVED)


def outcomes(batch_id: UUID) -> Select[Any]:
    """Return the query for the outcomes of a batch's items, with a row for each item and these columns:

    | column | contents |
    |---|---|
    | `idx`, `item_id` | the item's index in the batch, and its id |
    | `record` | the item's index in the review's first batch |
    | `system` | the outcome before any human decision |
    | `outcome` | the final outcome |
    | `human` | people `changed` or `confirmed` the software's outcome, are `unsure` or in `conflict`; NULL: undecided |
    | `by_human` | whether a person's decision counts, even if the software agrees; false for `unsure` and `conflict` |
    | `reason` | the software's rule, exclusion reason or kind of error; NULL if there is none |
    | `unverified` | whether the outcome is uncertain only because the model's exclusion had no verified quote |
    | `marked` | whether the item is a model's judgement of a result, and advises against use of this result |
    | `confidence` | the model's confidence |
    """
    view = item_decisions.c
    outcome = (view.model_decision.label("system"), view.decision.label("outcome"), view.human, view.by_human)
    more = (view.reason, view.unverified, view.marked, view.confidence)
    return select(view.idx, view.item_id, view.record, *outcome, *more).where(view.batch_id == batch_id)


_SOFTWARE = table(
    "software_decisions",
    column("batch_id", Uuid),
    *(column(name) for name in ("idx", "state")),
    *(column(name, Text) for name in ("model_decision", "reason")),
)


def software_outcomes(batch_id: UUID) -> Select[Any]:
    """Return the query for each item's `idx`, `system` (the software's outcome), `reason` and `state`.

    The query reads no human decisions, so it is faster than `outcomes`. The query of `outcomes` has
    the same columns except `state`.
    """
    view = _SOFTWARE.c
    columns = (view.idx, view.state, view.model_decision.label("system"), view.reason)
    return select(*columns).where(view.batch_id == batch_id)
