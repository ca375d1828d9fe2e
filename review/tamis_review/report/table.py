"""The table of decisions as data: each record with its decision, the reasons, and the quoted passages."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from tamis_producer.client.batch import Batch
from tamis_producer.ledger import read_operation
from tamis_schemas import (
    Criterion,
    EvaluationResult,
    Exclusion,
    FieldsResult,
    Inclusion,
    InclusionDecision,
    InclusionStatus,
    ItemResult,
    ItemStatus,
    Override,
    Quote,
    RemarkKind,
)
from tamis_schemas.answers.exclusion import DUPLICATE
from tamis_schemas.answers.results import CriterionVerdict, QuoteState
from tamis_schemas.ledger import batches
from tamis_schemas.operations import kind_of
from tamis_schemas.records.item import shown_fields, shown_text
from tamis_schemas.values.frozen import Frozen

from ..decisions.final_outcome import JUDGE, NO_REASON, Outcome
from ..decisions.visibility import visible
from .identifiers import full_text_of, identifiers
from .wording import error_words

Row = dict[str, Any]  # one JSON object of the page's data, without empty parts
MOST_ROWS = 20_000  # maximum for a table of a whole batch: a browser needs about 2 kB for each and searches them all

# In the table's sort order.
_NAMES = {
    Outcome.PASSED: "evaluated",
    Outcome.UNCERTAIN: "uncertain",
    Outcome.CONFLICT: "conflict",
    Outcome.FAILED: "failed",
    Outcome.EXCLUDED: "exclude",
    Outcome.INELIGIBLE: "initial filter",
    Outcome.DUPLICATE: "duplicate",
    Outcome.REMOVED: "removed",
    Outcome.CANCELLED: "cancelled",
    Outcome.OPEN: "not decided yet",
}


def outcome_names(operation: str) -> dict[str, str]:
    """Return the names that people see for the outcomes of this operation: outcome -> name."""
    kind = kind_of(operation)
    decided = {Outcome.PASSED: _word(kind.includes), Outcome.EXCLUDED: _word(kind.excludes)} if kind.decides() else {}
    return {str(outcome): name for outcome, name in (_NAMES | decided).items()}


def _word(value: str | bool | None) -> str:
    return value if isinstance(value, str) else "yes" if value else "no"


def table_facts(labelled: Sequence[Criterion], operations: Sequence[str]) -> dict[str, Any]:
    """Return the data that the table's script needs besides rows: criteria by label, and words for each stage.

    `labelled`: the criteria. `operations`: the operation of each stage.
    """
    return {
        "names": outcome_names(operations[0]),
        "criteria": {c.label: {"text": c.text, "excludes": c.excludes} for c in labelled},
        "stages": [{"noun": kind_of(name).report_noun, "names": outcome_names(name)} for name in operations],
    }


class DecisionRows(Frozen):
    """The table of decisions: a row for each record."""

    operation: str
    facts: dict[str, Any]  # criteria by label, and words for each outcome
    left_out: int  # records of a batch that is too large for a table, which then has no rows; otherwise 0
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class DecisionTable:
    """A batch's table of decisions as JSON text in three parts: beginning, rows and end."""

    begins: str
    operation: str
    left_out: bool  # the table has no rows
    ends: str = "]}"
    hidden: Collection[int] = frozenset()  # places of records with hidden decisions

    def rows(self, results: list[ItemResult], first: bool) -> str:
        """Return the rows for some results as JSON text. `first`: True for the first rows of the table."""
        text = ",\n".join(_json(self._row(result)) for result in results)
        return text if first or not text else ",\n" + text

    def _row(self, result: ItemResult) -> Row:
        if result.index in self.hidden:
            return blind_row(result) | {"outcome": Outcome.OPEN, "hidden": True}
        return record_row(self.operation, result)


def read_table(batch: Batch, *, whole: bool) -> DecisionTable:
    """Return a batch's table without its rows. The table's method `rows` makes these later.

    The rows omit decisions that the caller must not see yet. `whole`: all records are wanted; a batch of more than
    `MOST_ROWS` records then gets no rows. Raises `LedgerUnavailable`, and `Blinded` if the list of the batch's records
    would reveal hidden decisions of an earlier stage.
    """
    with batch.session.snapshot() as connection:
        operation, hidden = read_operation(connection, batch.uuid), visible(connection, batch).hidden
        count = connection.execute(select(batches.c.n_items).where(batches.c.id == batch.uuid)).scalar_one()
    labelled = operation.criteria.labelled() if isinstance(operation, Inclusion) else []
    name, facts = operation.operation, table_facts(labelled, [operation.operation])
    left_out = count if whole and count > MOST_ROWS else 0
    begins = f'{{"operation":{_json(name)},"facts":{_json(facts)},"left_out":{left_out},"rows":['
    return DecisionTable(begins, name, bool(left_out), hidden=hidden)


def _json(value: Row | str) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


