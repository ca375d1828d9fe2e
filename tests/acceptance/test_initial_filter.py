"""Tier 1 from the command line: what it rejects of three reviews' real records is what the documentation says."""

import csv
import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from stage import tamis
from stage.shared_data import DATA, needs_real_records

ROOT = Path(__file__).parents[2]
SETS = ("synergy_Donners_2021", "cdss_ro", "ptsd_van_de_schoot_2017")
QUESTION = "Which records meet the review's criteria?"


def one_text(name: str, key: str = "text") -> dict[str, Any]:
    """The review's own criteria, as one inclusion criterion."""
    text = json.loads((DATA / "screening" / name / "criteria.json").read_text("utf-8"))[key]
    return {"research_question": QUESTION, "inclusion_criteria": [text]}


def one_by_one(name: str) -> dict[str, Any]:
    """The same words, a criterion each, and what they exclude under exclusion criteria."""
    text = " ".join(one_text(name)["inclusion_criteria"][0].replace("\n-", "\n(x) ").lstrip("-").split())
    included: list[str] = []
    excluded: list[str] = []
    for part in re.split(r"\s*\((?:\d|[a-dx])\)\s*", text):
        kept, _, left_out = part.removesuffix(",").partition("xclusion of ")
        if left_out:
            excluded.append(left_out)
            kept = kept.removesuffix("e").removesuffix("E").strip(" ,")
        if kept:
            included.append(kept)
    return {"research_question": QUESTION, "inclusion_criteria": included, "exclusion_criteria": excluded}


def documented(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading of the documentation, its head first."""
    page = (ROOT / "docs" / "screening-benchmarks.md").read_text("utf-8")
    section = page.split(f"\n## {heading}\n")[1].split("\n#")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in (lines[0], *lines[2:])]


@dataclass(frozen=True)
class Filtered:
    """What the command made of a review's records."""

    rows: tuple[dict[str, str], ...]
    said: str

    @property
    def count(self) -> Counter[tuple[str, str]]:
        """How many records each rule rejects, by label."""
        return Counter((row["rule"], row["label"]) for row in self.rows if row["outcome"] == "rejected")


def filtered(name: str, label: str, criteria: dict[str, Any]) -> Filtered:
    return _filtered(name, label, yaml.safe_dump(criteria, allow_unicode=True))


@cache  # several tests look at the same run
def _filtered(name: str, label: str, criteria: str) -> Filtered:
    records = DATA / "screening" / name / "records.csv"
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "criteria.yaml").write_text(criteria, "utf-8")
        options = ("--criteria", "criteria.yaml", "--labels", label, "-o", "outcomes.csv")
        done = tamis("initial-filter", str(records), *options, env={}, cwd=folder)
        assert done.code == 0, done.err
        with (folder / "outcomes.csv").open(encoding="utf-8", newline="") as stream:
            rows = tuple(csv.DictReader(stream))
    with records.open(encoding="utf-8", newline="") as stream:
        assert [row["id"] for row in rows] == [record["id"] for record in csv.DictReader(stream)]
    return Filtered(rows, done.out)


def test_the_criteria_one_by_one_hold_the_reviews_own_words() -> None:
    if not DATA.is_dir():
        pytest.skip("no real records")
    assert [len(one_by_one(name)["inclusion_criteria"]) for name in SETS] == [4, 4, 4]
    assert one_by_one("cdss_ro")["exclusion_criteria"] == [
        "review articles",
        "systems intended for support of non-clinicians (e.g. patient decision-aids)",
    ]


@needs_real_records
@pytest.mark.parametrize("name", [*SETS[:2], pytest.param(SETS[2], marks=pytest.mark.night)])
def test_no_included_record_is_rejected_however_the_criteria_are_written(name: str) -> None:
    keys = json.loads((DATA / "screening" / name / "criteria.json").read_text("utf-8"))
    texts = [key for key in keys if key == "text" or key.startswith("alt_text")]
    counts = []
    for criteria in [one_by_one(name), *(one_text(name, key) for key in texts)]:
        found = filtered(name, "label", criteria)
        assert not [rule for rule, label in found.count if label == "1"]
        assert "no included record is rejected" in found.said
        assert "switched off" not in found.said  # none of the criteria includes what a rule rejects
        counts.append(found.count)
    assert all(count == counts[0] for count in counts)


