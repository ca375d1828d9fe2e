"""The file of an audit: a row for each record of the sample, which a human fills in and hands back."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tamis_schemas import Audit, InputError, InvalidParameters, ItemResult
from tamis_schemas.operations.kind import yes_or_no

from ..plans.spreadsheet import read_table, reviewer_of
from .audits import AuditDecision
from .fill_in_sheet import RECORD, write_sheet

REASONS = ("excluded_by", "reason")  # of the software; a reader who knows them is led by them
FILLED_IN = ("include", "reviewer", "note")


@dataclass(frozen=True)
class FilledIn:
    """The content of an audit's file that came back."""

    audit_id: str
    decisions: tuple[AuditDecision, ...]
    lines: tuple[int, ...]  # of each decision
    ids: tuple[str, ...]  # of each decision; empty where the file has none
    blank: int  # rows without a decision yet


def write_sample(audit: Audit, rows: Iterable[ItemResult], stream: TextIO, *, with_reasons: bool = False) -> None:
    """The sample in the order in which it was drawn, with what was decided so far. `rows`: its items, in any order."""
    by_index = {row.index: row for row in rows}
    filled = {}
    for item in audit.items:
        row = by_index[item.index]
        why = [_excluded_by(row), row.exclusion_reason or _rationale(row)] if with_reasons else []
        answer = "" if item.include is None else "yes" if item.include else "no"
        filled[item.index] = [*why, answer, item.reviewer or "", item.note or ""]
    columns = (*REASONS, *FILLED_IN) if with_reasons else FILLED_IN
    write_sheet(stream, by_index.values(), filled, columns, audit=audit.id)


def read_sample(path: Path | str, *, reviewer: str | None) -> FilledIn:
    """The decisions in a file; rows whose `include` is empty are not decided yet.

    `reviewer`: who decided where a row names nobody.

    Raises `InputError` naming the line: no such column, a decision that is none, a row without a reviewer, rows of two
    audits.
    """
    decisions, lines, ids, blank = [], [], [], 0
    audit_ids: set[str] = set()
    for row in read_table(path, ("audit", *RECORD, *FILLED_IN), required=("audit", "index", "include")):
        audit_ids.add(row["audit"])
        if not row["audit"] or len(audit_ids) > 1:
            raise InputError(
                "every row names the same audit in its column 'audit'", path=path, line=row.line, field="audit"
            )
        if not row["include"]:
            blank += 1
            continue
        try:
            index, include = int(row["index"]), yes_or_no(row["include"])
        except InvalidParameters as error:
            raise InputError(str(error), path=path, line=row.line, field="include") from error
        except ValueError as error:
            raise InputError(f"{row['index']!r} is no index", path=path, line=row.line, field="index") from error
        decisions.append(AuditDecision(index, include, reviewer_of(row, path, reviewer), row["note"] or None))
        lines.append(row.line)
        ids.append(row["id"])
    if not audit_ids:
        raise InputError("a header, but no row below it", path=path)
    return FilledIn(audit_ids.pop(), tuple(decisions), tuple(lines), tuple(ids), blank)


def _excluded_by(row: ItemResult) -> str:
    return "model" if row.exclusion is None else row.exclusion.rule


def _rationale(row: ItemResult) -> str:
    return "" if row.result is None else row.result.reasoning or ""
