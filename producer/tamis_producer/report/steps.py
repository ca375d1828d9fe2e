"""The boxes of a PRISMA 2020 flow, in words: what the drawing, the table and the Markdown show alike."""

from dataclasses import dataclass

from tamis_schemas import ErrorKind
from tamis_schemas.batches.flow import Flow, FlowStage, Tally, total
from tamis_schemas.operations import kind_of

IDENTIFICATION, SCREENING, INCLUDED, EVALUATION = "Identification", "Screening", "Included", "Evaluation"

_KINDS = {
    ErrorKind.AUTHENTICATION: "the endpoint refused the key",
    ErrorKind.PERMISSION: "the key may not use the model",
    ErrorKind.MODEL_NOT_FOUND: "the endpoint does not know the model",
    ErrorKind.INVALID_REQUEST: "the endpoint rejected the request",
    ErrorKind.CONTEXT_LENGTH: "the record does not fit into the model's context",
    ErrorKind.TIMEOUT: "no answer in time",
    ErrorKind.CONNECTION: "no connection to the endpoint",
    ErrorKind.SERVER: "an error of the endpoint",
    ErrorKind.RATE_LIMITED: "the endpoint's rate limit",
    ErrorKind.REFUSED: "the model declined to answer",
    ErrorKind.CONTENT_FILTER: "held back by the endpoint's content filter",
    ErrorKind.TRUNCATED: "the answer was cut off",
    ErrorKind.EMPTY: "an answer without content",
    ErrorKind.MALFORMED: "an answer that is no JSON",
    ErrorKind.INVALID: "an answer that is not what was asked for",
    ErrorKind.NO_CONTENT: "the record holds nothing to evaluate",
    ErrorKind.ATTEMPTS_EXHAUSTED: "its workers died too often",
    ErrorKind.INTERNAL: "a fault of the software",
}


@dataclass(frozen=True)
class BoxLine:
    """One part of a box; one of `depth` 1 is a part of the last one of depth 0."""

    text: str
    n: int | None = None
    depth: int = 0


@dataclass(frozen=True)
class Box:
    """A box: what it holds, how many records, and their parts."""

    title: str
    n: int
    lines: tuple[BoxLine, ...] = ()


@dataclass(frozen=True)
class Step:
    """A box of the main column with the boxes that leave it to the side."""

    phase: str
    box: Box
    sides: tuple[Box, ...] = ()


def steps(flow: Flow, most: int | None = None) -> tuple[Step, ...]:
    """The flow from top to bottom. Of more than `most` reasons, rules or kinds, the rarest are taken together."""
    identified = Box("Records identified", flow.n_identified, _parts(flow.identified, 0, most))
    removed = Box(
        "Records removed before screening",
        flow.n_removed,
        (
            BoxLine("duplicate records", flow.duplicates),
            BoxLine("marked as ineligible by automation tools (initial filter)", total(flow.ineligible)),
            *_parts(tuple(Tally(name=rule.name.replace("_", " "), n=rule.n) for rule in flow.ineligible), 1, most),
            *([BoxLine("removed for other reasons", flow.removed_otherwise)] if flow.removed_otherwise else []),
        ),
    )
    boxes = [Step(IDENTIFICATION, identified, (removed,))]
    for number, stage in enumerate(flow.stages):
        later = flow.stages[number + 1] if number + 1 < len(flow.stages) else None
        boxes += _stage(stage, later, number == 0, most)
    return tuple(boxes)


def error_words(kind: str) -> str:
    """A kind of error in words; one that is not known as it stands."""
    try:
        return _KINDS[ErrorKind(kind)]
    except ValueError:
        return kind.replace("_", " ")


def _stage(stage: FlowStage, later: FlowStage | None, first: bool, most: int | None) -> list[Step]:
    kind = kind_of(stage.operation)
    screening, noun = kind.decides(), kind.report_noun
    phase = SCREENING if screening else EVALUATION
    title = "Records screened by a language model" if screening else f"Records given to the {noun}"
    admitted = [BoxLine("of these, not passed by the stage before", stage.admitted)] if stage.admitted else []
    taken_back = [BoxLine("of these, kept out by software and decided by a human", stage.taken_back)]
    parts = (*admitted, *(taken_back if stage.taken_back else []))
    entered = Step(phase, Box(title, stage.entered, parts), tuple(_sides(stage, screening, most)))
    if screening:
        so_far = "" if stage.open == 0 else " so far"
        what = BoxLine("reports to be sought for full-text assessment") if later is None else None
        lines = () if what is None else (what,)
        result = Box(f"Records included by screening{so_far}", stage.passed, (*_by_human(stage), *lines))
        result_phase = INCLUDED if later is None or first else phase
    else:
        marked = [BoxLine("of these, evidence found too weak to keep", stage.marked)] if stage.marked else []
        result = Box(f"Records with a result of the {noun}", stage.passed, (*marked, *_by_human(stage)))
        result_phase = phase
    held_back = [] if later is None or not later.held_back else [Box("Not taken to the next stage", later.held_back)]
    return [entered, Step(result_phase, result, tuple(held_back))]


def _by_human(stage: FlowStage) -> tuple[BoxLine, ...]:
    return (BoxLine("of these, by a human", stage.passed_by_human),) if stage.passed_by_human else ()


def _sides(stage: FlowStage, screening: bool, most: int | None) -> list[Box]:
    failed = tuple(Tally(name=error_words(kind.name), n=kind.n) for kind in stage.failed)
    sides = []
    if screening:
        excluded = total(stage.excluded)
        lines = (BoxLine("by automation (language model)", excluded), *_parts(stage.excluded, 1, most))
        humans = stage.excluded_by_human
        sides.append(Box("Records excluded", excluded + humans, (*lines, BoxLine("by a human", humans))))
        unverified = [BoxLine("excluded by the model without a verified quote", stage.unverified, 1)]
        referred = (
            BoxLine("no clear decision (uncertain)", stage.uncertain),
            *(unverified if stage.unverified else []),
            *([BoxLine("decided differently by people (conflict)", stage.conflicts)] if stage.conflicts else []),
            BoxLine("no decision because of an error", total(failed)),
            *_parts(failed, 1, most),
        )
        sides.append(Box("Records referred to a human", stage.referred, referred))
    elif failed:
        sides.append(Box("No result because of an error", total(failed), _parts(failed, 0, most)))
    if stage.conflicts and not screening:
        sides.append(Box("Decided differently by people", stage.conflicts))
    if stage.cancelled or stage.open:
        waiting = [BoxLine("waiting or in progress", stage.open)] if stage.open else []
        cancelled = [BoxLine("cancelled", stage.cancelled)] if stage.cancelled else []
        word = "screened" if screening else "evaluated"
        sides.append(Box(f"Records not {word}", stage.open + stage.cancelled, (*waiting, *cancelled)))
    return sides


def _parts(tallies: tuple[Tally, ...], depth: int, most: int | None) -> tuple[BoxLine, ...]:
    lines = [BoxLine(tally.name, tally.n, depth) for tally in tallies]
    if most is None or len(lines) <= most:
        return tuple(lines)
    rest = tallies[most - 1 :]
    return (*lines[: most - 1], BoxLine(f"{len(rest)} further", total(rest), depth))
