"""Why a batch is paused."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class PauseKind(StrEnum):
    """Who or what paused a batch."""

    REQUESTED = "requested"  # somebody asked for it
    AUTHENTICATION = "authentication"  # the endpoint refuses the key
    PERMISSION = "permission"  # the key may not use the model, or its quota is used up
    MODEL_NOT_FOUND = "model_not_found"
    BUDGET = "budget"  # the next call could cost more than is left of the batch's budget


class Pause(BaseModel):
    """A batch's pause; its items stay pending, and `resume` goes on with them."""

    model_config = ConfigDict(frozen=True)

    kind: PauseKind
    message: str | None = None  # one line for people; never a key
