"""Personalities of endpoints and models, each asked by every operation, and the table of what became of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llm_double.personalities.personality import Personality
from tamis_review.plans.judge_items import judge_item
from tamis_schemas import (
    Answer,
    ErrorKind,
    EvaluationResult,
    Extract,
    ExtractFields,
    Filter,
    Inclusion,
    ItemResult,
    ItemStatus,
    Judge,
    Operation,
    PauseKind,
    Score,
    SearchCriteria,
)

from .items import abstracts

ITEMS = 6  # of each operation
BEGINS, ENDS = "<!-- personalities -->\n", "<!-- end of personalities -->\n"

FIELDS = {
    "type": "object",
    "properties": {"study_type": {"type": "string", "enum": ["RCT", "cohort"]}, "size": {"type": "integer"}},
    "required": ["study_type", "size"],
}
CRITERIA = SearchCriteria(
    research_question="Does exercise at home improve walking?",
    inclusion_criteria=["Adults after a hip replacement", "A randomised controlled trial"],
    exclusion_criteria=["Animal studies"],
)
OPERATIONS: Mapping[str, Operation] = {
    "filter": Filter(criteria="Is it a trial?", include_reasoning=True),
    "score": Score(criteria="Rate it", min_value=0, max_value=10),
    "extract": Extract(instruction="Which design?", output_type="enum", enum_values=["RCT", "cohort"]),
    "extract_fields": ExtractFields(schema=FIELDS, instructions="Extract the design and the size."),
    "judge": Judge(guidelines="Only direct statements count."),
    "inclusion": Inclusion(criteria=CRITERIA),
    "answer": Answer(instruct="Explain it", resp_format="Text", eval_crit="Clear and short", iter_max=1),
}
QUESTIONS = {"answer": 2}  # of one item, where it is not one: the answer, and what it is worth


@dataclass(frozen=True)
class Row:
    """Endpoints and models that are alike: what they do, and how the double does it."""

    what: str
    like: Sequence[Personality | str]
    answers: bool = True  # False: it cannot be asked in any way
    source: str = ""  # the issue that describes it: owner/name#number

    def of(self, model: str) -> list[Personality]:
        """Its personalities, for one model."""
        told = [Personality.of(one) for one in self.like]
        return [Personality(one.name, **{**one.parameters, "models": (model,)}) for one in told]


ROWS = (
    Row("enforces a strict schema", ()),
    Row("compiles a grammar that knows no bounds of numbers; confidence in percent", ("grammar", "percent_confidence")),
    Row("takes `response_format` and ignores it", ("ignores_format",)),
    Row("ignores it, and talks around the object unless it is reminded", ("ignores_format", "talks")),
    Row("ignores it, and puts the object into a fence", ("ignores_format", "fenced")),
    Row("ignores it, and talks around the fence unless it is reminded", ("ignores_format", "fenced_in_prose")),
    Row("ignores it, and deviates harmlessly in every way", ("ignores_format", "deviates")),
    Row("refuses a schema with 400", (Personality("refuses_format", status=400),)),
    Row("refuses a schema with 422", (Personality("refuses_format", status=422),)),
    Row("refuses a schema with 501", (Personality("refuses_format", status=501),)),
    Row("takes JSON mode only where the messages say so", ("json_mode_only", "asks_for_the_word_json")),
    Row("refuses every `response_format`", ("text_only",)),
    Row("refuses every `response_format`, and talks unless it is reminded", ("text_only", "talks")),
    Row("closes its thought: `<think>`", ("ignores_format", "thinks")),
    Row("closes its thought: `<THINK>`", ("ignores_format", "thinks_loudly")),
    Row("closes its thought: `[THINK]`", ("ignores_format", "thinks_in_brackets")),
    Row("thinks twice", ("ignores_format", "thinks_twice")),
    Row("drafts other objects in its thought", ("ignores_format", "drafts")),
    Row("leaks the harmony channels", ("ignores_format", "leaks_channels")),
    Row("thinks in `reasoning_content`", ("reasoning_content",)),
    Row("answers in `tool_calls`", ("tool_calls",)),
    Row("gives its content as a list of parts", ("content_parts",)),
    Row("streams although nobody asked for it", ("streams",)),
    Row("sends empty lines before the body", ("blank_lines",)),
    Row("deviates harmlessly in every way", ("deviates",)),
    Row("tells no usage", ("usage_missing",)),
    Row("tells a usage of zero", ("usage_zero",)),
    Row("tells a usage of 10^11 tokens", ("usage_absurd",)),
    Row("tells a usage of 4,000 digits", (Personality("usage_absurd", digits=4000),)),
    Row("tells no details of its usage", ("usage_null_details",)),
    Row("always talks around the object", ("ignores_format", "always_talks"), answers=False),
    Row("never closes its thought", ("ignores_format", "never_closes"), answers=False),
    Row("writes thoughts and no content", ("reasoning_only",), answers=False),
)


@dataclass(frozen=True)
class Cell:
    """What became of one operation's items."""

    rung: str
    decided: int
    failed: int
    calls: int  # answered by the endpoint, refusals of the request left aside
    wasted: int  # of them: paid for, and no answer that was used
    sent: int  # calls, refused ones and probes included
    pause: PauseKind | None
    failures: Mapping[int, ErrorKind]  # by the item's place

    @property
    def hopeless(self) -> bool:
        """True if the batch was paused because no answer was usable."""
        return self.pause is PauseKind.UNUSABLE_ANSWERS


def items_of(operation: str, count: int) -> list[dict[str, Any]]:
    """What the operation is asked about."""
    records = abstracts(count)
    if operation != "judge":
        return records
    rows = [
        ItemResult(
            index=index,
            item_id=record["id"],
            status=ItemStatus.DECIDED,
            result=EvaluationResult(value=True, confidence=0.9, reasoning="It says so."),
            item=record,
        )
        for index, record in enumerate(records)
    ]
    return [item for row in rows if (item := judge_item(row)) is not None]


def table(found: Mapping[str, Mapping[str, Cell]]) -> str:
    """The recorded table: a row for each personality, a cell for each operation; empty: not asked."""
    lines = [
        f"| what it does | rung | {' | '.join(OPERATIONS)} |",
        f"|---|---|{'---|' * len(OPERATIONS)}",
    ]
    for what, cells in found.items():
        rungs = ", ".join(sorted({f"`{cell.rung}`" for cell in cells.values()}))
        lines.append(f"| {what} | {rungs} | {' | '.join(_told(name, cells.get(name)) for name in OPERATIONS)} |")
    return "\n".join(lines) + "\n"


def _told(operation: str, cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.hopeless:
        return f"paused after {cell.calls}"
    items = cell.decided + cell.failed
    return f"{100 * cell.decided / items:.0f} %, {cell.calls / items:.1f}, {cell.wasted}"