LONGEST = 20_000  # characters of one field in the report; the ledger has the rest
LONGEST_TEXT = 4_000  # characters of a rationale, a value or an error
SHOWN = ("title", "abstract")
HEAD = ("title", "authors", "journal", "year", "publication_date", "doi", "pmid")  # fields in the row itself
# The fields of an item to judge, beside the judgement's own value, confidence and reasoning.
JUDGED = {"value": "judged value", "confidence": "its confidence", "reasoning": "its reasoning"}
AUTHORS = 3  # named before "et al."

NOT_PRESENT = "not present in the record"

_OUTCOMES = {True: Outcome.PASSED, False: Outcome.EXCLUDED, None: Outcome.UNCERTAIN}


Marks = dict[str, list[list[Any]]]  # field -> start, end and label of each passage; True if the quote is altered


def record_row(operation: str, result: ItemResult, later: Sequence[Row] = ()) -> Row:
    """Return a record's row of the table. `later`: the record's results in later stages of the review."""
    fields = _fields(result.item, _marks(result), JUDGED if operation == JUDGE else None)
    full_text = full_text_of(remark.text for remark in result.remarks if remark.kind is RemarkKind.NOTE)
    more = {"cut": result.cut_words, "fields": fields, "full_text": full_text, "later": list(later)}
    return _present(_named(result, full_text) | _in_the_end(operation, result) | more)


def blind_row(result: ItemResult) -> Row:
    """Return the row of a record whose decisions are hidden: its text, without marked passages."""
    return _present(_named(result) | {"fields": _fields(result.item, {})})


def stage_row(stage: int, operation: str, result: ItemResult) -> Row:
    """Return the row of a record's result in a later stage."""
    head = {"stage": stage, "operation": operation}
    return _present(head | _in_the_end(operation, result) | {"cut": result.cut_words})


def _named(result: ItemResult, full_text: str | None = None) -> Row:
    doi, pmid = (_short(_text(result.item.get(name))) for name in ("doi", "pmid"))
    return {
        "i": result.index,
        "id": result.item_id,
        "title": _text(result.item.get("title") or "")[:LONGEST_TEXT],
        "by": _byline(result.item),
        "ids": identifiers(result.item_id, doi, pmid, full_text),
    }


def _present(row: Row) -> Row:
    return {name: value for name, value in row.items() if value not in (None, "", []) and value is not False}


def _in_the_end(operation: str, result: ItemResult) -> Row:
    """Return a record's final result as keys of its row. If a human decided, `system` has the software's outcome."""
    row = _said(operation, result)
    human = result.override
    if result.conflict:
        system = {"system": row["outcome"], "systemReason": row.get("reason")}
        return row | system | {"outcome": Outcome.CONFLICT, "reason": None, "voices": _voices(result)}
    if human is None:
        return row
    value = None if kind_of(operation).decides() else _short(_text(human.value)) or NOT_PRESENT
    by = {"by": human.reviewer, "at": _when(human), "note": human.note, "value": value, "confirms": human.confirms}
    # People's own reason for an exclusion comes before the model's.
    own_reason = human.reason if human.value in (InclusionStatus.EXCLUDE.value, False) else None
    return {
        **row,
        "outcome": result.outcome,
        "human": _present(by),
        "voices": _voices(result) if len(result.decisions) > 1 else None,
        "system": row["outcome"],
        "systemReason": row.get("reason"),
        "reason": own_reason or (row.get("reason") if result.outcome == row["outcome"] else None),
    }


def _voices(result: ItemResult) -> list[Row]:
    """Return each reviewer's decision on a record, as JSON objects."""
    return [
        _present(
            {
                "by": decision.reviewer,
                "at": _when(decision),
                "value": _short(_text(decision.value)) or NOT_PRESENT,
                "note": decision.note or decision.reason,
                "settles": decision.settles,
            }
        )
        for decision in result.decisions
    ]


def _when(decision: Override) -> str:
    return f"{decision.created_at:%Y-%m-%d %H:%M %Z}"


def _said(operation: str, result: ItemResult) -> Row:
    match result.status:
        case ItemStatus.EXCLUDED_BY_FILTER:
            return _kept_out(result)
        case ItemStatus.FAILED:
            kind = "unknown" if result.error_kind is None else result.error_kind.value
            text = "" if result.result is None else result.result.error or ""
            return {"outcome": Outcome.FAILED, "reason": error_words(kind), "error": _short(text)}
        case ItemStatus.CANCELLED:
            return {"outcome": Outcome.CANCELLED}
        case ItemStatus.DECIDED if result.result is not None:
            return _decided(operation, result, result.result)
        case _:
            return {"outcome": Outcome.OPEN}


def _kept_out(result: ItemResult) -> Row:
    exclusion = result.exclusion
    if exclusion is None:
        return {"outcome": Outcome.REMOVED, "reason": NO_REASON}
    if exclusion.rule == DUPLICATE:
        return {"outcome": Outcome.DUPLICATE, "why": exclusion.reason, "copy": exclusion.duplicate_of}
    return {
        "outcome": Outcome.INELIGIBLE,
        "reason": exclusion.rule.replace("_", " "),
        "why": _short(exclusion.reason),
        "sure": exclusion.confidence,
        "matched": _short(exclusion.matched or ""),
    }


