"""The next step: which command to call after an error, where its message names none itself."""

import re

from tamis_schemas import (
    ConfigurationError,
    InvalidRequest,
    OperationFailed,
    TamisError,
    Unavailable,
)
from tamis_schemas.errors import InputError, UnknownBatch

NAMES_A_STEP = re.compile(r"`tamis |\btamis\[|--[a-z]|\bTAMIS_[A-Z]")  # a command, an extra, an option, a setting
DOCTOR = "doctor"


def next_step(error: TamisError, command: str) -> str | None:
    """Return what to do about an error of a command (`review run`) in a few words; None where its message says so."""
    if NAMES_A_STEP.search(str(error)):
        return None
    match error:
        case Unavailable() | ConfigurationError() | OperationFailed() if command != DOCTOR:
            return "`tamis doctor` examines everything that is needed"
        case UnknownBatch():
            return "`tamis batches` and `tamis review list` list what there is"
        case InputError():
            return f"`tamis help {command}` shows what it reads"
        case InvalidRequest():
            return f"`tamis help {command}` shows how it is used"
    return None
