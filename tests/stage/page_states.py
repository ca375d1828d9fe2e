"""Each view of the page in each state that looks different, and how it is reached.

A view is a function that goes through its states and yields the name of each as it stands there; whoever goes along
looks at the page. A new view is one function more, and its line in `VIEWS`.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, expect
from sqlalchemy import insert, update

from stage.gateway_page import ONCOLOGY, Opened, decision, everything_is_sent, few, judged, record, send_again, write
from stage.panelled import PANELLED, of_a_panel
from stage.screened import SCREENING, Ledgered, Place, decided, failed, write_batch, write_review
from stage.searches import write_searches
from stage.work_double import WorkDouble, work_record
from tamis_producer import Client
from tamis_review import decide, remark, set_screening_mode
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_review.example import CITATIONS
from tamis_review.report import ReportForm, write_report
from tamis_schemas import Extract, ExtractFields, ItemStatus, Judge, Operation, Score, ScreeningMode
from tamis_schemas.ledger import batches, spending

LONG = "Home-based-exercise-after-total-hip-arthroplasty-and-other-joint-replacements-of-the-lower-limb"


@dataclass
class Stage:
    """A ledger without a batch, a key that may do everything, and a browser on the page of its gateway."""

    client: Client
    key: str
    browser: Opened
    folder: Path

    @property
    def page(self) -> Page:
        return self.browser.page

    def batch(self, batch_id: str) -> Page:
        return self.browser.batch(self.key, batch_id)

    def view(self, batch_id: str, name: str) -> Page:
        """Sign in at one of a batch's other views."""
        return self.browser.sign_in(self.key, f"/?batch={batch_id}&view={name}")


def rows() -> list[Ledgered]:
    """What a screening ends with, and a title without a blank."""
    return [*few(), decided(record(5, title=LONG), decision())]


def sign_in(stage: Stage) -> Iterator[str]:
    page = stage.page
    page.goto(f"{stage.browser.base}/")
    expect(page.get_by_label("API key")).to_be_visible()
    yield "asked for a key"
    page.get_by_label("API key").fill("tamis_wrong_key")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    yield "refused"


def home(stage: Stage) -> Iterator[str]:
    page = stage.browser.sign_in(stage.key)
    expect(page.get_by_text("There is no batch yet.")).to_be_visible()
    yield "empty"
    client = stage.client
    with client.engine.begin() as connection:
        review = write_review(connection, f"Exercise after hip replacement. {LONG}", SCREENING, ONCOLOGY)
        write_batch(connection, rows(), place=Place(review, 0))
        for state in ("running", "paused", "completed", "cancelled"):
            write_batch(connection, rows(), state=state, label=f"{state} batch" if state != "paused" else LONG)
    page.reload()
    expect(page.locator("#batch-rows tr")).to_have_count(4)
    expect(page.get_by_role("article")).to_be_visible()
    yield "reviews and batches"
    with client.engine.begin() as connection:
        for n in range(20):
            write_batch(connection, [], label=f"batch {n}")
    page.get_by_role("button", name="Earlier batches").click()
    expect(page.locator("#batch-rows tr")).to_have_count(24)
    yield "earlier batches"


