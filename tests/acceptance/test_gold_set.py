"""`tamis evaluate` and `tamis calibrate` on a real review, screened by a model whose errors are known."""

import csv
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser

from stage import House, tamis
from stage.mistaken import Mistaken, mistaken
from stage.shared_data import DATA, needs_real_records

REVIEW = DATA / "screening" / "cdss_ro"
RECORDS = REVIEW / "records.csv"
FALSE_NEGATIVE, FALSE_POSITIVE = 0.10, 0.20
SEED = 7

# Ordinary tests of the same: tests/integration/producer/client/test_quality.py and .../review/page/test_gold_routes.py.
pytestmark = pytest.mark.night


@dataclass(frozen=True)
class Screened:
    """The review's 521 records, screened; one of them is a copy of another, about which no model is asked."""

    batch: str
    folder: Path
    environment: dict[str, str]
    answers: dict[str, Mistaken]  # by item id, copies left out

    def run(self, command: str, *arguments: str) -> "tuple[int, str, str]":
        done = tamis(command, self.batch, *arguments, env=self.environment, cwd=self.folder)
        return done.code, done.out, done.err

    def told(self, command: str, *arguments: str) -> dict:  # type: ignore[type-arg]  # JSON
        _, out, err = self.run(command, *arguments, "--json")
        assert out, err
        return json.loads(out)

    def counted(self) -> Counter[tuple[bool, bool]]:
        """(human, answer) -> records: exactly what the double did."""
        return Counter((answer.human, answer.include) for answer in self.answers.values())

    def labels(self, name: str, ids: list[str]) -> str:
        """A file of ids and labels alone."""
        lines = [f"{item_id},{int(self.answers[item_id].human)}\n" for item_id in ids]
        (self.folder / name).write_text("id,label\n" + "".join(lines), "utf-8")
        return name


@pytest.fixture(scope="module")
def screened(house: House, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screened]:
    folder = tmp_path_factory.mktemp("gold")
    with RECORDS.open(encoding="utf-8", newline="") as stream:
        records = list(csv.DictReader(stream))
    answers = mistaken(records, false_negative=FALSE_NEGATIVE, false_positive=FALSE_POSITIVE, seed=SEED)
    house.fresh().double.script(answers=[answer.scripted for answer in answers])
    text = json.loads((REVIEW / "criteria.json").read_text("utf-8"))["text"]
    criteria = {"research_question": "Which records meet the review's criteria?", "inclusion_criteria": [text]}
    (folder / "criteria.yaml").write_text(yaml.safe_dump(criteria), "utf-8")
    arguments = ("screen", str(RECORDS), "--criteria", "criteria.yaml", "--no-initial-filter")
    done = tamis(*arguments, env=house.environment, cwd=folder)
    assert done.code == 0, done.out + done.err
    prompts = (call.messages[1]["content"] for call in house.double.calls())
    assert not {"label", "_label"} & {line.split(": ")[0] for prompt in prompts for line in prompt.splitlines()}
    batch = done.out.split("batch ")[1].split(":")[0]
    results = tamis("results", batch, "--format", "jsonl", env=house.environment, cwd=folder)
    rows = [json.loads(line) for line in results.out.splitlines()]
    copies = {row["item_id"] for row in rows if row["status"] == "excluded_by_filter"}
    assert len(copies) == 1
    yield Screened(batch, folder, house.environment, {a.item_id: a for a in answers if a.item_id not in copies})
    house.double.reset()


@needs_real_records
def test_evaluate_recovers_the_errors_that_the_model_made_exactly_and_its_rates_within_their_intervals(
    screened: Screened,
) -> None:
    told = screened.told("evaluate", "--labels", str(RECORDS))
    made = screened.counted()
    assert told["screening"]["matrix"] == told["decided"]["matrix"]
    assert told["screening"]["matrix"] == {
        "tp": made[True, True],
        "fn": made[True, False],
        "fp": made[False, True],
        "tn": made[False, False],
    }
    sensitivity, specificity = (told["screening"][name] for name in ("sensitivity", "specificity"))
    assert sensitivity["low"] <= 1 - FALSE_NEGATIVE <= sensitivity["high"]
    assert specificity["low"] <= 1 - FALSE_POSITIVE <= specificity["high"]
    lost = {answer.item_id for answer in screened.answers.values() if answer.human and not answer.include}
    assert {one["item_id"] for one in told["lost"]} == lost
    assert lost
    matching = told["matching"]
    assert (matching["by"], matching["labelled"], matching["copies"]) == ("place", 520, 1)
    assert told["reliability"]["n"] == 520
    assert all(
        one["value"] is not None for one in (told["auc"], told["wss_95"], told["unread"], told["screening"]["f1"])
    )
    assert told["auc"]["value"] > 0.8


@needs_real_records
def test_a_file_of_labels_alone_in_another_order_gives_the_same_figures(screened: Screened) -> None:
    ids = list(screened.answers)
    random.Random(1).shuffle(ids)
    labels = screened.labels("shuffled.csv", ids)
    shuffled = screened.told("evaluate", "--labels", labels, "-o", "curve.svg")
    assert (screened.folder / "curve.svg").read_text("utf-8").startswith("<svg xmlns=")
    whole = screened.told("evaluate", "--labels", str(RECORDS))
    assert shuffled["matching"]["by"] == "id"
    for name in ("screening", "auc", "wss_95", "reliability", "agreement", "lost"):
        assert shuffled[name] == whole[name], name


