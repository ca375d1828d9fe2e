"""How the people of a batch read its records: each alone, in pairs, beside the model, or a sample of its exclusions."""

from datetime import datetime
from enum import StrEnum

from ..values.frozen import Frozen


class ScreeningMode(StrEnum):
    """Whose decisions people see while they read the records of a batch."""

    SINGLE = "single"  # everybody's, and the model's
    PAIR = "pair"  # nobody's on a record, the model's neither, until two people have decided on it
    MODEL_SECOND = "model_second"  # nobody's on a record, the model's neither, until one has decided on it oneself
    MODEL_AUDITED = "model_audited"  # nobody's on a record drawn for the audit, the model's neither, until it is judged

    @property
    def blind(self) -> bool:
        """True where people decide on every record without seeing what others said of it."""
        return self in (ScreeningMode.PAIR, ScreeningMode.MODEL_SECOND)


class ScreeningModeSet(Frozen):
    """The screening mode of a batch, and who set it."""

    mode: ScreeningMode = ScreeningMode.SINGLE
    set_by: str | None = None  # None: nobody has set one
    set_at: datetime | None = None  # by the database's clock
