"""The complete figure from the ledger: every number of it is counted once more here, record by record."""

import io
import random
from collections import Counter
from dataclasses import dataclass
from uuid import UUID

import pytest

from stage.assessed import A, B, by_name, figures, record, said
from stage.complete_flow import SOURCES
from stage.screened import Ledgered, decided, failed, kept_out, write_batch, written_batch
from tamis_producer import Batch, Client
from tamis_review import decide
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_review.report import ReportForm, write_report
from tamis_schemas import Exclusion, HumanStage, SourceKind
from tamis_schemas.batches.flow import Flow

RETRIEVAL, FULL_TEXT = HumanStage.RETRIEVAL, HumanStage.FULL_TEXT


@dataclass
class Told:
    """One record as the test made it: what became of it, by rules of the test's own."""

    source: int
    model: str  # include, exclude, uncertain, failed, duplicate, title_pattern
    people: str | None = None  # include, exclude; None: nobody
    retrieval: tuple[str, str | None] | None = None
    full_text: tuple[str, str | None] | None = None  # include, exclude, uncertain, conflict; the reason or the study

    @property
    def way(self) -> str:
        if self.people == "include":
            return "passed"
        if self.model in {"duplicate", "title_pattern"}:
            return self.model
        if self.people == "exclude":
            return "by a human"
        return {"include": "passed", "exclude": "by the model"}.get(self.model, "undecided")


def drawn(n: int) -> list[Told]:
    """Records of three sources with every combination of decisions, as chance has it."""
    chance = random.Random(372)
    told = []
    for _ in range(n):
        model = chance.choice(["include"] * 4 + ["exclude"] * 4 + ["uncertain", "failed", "duplicate", "title_pattern"])
        one = Told(source=chance.randrange(3), model=model, people=chance.choice([None] * 4 + ["include", "exclude"]))
        if one.way == "passed":
            lost = ("not retrieved", chance.choice([None, "No copy to be had"]))
            one.retrieval = chance.choice([None, ("retrieved", None), lost])
            one.full_text = chance.choice(
                [
                    *(None, ("uncertain", None), ("conflict", None), ("exclude", None)),
                    *(("exclude", "Wrong age"), ("exclude", "Wrong outcome"), ("include", None)),
                    *(("include", "One cohort"), ("include", "Another cohort")),
                ]
            )
        told.append(one)
    return told


def written(client: Client, told: list[Told]) -> Batch:
    """The records in the ledger, with the decisions of people in all three stages."""
    rows: list[Ledgered] = []
    for n, one in enumerate(told):
        match one.model:
            case "duplicate":
                row = kept_out(record(n), Exclusion(rule="duplicate", reason="the same DOI", duplicate_of=0))
            case "title_pattern":
                row = kept_out(record(n), Exclusion(rule="title_pattern", reason="in rats"))
            case "failed":
                row = failed(record(n), "timeout")
            case status:
                row = decided(record(n), said(status))
        rows.append(Ledgered(**{**row.__dict__, "source": one.source}))
    batch = written_batch(client, rows, source=SOURCES)
    made = []
    for n, one in enumerate(told):
        if one.people:
            made.append(HumanDecision(n, one.people, B))
        if one.retrieval:
            made.append(HumanDecision(n, one.retrieval[0], B, stage=RETRIEVAL, reason=one.retrieval[1]))
        if one.full_text is None:
            continue
        value, detail = one.full_text
        if value == "conflict":
            made += [HumanDecision(n, each, who, stage=FULL_TEXT) for each, who in (("include", A), ("exclude", B))]
        elif value == "include":
            note = None if detail is None else f"Read twice.\nStudy: {detail}\nSee table 2."
            made.append(HumanDecision(n, value, A, note, stage=FULL_TEXT))
        else:
            made.append(HumanDecision(n, value, A, stage=FULL_TEXT, reason=detail))
    decide(batch, made)
    return batch


