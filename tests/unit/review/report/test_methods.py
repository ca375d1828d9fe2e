"""The methods say what was done, and no more than the ledger holds."""

from io import StringIO

import pytest

from stage.reported import FLOW, NOON, batch, figures
from stage.screened import CRITERIA, SCREENING, SOURCE
from tamis_producer.ledger.snapshots import ModelSnapshot, SnapshotChange
from tamis_review.report.figures import Figures, Prompts, Quotes, SubjectKind
from tamis_review.report.form import as_json, escaped, write_markdown
from tamis_review.report.methods import methods, warnings
from tamis_review.report.page import write_page
from tamis_schemas import BatchStatus, Counts, ExtractFields, Filter, Inclusion, WorkedExample
from tamis_schemas.batches.flow import Flow, FlowStage, Tally


def text_of(given: Figures, heading: str) -> str:
    return next(part.text for part in methods(given) if part.heading.startswith(heading))


def listed(given: Figures, heading: str) -> tuple[str, ...]:
    return next(part.listed for part in methods(given) if part.heading.startswith(heading))


def test_the_source_is_named_with_format_encoding_and_hash() -> None:
    said = text_of(figures(), "Records")
    assert said.startswith(
        "12 records were read from the file “citations.ris” (RIS, read as utf-8; SHA-256 of the file 5f5f"
    )
    assert "cp1252" not in said


def test_bytes_that_were_replaced_are_reported() -> None:
    given = figures(batches=(batch(sources=(SOURCE.model_copy(update={"replaced": 22}),)),))
    assert "22 bytes were invalid in the file's encoding and read as cp1252." in text_of(given, "Records")


def test_lost_records_are_reported_before_any_number_in_every_form() -> None:
    damaged = figures(batches=(batch(sources=(SOURCE.model_copy(update={"lost": 3}),)),))
    warning = "3 records were lost: “citations.ris” is damaged there. No number of this report counts them."
    assert warning in warnings(damaged)
    assert warning in as_json(damaged)["warnings"]
    page = StringIO()
    write_page(damaged, (), page)
    assert warning in page.getvalue()
    assert escaped(warning) in write_markdown(damaged)
    assert not any("lost" in other for other in warnings(figures()))


def test_records_of_a_program_name_no_file() -> None:
    assert text_of(figures(batches=(batch(sources=(), label=None),)), "Records") == (
        "12 records were submitted. Their source file is not recorded."
    )


def test_what_was_removed_before_screening_is_told_by_rule() -> None:
    said = text_of(figures(), "Before screening")
    assert "2 duplicate records were removed; one copy of each record was kept." in said
    assert "marked 3 records as ineligible: title pattern (2), date range (1)." in said


def test_rules_that_were_switched_off_are_listed_with_the_reason() -> None:
    source = SOURCE.model_copy(update={"switched_off": {"case_report": "I2 asks for case reports"}})
    given = figures(batches=(batch(sources=(source,)),))
    assert listed(given, "Before screening") == ("case report: I2 asks for case reports",)
    assert "switched off:" in text_of(given, "Before screening")


def test_worked_examples_are_told_with_where_they_come_from() -> None:
    examples = [WorkedExample(title="A", decision="include"), WorkedExample(title="B", decision="exclude")]
    operation = SCREENING.model_copy(update={"criteria": CRITERIA.model_copy(update={"examples": examples})})
    chosen = operation.model_copy(update={"examples_from": "7c01"})

    def told(asked: Inclusion) -> str:
        parts = methods(figures(batches=(batch(parameters=asked.model_dump(mode="json")),)))
        return " ".join(part.text for part in parts)

    shown = "With each record, the model received the same 2 worked examples from"
    assert f"{shown} the criteria: 1 included, 1 excluded." in told(operation)
    assert f"{shown} people's decisions in batch 7c01: 1 included, 1 excluded." in told(chosen)
    assert "worked example" not in told(SCREENING)


