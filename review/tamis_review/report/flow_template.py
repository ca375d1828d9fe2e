"""The boxes of a flow, arranged in columns, for the drawing, the tables and the list in the terminal.

If the ledger has sources, reports or an earlier version, the boxes follow PRISMA 2020's template, from the searches to
the included studies. Otherwise, the flow shows only the model's stages, and ends with the screening.

Source: Page, M. J. et al. (2021), The PRISMA 2020 statement, BMJ 372:n71, figure 1: the template for new reviews which
included searches of databases, registers and other sources. As its two footnotes ask, the boxes show the records of
each source, and the exclusions by humans and by automation tools.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tamis_schemas import SourceKind
from tamis_schemas.batches.flow import Flow, FlowStage, PreviousVersion, ReportFlow, Tally, total
from tamis_schemas.operations import kind_of

from .wording import error_words, spaced

IDENTIFICATION, SCREENING, INCLUDED, EVALUATION = "Identification", "Screening", "Included", "Evaluation"
SEARCHES, OTHERS = "via databases and registers", "via other methods"
NO_REASON = "No reason given"
_GROUPS = {SourceKind.DATABASE: "Databases", SourceKind.REGISTER: "Registers"}


@dataclass(frozen=True)
class BoxLine:
    """One line of a box. A line of `depth` 1 is a part of the last line of depth 0 above it."""

    text: str
    n: int | None = None
    depth: int = 0


@dataclass(frozen=True)
class Box:
    """A box: its title, its number of records, and lines on parts of this number."""

    title: str
    n: int
    lines: tuple[BoxLine, ...] = ()
    counted: bool = True  # False: in the drawing only the parts show numbers


@dataclass(frozen=True)
class Step:
    """A box of the main column, with the boxes that branch off to the side."""

    phase: str
    box: Box
    sides: tuple[Box, ...] = ()
    column: str = ""  # the column's heading, if the figure has several columns

    @property
    def boxes(self) -> tuple[Box, ...]:
        """Return all boxes, the main box first."""
        return self.box, *self.sides

    @property
    def place(self) -> str:
        """Return the phase's name, with the column's heading if the figure has several columns."""
        return f"{self.phase}: {self.column}" if self.column else self.phase


@dataclass(frozen=True)
class FlowTemplate:
    """A flow diagram as data: columns side by side, and below the columns their shared last steps."""

    columns: tuple[tuple[Step, ...], ...]
    headings: tuple[str, ...]  # one for each column; empty if the sources are unknown
    joint: tuple[Step, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return all steps from top to bottom, column by column."""
        return (*(step for column in self.columns for step in column), *self.joint)

    @property
    def boxes(self) -> list[tuple[str, Box]]:
        """Return a pair for each box, in the order of a table: the name of its phase (with its column), and the box."""
        return [(step.place, box) for step in self.steps for box in step.boxes]


def flow_template(flow: Flow, most: int | None = None) -> FlowTemplate:
    """Return the boxes of a flow, arranged in columns and steps.

    `most`: for a drawing, the maximum number of lines for reasons, rules or kinds of errors; the rarest ones share the
    last line. None: all lines, for a table. A drawing of a flow with full texts ends with the included studies, as in
    PRISMA's template.
    """
    if not flow.sources and flow.reports is None and flow.previous is None:
        return FlowTemplate((tuple(_screening_alone(flow, most)),), ("",))
    joint = _joint(flow, most)
    if most is not None and flow.reports is not None:
        joint = joint[: 1 if flow.previous is None else 2]
    columns, headings = [], []
    for part in flow.columns or (flow,):
        way = OTHERS if part.other_methods else SEARCHES
        columns.append(tuple(replace(step, column=way if flow.columns else "") for step in _column(part, most)))
        headings.append(f"Identification of studies {way}" if part.sources else "")
    return FlowTemplate(tuple(columns), tuple(headings), joint)


