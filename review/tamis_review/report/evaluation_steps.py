"""The boxes of a stage that asks a model something else than to include or to exclude."""

from tamis_schemas.batches.flow import FlowStage, Tally, total
from tamis_schemas.operations import kind_of

from .boxes import EVALUATION, Box, BoxLine, Step, counted_lines, parts
from .error_words import error_words


def evaluation_steps(stage: FlowStage, later: FlowStage | None, most: int | None) -> list[Step]:
    """The records given to the model, with what ended there, and those with a result."""
    noun = kind_of(stage.operation).report_noun
    failed = tuple(Tally(name=error_words(kind.name), n=kind.n) for kind in stage.failed)
    sides = [Box("No result because of an error", total(failed), parts(failed, 0, most))] if failed else []
    if stage.conflicts:
        sides.append(Box("Decided differently by people", stage.conflicts))
    marked = counted_lines(("of these, evidence found too weak to keep", stage.marked))
    result = Box(f"Records with a result of the {noun}", stage.passed, (*marked, *by_human(stage)))
    return [
        Step(EVALUATION, Box(f"Records given to the {noun}", stage.entered, entered(stage)), (*sides, *waiting(stage))),
        Step(EVALUATION, result, held_back(later)),
    ]


def entered(stage: FlowStage) -> tuple[BoxLine, ...]:
    """Lines on records that came to a stage by another way than through the one before."""
    return counted_lines(
        ("of these, not passed by the stage before", stage.admitted),
        ("of these, kept out by software and decided by a human", stage.taken_back),
    )


def by_human(stage: FlowStage) -> tuple[BoxLine, ...]:
    """A line on those that passed because a human said so."""
    return counted_lines(("of these, by a human", stage.passed_by_human))


def waiting(stage: FlowStage) -> tuple[Box, ...]:
    """A box for records without a result, where there are any."""
    lines = counted_lines(("waiting or in progress", stage.open), ("cancelled", stage.cancelled))
    word = "screened" if stage.decides else "evaluated"
    return (Box(f"Records not {word}", stage.open + stage.cancelled, lines),) if lines else ()


def held_back(later: FlowStage | None) -> tuple[Box, ...]:
    """A box for records that passed and are not in the next stage, where there are any."""
    return () if later is None or not later.held_back else (Box("Not taken to the next stage", later.held_back),)
