"""The reports that a review sought, one by one: PRISMA 2020 asks to name those that were excluded, and why."""

from enum import StrEnum

from tamis_schemas.values.frozen import Frozen


class ReportWay(StrEnum):
    """What became of a report, as people decided."""

    AWAITED = "awaited"  # nobody has said whether it could be got
    LOST = "not retrieved"
    UNASSESSED = "not assessed yet"  # retrieved
    EXCLUDED = "excluded"
    UNCERTAIN = "uncertain"
    CONFLICT = "reviewers disagree"
    INCLUDED = "included"


class ReportRow(Frozen):
    """One report that was sought."""

    index: int  # place of its record in the (first) batch, from 0
    item_id: str
    title: str | None
    way: ReportWay
    reason: str | None = None  # why it was excluded, or could not be retrieved
    study: str | None = None  # that it is of, where somebody named one
    reviewers: tuple[str, ...] = ()  # whose decisions on it stand
