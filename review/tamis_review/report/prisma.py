"""The boxes of a flow in the words of PRISMA 2020's template, from the searches to the studies that are included.

Source: Page, M. J. et al. (2021), The PRISMA 2020 statement, BMJ 372:n71, figure 1: the template for new reviews which
included searches of databases, registers and other sources. The template's two footnotes ask for the number of records
of each source, and for what humans and what automation tools excluded: both stand in the boxes.
"""

from collections.abc import Iterator
from dataclasses import replace

from tamis_schemas import SourceKind
from tamis_schemas.batches.flow import Flow, FlowStage, PreviousVersion, ReportFlow, Tally, total

from .boxes import IDENTIFICATION, INCLUDED, SCREENING, Box, BoxLine, Step, counted_lines, parts
from .error_words import error_words
from .evaluation_steps import by_human, entered, evaluation_steps, held_back

SEARCHES, OTHERS = "via databases and registers", "via other methods"
_GROUPS = {SourceKind.DATABASE: "Databases", SourceKind.REGISTER: "Registers"}
NO_REASON = "No reason given"


def follows_template(flow: Flow) -> bool:
    """True where the ledger knows enough of the sources, or of the reports, for the template's boxes."""
    return bool(flow.sources) or flow.reports is not None or flow.previous is not None


def columns_of(flow: Flow, most: int | None) -> tuple[tuple[Step, ...], ...]:
    """The boxes of each column of the template: down to the screening's end, or to the assessment of reports."""
    if not flow.columns:
        return (_column(flow, most),)
    return tuple(tuple(replace(step, column=heading(of)) for step in _column(of, most)) for of in flow.columns)


def joint_steps(flow: Flow, most: int | None) -> tuple[Step, ...]:
    """The boxes below the columns, in which all of them end; after these what else a model was asked about."""
    each: list[Step] = []
    last = flow.screening
    if flow.reports is not None:
        included = (BoxLine("Reports of included studies", flow.reports.included),)
        each.append(Step(INCLUDED, Box("Studies included in review", flow.reports.studies, included)))
    elif last is not None:
        stage = flow.stages[last]
        later = flow.stages[last + 1] if last + 1 < len(flow.stages) else None
        lines = (*by_human(stage), *([] if later else [BoxLine("reports to be sought for full-text assessment")]))
        so_far = "" if stage.open == 0 else " so far"
        box = Box(f"Records included by screening{so_far}", stage.passed, lines)
        each.append(Step(INCLUDED, box, held_back(later)))
    if last is not None:
        for number, stage in enumerate(flow.stages[last + 1 :], last + 1):
            later = flow.stages[number + 1] if number + 1 < len(flow.stages) else None
            each += evaluation_steps(stage, later, most)
    together = [] if flow.previous is None else [Step(INCLUDED, _together(flow, flow.previous))]
    # Behind what is included in the end; what a model is asked about further records is of this version alone.
    place = 1 if flow.reports is not None else len(each)
    return (*each[:place], *together, *each[place:])


def _together(flow: Flow, before: PreviousVersion) -> Box:
    """The last box of the template for updated reviews: what its versions include together."""
    if flow.reports is None:
        title, old, new = "Records included by screening in all versions", before.included, flow.included
    else:
        title, old, new = "Total studies included in review", before.studies, flow.studies
    lines = [BoxLine("in the previous version of the review", old), BoxLine("new in this version", new)]
    if flow.reports is not None:
        lines.append(BoxLine("Reports of total included studies", before.included + flow.included))
    return Box(title, old + new, tuple(lines))


def template_steps(flow: Flow, most: int | None = None) -> tuple[Step, ...]:
    """Every box, column by column."""
    columns = (step for column in columns_of(flow, most) for step in column)
    return (*columns, *joint_steps(flow, most))


def heading(flow: Flow) -> str:
    """The heading of a column."""
    return OTHERS if flow.other_methods else SEARCHES


def _column(flow: Flow, most: int | None) -> tuple[Step, ...]:
    each = [Step(IDENTIFICATION, _identified(flow), (_removed(flow, most),))]
    last = len(flow.stages) - 1 if flow.screening is None else flow.screening
    several = sum(stage.decides for stage in flow.stages[: last + 1]) > 1
    for number, stage in enumerate(flow.stages[: last + 1]):
        later = flow.stages[number + 1] if number + 1 < len(flow.stages) else None
        if stage.decides:
            which = f" (stage {number + 1})" if several else ""
            each.append(_screened(stage, later if number < last else None, which, flow, most))
        else:
            each += evaluation_steps(stage, later, most)
    if flow.reports is not None:
        each += _reports(flow.reports, flow.stages[last], most)
    return tuple(each)


