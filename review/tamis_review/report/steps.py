"""The boxes of a flow, in words: what the drawing, the table and the Markdown show alike."""

from collections.abc import Iterator

from tamis_schemas.batches.flow import Flow, FlowStage, Tally, total

from .boxes import IDENTIFICATION, INCLUDED, SCREENING, Box, BoxLine, Step, counted_lines, parts
from .error_words import error_words
from .evaluation_steps import by_human, entered, evaluation_steps, held_back, waiting
from .prisma import follows_template, template_steps


def steps(flow: Flow, most: int | None = None) -> tuple[Step, ...]:
    """The flow from top to bottom, column by column. Of more than `most` reasons, rules or kinds, the rarest are taken
    together.

    Of one file that nobody says more of, and without a word on reports, the flow ends where the screening does.
    """
    return template_steps(flow, most) if follows_template(flow) else screening_steps(flow, most)


def flow_lines(flow: Flow) -> Iterator[BoxLine]:
    """The flow as a short list, for a terminal: the main column, at depth 1 what leaves it, at depth 2 why.

    Reasons, rules and kinds of errors are left out, and so is what no record is counted in.
    """
    for step in steps(flow):
        yield BoxLine(step.box.title.removesuffix(":"), step.box.n)
        for side in step.sides:
            if side.n:
                yield BoxLine(side.title.removesuffix(":"), side.n, 1)
                yield from (BoxLine(line.text, line.n, 2) for line in side.lines if line.n and not line.depth)


def screening_steps(flow: Flow, most: int | None) -> tuple[Step, ...]:
    """The flow of one file through what a model was asked, which is no more than a part of PRISMA's template."""
    identified = Box("Records identified", flow.n_identified, parts(flow.identified, 0, most))
    removed = Box(
        "Records removed before screening",
        flow.n_removed,
        (
            BoxLine("duplicate records", flow.duplicates),
            BoxLine("marked as ineligible by automation tools (initial filter)", total(flow.ineligible)),
            *parts(tuple(Tally(name=rule.name.replace("_", " "), n=rule.n) for rule in flow.ineligible), 1, most),
            *([BoxLine("removed for other reasons", flow.removed_otherwise)] if flow.removed_otherwise else []),
        ),
    )
    boxes = [Step(IDENTIFICATION, identified, (removed,))]
    for number, stage in enumerate(flow.stages):
        later = flow.stages[number + 1] if number + 1 < len(flow.stages) else None
        boxes += _screening(stage, later, number == 0, most) if stage.decides else evaluation_steps(stage, later, most)
    return tuple(boxes)


def _screening(stage: FlowStage, later: FlowStage | None, first: bool, most: int | None) -> list[Step]:
    title = "Records screened by a language model"
    given = Step(SCREENING, Box(title, stage.entered, entered(stage)), (*_decided(stage, most), *waiting(stage)))
    so_far = "" if stage.open == 0 else " so far"
    sought = [BoxLine("reports to be sought for full-text assessment")] if later is None else []
    result = Box(f"Records included by screening{so_far}", stage.passed, (*by_human(stage), *sought))
    return [given, Step(INCLUDED if later is None or first else SCREENING, result, held_back(later))]


def _decided(stage: FlowStage, most: int | None) -> tuple[Box, Box]:
    """Return the boxes for what is excluded, and for what a human has to decide."""
    failed = tuple(Tally(name=error_words(kind.name), n=kind.n) for kind in stage.failed)
    excluded, humans = total(stage.excluded), stage.excluded_by_human
    lines = (BoxLine("by automation (language model)", excluded), *parts(stage.excluded, 1, most))
    unverified = [BoxLine("excluded by the model without a verified quote", stage.unverified, 1)]
    referred = (
        BoxLine("no clear decision (uncertain)", stage.uncertain),
        *(unverified if stage.unverified else []),
        *counted_lines(("decided differently by people (conflict)", stage.conflicts)),
        BoxLine("no decision because of an error", total(failed)),
        *parts(failed, 1, most),
    )
    return (
        Box("Records excluded", excluded + humans, (*lines, BoxLine("by a human", humans))),
        Box("Records referred to a human", stage.referred, referred),
    )