def new_review(stage: Stage) -> Iterator[str]:
    page = stage.browser.sign_in(stage.key, "/?new")
    expect(page.locator("#new-batch")).to_be_visible()
    yield "as it opens"
    broken = stage.folder / "broken.csv"
    broken.write_bytes(b"%PDF-1.7")
    page.get_by_label("Files of records").set_input_files(broken)
    expect(page.locator("#preview .notice")).to_contain_text("this is a PDF")
    yield "a file that cannot be read"
    page.get_by_label("Files of records").set_input_files(
        [*write_searches(stage.folder).values(), _lossy(stage.folder)]
    )
    page.get_by_label("Research question").fill("Does walking help?")
    page.get_by_label("Exclusion criteria").fill("animals\nanimals")
    page.get_by_label("Model (empty").fill("gpt-5-mini")
    page.get_by_label("Budget in dollars (empty").fill("0.001")
    page.get_by_text("Panel of models, doubtful decisions").click()
    expect(page.get_by_role("button", name="Screen these 1")).to_be_visible()
    for summary in page.locator("#preview summary, #dry-run summary").all():
        if summary.locator("..").get_attribute("open") is None:
            summary.click()
    expect(page.locator("#doubts li").first).to_be_visible()
    yield "files read, and what it would take"
    page.get_by_label("Title of the review").fill("Walking")
    page.get_by_role("button", name="Add a stage").click()
    page.get_by_role("group", name="Stage 2").get_by_label("Operation").select_option("score")
    page.get_by_role("group", name="Stage 2").get_by_label("What to rate").fill("The methods")
    page.get_by_role("button", name="Add another stage").click()
    fields = page.get_by_role("group", name="Stage 3")
    fields.get_by_label("Operation").select_option("extract_fields")
    fields.get_by_label("What to extract, in general").fill("What the record says of the trial.")
    fields.get_by_label("Name of field 1").fill(LONG)
    fields.get_by_text("More", exact=True).click()
    page.get_by_role("button", name="Add another stage").click()
    page.get_by_role("group", name="Stage 4").get_by_label("Operation").select_option("judge")
    page.get_by_role("group", name="Stage 4").get_by_label("Guidelines").fill("Only what the record says.")
    expect(page.locator(".dry-run-stage")).to_have_count(3)
    page.locator(".dry-run-stage summary").first.click()
    page.get_by_label("Screening mode").select_option("In pairs, blind")
    expect(page.locator("#stages .notice")).to_be_visible()
    yield "further stages"


def _lossy(folder: Path) -> Path:
    """A file with two records that may be copies, and one that cannot be read."""
    path = folder / f"{LONG[:60]}.jsonl"
    same = {"title": LONG.replace("-", " "), "year": 2014, "authors": ["Ames A"]}
    records = [{"id": journal, **same, "journal": journal} for journal in ("Journal of Walking", "Annals of Rest")]
    path.write_text("\n".join([*map(json.dumps, records), '{"id": 2, "title": ']), "utf-8")
    return path


def operations(stage: Stage) -> Iterator[str]:
    page = stage.browser.sign_in(stage.key, "/?new=operation")
    form = page.locator("#view")
    expect(form.get_by_label("Operation", exact=True)).to_be_visible()
    for details in form.locator("summary").all():
        details.click()
    yield "a filter, with its panel and more"
    form.get_by_label("Files of records").set_input_files(CITATIONS)
    form.get_by_label("Operation", exact=True).select_option("extract_fields")
    form.get_by_label("What to extract, in general").fill("What the record says of the trial.")
    form.get_by_label("Name of field 1").fill(LONG)
    form.get_by_role("button", name="Add a field").click()
    form.get_by_label("Name of field 2").fill("design")
    form.get_by_label("Type of field 2").select_option("one of")
    form.get_by_label("Values of field 2").fill("RCT, cohort")
    yield "fields in a table"
    form.get_by_role("button", name="Dry run").click()
    expect(form.get_by_role("heading", name="Dry run: nothing was submitted")).to_be_focused(timeout=30_000)
    form.get_by_text("Prompt 1:").click()
    yield "a dry run"


def batch(stage: Stage) -> Iterator[str]:
    batch_id = write(stage.client, rows())
    decide(
        stage.client.batch(batch_id),
        [HumanDecision(0, "include", "Reviewer A"), HumanDecision(0, "exclude", "Reviewer B", note="in rats")],
    )
    page = stage.batch(batch_id)
    yield "ended, some failed"
    for number in (2, 4):
        page.locator(f"#record-{number} .toggle").click()
    expect(page.locator(".detail")).to_have_count(2)
    yield "rows opened"
    page.locator("#record-1 .toggle").click()
    page.locator("#record-1 + .detail").get_by_role("button", name="Prompts and answers").click()
    expect(page.locator("#story-1 details").first).to_be_visible()
    yield "prompts shown"