def test_duplicates_that_were_kept_are_said_to_be_kept() -> None:
    source = SOURCE.model_copy(update={"duplicates_kept": True, "initial_filter": False})
    flow = Flow(identified=FLOW.stages[0].excluded, stages=(FlowStage(operation="inclusion", entered=3, passed=3),))
    said = text_of(figures(flow=flow, batches=(batch(sources=(source,)),)), "Before screening")
    assert said == ("Duplicate records were not removed; copies were screened as well. No initial filter was used.")


def test_criteria_stand_under_their_labels_and_excluding_ones_are_named_so() -> None:
    assert listed(figures(), "Screening") == (
        "I1: Adults after a total hip replacement",
        "I2: A randomised controlled trial",
        "E1 (excludes): Animal studies",
    )
    assert "7 records were submitted to a language model, each separately." in text_of(figures(), "Screening")


def test_the_policy_for_unverified_exclusions_is_told_and_nothing_of_it_where_there_was_none() -> None:
    def said(**policy: str) -> str:
        parameters = batch().parameters | policy
        return " ".join(part.text for part in methods(figures(batches=(batch(parameters=parameters),))))

    assert "Other exclusions by the model were referred to a human." in said(unverified="refer")
    assert "An exclusion counted even if no quote for it was found" in said(unverified="exclude")
    older = {name: value for name, value in batch().parameters.items() if name != "unverified"}
    told = " ".join(part.text for part in methods(figures(batches=(batch(parameters=older),))))
    assert "Other exclusions" not in told


@pytest.mark.parametrize(
    ("policy", "said"),
    [("include", "recall first"), ("refer", "referred to a human"), ("exclude", "precision first")],
)
def test_the_policy_for_unclear_verdicts_is_told(policy: str, said: str) -> None:
    parameters = batch().parameters | {"unclear": policy}
    assert said in text_of(figures(batches=(batch(parameters=parameters),)), "Screening")


def test_model_dates_and_hashes_are_told_with_what_is_hashed() -> None:
    said = text_of(figures(), "Model and prompts")
    assert "was requested; the endpoint's answers named “double-1” (7 records)." in said
    assert "results were recorded from 2026-03-01 12:00 UTC to 2026-03-01 12:00 UTC" in said
    assert f"parameters (as JSON with sorted names, without spaces, in UTF-8) is {'cd' * 32}." in said
    assert f"SHA-256 of the prompts is {'ab' * 32}. It was computed over the prompt hashes of 7 records" in said


def test_models_that_changed_are_told_in_the_methods_and_as_a_warning() -> None:
    models = [
        ModelSnapshot(panel_model=None, model=name, records=n, first_at=NOON, last_at=NOON)
        for name, n in {"a": 6, "b": 1}.items()
    ]
    changed = figures(batches=(batch(snapshots=SnapshotChange(snapshots=models)),))
    (sentence,) = warnings(changed)
    assert sentence.startswith("Answers came from several model snapshots: “a” (6 records, 85.7%, 2026-03-01), ")
    assert sentence in text_of(changed, "Model and prompts")
    assert "snapshots" not in text_of(figures(), "Model and prompts")


def test_without_an_answer_no_model_and_no_prompt_is_claimed() -> None:
    waiting = batch(models={}, first_result_at=None, last_result_at=None, prompts=Prompts(parameters_sha256="cd" * 32))
    said = text_of(figures(batches=(waiting,)), "Model and prompts")
    assert "no answer names a model yet" in said
    assert "no result is recorded yet" in said
    assert "SHA-256 of the prompts" not in said


def test_what_no_answer_has_shown_yet_is_not_told_as_done() -> None:
    waiting = batch(counts=Counts(n_items=12, excluded_by_filter=5, pending=7), models={})
    said = text_of(figures(batches=(waiting,)), "Screening")
    assert said == (
        "0 records were submitted to a language model, each separately. The research question was: "
        f"“{CRITERIA.research_question}”"
    )


def test_the_disclosure_says_who_decided_and_what_is_left_to_a_human() -> None:
    said = text_of(figures(), "Use of AI")
    assert "5 records were removed by software before screening" in said
    assert "A language model alone excluded 3 records and included 2 records." in said
    assert "No human decision is recorded, so the number of records excluded by a human is 0." in said
    assert (
        "2 records were neither included nor excluded, because the decision was unclear or an error occurred: a human "
        "must decide."
    ) in said
    assert (
        "9 quotes were compared with the records: 7 found, 1 altered, 1 not found. 1 record was flagged for an "
        "unverified quote."
    ) in said
    assert "the authors have to report it." in said


