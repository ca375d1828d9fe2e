"""Every operation can be asked from the page: its parameters, a dry run first, then the batch."""

import json

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from stage.browser import needs_chromium
from stage.gateway_page import Open, judged, record, write
from stage.screened import Ledgered, failed
from tamis_producer import Client
from tamis_review import list_overrides
from tamis_review.example import CITATIONS
from tamis_schemas import Answer, Extract, ExtractFields, Filter, Judge, Operation, Score
from tamis_schemas.operations.panel import Panel, PanelPolicy

pytestmark = needs_chromium


def choose(page: Page, operation: str, *, files: bool = True) -> Locator:
    """The form of an operation, with the example's records."""
    form = page.locator("#view")  # the form of a screening is beside it, hidden
    if files:
        form.get_by_label("Files of records").set_input_files(CITATIONS)
    form.get_by_label("Operation", exact=True).select_option(operation)
    return form


def rehearse(page: Page) -> None:
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_role("heading", name="Dry run: nothing was submitted")).to_be_visible(timeout=30_000)


def submit(page: Page) -> None:
    rehearse(page)
    page.get_by_role("button", name="Ask about").click()
    expect(page.locator("#batch")).to_be_visible()


def test_fields_are_described_in_a_table_seen_in_a_dry_run_and_then_asked(
    client: Client, key: str, opened: Open
) -> None:
    browser = opened()
    page = browser.sign_in(key)
    page.get_by_role("link", name="Other operations").click()
    form = choose(page, "extract_fields")
    form.get_by_label("What to extract, in general").fill("What the record says of the trial.")
    form.get_by_label("Name of field 1").fill("participants")
    form.get_by_label("Type of field 1").select_option("whole number")
    form.get_by_label("Description of field 1").fill("How many were randomised")
    page.get_by_role("button", name="Add a field").click()
    form.get_by_label("Name of field 2").fill("participants")
    form.get_by_label("Type of field 2").select_option("one of")
    form.get_by_label("Values of field 2").fill("RCT, cohort")
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_role("alert")).to_contain_text("Two fields are called participants")
    form.get_by_label("Name of field 2").fill("design")
    page.get_by_text("More", exact=True).click()
    form.get_by_label("Name of the batch").fill("trials")
    form.get_by_label("Model (empty").fill("gpt-5-mini")
    rehearse(page)
    found = page.locator(".operations-found")
    expect(found).to_contain_text("Overall Instructions")  # the prompt as it would be sent
    expect(found.locator(".headline")).to_contain_text("records to ask about24")
    expect(found.locator(".headline")).to_contain_text("$")
    assert client.batches() == []
    form.get_by_label("Budget in dollars").fill("5")
    expect(page.get_by_role("button", name="Ask about")).to_be_hidden()  # that dry run was of something else
    submit(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("trials")
    (view,) = client.batches()
    assert (view.model, view.budget and view.budget.max_cost, view.counts.n_items) == ("gpt-5-mini", 5, 24)
    properties = {
        "participants": {"type": "integer", "description": "How many were randomised"},
        "design": {"type": "string", "enum": ["RCT", "cohort"]},
    }
    assert client.batch(view.id).operation() == ExtractFields(
        schema={"type": "object", "properties": properties, "required": ["participants", "design"]},
        instructions="What the record says of the trial.",
    )
    assert browser.said == []


@pytest.mark.night
def test_every_operation_is_submitted_as_its_form_says(client: Client, key: str, opened: Open) -> None:
    page = opened().sign_in(key, "/?new=operation")

    def asked() -> Operation:
        submit(page)
        operation = client.batch(client.batches()[0].id).operation()
        page.get_by_role("link", name="Other operations").click()
        return operation

    form = choose(page, "filter")
    form.get_by_label("The question, answered").fill("Is it a trial?")
    form.get_by_label("Have the model grade").check()
    page.get_by_text("A panel of several models").click()
    form.get_by_label("Models, one per line").fill("gpt-5-mini\ngpt-5")
    form.get_by_label("How it decides").select_option("any")
    panel = Panel(models=("gpt-5-mini", "gpt-5"), policy=PanelPolicy.ANY)
    assert asked() == Filter(criteria="Is it a trial?", graded=True, panel=panel)

    form = choose(page, "score")
    form.get_by_label("What to rate").fill("Rate the methods")
    form.get_by_label("Lowest score").fill("10")
    form.get_by_label("Highest score").fill("1")
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_role("alert")).to_contain_text("max_value 1.0 is below min_value 10.0: swap them")
    expect(form.get_by_label("What to rate")).to_have_value("Rate the methods")
    form.get_by_label("Lowest score").fill("0")
    form.get_by_label("Step between scores").fill("0.5")
    form.get_by_label("Ask for an explanation").uncheck()
    rate = Score(criteria="Rate the methods", min_value=0, max_value=1, interval=0.5, include_reasoning=False)
    assert asked() == rate

    form = choose(page, "extract")
    form.get_by_label("What to extract").fill("Which design?")
    form.get_by_label("The value is").select_option("one of several values")
    form.get_by_label("Its values, one per line").fill("RCT\ncohort")
    assert asked() == Extract(instruction="Which design?", output_type="enum", enum_values=["RCT", "cohort"])

    form = choose(page, "extract_fields")
    form.get_by_label("What to extract, in general").fill("The trial")
    form.get_by_label("Name of field 1").fill("size")
    form.get_by_label("The fields are described").select_option("by a JSON Schema")
    written = json.loads(form.get_by_label("JSON Schema of an object").input_value())
    assert written == {"type": "object", "properties": {"size": {"type": "string"}}, "required": ["size"]}
    form.get_by_label("Instructions for single fields").fill("size=Participants = patients")
    fields = ExtractFields(
        schema=written, instructions="The trial", field_instructions={"size": "Participants = patients"}
    )
    assert asked() == fields

    form = choose(page, "answer", files=False)
    form.get_by_label("The question or the task").fill("What is a sieve?")
    form.get_by_label("How the answer should look").fill("One sentence")
    form.get_by_label("What makes an answer good").fill("Correct")
    form.get_by_label("How often to try").fill("2")
    answer = Answer(instruct="What is a sieve?", resp_format="One sentence", eval_crit="Correct", iter_max=2)
    assert asked() == answer
    assert [(view.label, view.counts.n_items) for view in client.batches(1)] == [("What is a sieve?", 1)]