def batch_of_values(stage: Stage) -> Iterator[str]:
    names = ["participants", "design", "primary_outcome_and_its_measurement", "funding"]
    properties = {name: {"type": ["string", "null"]} for name in names}
    told = dict(zip(names, ["112", "RCT", f"walking speed. {LONG}", None], strict=True))
    scores = [Ledgered(record(n), value=v, confidence=0.8, reasoning="Clear.") for n, v in enumerate((7.25, 7.5, 10.0))]
    shown: dict[str, tuple[Operation, list[Ledgered]]] = {
        "scores": (Score(criteria="Rate the methods", max_value=10), scores),
        "fields": (
            ExtractFields(schema={"type": "object", "properties": properties}, instructions="What it says."),
            [Ledgered(record(n), value=told, confidence=0.9, reasoning="It says so.") for n in range(2)],
        ),
        "values": (
            Extract(instruction="Which design?"),
            [Ledgered(record(0), value="RCT", confidence=0.9), Ledgered(record(1), confidence=0.4)],
        ),
        "judgements": (Judge(guidelines="Only what the abstract says.", noun="Abstract"), judged(LONG)),
    }
    page = stage.browser.sign_in(stage.key)
    for name, (operation, rows) in shown.items():
        batch_id = write(stage.client, [*rows, failed(record(9), "timeout")], operation=operation)
        page.goto(f"{stage.browser.base}/?batch={batch_id}")
        expect(page.locator("html[data-ready]")).to_have_count(1, timeout=30_000)
        page.locator("#record-1 .toggle").click()
        if name != "judgements":
            page.get_by_role("button", name="Correct the value").click()
            expect(page.locator("#value-0")).to_be_focused()
        page.evaluate("scrollTo(0, 0)")  # or the table's heading, which sticks, stands over half of a row
        yield f"{name}, one {'opened' if name == 'judgements' else 'being corrected'}"


def batch_going_on(stage: Stage) -> Iterator[str]:
    waiting = [Ledgered(record(n), ItemStatus.PENDING) for n in range(20, 26)]
    batch_id = write(stage.client, [*rows(), *waiting], state="running")
    page = stage.batch(batch_id)
    yield "running"
    page.get_by_role("button", name="Cancel …").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    yield "asked whether to cancel"
    page.get_by_role("button", name="Do not cancel").click()
    reason = {"kind": "budget", "message": "$1.00 of $1.00 is spent"}
    with stage.client.engine.begin() as connection:
        connection.execute(insert(spending).values(batch_id=batch_id, spent=1))
        connection.execute(update(batches).values(state="paused", pause=reason, max_cost=1))
    page.reload()
    expect(page.locator("html[data-ready]")).to_have_count(1, timeout=30_000)
    expect(page.locator("#waits")).to_contain_text("Paused by itself")
    yield "paused by its budget"


def _work(stage: Stage, double: WorkDouble) -> Page:
    double.stand_in(stage.page)
    page = stage.view(write(stage.client, few()), "work")
    expect(page.locator("html[data-ready]")).to_have_count(1, timeout=30_000)
    return page


