"""The figures of a report, counted in a real ledger."""

import hashlib
import io
import json
from uuid import UUID

import pytest
from sqlalchemy import Engine, text

from stage.screened import (
    CRITERIA,
    SCREENING,
    SOURCE,
    Ledgered,
    Place,
    decided,
    failed,
    kept_out,
    write_batch,
    write_review,
)
from tamis_review.report import Figures, ReportForm, write_report
from tamis_review.report.reading import find_subject, parameters_sha256, read_figures, snapshot
from tamis_schemas import (
    Exclusion,
    ExtractFields,
    Filter,
    InclusionDecision,
    InvalidRequest,
    ItemStatus,
    Judge,
    OperationFailed,
    Score,
    UnknownBatch,
)
from tamis_schemas.answers.results import CriterionVerdict, Quote
from tamis_schemas.batches.flow import Tally

ANIMALS, TRIAL = CRITERIA.exclusion_criteria[0], CRITERIA.inclusion_criteria[1]
FIELDS = ExtractFields(schema={"type": "object", "properties": {"n": {"type": "number"}}}, instructions="How many?")
JUDGE = Judge(guidelines="A stated number counts.")


def record(n: int) -> dict[str, object]:
    return {"id": f"r{n}", "title": f"Title {n}", "abstract": f"Abstract {n}"}


def decision(status: str, confidence: float, reason: str | None = None, **more: object) -> InclusionDecision:
    return InclusionDecision.model_validate(
        {"status": status, "confidence": confidence, "rationale": "because", "exclusion_reason": reason, **more}
    )


def quoted(**states: str) -> dict[str, CriterionVerdict]:
    return {
        label: CriterionVerdict(verdict="met", quote=Quote(text="words", state=state, similarity=0.9))
        for label, state in states.items()
    }


# 14 records: 2 duplicates, 3 under two rules; 9 screened: 2 included, 3 excluded, 1 uncertain, 2 failed, 1 cancelled.
ROWS = [
    decided(record(0), decision("include", 0.95, verdicts=quoted(I1="found", I2="found"))),
    kept_out(record(1), Exclusion(rule="duplicate", reason="the same DOI", duplicate_of=0)),
    kept_out(record(2), Exclusion(rule="title_pattern", reason="in rats", matched="in rats", field="title")),
    decided(record(3), decision("exclude", 0.7, ANIMALS)),
    decided(
        record(4),
        decision("exclude", 0.3, ANIMALS, flagged=True, verdicts=quoted(I1="not found", I2="altered", E1="found")),
    ),
    failed(record(5), "timeout"),
    decided(record(6), decision("uncertain", 0.4)),
    kept_out(record(7), Exclusion(rule="date_range", reason="1987")),
    Ledgered(record(8), ItemStatus.CANCELLED),
    decided(record(9), decision("exclude", 1.0, TRIAL), cached=True),
    failed(record(10), "refused"),
    decided(record(11), decision("include", 0.6)),
    kept_out(record(12), Exclusion(rule="duplicate", reason="the same title", duplicate_of=3)),
    kept_out(record(13), Exclusion(rule="title_pattern", reason="in mice")),
]


def read(engine: Engine, subject: UUID) -> Figures:
    with snapshot(engine) as connection:
        return read_figures(connection, find_subject(connection, str(subject)))


def written(engine: Engine, subject: UUID, form: ReportForm = ReportForm.HTML) -> str:
    stream = io.StringIO()
    write_report(engine, str(subject), form, stream)
    return stream.getvalue()


def screen(engine: Engine, rows: list[Ledgered], **more: object) -> UUID:
    with engine.begin() as connection:
        return write_batch(connection, rows, **more)  # type: ignore[arg-type]  # passed on as they were given


def tallied(tallies: tuple[Tally, ...]) -> dict[str, int]:
    return {tally.name: tally.n for tally in tallies}