@pytest.mark.night
def test_sent_again_after_a_lost_answer_it_is_the_same_batch_until_something_is_changed(key: str, opened: Open) -> None:
    page = opened().sign_in(key, "/?new=operation")
    form = choose(page, "filter")
    form.get_by_label("The question, answered").fill("Is it a trial?")
    attempts = []

    def lose(route: Route) -> None:
        attempts.append(route.request.headers["idempotency-key"])
        route.abort()

    page.route("**/v1/files", lose)
    rehearse(page)
    for change in (False, False, True):
        if change:
            form.get_by_label("Budget in dollars").fill("5")
            rehearse(page)
        with page.expect_event("requestfailed"):
            page.get_by_role("button", name="Ask about").click()
        expect(page.get_by_role("alert")).to_contain_text("The gateway does not answer.")
    first, again, changed = attempts
    assert first == again != changed


@pytest.mark.night
def test_values_are_shown_and_sorted_as_numbers_and_fields_each_by_its_name(
    client: Client, key: str, opened: Open
) -> None:
    scores = [Ledgered(record(n), value=value, confidence=0.8) for n, value in enumerate((0.5, 0.25, 10.0))]
    batch = write(client, [*scores, failed(record(3), "timeout")], operation=Score(criteria="Rate it", max_value=10))
    browser = opened()
    page = browser.batch(key, batch)
    expect(page.get_by_role("heading", name="Results", exact=True)).to_be_visible()
    page.get_by_role("button", name="Value", exact=True).click()
    expect(page.locator("#rows .why")).to_have_text(["0.25", "0.5", "10.0", "no answer in time"])
    fields = ExtractFields(
        schema={"type": "object", "properties": {"size": {"type": "integer"}, "design": {"type": "string"}}},
        instructions="The trial",
    )
    rows = [Ledgered(record(0), value={"size": 112, "design": None}, confidence=0.9)]
    page.goto(f"{browser.base}/?batch={write(client, rows, operation=fields)}")
    expect(page.locator("#rows .pair")).to_have_text(["Size: 112", "Design: –"])


@pytest.mark.night
def test_a_judgement_says_what_is_left_of_the_confidence_and_whether_the_result_is_blocked(
    client: Client, key: str, opened: Open
) -> None:
    page = opened().batch(key, write(client, judged(), operation=Judge(guidelines="Only the abstract.")))
    expect(page.locator("#rows .title")).to_have_text(["Title 0", "Title 1"])
    expect(page.locator("#rows .why")).to_have_text(["contextual", "inappropriate"])
    expect(page.locator("#rows .sure")).to_have_text(["0.770.90 before", "0.090.90 before"])
    expect(page.locator("#rows .flag")).to_have_text(["blocked: evidence too weak"])
    page.locator("#record-2 .toggle").click()
    detail = page.locator("#record-2 + .detail")
    expect(detail).to_contain_text("0.90 before, 0.09 with this evidence; blocked: too weak to keep")
    for told in ("It names the journal alone.", "Animals were studied.", "abstract: In rats."):
        expect(detail).to_contain_text(told)
    expect(detail).not_to_contain_text("This record has no abstract.")
    expect(page.get_by_role("button", name="Correct the value")).to_have_count(0)


@pytest.mark.night
def test_a_value_is_corrected_in_its_row_and_the_softwares_stays_beside_it(
    client: Client, key: str, opened: Open
) -> None:
    sizes = ExtractFields(schema={"type": "object", "properties": {"size": {"type": "integer"}}}, instructions="Size")
    batch = write(client, [Ledgered(record(0), value={"size": 12}, confidence=0.9)], operation=sizes)
    page = opened().batch(key, batch)
    page.locator("#record-1 .toggle").click()
    page.get_by_role("button", name="Correct the value").click()
    field = page.get_by_label("Correct fields as JSON")
    expect(field).to_be_focused()
    assert json.loads(field.input_value()) == {"size": 12}
    field.fill('{"size": "many"}')
    page.get_by_role("button", name="Save value").click()
    expect(page.get_by_role("alert")).to_contain_text("'many' is not of type 'integer'")
    expect(field).to_have_value('{"size": "many"}')
    field.fill('{"size": 112}')
    page.get_by_label("Note on this value").fill("in the table")
    page.get_by_role("button", name="Save value").click()
    expect(page.locator("#record-1 .human")).to_contain_text("by Reviewer A")
    (said,) = list_overrides(client.batch(batch))
    assert (said.value, said.system_value, said.note) == ({"size": 112}, {"size": 12}, "in the table")
    page.get_by_role("button", name="Withdraw my value").click()
    expect(page.locator("#record-1 .human")).to_have_count(0)
    assert list_overrides(client.batch(batch)) == []