def work(stage: Stage) -> Iterator[str]:
    double = WorkDouble([work_record(n) for n in range(6)])
    double.records[1] |= {"labels": ["to discuss", LONG], "notes": ["Reviewer A: see page 3", f"Reviewer B: {LONG}"]}
    page = _work(stage, double)
    yield "a record"
    page.keyboard.press("e")
    expect(page.get_by_role("group", name="Exclude, because …")).to_be_visible()
    yield "reasons open"
    page.keyboard.press("Escape")
    page.keyboard.press("i")
    expect(page.locator(".work-labels")).to_be_visible()
    page.keyboard.press("n")
    expect(page.get_by_label("Note on this record")).to_be_focused()
    yield "a note is written on a record with labels and notes"
    page.keyboard.press("Escape")
    page.get_by_text("More filters").click()
    page.keyboard.press("/")
    yield "more filters, in the search"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    yield "keys listed"
    page.keyboard.press("Escape")
    expect(page.locator("#work-title")).to_be_focused()
    double.away = True
    page.keyboard.press("u")
    expect(page.locator("#unsent")).to_contain_text("1 decision is unsent")
    yield "a decision waits"
    double.away, double.refusal = False, "the record is being settled"
    send_again(page)
    expect(page.locator("#unsent")).to_contain_text("was not saved")
    yield "a decision is refused"
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("dialog")).to_contain_text("not in the ledger yet")
    yield "asked whether to leave"
    page.get_by_role("button", name="Stay").click()
    double.refusal = ""
    page.get_by_role("button", name="Discard it").click()
    everything_is_sent(page)


def work_alone(stage: Stage) -> Iterator[str]:
    page = _work(stage, WorkDouble([work_record(0, hidden=True)]))
    expect(page.locator(".work-card")).to_contain_text("Decide alone")
    yield "hidden in a pair"
    page.keyboard.press("i")
    expect(page.get_by_role("heading", name="Nothing is left to decide")).to_be_visible()
    yield "nothing left"
    everything_is_sent(page)


def work_audited(stage: Stage) -> Iterator[str]:
    batch = stage.client.batch(write(stage.client, rows()))
    set_screening_mode(batch, ScreeningMode.MODEL_AUDITED, set_by="Lead")
    page = stage.view(str(batch.id), "work")
    expect(page.get_by_role("button", name="Draw the audit sample")).to_be_visible()
    yield "no audit is drawn"
    page.get_by_role("button", name="Draw the audit sample").click()
    expect(page.get_by_text("Judge alone")).to_be_visible()
    yield "a drawn record"
    page.keyboard.press("e")
    expect(page.get_by_role("heading", name="All sampled records are judged")).to_be_visible()
    expect(page.locator(".work-card")).to_contain_text("should have been included")
    yield "all judged"


def conflicts(stage: Stage) -> Iterator[str]:
    batch_id = write(stage.client, rows())
    page = stage.view(batch_id, "conflicts")
    expect(page.get_by_role("heading", name="No conflict is open")).to_be_visible()
    yield "none"
    decide(
        stage.client.batch(batch_id),
        [
            HumanDecision(place, value, who, note=LONG)
            for place in (1, 5)
            for who, value in (("Reviewer A", "include"), ("Reviewer B", "exclude"))
        ],
    )
    page.reload()
    expect(page.get_by_role("article", name="Record 2")).to_be_visible()
    page.get_by_role("button", name="Show the software’s decision").click()
    yield "a record, with the software's words"
    page.locator("#work-title").focus()
    page.keyboard.press("e")
    expect(page.get_by_role("group", name="Exclude, because …")).to_be_visible()
    yield "reasons open"
    page.keyboard.press("Enter")
    expect(page.get_by_role("article", name="Record 6")).to_be_visible()
    page.keyboard.press("i")
    expect(page.get_by_role("heading", name="Every conflict is settled")).to_be_visible()
    everything_is_sent(page)
    yield "all settled"


def team(stage: Stage) -> Iterator[str]:
    batch = stage.client.batch(write(stage.client, rows()))
    for who, value in ((LONG, "include"), ("Reviewer B", "exclude")):
        decide(batch, [HumanDecision(place, value, who) for place in (1, 5)])
    page = stage.view(batch.id, "team")
    page.get_by_label("Name in decisions").fill("Reviewer C")
    page.get_by_role("button", name="Make a key").click()
    expect(page.get_by_role("button", name="Copy")).to_be_visible()
    yield "a key is made"
    page.get_by_role("button", name="Hide the key").click()
    page.get_by_label("Name in decisions").fill("Reviewer C")
    page.get_by_role("button", name="Make a key").click()
    expect(page.get_by_role("alert")).to_be_visible()
    yield "a name that has a key"