@pytest.mark.spec("3.1")
@needs_real_records
@pytest.mark.parametrize(("name", "label"), [(name, "label") for name in SETS] + [(SETS[2], "label_ta")])
def test_the_documented_rejections_are_those_that_the_command_counts(name: str, label: str) -> None:
    found = filtered(name, label, one_text(name))
    count, said = found.count, found.said
    (_, *sets), *table = documented("What it rejects")
    cells = {rule: cells[sets.index(f"{name} {label}")] for rule, *cells in table}
    rows = {rule: tuple(map(int, cell.split("/"))) for rule, cell in cells.items() if cell}
    total = rows.pop("all rules")
    assert rows == {rule: (count[rule, "1"], count[rule, "0"]) for rule, _ in count}
    assert total == tuple(sum(n for (_, of), n in count.items() if of == label) for label in ("1", "0"))
    for rule, (included, excluded) in rows.items():
        assert re.search(rf"^{rule} +{included + excluded} +{included} +{excluded} *$", said, re.MULTILINE), said


@needs_real_records
def test_the_two_errata_that_it_rejects_stand_beside_their_articles() -> None:
    found = filtered(SETS[2], "label_ta", one_text(SETS[2]))
    assert {rule: n for (rule, label), n in found.count.items() if label == "1"} == {"correction": 2}
    assert "2 included records are rejected" in found.said
    rows = found.rows
    lost = [row for row in rows if row["outcome"] == "rejected" and row["label"] == "1"]
    for erratum in lost:
        words = re.sub(r"^Erratum(?: for)?\W*", "", erratum["title"])[:60].lower()
        assert any(row["title"].lower().startswith(words) and row["outcome"] == "passed" for row in rows), words


@pytest.mark.night
@needs_real_records
def test_the_documented_figures_of_the_rules_as_spec_3_writes_them_are_measured() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.spec_rules"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    measured = [line.split() for line in done.stdout.splitlines()[1:]]
    assert documented("Against the rules as written")[1:] == [
        [name, label, included, lost, lost_all, rejected_words, rejected_all]
        for name, label, included, lost, lost_all, _, rejected_words, rejected_all in measured
    ]


# A rule that rejects another number of records is noticed by the tests above; this one counts what each is worth.
@pytest.mark.night
@needs_real_records
def test_the_documented_figures_of_single_rules_are_measured() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.filter_rules"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    head, *measured = [line.split("|") for line in done.stdout.splitlines()]
    columns, *table = documented("What single rules change")
    chosen = [head.index(column.replace(" ", "_")) for column in columns]
    assert [[row[place] for place in chosen] for row in measured] == table
    for row in measured:
        for rule in ("exclusion_sentences", "reviews", "soft_hyphens"):  # the page says that they change nothing here
            assert row[head.index(f"without_{rule}")] == row[head.index("filter")]
    for _, _, _, _, now, before, *_ in measured:
        (lost, out), (lost_before, out_before) = (map(int, cell.split("/")) for cell in (now, before))
        assert lost <= lost_before
        assert out >= out_before


def test_rules_that_do_not_apply_are_named_with_the_criterion(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("id,title\n1,Statins in mice\n2,A case report\n", "utf-8")
    (tmp_path / "c.yaml").write_text("research_question: Q\ninclusion_criteria: [animal studies]\n", "utf-8")
    done = tamis("initial-filter", "r.csv", "--criteria", "c.yaml", env={}, cwd=tmp_path)
    assert done.code == 0, done.err
    assert re.search(r"^case_report +1 *$", done.out, re.MULTILINE)
    assert "animal is switched off: the criteria include 'animal': 'animal studies'" in " ".join(done.out.split())
    assert "included" not in done.out.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.csv", "--criteria", "c.yaml"], "missing.csv: "),
        (["r.csv", "--criteria", "missing.yaml"], "missing.yaml: "),
        (["r.csv", "--criteria", "c.yaml", "--labels", "lable"], "r.csv: no column 'lable'"),
        (["r.csv", "--criteria", "c.yaml", "--labels", "label"], "r.csv:3: field 'label': 'maybe' is not a label"),
        (["r.csv", "--criteria", "c.yaml", "-o", "nowhere/out.csv"], "nowhere/out.csv: cannot be written"),
        (["r.csv", "--criteria", "k.yaml"], "custom_keywords[0]: '?' contains no word"),
    ],
)
def test_wrong_use_of_the_filter_is_one_clear_line_and_exit_code_2(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    (tmp_path / "r.csv").write_text("id,title,label\n1,A,1\n2,B,maybe\n", "utf-8")
    (tmp_path / "c.yaml").write_text("research_question: Q\ninclusion_criteria: [adults]\n", "utf-8")
    (tmp_path / "k.yaml").write_text(
        "research_question: Q\ninclusion_criteria: [adults]\ncustom_keywords: ['?']\n", "utf-8"
    )
    done = tamis("initial-filter", *arguments, env={}, cwd=tmp_path)
    assert done.code == 2
    assert len(done.err.strip().splitlines()) == 1, done.err
    assert said in done.err