def test_the_flow_of_a_screening_is_counted_record_by_record(engine: Engine) -> None:
    flow = read(engine, screen(engine, ROWS)).flow
    assert tallied(flow.identified) == {"citations.ris": 14}
    assert flow.duplicates == 2
    assert list(tallied(flow.ineligible).items()) == [
        ("title_pattern", 2),
        ("date_range", 1),
    ]  # the most frequent first
    (stage,) = flow.stages
    assert (stage.entered, stage.passed, stage.uncertain, stage.cancelled, stage.open) == (9, 2, 1, 1, 0)
    assert list(tallied(stage.excluded).items()) == [(ANIMALS, 2), (TRIAL, 1)]
    assert tallied(stage.failed) == {"timeout": 1, "refused": 1}
    assert all(arrow.adds_up for arrow in flow.arrows)


def test_rates_confidence_quotes_and_spending_are_counted_too(engine: Engine) -> None:
    batch = read(engine, screen(engine, ROWS)).screening
    assert (batch.pass_rate.count, batch.pass_rate.total) == (2, 6)  # of decided records alone
    assert {series.outcome: series.bins for series in batch.confidence} == {
        "passed": (0, 0, 0, 0, 0, 0, 1, 0, 0, 1),  # 0.6 and 0.95
        "excluded": (0, 0, 0, 1, 0, 0, 0, 1, 0, 1),  # 0.3, 0.7 and 1.0
        "uncertain": (0, 0, 0, 0, 1, 0, 0, 0, 0, 0),  # 0.4
    }
    quotes = batch.quotes
    assert (quotes.given, quotes.found, quotes.altered, quotes.missing, quotes.flagged) == (5, 3, 1, 1, 1)
    # 8 results: 6 decided and 2 failed; one of them cost no call
    assert (batch.spending.calls, batch.spending.cached) == (7, 1)
    assert (batch.spending.prompt_tokens, batch.spending.completion_tokens) == (8 * 900, 8 * 120)
    assert batch.spending.call_seconds_median == 0.8
    assert batch.models == {"double-1": 8}
    assert batch.source == SOURCE
    assert batch.counts.identity_holds


@pytest.mark.parametrize("tenth", range(11))
def test_a_confidence_on_a_border_belongs_to_the_tenth_that_begins_there(engine: Engine, tenth: int) -> None:
    batch = read(engine, screen(engine, [decided(record(0), decision("include", tenth / 10))])).screening
    assert batch.confidence[0].bins.index(1) == min(tenth, 9)


