"""The columns of a table of results: the same in CSV, in Parquet and in data frames."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tamis_schemas import InclusionDecision, ItemResult, PanelVerdict, Provenance
from tamis_schemas.operations import OperationKind, panel_of
from tamis_schemas.records.item import shown_text
from tamis_schemas.records.record_number import record_number


@dataclass(frozen=True)
class ResultColumn:
    """A column, with a value or None for each item."""

    name: str
    kind: type[int] | type[float] | type[bool] | type[str] | None  # None: the type of the operation's values
    value: Callable[[ItemResult], Any]

    def type_for(self, operation: OperationKind) -> type[Any]:
        """Return the column's type: int, float, bool or str. The values of `extract_fields` are str, as JSON."""
        if self.kind is not None:
            return self.kind
        of_values = operation.value_type()
        return str if of_values is dict else of_values


def typed(value: Any, kind: type[Any]) -> Any:
    """Return a value in the type of its column. None stays None."""
    if value is None:
        return None
    if kind is str and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return kind(value)


def _decided(of: Callable[[InclusionDecision], Any]) -> Callable[[ItemResult], Any]:
    return lambda row: None if row.decision is None else of(row.decision)


def _called(of: Callable[[Provenance], Any]) -> Callable[[ItemResult], Any]:
    return lambda row: None if row.provenance is None else of(row.provenance)


RESULT_COLUMNS = (
    ResultColumn("index", int, lambda row: row.index),
    ResultColumn("item_id", str, lambda row: row.item_id),
    ResultColumn("status", str, lambda row: row.status),
    ResultColumn("value", None, lambda row: row.value),
    ResultColumn("confidence", float, lambda row: row.result.confidence if row.result and row.error is None else None),
    # Of inclusion, from the answer's tokens; missing: the endpoint gives none, or the operation does not decide.
    ResultColumn("probability", float, lambda row: row.probability),
    ResultColumn("relevance", int, lambda row: row.relevance),  # 0 to 100, the model's grade: `--graded`
    ResultColumn("reasoning", str, lambda row: row.result and row.result.reasoning),
    ResultColumn("deciding_criteria", str, _decided(lambda decision: " | ".join(decision.criteria) or None)),
    ResultColumn("exclusion_reason", str, lambda row: row.exclusion_reason),
    # Reason why the software changed the model's decision to uncertain.
    ResultColumn("uncertain_reason", str, _decided(lambda decision: decision.uncertain_reason)),
    # True: the model's quotes are not in the record. Missing: not an inclusion's decision.
    ResultColumn("flagged", bool, _decided(lambda decision: decision.flagged)),
    # Failed quotes: I1 altered: "men" for "women"; E1 not found: "in rats".
    ResultColumn("quotes", str, _decided(lambda decision: decision.quote_words)),
    # Fields that were cut: abstract 40,000 of 120,000 characters; missing: all was sent.
    ResultColumn("cut", str, lambda row: row.cut_words),
    # Metrics of an extraction from chunks: context_relevance 0.67; ...
    ResultColumn("evaluations", str, lambda row: row.evaluation_words),
    ResultColumn("error_kind", str, lambda row: row.error_kind and row.error_kind.value),
    ResultColumn("error", str, lambda row: row.error),
    ResultColumn("model", str, _called(lambda provenance: provenance.model)),
    # For a panel: each model's answer, and the share of pairs of models that disagree.
    ResultColumn("panel", str, lambda row: row.panel and row.panel.words),
    ResultColumn("disagreement", float, lambda row: row.panel and row.panel.disagreement),
    ResultColumn("prompt_tokens", int, _called(lambda provenance: provenance.usage.prompt_tokens)),
    ResultColumn("completion_tokens", int, _called(lambda provenance: provenance.usage.completion_tokens)),
    # Dollars with failed calls; missing: no price is known. As a float exact to the nanodollar below a million.
    ResultColumn("cost", float, lambda row: row.cost),
    ResultColumn("final_value", None, lambda row: row.final_value),  # a human's decision, else the value
    ResultColumn("overridden", bool, lambda row: row.overridden),  # a human's decision counts, not the software's
    # Author of the decision that counts; missing: no human decided, or people are in conflict.
    ResultColumn("reviewer", str, lambda row: row.override and row.override.reviewer),
    ResultColumn("note", str, lambda row: row.override and row.override.note),
    ResultColumn("conflict", bool, lambda row: row.conflict),  # people disagree, and no decision counts
    # Each reviewer's decision: Reviewer A: include; Reviewer B: exclude.
    ResultColumn("decisions", str, lambda row: row.decision_words),
    ResultColumn("labels", str, lambda row: " | ".join(row.labels) or None),  # people's labels
    ResultColumn("notes", str, lambda row: " | ".join(row.notes) or None),
    ResultColumn("title", str, lambda row: shown_text(title) if (title := row.item.get("title")) else None),
    # Database, register or other source of the record; missing: the batch has at most one source.
    ResultColumn("source", str, lambda row: row.source),
    ResultColumn("number", int, lambda row: record_number(row.index)),  # from 1, for people
)


def columns_of(operation: OperationKind | None) -> tuple[ResultColumn, ...]:
    """Return `RESULT_COLUMNS`, and for each model of the operation's panel two columns: its answer and its confidence.

    The answer is include, exclude or uncertain; for a model that failed, it is the kind of error.
    """
    panel = None if operation is None else panel_of(operation)
    if panel is None:
        return RESULT_COLUMNS
    return RESULT_COLUMNS + tuple(
        column
        for place, name in enumerate(panel.models)
        for column in (
            ResultColumn(name, str, _of_member(place, _answer)),
            ResultColumn(f"{name}: confidence", float, _of_member(place, lambda member: member.confidence)),
        )
    )


def _of_member(place: int, of: Callable[[PanelVerdict], Any]) -> Callable[[ItemResult], Any]:
    def value(row: ItemResult) -> Any:
        verdicts = () if row.panel is None else row.panel.verdicts
        return of(verdicts[place]) if place < len(verdicts) else None

    return value


def _answer(member: PanelVerdict) -> str | None:
    answer = member.status or member.error_kind
    return None if answer is None else answer.value