def check(flow: Flow, told: list[Told], places: dict[int, Told]) -> None:
    """Compare every number of a flow, or of one of its columns, with the records that it is of."""
    ways = Counter(one.way for one in told)
    (stage,) = flow.stages
    assert flow.n_identified == len(told)
    assert flow.duplicates == ways["duplicate"]
    assert by_name(flow.ineligible) == ({"title_pattern": ways["title_pattern"]} if ways["title_pattern"] else {})
    assert stage.entered == len(told) - ways["duplicate"] - ways["title_pattern"]
    assert stage.passed == ways["passed"]
    model_too = sum(one.model == "exclude" for one in told if one.way == "by a human")
    assert by_name(stage.excluded) == {"Animal studies": ways["by the model"] + model_too}
    by_people = [one.model for one in told if one.way == "passed" and one.people == "include"]
    assert (stage.passed_confirmed, stage.passed_by_human) == (by_people.count("include"), len(by_people))
    assert (stage.excluded_confirmed, stage.excluded_by_human) == (model_too, ways["by a human"])
    assert stage.referred == ways["undecided"]

    passed = {place: one for place, one in places.items() if one.way == "passed"}
    reports = flow.reports
    assert reports is not None
    unread = [one.retrieval for one in passed.values() if one.full_text is None]
    assert reports.sought == len(passed)
    assert by_name(reports.not_retrieved) == Counter(
        got[1] or "No reason given" for got in unread if got is not None and got[0] == "not retrieved"
    )
    assert reports.awaited == unread.count(None)
    assert reports.unassessed == unread.count(("retrieved", None))
    read = [(place, one.full_text) for place, one in passed.items() if one.full_text is not None]
    values = Counter(value for _, (value, _) in read)
    assert by_name(reports.excluded) == Counter(why or "No reason given" for _, (v, why) in read if v == "exclude")
    assert (reports.uncertain, reports.conflicts) == (values["uncertain"], values["conflict"])
    assert reports.included == values["include"]
    assert reports.studies == len({study or place for place, (value, study) in read if value == "include"})


@pytest.mark.night
def test_every_number_of_the_figure_is_that_of_the_records(client: Client) -> None:
    told = drawn(400)
    batch = written(client, told)
    found = figures(client, batch.id)
    places = dict(enumerate(told))
    check(found.flow, told, places)
    assert found.report_reviewers == (A, B)
    for place, source in enumerate(found.flow.sources):
        of_source = [one for one in told if one.source == place]
        ways = Counter(one.way for one in of_source)
        removed = ways["duplicate"] + ways["title_pattern"]
        assert (source.name, source.kind) == (SOURCES[place].name, SOURCES[place].kind)
        assert (source.identified, source.duplicates) == (len(of_source), ways["duplicate"])
        assert source.screened == len(of_source) - removed
    searched, others = found.flow.columns
    for column, sources in ((searched, {0, 1}), (others, {2})):
        of_column = {place: one for place, one in places.items() if one.source in sources}
        check(column, list(of_column.values()), of_column)
    listed = {row.index: row for row in found.reports}
    assert list(listed) == [place for place, one in places.items() if one.way == "passed"]
    ways = {"include": "included", "exclude": "excluded", "uncertain": "uncertain", "conflict": "reviewers disagree"}
    for place, row in listed.items():
        one = told[place]
        value, detail = one.full_text or (None, None)
        got = one.retrieval[0] if one.retrieval else "awaited"
        unread = "not assessed yet" if got == "retrieved" else got
        assert row.way == (ways[value] if value else unread)
        assert row.study == (detail if value == "include" else None)
        lost = one.retrieval[1] if row.way == "not retrieved" and one.retrieval else None
        assert row.reason == (detail if value == "exclude" else lost)
        assert row.title == f"Title {place}"
    assert not found.finished  # reports are open

    svg, page = io.StringIO(), io.StringIO()
    write_report(client.engine, batch.id, ReportForm.SVG, svg)
    write_report(client.engine, batch.id, ReportForm.HTML, page)
    reports = found.flow.reports
    assert reports is not None
    said = f"Studies included in review: {reports.studies} (Reports of included studies: {reports.included})."
    assert said in svg.getvalue()
    assert "reports are not decided yet: the numbers from retrieval onwards will change." in page.getvalue()


def test_one_source_of_which_something_is_known_is_drawn_in_the_template(client: Client) -> None:
    def of(**known: object) -> Flow:
        source = SOURCES[2].model_copy(update={"name": "cited.ris", "kind": SourceKind.DATABASE} | known)
        with client.engine.begin() as connection:
            return_id: UUID = write_batch(connection, [decided(record(0), said("include"))], source=[source])
        return figures(client, str(return_id)).flow

    assert of().sources == ()
    for known in ({"kind": SOURCES[2].kind}, {"searched": SOURCES[0].searched}, {"query": "hip"}, {"name": "CINAHL"}):
        assert len(of(**known).sources) == 1