def test_the_software_is_named_and_the_workers_version_is_not_claimed() -> None:
    said = text_of(figures(), "Software")
    assert said.startswith("Tamis 9.9 wrote this report on 2026-03-01 12:00 UTC")
    assert "The version of the software that asked the model is not recorded." in said


def test_a_filter_tells_its_question_and_another_operation_its_parameters() -> None:
    asked = Filter(criteria="Is this about oncology?")
    flow = Flow(identified=(Tally(name="a", n=1),), stages=(FlowStage(operation="filter", entered=1, passed=1),))
    given = figures(
        flow=flow, batches=(batch(operation="filter", parameters=asked.model_dump(mode="json"), quotes=Quotes()),)
    )
    assert "“Is this about oncology?”" in text_of(given, "Screening")
    fields = ExtractFields(schema={"type": "object", "properties": {"n": {"type": "number"}}}, instructions="How many?")
    flow = Flow(
        identified=(Tally(name="a", n=1),), stages=(FlowStage(operation="extract_fields", entered=1, passed=1),)
    )
    of_fields = batch(operation="extract_fields", parameters=fields.model_dump(mode="json"), quotes=Quotes())
    given = figures(flow=flow, batches=(of_fields,))
    assert "instructions: How many?" in listed(given, "Extraction of fields")
    assert 'schema: {"type": "object", "properties": {"n": {"type": "number"}}}' in listed(
        given, "Extraction of fields"
    )
    assert "No human decision is recorded." in text_of(given, "Use of AI")


def test_a_finished_screening_warns_of_nothing() -> None:
    assert figures().finished
    assert warnings(figures()) == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"counts": Counts(n_items=12, pending=4, running=1, decided=7)}, "5 records have no result yet"),
        ({"state": BatchStatus.PAUSED}, "This batch is not finished."),
        (
            {"state": BatchStatus.CANCELLED, "counts": Counts(n_items=1, cancelled=1)},
            "cancelled: 1 record has no decision",
        ),
        ({"models": {"SmolLM2-135M-Instruct.gguf": 7}}, "Do not use these decisions."),
    ],
)
def test_what_a_reader_must_know_first_is_a_warning(change: dict[str, object], said: str) -> None:
    assert any(said in warning for warning in warnings(figures(batches=(batch(**change),))))


@pytest.mark.parametrize(("ended", "why"), [(False, "that have not begun"), (True, "that no record reached")])
def test_a_review_tells_of_planned_stages_without_a_batch(ended: bool, why: str) -> None:
    given = figures(kind=SubjectKind.REVIEW, planned=("inclusion", "extract_fields"), ended=ended)
    assert f"Planned stages {why}: extraction of fields." in warnings(given)[0]
    assert given.finished is ended


def test_the_markdown_has_the_flow_as_a_table_and_the_methods() -> None:
    text = write_markdown(figures())
    assert "| Screening | **Records excluded** | **3** |" in text
    assert "| | &nbsp;&nbsp;&nbsp;&nbsp;Animal studies | 2 |" in text
    assert "| | &nbsp;&nbsp;by a human | 0 |" in text
    assert "Pass rate: 2 of 6 decided records (33.3%, 95% interval 9.7% to 70.0%, Wilson)." in text
    assert "**Use of AI and automation.** 5 records were removed" in text


def test_what_a_name_holds_is_no_markup_in_markdown() -> None:
    hostile = "a|b *c* _d_ `e` <script> [x](y)\n# h"
    assert escaped(hostile) == r"a\|b \*c\* \_d\_ \`e\` \<script\> \[x\](y) \# h"
    flow = Flow(identified=(Tally(name=hostile, n=7),), stages=FLOW.stages)
    line = next(line for line in write_markdown(figures(flow=flow)).splitlines() if "script" in line)
    assert line == rf"| | &nbsp;&nbsp;{escaped(hostile)} | 7 |"
