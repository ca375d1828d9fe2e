"""The table of a replay: the numbers of the review, and of Tamis."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tamis_producer import Batch
from tamis_review import list_overrides, measure_agreement
from tamis_schemas import HumanStage
from tamis_schemas.batches.flow import Flow, Tally

from .replay_decisions import ImportedTable
from .replay_inputs import PEOPLE, THIRD
from .replay_published import Published
from .replay_searches import REFERENCE_LISTS, Searches


@dataclass(frozen=True)
class Line:
    """One line of the table: a number of the review, and of Tamis."""

    what: str
    published: str
    tamis: str
    same: bool = True  # True: the two numbers must be equal

    @property
    def agrees(self) -> bool:
        """False if the two numbers must be equal but differ."""
        return not self.same or self.published == self.tamis


def lines(found: Searches, said: Published, tables: Sequence[ImportedTable], batch: Batch, flow: Flow) -> list[Line]:
    """Return a line for every number in the review, from its searches to its studies."""
    return [*_identification(found, said, flow), *_screening(said, tables, batch), *_reports(said, tables, flow)]


def to_markdown(own: Iterable[Line]) -> str:
    """Return the table in Markdown. Lines with a wrong number are marked."""
    rows = [f"| {one.what} | {one.published} | {one.tamis} |{'' if one.agrees else ' **differs**'}" for one in own]
    return "\n".join(["| | the review | Tamis |", "|---|---|---|", *rows, ""])


def imports_to_markdown(tables: Iterable[ImportedTable]) -> str:
    """Return a table of how records were found for the rows of each person's tables."""
    head = "| decisions of | stage | rows | by title | no such title | several | then by place | left |"
    rows = [
        f"| {one.person} | {one.stage.value} | {one.rows:,} | {one.by_title:,} | {one.unmatched:,} | {one.ambiguous:,} "
        f"| {one.by_place:,} | {', '.join(one.left) or '0'} |"
        for one in tables
    ]
    return "\n".join([head, "|---|---|---|---|---|---|---|---|", *rows, ""])


def _identification(found: Searches, said: Published, flow: Flow) -> Iterator[Line]:
    identified = _by_name(flow.identified)
    for export in found.exports:
        yield _line(f"identified: {export.name}", export.published, identified[export.name])
    names = [export.name for export in found.exports]
    every = sum(export.published for export in found.exports)
    yield _line("identified by the searches", every, sum(identified[name] for name in names))
    yield _line("found in lists of references", said.found_otherwise, identified[REFERENCE_LISTS])
    screened = sum(source.screened for source in flow.sources if source.name in names)
    yield _line("left without duplicates", said.screened, screened, same=False)


def _screening(said: Published, tables: Sequence[ImportedTable], batch: Batch) -> Iterator[Line]:
    own = [one for one in list_overrides(batch) if one.stage is HumanStage.OWN]
    includes = Counter(one.reviewer for one in own if one.value == "include")
    by_record = Counter(one.index for one in own if one.reviewer in PEOPLE and one.value == "include")
    for person in PEOPLE:
        yield _line(f"included by {person}", said.includes[person], includes[person])
    yield _line("included by both", said.both, sum(count == len(PEOPLE) for count in by_record.values()))
    yield _line("conflicts", said.conflicts, _conflicts(tables, HumanStage.OWN))
    (pair,) = (one.agreement for one in measure_agreement(batch).people if one.stage is HumanStage.OWN)
    same = pair.n == said.screened
    yield _line("records that both decided", said.screened, pair.n, same=False)
    yield Line("kappa", f"{said.kappa:.4f}", "-" if pair.kappa is None else f"{pair.kappa:.4f}", same=same)
    yield _line("conflicts that the third person included", said.resolved["include"], includes[THIRD])
    excluded = sum(one.reviewer == THIRD and one.value == "exclude" for one in own)
    yield _line("conflicts that the third person excluded", said.resolved["exclude"], excluded)


def _reports(said: Published, tables: Sequence[ImportedTable], flow: Flow) -> Iterator[Line]:
    reports = flow.reports
    if reports is None:
        raise ValueError("the flow ends before the full texts")
    wanted = said.both + said.resolved["include"] + said.found_otherwise
    yield _line("reports sought", wanted, reports.sought)
    yield _line("reports assessed", said.assessed, reports.assessed)
    yield _line("assessed differently by the two", said.differing, _conflicts(tables, HumanStage.FULL_TEXT))
    excluded = _by_name(reports.excluded)
    for reason in sorted({*said.excluded, *excluded}):
        yield _line(f"excluded: {reason}", said.excluded[reason], excluded[reason])
    yield _line("included", said.included, reports.included)


def _conflicts(tables: Sequence[ImportedTable], stage: HumanStage) -> int:
    """Return the number of records in conflict after the import of both people's tables."""
    return max(one.conflicts for one in tables if one.person in PEOPLE and one.stage is stage)


def _by_name(tallies: Iterable[Tally]) -> Counter[str]:
    return Counter({tally.name: tally.n for tally in tallies})


def _line(what: str, published: int, tamis: int, *, same: bool = True) -> Line:
    return Line(what, f"{published:,}", f"{tamis:,}", same)
