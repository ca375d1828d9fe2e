"""The complete figure from the ledger: every number of it is counted once more here, record by record."""

import io
import json
import random
from collections import Counter
from dataclasses import dataclass
from uuid import UUID

import pytest
from sqlalchemy import text

from stage.complete_flow import SOURCES
from stage.screened import CRITERIA, SCREENING, Ledgered, Place, decided, failed, kept_out, write_batch, write_review
from tamis_producer import Batch, Client
from tamis_producer.decisions.record_overrides import HumanDecision, RefusedDecision
from tamis_producer.report import Figures, ReportForm, write_report
from tamis_producer.report.reading import read_figures, snapshot
from tamis_producer.report.subject import find_subject
from tamis_schemas import (
    Exclusion,
    ExtractFields,
    Filter,
    HumanStage,
    InclusionDecision,
    InvalidParameters,
    OperationFailed,
    Score,
    SourceKind,
)
from tamis_schemas.batches.flow import Flow, Tally

A, B, C = "Reviewer A", "Reviewer B", "Reviewer C"
RETRIEVAL, FULL_TEXT = HumanStage.RETRIEVAL, HumanStage.FULL_TEXT
FIELDS = ExtractFields(schema={"type": "object", "properties": {"n": {"type": "integer"}}}, instructions="How many?")


def record(n: int) -> dict[str, object]:
    return {"id": f"r{n}", "title": f"Title {n}"}


def said(status: str) -> InclusionDecision:
    reason = CRITERIA.exclusion_criteria[0] if status == "exclude" else None
    return InclusionDecision.model_validate(
        {"status": status, "confidence": 0.8, "rationale": "because", "exclusion_reason": reason}
    )


def figures(client: Client, subject: str) -> Figures:
    with snapshot(client.engine) as connection:
        return read_figures(connection, find_subject(connection, subject))


def by_name(tallies: tuple[Tally, ...]) -> dict[str, int]:
    return {tally.name: tally.n for tally in tallies}


def decide(batch: Batch, stage: HumanStage, value: str, *places: int, reviewer: str = A, **more: object) -> None:
    made = [HumanDecision(place, value, reviewer, stage=stage, **more) for place in places]  # type: ignore[arg-type]
    batch.decide(made)


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
    with client.engine.begin() as connection:
        batch_id = write_batch(connection, rows, source=SOURCES)
    batch = client.batch(str(batch_id))
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
    batch.decide(made)
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
    people_too = [one.people for one in told if one.way == "passed" and one.model == "include"]
    assert (stage.passed_confirmed, stage.passed_by_human) == (
        people_too.count("include"),
        ways["passed"] - len(people_too),
    )
    assert (stage.excluded_confirmed, stage.excluded_by_human) == (model_too, ways["by a human"] - model_too)
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
    assert "reports are not decided about yet: the numbers from retrieval on will change." in page.getvalue()


@pytest.fixture
def batch(client: Client) -> Batch:
    """Three records that the model includes, one that it excludes, one of which it is uncertain."""
    rows = [decided(record(n), said("include")) for n in range(3)]
    rows += [decided(record(3), said("exclude")), decided(record(4), said("uncertain"))]
    with client.engine.begin() as connection:
        batch_id = write_batch(connection, rows)
    return client.batch(str(batch_id))


def test_a_figure_without_a_word_on_reports_ends_with_the_screening(client: Client, batch: Batch) -> None:
    assert figures(client, batch.id).flow.reports is None
    decide(batch, RETRIEVAL, "retrieved", 0)
    reports = figures(client, batch.id).flow.reports
    assert reports is not None
    assert (reports.sought, reports.unassessed, reports.awaited) == (3, 1, 2)
    batch.withdraw_override(0, reviewer=A, stage=RETRIEVAL)
    assert figures(client, batch.id).flow.reports is None


def test_what_did_not_pass_is_not_assessed_and_the_error_names_it(client: Client, batch: Batch) -> None:
    for place, way in ((3, "excluded"), (4, "uncertain")):
        with pytest.raises(
            RefusedDecision, match=rf"not passed by the screening: record {place} \(r{place}\), which is {way}"
        ):
            batch.decide(
                [
                    HumanDecision(0, "include", A, stage=FULL_TEXT),
                    HumanDecision(place, "exclude", A, stage=FULL_TEXT, reason="Wrong age"),
                ]
            )
    assert batch.overrides(history=True) == []  # all or nothing
    batch.override(4, "include", reviewer=A)  # a person lets it pass, and then it can be assessed
    decide(batch, FULL_TEXT, "include", 4)
    with pytest.raises(RefusedDecision, match=r"not passed by the screening: record 4 \(r4\)"):
        batch.withdraw_override(4, reviewer=A)
    with pytest.raises(RefusedDecision, match=r"record 4 \(r4\), which is conflict"):
        batch.override(4, "exclude", reviewer=B)
    reports = figures(client, batch.id).flow.reports
    assert reports is not None
    assert (reports.sought, reports.included) == (4, 1)


def test_a_ledger_in_which_the_model_changed_its_mind_later_gives_no_figure_and_says_which_record(
    client: Client, batch: Batch
) -> None:
    decide(batch, FULL_TEXT, "include", 0, 1)
    with client.engine.begin() as connection:  # as a new round might
        connection.execute(text("UPDATE results SET value = '\"uncertain\"' WHERE idx = 1"))
    with pytest.raises(OperationFailed, match=r"^not passed by the screening: record 1 \(r1\), which is uncertain"):
        figures(client, batch.id)