@needs_real_records
def test_terminal_and_page_name_every_figure_and_the_lost_evidence(screened: Screened, browser: Browser) -> None:
    code, out, err = screened.run("evaluate", "--labels", str(RECORDS), "-o", "page.html")
    assert code == 0, err
    for name in ("sensitivity", "specificity", "precision", "F1", "MCC", "WSS@95", "AUC", "ECE", "kappa", "AC1"):
        assert name in out, name
    made = screened.counted()
    assert f"{made[True, True]} of {made[True, True] + made[True, False]} = " in out
    assert f"lost evidence: {made[True, False]} records" in out
    for answer in screened.answers.values():
        assert (answer.title in out) == (answer.human and not answer.include)
    assert "written to page.html" in err
    page = browser.new_page()
    wanted: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: wanted.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto((screened.folder / "page.html").as_uri())
    assert page.locator("svg.reliability .point").count() >= 3
    assert page.locator(".lost tbody tr").count() == screened.counted()[True, False]
    assert page.locator("h1").inner_text() == "records.csv"
    assert [url for url in wanted if not url.startswith("file:")] == []
    assert complaints == []


@needs_real_records
def test_calibrate_refuses_a_pilot_that_is_too_small_and_says_the_size(screened: Screened) -> None:
    code, out, err = screened.run("calibrate", "--labels", str(RECORDS))
    made = screened.counted()
    includes = made[True, True] + made[True, False]
    assert code == 1
    assert out == ""
    assert f"it has {includes} labelled includes" in err
    assert "needs at least 59 of them" in err
    told = screened.told("calibrate", "--labels", str(RECORDS))
    assert told["threshold"]["value"] is None
    assert told["threshold"]["needed"] == 59
    assert "59" in told["refusal"]


@needs_real_records
@pytest.mark.parametrize("seed", range(2))
def test_a_threshold_that_a_pilot_of_half_the_records_allows_keeps_the_recall_on_all_of_them(
    screened: Screened, seed: int
) -> None:
    recall = 0.75
    ids = list(screened.answers)
    pilot = random.Random(seed).sample(ids, k=len(ids) // 2)
    asked = ("--recall", str(recall), "--delta", "0.1", "-o", f"kept-{seed}.csv")
    labels = screened.labels(f"pilot-{seed}.csv", pilot)
    told = screened.told("calibrate", "--labels", labels, *asked)
    value = told["threshold"]["value"]
    assert value > 0
    assert told["matching"]["unlabelled"] == 520 - len(pilot)

    def score(answer: Mistaken) -> float:
        return answer.confidence if answer.include else round(1 - answer.confidence, 12)

    included = [answer for answer in screened.answers.values() if answer.human]
    assert sum(score(answer) >= value for answer in included) / len(included) >= recall
    below = {item_id for item_id, answer in screened.answers.items() if score(answer) < value}
    assert set(told["below_ids"]) == below
    assert told["saved"]["count"] == len(below & set(pilot))
    with (screened.folder / f"kept-{seed}.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["id"] for row in rows if row["kept"] == "false"} == below
    assert len(rows) == 520
    if not seed:
        code, out, _ = screened.run("calibrate", "--labels", labels, *asked)
        assert code == 0
        assert f"{value}: keep every record" in " ".join(out.split())


@needs_real_records
def test_a_run_of_the_first_records_promises_nothing_and_a_drawn_pilot_does(screened: Screened) -> None:
    run = screened.labels("run.csv", list(screened.answers)[:200])
    code, out, err = screened.run("calibrate", "--labels", run, "--recall", "0.5")
    assert (code, out) == (1, "")
    assert "the 200 labelled records form one block" in err
    assert f"tamis pilot {screened.batch}" in err
    told = screened.told("evaluate", "--labels", run)
    assert told["sampling"]["lie"] == "selected"
    assert told["screening"]["specificity"]["value"] is not None
    assert told["screening"]["specificity"]["low"] is None
    code, out, _ = screened.run("evaluate", "--labels", run, "-o", "run.html")
    assert "not a random sample of the batch" in " ".join(out.split())
    assert "not a random sample of the batch" in (screened.folder / "run.html").read_text("utf-8")

    drawn = screened.told("pilot", "--n", "200", "--seed", "1", "-o", "pilot.csv")
    assert (drawn["seed"], drawn["population"], len(drawn["places"])) == (1, 520, 200)
    assert screened.run("pilot", "-o", "pilot.csv")[0] == 2  # it may hold labels
    path = screened.folder / "pilot.csv"
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for line in rows[:150]:
        line["include"] = "yes" if screened.answers[line["id"]].human else "no"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    told = screened.told("calibrate", "--labels", "pilot.csv", "--recall", "0.5", "--delta", "0.3")
    assert (told["matching"]["by"], told["sampling"]["seed"], told["sampling"]["labelled"]) == ("index", 1, 150)
    assert screened.told("evaluate", "--labels", "pilot.csv")["screening"]["specificity"]["low"] is not None


@needs_real_records
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evaluate", "--labels", str(RECORDS), "--label-column", "lable"], "no column 'lable' for the labels"),
        (
            ["evaluate", "--labels", str(RECORDS), "-o", "page.pdf"],
            "page.pdf: an evaluation is written as .html or .svg",
        ),
        (["evaluate", "--labels", "others.csv"], "no label belongs to a record of this batch"),
        (["calibrate", "--labels", str(RECORDS), "--recall", "1.5"], "recall: 1.5 is not between 0 and 1"),
    ],
)
def test_wrong_use_is_one_clear_line_and_exit_code_2(screened: Screened, arguments: list[str], said: str) -> None:
    (screened.folder / "others.csv").write_text("id,label\nzz,1\n", "utf-8")
    code, out, err = screened.run(*arguments)
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1, err
    assert said in err