def test_the_hashes_are_what_the_methods_say_they_are(engine: Engine) -> None:
    prompts = read(engine, screen(engine, ROWS)).screening.prompts
    with_results = [n for n, row in enumerate(ROWS) if row.state in (ItemStatus.DECIDED, ItemStatus.FAILED)]
    lines = "\n".join(f"{n:064x}" for n in with_results)  # as `stage.screened` writes them
    assert prompts.records == len(with_results) == 8
    assert prompts.sha256 == hashlib.sha256(lines.encode()).hexdigest()
    canonical = json.dumps(SCREENING.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert prompts.parameters_sha256 == hashlib.sha256(canonical.encode()).hexdigest()
    assert parameters_sha256({"b": 1, "a": "é"}) == parameters_sha256({"a": "é", "b": 1})


def test_an_unfinished_batch_is_reported_as_it_stands(engine: Engine) -> None:
    rows = [*ROWS, Ledgered(record(14), ItemStatus.PENDING), Ledgered(record(15), ItemStatus.RUNNING)]
    batch = screen(engine, rows, state="running")
    figures = read(engine, batch)
    assert figures.flow.stages[0].open == 2
    assert not figures.finished
    assert "2 records have no result yet" in written(engine, batch)


def test_an_item_that_is_tried_again_is_not_counted_by_its_old_error(engine: Engine) -> None:
    batch = screen(engine, ROWS, state="completed")
    with engine.begin() as connection:
        connection.execute(text("UPDATE item_states SET state = 'pending' WHERE state = 'failed' AND idx = 5"))
        connection.execute(text("UPDATE batches SET state = 'running', round = 2"))
    (stage,) = read(engine, batch).flow.stages
    assert (tallied(stage.failed), stage.open) == ({"refused": 1}, 1)


def test_every_number_is_of_one_moment(engine: Engine) -> None:
    batch = screen(engine, [Ledgered(record(n), ItemStatus.PENDING) for n in range(4)], state="running")
    with snapshot(engine) as connection:
        subject = find_subject(connection, str(batch))
        with engine.begin() as other:
            other.execute(text("UPDATE item_states SET state = 'cancelled' WHERE idx < 3"))
        stage = read_figures(connection, subject).flow.stages[0]
        assert (stage.open, stage.cancelled) == (4, 0)
    assert read(engine, batch).flow.stages[0].cancelled == 3


def test_a_report_reads_only(engine: Engine) -> None:
    with snapshot(engine) as connection, pytest.raises(Exception, match="read-only transaction"):
        connection.execute(text("DELETE FROM item_states"))


def test_numbers_that_do_not_add_up_are_an_error_and_no_report(engine: Engine) -> None:
    batch = screen(engine, ROWS)
    with engine.begin() as connection:
        connection.execute(text("UPDATE batches SET n_items = 15"))
    with pytest.raises(OperationFailed, match="inclusion: 10 records arrive, but 2 passed"):
        read(engine, batch)


def test_records_kept_out_without_a_row_of_their_own_are_removed_for_another_reason(engine: Engine) -> None:
    flow = read(engine, screen(engine, [*ROWS, Ledgered(record(14), ItemStatus.EXCLUDED_BY_FILTER)])).flow
    assert flow.removed_otherwise == 1
    assert flow.n_removed == 6


def test_exclusions_without_a_verified_quote_are_counted_among_what_is_referred_to_a_human(engine: Engine) -> None:
    unverified = {"model_status": "exclude", "uncertain_reason": "no verified quote"}
    contradicted = {"model_status": "exclude", "uncertain_reason": "its verdicts contradict it"}
    rows = [*ROWS, *(decided(record(n), decision("uncertain", 0.5, **unverified)) for n in (14, 15))]
    rows.append(decided(record(16), decision("uncertain", 0.5, **contradicted)))
    batch = screen(engine, rows)
    (stage,) = read(engine, batch).flow.stages
    assert (stage.uncertain, stage.unverified) == (4, 2)
    assert "Of these, the model excluded 2 records without a verified quote." in written(engine, batch)
    assert "excluded by the model without a verified quote" in written(engine, batch, ReportForm.SVG)


def test_a_filter_passes_or_excludes_and_a_score_does_neither(engine: Engine) -> None:
    answers = [Ledgered(record(n), value=n < 2, confidence=0.9) for n in range(5)]
    filtered = read(engine, screen(engine, answers, operation=Filter(criteria="Is it?"), source=None))
    (stage,) = filtered.flow.stages
    assert (stage.passed, tallied(stage.excluded)) == (2, {"the question is answered with no": 3})
    assert filtered.screening.pass_rate.count == 2
    scores = [Ledgered(record(n), value=float(n), confidence=0.9) for n in range(5)]
    scored = read(engine, screen(engine, scores, operation=Score(criteria="How good?"), label=None, source=None))
    assert scored.flow.stages[0].passed == 5
    assert scored.screening.pass_rate.estimate is None
    assert tallied(scored.flow.identified) == {"records submitted by a program": 5}


def review_of_three_stages(engine: Engine) -> UUID:
    """14 screened as above; both included and the uncertain one extracted; of 2 results 1 is judged, as too weak."""
    with engine.begin() as connection:
        review = write_review(connection, "Walking <review>", SCREENING, FIELDS, JUDGE, finished=True)
        write_batch(connection, ROWS, place=Place(review, 0))
        extracted = [
            Ledgered(record(0), value={"n": 40}, confidence=0.8, reasoning="forty", origin=0),
            Ledgered(record(6), ItemStatus.FAILED, error_kind="timeout", error="no answer", origin=6),
            Ledgered(record(11), value={"n": None}, confidence=0.2, origin=11),
        ]
        write_batch(connection, extracted, operation=FIELDS, source=None, place=Place(review, 1))
        judged = [Ledgered({"id": "r0"}, value="weak", detail={"blocked": True}, confidence=0.1, origin=0)]
        write_batch(connection, judged, operation=JUDGE, source=None, place=Place(review, 2))
    return review


def test_a_review_has_one_flow_over_all_its_stages(engine: Engine) -> None:
    figures = read(engine, review_of_three_stages(engine))
    assert figures.kind == "review"
    assert figures.label == "Walking <review>"
    first, second, third = figures.flow.stages
    assert (first.entered, first.passed) == (9, 2)
    assert (second.entered, second.admitted, second.held_back, second.passed) == (3, 1, 0, 2)
    assert (third.entered, third.admitted, third.held_back, third.passed, third.marked) == (1, 0, 1, 1, 1)
    assert all(arrow.adds_up for arrow in figures.flow.arrows)
    assert figures.spending.calls == 7 + 3 + 1


def test_each_record_of_a_review_shows_what_every_stage_said(engine: Engine) -> None:
    page = written(engine, review_of_three_stages(engine))
    rows = json.loads(page.split('id="records">')[1].split("</script>")[0])
    assert [row["i"] for row in rows] == list(range(14))
    assert [said["operation"] for said in rows[0]["later"]] == ["extract_fields", "judge"]
    assert rows[0]["later"][0]["values"] == [["n", "40"]]
    assert rows[0]["later"][1]["weak"] is True
    assert rows[6]["later"][0]["outcome"] == "failed"
    assert "later" not in rows[3]
    assert "Walking &lt;review&gt;" in page


def test_a_stage_can_be_reported_alone(engine: Engine) -> None:
    review = review_of_three_stages(engine)
    with engine.begin() as connection:
        batch = connection.execute(text("SELECT id FROM batches WHERE stage = 1")).scalar_one()
    figures = read(engine, batch)
    assert figures.kind == "batch"
    assert figures.flow.stages[0].entered == 3
    assert figures.flow.stages[0].admitted == 0
    assert str(review) not in figures.id


def test_a_review_that_has_not_begun_its_last_stage_is_not_finished(engine: Engine) -> None:
    with engine.begin() as connection:
        review = write_review(connection, "R", SCREENING, FIELDS)
        write_batch(connection, [decided(record(0), decision("include", 0.9))], place=Place(review, 0))
    assert not read(engine, review).finished
    assert "that have not begun: extraction of fields" in written(engine, review, ReportForm.MD)


def test_a_review_without_a_batch_has_no_report(engine: Engine) -> None:
    with engine.begin() as connection:
        review = write_review(connection, "R", SCREENING)
    with pytest.raises(UnknownBatch, match="has no batch yet"):
        read(engine, review)


def test_an_id_is_found_by_how_it_begins_and_an_unknown_one_is_told(engine: Engine) -> None:
    batch = screen(engine, ROWS)
    with snapshot(engine) as connection:
        assert find_subject(connection, str(batch)[:8].upper()).id == batch
    for unknown in ("00000000", "", "../etc/passwd"):
        with pytest.raises(UnknownBatch):
            write_report(engine, unknown, ReportForm.JSON, io.StringIO())
    with engine.begin() as connection:
        firsts = [str(write_batch(connection, [Ledgered(record(n))]))[0] for n in range(17)]
    shared = next(digit for digit in firsts if firsts.count(digit) > 1)  # of 17, two begin alike
    with pytest.raises(InvalidRequest, match="give more of the id"):
        write_report(engine, shared, ReportForm.JSON, io.StringIO())


def test_every_form_holds_the_same_numbers(engine: Engine) -> None:
    batch = screen(engine, ROWS)
    svg, md = written(engine, batch, ReportForm.SVG), written(engine, batch, ReportForm.MD)
    figures = json.loads(written(engine, batch, ReportForm.JSON))
    assert svg.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg"')
    assert "<title>" not in svg.split("<title id")[0]
    boxes = {box["box"]: box["n"] for box in figures["boxes"]}
    assert boxes == {
        "Records identified": 14,
        "Records removed before screening": 5,
        "Records screened by a language model": 9,
        "Records excluded": 3,
        "Records referred to a human": 3,  # 1 uncertain and 2 failed
        "Records not screened": 1,
        "Records included by screening": 2,
    }
    for box, n in boxes.items():
        assert f"{box} (n\u00a0=\u00a0{n})" in svg
        assert f"**{box}** | **{n}** |" in md
    assert figures["finished"] is False  # one record is cancelled
    assert figures["batches"][0]["spending"]["calls"] == 7
    assert figures["flow"]["duplicates"] == 2
