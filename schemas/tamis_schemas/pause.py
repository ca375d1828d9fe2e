"""The reason of a batch's pause."""

from datetime import UTC, datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class PauseKind(StrEnum):
    """The cause of a pause."""

    REQUESTED = "requested"  # requested by a person
    AUTHENTICATION = "authentication"  # the endpoint refuses the key
    PERMISSION = "permission"  # the key may not use the model, or its quota is used up
    MODEL_NOT_FOUND = "model_not_found"
    UNUSABLE_ANSWERS = "unusable_answers"  # no answer of the model could be used, in any request format
    ENDPOINT = "endpoint"  # the endpoint fails for a reason that waiting does not mend
    FAILURES = "failures"  # the latest items all failed
    RATE_LIMITED = "rate_limited"  # the endpoint asks to wait for more than a few minutes
    BUDGET = "budget"  # the next call could cost more than the rest of the budget
    PRICE = "price"  # the batch has a budget, and its model's price is not known


class Pause(BaseModel):
    """A batch's pause; its items stay pending, and `resume` continues with them."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    kind: PauseKind
    message: str | None = None  # one line for people; never a key
    until: datetime | None = None  # the time when the batch resumes by itself; None: only people resume it

    @property
    def by_itself(self) -> bool:
        """True if the batch paused itself because it could not continue."""
        return self.kind is not PauseKind.REQUESTED

    @property
    def needs_people(self) -> bool:
        """True if people must correct the cause before the batch continues."""
        return self.by_itself and self.until is None

    @property
    def reason(self) -> str:
        """The pause's kind, end (if known) and message in one line: `budget: $1.00 of $1.00 is spent`."""
        return f"{self.kind_until}: {self.message}" if self.message else self.kind_until

    @property
    def kind_until(self) -> str:
        """The pause's kind, followed by `until` and a time if the batch resumes by itself."""
        until = "" if self.until is None else f" until {self.until.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        return f"{self.kind.value}{until}"

    def remedy(self, batch_id: str) -> str:
        """Return the next step for a person, as a sentence with the command."""
        resume = f"`tamis resume {batch_id}`"
        remedies = {
            PauseKind.REQUESTED: f"{resume} continues it",
            PauseKind.BUDGET: f"`tamis resume {batch_id} --max-cost AMOUNT` continues with a larger budget",
            PauseKind.UNUSABLE_ANSWERS: "Check the endpoint with `tamis doctor --endpoint`, name another model in "
            f"TAMIS_MODEL, restart the workers, then run {resume}",
            PauseKind.FAILURES: f"`tamis failures {batch_id}` shows the errors. Change the setting, restart the "
            f"workers, then run {resume}. At its end, `tamis retry {batch_id}` asks about the failed items again",
            PauseKind.ENDPOINT: "`tamis doctor --endpoint` checks the endpoint. Correct TAMIS_LLM_BASE_URL or the "
            f"server, restart the workers if a setting changed, then run {resume}",
            PauseKind.RATE_LIMITED: f"The batch resumes by itself. {resume} asks the endpoint at once",
        }
        return remedies.get(self.kind, f"Correct the cause (restart the workers after new settings), then run {resume}")