def test_of_several_reviewers_of_a_full_text_the_same_rule_holds_as_everywhere(client: Client, batch: Batch) -> None:
    decide(batch, FULL_TEXT, "include", 0, 1, 2)
    decide(batch, FULL_TEXT, "exclude", 0, 1, reviewer=B, reason="Wrong age")
    decide(batch, FULL_TEXT, "exclude", 1, reviewer=C, reason="Wrong outcome", settles=True)
    decide(batch, FULL_TEXT, "include", 2, reviewer=B)
    reports = figures(client, batch.id).flow.reports
    assert reports is not None
    assert (reports.conflicts, reports.included) == (1, 1)
    assert by_name(reports.excluded) == {"Wrong outcome": 1}  # the reason of the one that settles
    decide(batch, FULL_TEXT, "exclude", 0, reason="Wrong age")
    reports = figures(client, batch.id).flow.reports
    assert reports is not None
    assert by_name(reports.excluded) == {"Wrong age": 1, "Wrong outcome": 1}


def test_a_report_that_was_assessed_was_retrieved_whatever_was_said_before(client: Client, batch: Batch) -> None:
    decide(batch, RETRIEVAL, "not retrieved", 0, 1, reason="No copy to be had")
    decide(batch, FULL_TEXT, "include", 0)
    reports = figures(client, batch.id).flow.reports
    assert reports is not None
    assert (by_name(reports.not_retrieved), reports.assessed) == ({"No copy to be had": 1}, 1)


def test_in_a_review_reports_belong_to_its_last_screening(client: Client) -> None:
    with client.engine.begin() as connection:
        plan = (Filter(criteria="Is it about hips?"), SCREENING, FIELDS)
        review = write_review(connection, "Hips", *plan, finished=True)
        whole = [Ledgered(record(n), value=n < 3, confidence=0.9, source=n % 3) for n in range(5)]
        first = write_batch(connection, whole, operation=plan[0], source=SOURCES, place=Place(review, 0))
    with pytest.raises(InvalidParameters, match=r"last screening of its review.*its stage 2, which has not begun"):
        decide(client.batch(str(first)), FULL_TEXT, "include", 0)
    with client.engine.begin() as connection:
        rows = [decided(record(n), said("include"), origin=n) for n in range(2)]
        rows.append(decided(record(2), said("exclude"), origin=2))
        second = write_batch(connection, rows, source=None, place=Place(review, 1))
        fields = [Ledgered(record(0), value={"n": 4}, confidence=0.8, origin=0)]
        third = write_batch(connection, fields, operation=FIELDS, source=None, place=Place(review, 2))
    for other, why in ((first, "is not the last screening"), (third, "screens nothing, it is of extract_fields")):
        with pytest.raises(InvalidParameters, match=rf"{why}.*its stage 2: batch {str(second)[:8]}"):
            decide(client.batch(str(other)), FULL_TEXT, "include", 0)
    decide(client.batch(str(second)), FULL_TEXT, "include", 0)
    decide(client.batch(str(second)), FULL_TEXT, "exclude", 1, reason="Wrong age")
    flow = figures(client, str(review)).flow
    assert flow.reports is not None
    assert (flow.reports.sought, flow.reports.included, by_name(flow.reports.excluded)) == (2, 1, {"Wrong age": 1})
    # of r0, r1 from MEDLINE, the registry; the others' r2 did not pass
    searched, others = flow.columns
    assert searched.reports is not None
    assert others.reports is not None
    assert (searched.reports.sought, others.reports.sought) == (2, 0)
    assert [stage.entered for stage in searched.stages] == [4, 2, 1]
    assert [stage.entered for stage in others.stages] == [1, 1, 0]
    document = io.StringIO()
    write_report(client.engine, str(review), ReportForm.JSON, document)
    boxes = [(box["phase"], box["box"], box["n"]) for box in json.loads(document.getvalue())["boxes"]]
    assert ("Included", "Studies included in review", 1) in boxes
    assert ("Evaluation", "Records given to the extraction of fields", 1) in boxes


def test_a_batch_that_screens_nothing_has_no_reports(client: Client) -> None:
    with client.engine.begin() as connection:
        rows = [Ledgered(record(0), value=3.0, confidence=0.9)]
        scored = write_batch(connection, rows, operation=Score(criteria="How good?"))
    with pytest.raises(InvalidParameters, match="screens nothing, it is of score"):
        decide(client.batch(str(scored)), RETRIEVAL, "retrieved", 0)


def test_one_source_of_which_something_is_known_is_drawn_in_the_template(client: Client) -> None:
    def of(**known: object) -> Flow:
        source = SOURCES[2].model_copy(update={"name": "cited.ris", "kind": SourceKind.DATABASE} | known)
        with client.engine.begin() as connection:
            return_id: UUID = write_batch(connection, [decided(record(0), said("include"))], source=[source])
        return figures(client, str(return_id)).flow

    assert of().sources == ()
    for known in ({"kind": SOURCES[2].kind}, {"searched": SOURCES[0].searched}, {"query": "hip"}, {"name": "CINAHL"}):
        assert len(of(**known).sources) == 1