def _identified(flow: Flow) -> Box:
    lines: list[BoxLine] = []
    if not flow.sources:
        lines += parts(flow.identified, 0, None)
    for kind, group in _GROUPS.items():
        of_kind = tuple(Tally(name=one.name, n=one.identified) for one in flow.sources if one.kind is kind)
        if of_kind:
            lines += [BoxLine(group, total(of_kind)), *parts(of_kind, 1, None)]
    others = tuple(Tally(name=one.name, n=one.identified) for one in flow.sources if one.kind is SourceKind.OTHER)
    lines += parts(others, 0, None)
    return Box("Records identified from:", flow.n_identified, tuple(lines), counted=False)


def _removed(flow: Flow, most: int | None) -> Box:
    rules = tuple(Tally(name=rule.name.replace("_", " "), n=rule.n) for rule in flow.ineligible)
    lines = (
        BoxLine("Duplicate records removed", flow.duplicates),
        BoxLine("Records marked as ineligible by automation tools", total(rules)),
        *_detail(rules, flow, most),
        BoxLine("Records removed for other reasons", flow.removed_otherwise),
    )
    return Box("Records removed before screening:", flow.n_removed, lines, counted=False)


def _screened(stage: FlowStage, later: FlowStage | None, which: str, flow: Flow, most: int | None) -> Step:
    model = total(stage.excluded) - stage.excluded_confirmed
    excluded = Box(
        "Records excluded",
        total(stage.excluded) + stage.excluded_by_human,
        (
            BoxLine("by a human", stage.excluded_by_human + stage.excluded_confirmed),
            BoxLine("by automation tools (a language model alone)", model),
            *_reasons(stage, flow, most),
        ),
    )
    sides = (excluded, *_undecided(stage), *held_back(later))
    return Step(SCREENING, Box(f"Records screened{which}", stage.entered, entered(stage)), sides)


def _reasons(stage: FlowStage, flow: Flow, most: int | None) -> tuple[BoxLine, ...]:
    """Lines for the model's reasons, under a heading of their own where people confirmed some of its exclusions."""
    detail = _detail(stage.excluded, flow, most)
    if not detail or not stage.excluded_confirmed:
        return detail
    return (BoxLine("reasons that the model gave", total(stage.excluded)), *detail)


def _detail(tallies: tuple[Tally, ...], flow: Flow, most: int | None) -> tuple[BoxLine, ...]:
    """Lines for rules and reasons before full texts; a drawing that goes on to full texts leaves them to the table."""
    return () if most is not None and flow.reports is not None else parts(tallies, 1, most)


def _undecided(stage: FlowStage) -> Iterator[Box]:
    failed = tuple(Tally(name=error_words(kind.name), n=kind.n) for kind in stage.failed)
    lines = (
        *counted_lines(
            ("reviewers disagree", stage.conflicts),
            ("no clear decision of the model (uncertain)", stage.uncertain),
        ),
        *([BoxLine("excluded by the model without a verified quote", stage.unverified, 1)] * bool(stage.unverified)),
        *counted_lines(("no decision because of an error", total(failed))),
        *parts(failed, 1, None),
        *counted_lines(("waiting or in progress", stage.open), ("cancelled", stage.cancelled)),
    )
    n = stage.referred + stage.open + stage.cancelled
    if n:
        yield Box("Records not decided yet", n, lines)


def _reports(reports: ReportFlow, stage: FlowStage, most: int | None) -> Iterator[Step]:
    waiting = counted_lines(
        ("nobody has said whether they were retrieved", reports.awaited),
        ("retrieved and not assessed yet", reports.unassessed),
    )
    open_reports = [Box("Reports not assessed yet", reports.awaited + reports.unassessed, waiting)] if waiting else []
    why = parts(reports.not_retrieved, 0, most) if _reasoned(reports.not_retrieved) else ()
    not_retrieved = Box("Reports not retrieved", total(reports.not_retrieved), why)
    humans = by_human(stage) if most is None else ()
    sought = Box("Reports sought for retrieval", reports.sought, humans)
    yield Step(SCREENING, sought, (not_retrieved, *open_reports))
    excluded = Box("Reports excluded", total(reports.excluded), parts(reports.excluded, 0, most))
    undecided = counted_lines(("reviewers disagree", reports.conflicts), ("left open (uncertain)", reports.uncertain))
    left = [Box("Reports not decided yet", reports.conflicts + reports.uncertain, undecided)] if undecided else []
    yield Step(SCREENING, Box("Reports assessed for eligibility", reports.assessed), (excluded, *left))


def _reasoned(tallies: tuple[Tally, ...]) -> bool:
    return any(tally.name != NO_REASON for tally in tallies)