def quality(stage: Stage) -> Iterator[str]:
    batch = stage.client.batch(write(stage.client, rows()))
    page = stage.view(str(batch.id), "quality")
    expect(page.get_by_role("region", name="Agreement", exact=True)).to_be_visible()
    yield "nobody has decided"
    for who in ("Reviewer A", "Reviewer B"):
        decide(batch, [HumanDecision(place, "exclude" if who[-1] == "B" else "include", who) for place in (0, 2, 5)])
    page.reload()
    page.get_by_role("button", name="Reviewer A include, Reviewer B exclude").first.click()
    expect(page.get_by_role("link", name=f"6: {LONG}")).to_be_visible()
    yield "the records behind a number"
    page.get_by_label("Excluded records to draw at random").fill("1")
    page.get_by_role("button", name="Draw an audit").click()
    expect(page.get_by_text("no human decision is recorded yet")).to_be_visible()
    yield "an audit drawn"
    page.get_by_text("Check whether reading may stop").click()
    page.get_by_role("button", name="Draw the sample").click()
    page.get_by_role("button", name="Close the sample …").click()
    expect(page.get_by_role("button", name="Keep it open")).to_be_visible()
    yield "a sample of the stop rule drawn, asked whether to close it"
    page.get_by_text("Check whether reading may stop").click()
    page.get_by_text("Draw or continue a pilot").click()
    pilot = page.get_by_role("region", name="Pilot")
    pilot.get_by_label("Seed").fill("2")  # the excluded record is among the first four
    pilot.get_by_role("button", name="Draw a pilot").click()
    for _ in range(4):
        pilot.get_by_role("button", name="Include").click()
    pilot.get_by_role("button", name="Compare with the software").click()
    expect(page.get_by_role("region", name="Possible problems in the criteria")).to_be_visible()
    pilot.get_by_text("Find the threshold with these labels").click()
    pilot.get_by_role("button", name="Calibrate").click()
    expect(pilot.get_by_text("No threshold")).to_be_visible()
    yield "a pilot half labelled and compared, too small for a threshold"
    labels = stage.folder / "labels.csv"
    labels.write_text("id,include\n" + "".join(f"r{n},{n % 2}\n" for n in (0, 1, 2, 3, 5)), "utf-8")
    page.get_by_text("Calibrate with a file of labels").click()
    threshold = page.get_by_role("region", name="Calibrate")
    threshold.get_by_label("File of labels").set_input_files(labels)
    threshold.get_by_label("Recall: includes to keep").fill("10")
    threshold.get_by_label("Probability of keeping fewer").fill("50")
    threshold.get_by_role("button", name="Find the threshold").click()
    expect(threshold.get_by_role("row", name="guarantee")).to_be_visible()
    yield "a threshold found"
    page.get_by_text("Have a model judge it").click()
    judge = page.get_by_role("region", name="Judge the reasoning")
    judge.get_by_label("Guidelines").fill("Only words of the abstract itself are evidence.")
    judge.get_by_label("Evidence below this quality").fill("0.3")
    judge.get_by_label("Model (empty").fill("gpt-5-mini")
    judge.get_by_role("button", name="Dry run").click()
    expect(judge.get_by_role("heading", name="Dry run: nothing was submitted")).to_be_focused(timeout=30_000)
    judge.get_by_text("Prompt 1:").click()
    yield "what judging the reasoning would take"
    judge.get_by_label("Noun for numbered references").fill("Abstract 1")
    judge.get_by_role("button", name="Dry run").click()
    expect(judge.get_by_role("alert")).to_contain_text("not a noun for numbered things")
    yield "a judgement refused"