def flow_lines(flow: Flow) -> Iterator[BoxLine]:
    """Yield the flow as a short list for a terminal: the main column, exclusions at depth 1, their parts at depth 2.

    Reasons, rules and kinds of errors are omitted, and so are empty boxes and lines.
    """
    for step in flow_template(flow).steps:
        yield BoxLine(step.box.title.removesuffix(":"), step.box.n)
        for side in step.sides:
            if side.n:
                yield BoxLine(side.title.removesuffix(":"), side.n, 1)
                yield from (BoxLine(line.text, line.n, 2) for line in side.lines if line.n and not line.depth)


def _screening_alone(flow: Flow, most: int | None) -> Iterator[Step]:
    """Yield the steps of a flow without recorded sources or full texts: the records, and the model's stages."""
    rules = _rules(flow)
    removed = (
        BoxLine("duplicate records", flow.duplicates),
        BoxLine("marked as ineligible by automation tools (initial filter)", total(rules)),
        *_parts(rules, 1, most),
        *_counted(("removed for other reasons", flow.removed_otherwise)),
    )
    yield Step(
        IDENTIFICATION,
        Box("Records identified", flow.n_identified, _parts(flow.identified, 0, most)),
        (Box("Records removed before screening", flow.n_removed, removed),),
    )
    for number, (stage, later) in enumerate(_with_next(flow.stages)):
        if not stage.decides:
            yield from _evaluation(stage, later, most)
            continue
        screened = Box("Records screened by a language model", stage.entered, _entered(stage))
        yield Step(SCREENING, screened, (_excluded(stage, flow, most), _referred(stage, most), *_waiting(stage)))
        phase = INCLUDED if later is None or number == 0 else SCREENING
        yield Step(phase, _passed(stage, later), _held_back(later))


def _referred(stage: FlowStage, most: int | None) -> Box:
    """Return the box of records that need a human's decision."""
    failed = _failed(stage)
    lines = (
        BoxLine("no clear decision (uncertain)", stage.uncertain),
        *_unverified(stage),
        *_counted(("reviewers disagree (conflict)", stage.conflicts)),
        BoxLine("no decision because of an error", total(failed)),
        *_parts(failed, 1, most),
    )
    return Box("Records referred to a human", stage.referred, lines)


def _column(flow: Flow, most: int | None) -> Iterator[Step]:
    """Yield the steps of a column, up to the end of screening or, if there are full texts, up to their assessment."""
    yield Step(IDENTIFICATION, _identified(flow), (_removed(flow, most),))
    stages = flow.stages if flow.screening is None else flow.stages[: flow.screening + 1]
    several = sum(stage.decides for stage in stages) > 1
    for number, (stage, later) in enumerate(_with_next(stages), 1):
        if stage.decides:
            screened = Box(f"Records screened{f' (stage {number})' * several}", stage.entered, _entered(stage))
            yield Step(SCREENING, screened, (_excluded(stage, flow, most), *_undecided(stage), *_held_back(later)))
        else:
            yield from _evaluation(stage, later, most)
    if flow.reports is not None:
        yield from _reports(flow.reports, stages[-1], most)


def _joint(flow: Flow, most: int | None) -> tuple[Step, ...]:
    """Return the steps below the columns.

    These are the included records, the model's later stages, and the totals with an earlier version of the review.
    """
    included: list[Step] = []
    rest = () if flow.screening is None else flow.stages[flow.screening + 1 :]
    further = [step for stage, later in _with_next(rest) for step in _evaluation(stage, later, most)]
    if flow.reports is not None:
        reports = (BoxLine("Reports of included studies", flow.reports.included),)
        included.append(Step(INCLUDED, Box("Studies included in review", flow.reports.studies, reports)))
    elif flow.screening is not None:
        later = rest[0] if rest else None
        included.append(Step(INCLUDED, _passed(flow.stages[flow.screening], later), _held_back(later)))
    together = [] if flow.previous is None else [Step(INCLUDED, _together(flow, flow.previous))]
    # The model's further stages concern this version alone, so they follow its included records.
    return (*included, *further, *together) if flow.reports is None else (*included, *together, *further)