def _decided(operation: str, result: ItemResult, answer: EvaluationResult | FieldsResult) -> Row:
    row: Row = {"sure": answer.confidence, "why": _short(answer.reasoning or "")}
    if result.decision is not None:
        return row | _inclusion(result.decision)
    if isinstance(answer, FieldsResult):
        fields = answer.fields or {}
        values = [[name, None if fields[name] is None else _short(_text(fields[name]))] for name in fields]
        return row | {"outcome": Outcome.PASSED, "values": values}
    kind = kind_of(operation)
    if kind.decides():
        outcome = _OUTCOMES[kind.verdict(answer.value)]
        reason = kind.excluded_because or NO_REASON
        return row | {"outcome": outcome} | ({"reason": reason} if outcome is Outcome.EXCLUDED else {})
    value = NOT_PRESENT if answer.value is None else _short(_text(answer.value))
    detail = result.detail or {}  # for a judgement: `blocked`, and the original confidence
    judged = {"weak": bool(detail.get("blocked")), "before": detail.get("original_confidence")}
    return row | {"outcome": Outcome.PASSED, "value": value, **judged}


def _inclusion(decision: InclusionDecision) -> Row:
    outcome = _OUTCOMES[Inclusion.verdict(decision.status)]
    reason = decision.exclusion_reason or next(iter(decision.criteria), NO_REASON)
    return {
        "outcome": outcome,
        "reason": reason if outcome is Outcome.EXCLUDED else "",
        "verdicts": [[label, *_verdict(verdict)] for label, verdict in decision.verdicts.items()],
        "flagged": decision.flagged,
        "said": None if decision.model_status is None else decision.model_status.value,
        "because": None if decision.uncertain_reason is None else decision.uncertain_reason.value,
        "saidSure": decision.model_confidence,
    }


def _verdict(verdict: CriterionVerdict) -> list[Any]:
    """Return a verdict as a list: the verdict; with a quote, also the quote's text, state and field.

    An altered quote adds a list of its differences. Each difference has the start and end of a range of the quote's
    characters, and the record's words for this range.
    """
    quote = verdict.quote
    if quote is None:
        return [verdict.verdict.value]
    row = [verdict.verdict.value, _short(quote.text), quote.state.value, quote.field or ""]
    differences = [[d.start, d.end, _short(d.recorded)] for d in quote.differences if d.end <= LONGEST_TEXT]
    return [*row, differences] if differences else row


def _marks(result: ItemResult) -> Marks:
    """Return the passages that decided the record: field -> for each passage, its start, end (exclusive) and label.

    Start and end are counted in characters. An altered quote has a fourth entry, True.
    """
    marks: Marks = {}

    def mark(passage: Exclusion | Quote, label: str, *, altered: bool = False) -> None:
        field, start, end = passage.field, passage.start, passage.end
        if field is not None and start is not None and end is not None and 0 <= start < end:
            marks.setdefault(field, []).append([start, end, label.replace("_", " "), *[True] * altered])

    if result.exclusion is not None:
        mark(result.exclusion, result.exclusion.rule)
    elif result.decision is not None:
        for label, verdict in result.decision.verdicts.items():
            if verdict.quote is not None:
                mark(verdict.quote, label, altered=verdict.quote.state is QuoteState.ALTERED)
    return marks


def _fields(item: Mapping[str, Any], marks: Marks, called: Mapping[str, str] | None = None) -> list[Row]:
    """Return the fields to show with a record, each with its marked passages.

    These are the abstract and the fields with marks. All fields but those in `HEAD` are added if the item has neither
    title nor abstract, or if `called` is given. `called`: field -> the name to show instead.
    """
    names = [name for name in item if name in SHOWN or name in marks]
    if called or not any(item.get(name) for name in SHOWN):
        names += [name for name in shown_fields(item) if name not in names and name not in HEAD]
    fields = []
    for name in names:
        value = item[name]
        text = _text(value)
        if not text or (name == "title" and name not in marks):  # the row already has a title without marks
            continue
        # The positions of marks count the characters of a text, so they do not fit a list that is joined here.
        marked = marks.get(name, ()) if isinstance(value, str) else ()
        placed = [[start, min(end, LONGEST), *rest] for start, end, *rest in marked if start < LONGEST]
        more = {"cut": max(0, len(text) - LONGEST) or None, "marks": placed}
        fields.append({"name": (called or {}).get(name, name), "text": text[:LONGEST]} | _present(more))
    return fields


def _byline(item: Mapping[str, Any]) -> str:
    year = item.get("year") or item.get("publication_date")
    parts = [_authors(item.get("authors")), _text(item.get("journal") or ""), "" if year is None else str(year)]
    return " · ".join(_short(part.strip()) for part in parts if part and part.strip())


def _authors(value: object) -> str:
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return ", ".join(value[:AUTHORS]) + (" et al." if len(value) > AUTHORS else "")
    return _text(value)[:300]


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "; ".join(value)
    return shown_text(value)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + " […]"