def panel(stage: Stage) -> Iterator[str]:
    batch = stage.client.batch(write(stage.client, of_a_panel(), operation=PANELLED, model="small, large"))
    decide(batch, [HumanDecision(place, "include", "Reviewer A") for place in range(3)])
    page = stage.view(str(batch.id), "quality")
    page.get_by_text("Show what each model adds").click()
    expect(page.get_by_role("link", name="Read these first in Work")).to_be_visible()
    yield "what each model brought"


def run(stage: Stage) -> Iterator[str]:
    batch = stage.client.batch(write(stage.client, rows()))
    remark(batch, [0, 2], labels=["to discuss", LONG], reviewer="Reviewer B")
    page = stage.view(str(batch.id), "run")
    expect(page.get_by_role("table", name="Failures by round and kind")).to_be_visible()
    expect(page.get_by_role("link", name="to discuss")).to_be_visible()
    yield "ended, some failed"
    votes = stage.folder / "votes.csv"
    votes.write_text(f"id,title,vote\nr0,,1\nr1,,0\nr2,,so-so\nx,Nowhere {LONG},1\nr5,,1\nr5,,0\n", "utf-8")
    page.get_by_text("Import a file of decisions").click()
    page.get_by_label("File of decisions").set_input_files(votes)
    page.get_by_label("Name of the reviewer").fill("Reviewer C")
    page.get_by_role("button", name="Preview the file").click()
    expect(page.get_by_label("Words that mean include")).to_be_focused()
    yield "a file of decisions with a word that nobody knows"
    page.get_by_label("Words that mean uncertain").fill("so-so")
    page.get_by_role("button", name="Preview the file").click()
    expect(page.get_by_text("1 row not found in the batch")).to_be_visible()
    yield "how a file of decisions is read"
    page.get_by_role("button", name="Record 3 decisions").click()
    expect(page.get_by_text("3 decisions recorded")).to_be_visible()
    yield "decisions recorded"
    waiting = [Ledgered(record(n), ItemStatus.PENDING) for n in range(20, 26)]
    page.goto(f"{stage.browser.base}/?batch={write(stage.client, waiting, state='running')}&view=run")
    expect(page.get_by_role("button", name="Set priority")).to_be_visible()
    yield "running"


def review(stage: Stage) -> Iterator[str]:
    with stage.client.engine.begin() as connection:
        review_id = write_review(connection, f"Exercise after hip replacement. {LONG}", SCREENING, ONCOLOGY)
        write_batch(connection, rows(), place=Place(review_id, 0))
    page = stage.browser.sign_in(stage.key, f"/?review={review_id}")
    expect(page.locator("#drawing svg")).to_be_visible()
    yield "its first stage ended"


def report(stage: Stage) -> Iterator[str]:
    page, path = stage.page, stage.folder / "report.html"
    with path.open("w", encoding="utf-8", newline="") as stream:
        write_report(stage.client.engine, write(stage.client, rows()), ReportForm.HTML, stream)
    page.goto(path.as_uri())
    expect(page.locator("#rows .row").first).to_be_visible()
    yield "as it opens"
    page.get_by_role("button", name="Show all details on this page").click()
    yield "rows opened"


VIEWS: dict[str, Callable[[Stage], Iterator[str]]] = {
    "Sign in": sign_in,
    "Reviews and batches": home,
    "New review": new_review,
    "Other operations": operations,
    "Figure and report": batch,
    "Figure and report, of values": batch_of_values,
    "Figure and report, going on": batch_going_on,
    "Work": work,
    "Work, alone": work_alone,
    "Work, in an audit": work_audited,
    "Conflicts": conflicts,
    "Team": team,
    "Quality": quality,
    "Quality, of a panel": panel,
    "Run": run,
    "Review": review,
    "The report as a file": report,
}