def _together(flow: Flow, before: PreviousVersion) -> Box:
    """Return the last box of PRISMA's template for updated reviews: the included records of all versions."""
    if flow.reports is None:
        title, old, new = "Records included by screening in all versions", before.included, flow.included
    else:
        title, old, new = "Total studies included in review", before.studies, flow.studies
    lines = [BoxLine("in the previous version of the review", old), BoxLine("new in this version", new)]
    if flow.reports is not None:
        lines.append(BoxLine("Reports of total included studies", before.included + flow.included))
    return Box(title, old + new, tuple(lines))


def _identified(flow: Flow) -> Box:
    lines = [] if flow.sources else [*_parts(flow.identified, 0, None)]
    for kind in SourceKind:
        sources = tuple(Tally(name=source.name, n=source.identified) for source in flow.sources if source.kind is kind)
        if sources and kind in _GROUPS:
            lines.append(BoxLine(_GROUPS[kind], total(sources)))
        lines += _parts(sources, int(kind in _GROUPS), None)
    return Box("Records identified from:", flow.n_identified, tuple(lines), counted=False)


def _removed(flow: Flow, most: int | None) -> Box:
    rules = _rules(flow)
    lines = (
        BoxLine("Duplicate records removed", flow.duplicates),
        BoxLine("Records marked as ineligible by automation tools", total(rules)),
        *_detail(rules, flow, most),
        BoxLine("Records removed for other reasons", flow.removed_otherwise),
    )
    return Box("Records removed before screening:", flow.n_removed, lines, counted=False)


def _excluded(stage: FlowStage, flow: Flow, most: int | None) -> Box:
    """Return the box of excluded records.

    If people confirmed some of the model's exclusions, a heading says that the reasons are the model's.
    """
    detail = _detail(stage.excluded, flow, most)
    confirmed = BoxLine("reasons that the model gave", total(stage.excluded))
    lines = (
        BoxLine("by a human", stage.excluded_by_human),
        BoxLine("by automation tools (a language model alone)", stage.excluded_alone),
        *([confirmed] if detail and stage.excluded_confirmed else []),
        *detail,
    )
    return Box("Records excluded", stage.n_excluded, lines)


def _detail(tallies: tuple[Tally, ...], flow: Flow, most: int | None) -> tuple[BoxLine, ...]:
    """Return a line for each rule or reason. Return () for a drawing (`most` is given) of a flow with full texts."""
    return () if most is not None and flow.reports is not None else _parts(tallies, 1, most)


def _undecided(stage: FlowStage) -> tuple[Box, ...]:
    failed = _failed(stage)
    lines = (
        *_counted(
            ("reviewers disagree", stage.conflicts),
            ("no clear decision of the model (uncertain)", stage.uncertain),
        ),
        *_unverified(stage),
        *_counted(("no decision because of an error", total(failed))),
        *_parts(failed, 1, None),
        *_counted(("waiting or in progress", stage.open), ("cancelled", stage.cancelled)),
    )
    return _if_any("Records not decided yet", stage.referred + stage.open + stage.cancelled, lines)


def _reports(reports: ReportFlow, stage: FlowStage, most: int | None) -> Iterator[Step]:
    waiting = _counted(
        ("no retrieval decision", reports.awaited),
        ("retrieved, not assessed yet", reports.unassessed),
    )
    reasoned = any(tally.name != NO_REASON for tally in reports.not_retrieved)
    lost = Box(
        "Reports not retrieved",
        total(reports.not_retrieved),
        _parts(reports.not_retrieved, 0, most) if reasoned else (),
    )
    sought = Box("Reports sought for retrieval", reports.sought, _by_human(stage) if most is None else ())
    later = _if_any("Reports not assessed yet", reports.awaited + reports.unassessed, waiting)
    yield Step(SCREENING, sought, (lost, *later))
    undecided = _counted(("reviewers disagree", reports.conflicts), ("uncertain", reports.uncertain))
    excluded = Box("Reports excluded", total(reports.excluded), _parts(reports.excluded, 0, most))
    left = _if_any("Reports not decided yet", reports.conflicts + reports.uncertain, undecided)
    yield Step(SCREENING, Box("Reports assessed for eligibility", reports.assessed), (excluded, *left))


def _evaluation(stage: FlowStage, later: FlowStage | None, most: int | None) -> Iterator[Step]:
    """Yield the steps of a stage that excludes nothing: records given to a model, and records with a result."""
    noun, failed = kind_of(stage.operation).report_noun, _failed(stage)
    sides = (
        *_if_any("No result because of an error", total(failed), _parts(failed, 0, most)),
        *([Box("Reviewers disagree", stage.conflicts)] if stage.conflicts else []),
        *_waiting(stage),
    )
    yield Step(EVALUATION, Box(f"Records given to the {noun}", stage.entered, _entered(stage)), sides)
    marked = _counted(("of these, evidence too weak to keep", stage.marked))
    result = Box(f"Records with a result of the {noun}", stage.passed, (*marked, *_by_human(stage)))
    yield Step(EVALUATION, result, _held_back(later))


def _passed(stage: FlowStage, later: FlowStage | None) -> Box:
    """Return the box of the records that a screening included.

    `later`: the next stage. None: there is no further stage, so people continue with the records.
    """
    so_far = "" if stage.open == 0 else " so far"
    sought = [BoxLine("reports to be sought for full-text assessment")] if later is None else []
    return Box(f"Records included by screening{so_far}", stage.passed, (*_by_human(stage), *sought))


def _entered(stage: FlowStage) -> tuple[BoxLine, ...]:
    """Return lines on two kinds of records that entered a stage.

    These are records that did not pass the previous stage, and records that software removed but a human decided.
    """
    return _counted(
        ("of these, not passed by the previous stage", stage.admitted),
        ("of these, removed by software and decided by a human", stage.taken_back),
    )


def _by_human(stage: FlowStage) -> tuple[BoxLine, ...]:
    """Return a line on records that passed by a human's decision, or () if there are none."""
    return _counted(("of these, by a human", stage.passed_by_human))


def _unverified(stage: FlowStage) -> tuple[BoxLine, ...]:
    return _counted(("excluded by the model without a verified quote", stage.unverified), depth=1)


def _waiting(stage: FlowStage) -> tuple[Box, ...]:
    """Return a box for records without a result, or () if there are none."""
    lines = _counted(("waiting or in progress", stage.open), ("cancelled", stage.cancelled))
    return _if_any(f"Records not {'screened' if stage.decides else 'evaluated'}", stage.open + stage.cancelled, lines)


def _held_back(later: FlowStage | None) -> tuple[Box, ...]:
    """Return a box for records that passed but are missing from the next stage, or () if there are none."""
    return () if later is None or not later.held_back else (Box("Not taken to the next stage", later.held_back),)


def _if_any(title: str, n: int, lines: tuple[BoxLine, ...]) -> tuple[Box, ...]:
    return (Box(title, n, lines),) if lines else ()


def _failed(stage: FlowStage) -> tuple[Tally, ...]:
    return tuple(Tally(name=error_words(kind.name), n=kind.n) for kind in stage.failed)


def _rules(flow: Flow) -> tuple[Tally, ...]:
    return tuple(Tally(name=spaced(rule.name), n=rule.n) for rule in flow.ineligible)


def _with_next(stages: Sequence[FlowStage]) -> Iterator[tuple[FlowStage, FlowStage | None]]:
    return zip(stages, (*stages[1:], None), strict=False)


def _parts(tallies: tuple[Tally, ...], depth: int, most: int | None) -> tuple[BoxLine, ...]:
    """Return a line for each tally (a name with its number).

    If there are more than `most` tallies, the rarest ones share the last line.
    """
    lines = [BoxLine(tally.name, tally.n, depth) for tally in tallies]
    if most is None or len(lines) <= most:
        return tuple(lines)
    rest = tallies[most - 1 :]
    return (*lines[: most - 1], BoxLine(f"{len(rest)} further", total(rest), depth))


def _counted(*lines: tuple[str, int], depth: int = 0) -> tuple[BoxLine, ...]:
    """Return a box line for each text whose number is not 0."""
    return tuple(BoxLine(text, n, depth) for text, n in lines if n)
