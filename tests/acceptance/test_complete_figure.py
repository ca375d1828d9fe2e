"""A review from three searches to the studies that are included, on the command line alone.

Every number of the figure is counted once more from the files that went in and the results that came out.
"""

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llm_double import Double, Quotes
from stage import Finished, WorkerProcess, tamis

CRITERIA = """\
research_question: Does exercise at home help?
inclusion_criteria: [adults after a hip replacement, a randomised controlled trial]
exclusion_criteria: [animal studies]
"""
PLAN = """\
title: Exercise at home
sources:
  - {name: MEDLINE, file: medline.csv, searched: 2026-03-01, query: "exercise AND hip"}
  - {name: A registry of trials, kind: register, file: registry.csv, searched: 2026-03-02}
  - {name: Citation searching, kind: other, file: cited.csv}
criteria: criteria.yaml
stages:
  - initial_filter
  - inclusion
"""
SOURCES = {"medline.csv": 24, "registry.csv": 8, "cited.csv": 6}
COPIES = {"registry.csv": (0, 1, 2), "cited.csv": (3,)}  # records of MEDLINE that the other files have too
A, B, C = "Reviewer A", "Reviewer B", "Reviewer C"
TOWNS = (
    *("Aarau", "Basel", "Chur", "Davos", "Emmen", "Flims", "Genf", "Horgen", "Ilanz"),
    *("Jona", "Kloten", "Luzern", "Murten", "Nyon", "Olten", "Pully", "Quarten"),
)


def row(n: int) -> dict[str, str]:
    town = f"{TOWNS[n % len(TOWNS)]}{'' if n < len(TOWNS) else ' and its valleys'}"
    title = (
        f"Case report: an unusual course in {town}" if n == 5 else f"Walking at home after a hip replacement in {town}"
    )
    abstract = f"Adults walked at home in {town}. The randomised trial had {40 + n} of them."
    return {"id": f"m{n}", "title": title, "abstract": abstract, "year": "2020", "doi": f"10.1000/{n}"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    first = 0
    for name, n in SOURCES.items():
        copies = [row(of) | {"id": f"{name[0]}{of}"} for of in COPIES.get(name, ())]
        own = [row(place) | {"id": f"{name[0]}{place}"} for place in range(first, first + n - len(copies))]
        first += len(own)
        write(tmp_path / name, [*copies, *own])
    (tmp_path / "criteria.yaml").write_text(CRITERIA, "utf-8")
    (tmp_path / "plan.yaml").write_text(PLAN, "utf-8")
    return tmp_path


def write(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def named(tallies: list[dict[str, Any]]) -> dict[str, int]:
    return {tally["name"]: tally["n"] for tally in tallies}


@pytest.mark.night
def test_a_review_of_three_searches_comes_to_its_figure(
    folder: Path, environment: dict[str, str], start_worker: Callable[..., WorkerProcess], double: Double
) -> None:
    def run(*words: str, code: int = 0) -> Finished:
        done = tamis(*words, env=environment, cwd=folder)
        assert done.code == code, done.out + done.err
        return done

    double.script(quotes=Quotes.VERBATIM)
    start_worker()
    review = run("review", "run", "plan.yaml").out.split("review ")[1].split(":")[0]
    (stage,) = json.loads(run("review", "status", review, "--json").out)["stages"]
    batch = stage["id"]

    # The model has spoken. Two people read every third record and differ on some; a third settles one of these.
    results = [json.loads(line) for line in run("results", batch, "--format", "jsonl").out.splitlines()]
    assert len(results) == sum(SOURCES.values())
    model = {one["index"]: one["result"]["value"] for one in results if one["status"] == "decided"}
    read = [index for index in sorted(model) if index % 3 == 0]
    first = dict.fromkeys(read, "include")
    second = {index: "exclude" if index % 9 == 0 else "include" for index in read}
    disputed = [index for index in read if first[index] != second[index]]
    assert len(disputed) > 1
    for reviewer, said in ((A, first), (B, second)):
        rows = [{"id": results[index]["item_id"], "decision": value} for index, value in said.items()]
        write(folder / "said.csv", rows)
        run("import-decisions", batch, "said.csv", "--reviewer", reviewer)
    run("override", batch, f"index:{disputed[0]}", "include", "--reviewer", C, "--settle")
    excluded = next(index for index in sorted(model) if index % 3 == 1 and model[index] == "include")
    run("override", batch, f"index:{excluded}", "exclude", "--reviewer", A)

    final = model | first | dict.fromkeys(disputed[1:], "conflict") | {excluded: "exclude"}
    passed = [index for index, value in sorted(final.items()) if value == "include"]

    # Reports: two are lost, one is nowhere yet; of the others every third is excluded, two are of one study.
    lost, awaited, assessed = passed[:2], passed[2:3], passed[3:]
    refused = run("override", batch, f"index:{excluded}", "include", "--stage", "full-text", "--reviewer", A, code=2)
    assert f"not passed by the screening: No. {excluded + 1} (" in refused.err
    for index in lost:
        why = ("--stage", "retrieval", "--reason", "No copy to be had", "--reviewer", A)
        run("override", batch, f"index:{index}", "not retrieved", *why)
    reasons = {index: ("Wrong age", "Wrong outcome")[place % 2] for place, index in enumerate(assessed[::3])}
    kept = [index for index in assessed if index not in reasons]
    write(
        folder / "full_texts.csv",
        [
            {
                "id": results[index]["item_id"],
                "decision": "exclude" if index in reasons else "include",
                "reason": reasons.get(index, ""),
                "note": "study: Harbour" if index in kept[:2] else "",
            }
            for index in assessed
        ],
    )
    run("import-decisions", batch, "full_texts.csv", "--stage", "full-text", "--reviewer", B)

    document = json.loads(run("report", review, "--format", "json").out)
    flow = document["flow"]
    (screened,) = flow["stages"]
    rules = Counter(one["exclusion"]["rule"] for one in results if one["exclusion"])
    assert {one["name"]: (one["kind"], one["identified"]) for one in flow["sources"]} == {
        "MEDLINE": ("database", 24),
        "A registry of trials": ("register", 8),
        "Citation searching": ("other", 6),
    }
    assert sum(one["duplicates"] for one in flow["sources"]) == flow["duplicates"] == rules.pop("duplicate") == 4
    assert named(flow["ineligible"]) == rules == {"case_report": 1}
    assert screened["entered"] == sum(SOURCES.values()) - 5 == sum(one["screened"] for one in flow["sources"])
    people = {index: value for index, value in final.items() if index in first or index == excluded}
    by_model = [index for index, value in final.items() if value == "exclude" and index not in people]
    assert screened["passed"] == len(passed)
    assert sum(named(screened["excluded"]).values()) - screened["excluded_confirmed"] == len(by_model)
    assert screened["excluded_by_human"] == 1
    assert screened["conflicts"] == len(disputed) - 1
    assert screened["uncertain"] == list(final.values()).count("uncertain")
    reports = flow["reports"]
    assert (reports["sought"], reports["awaited"], reports["unassessed"]) == (len(passed), len(awaited), 0)
    assert named(reports["not_retrieved"]) == {"No copy to be had": 2}
    assert named(reports["excluded"]) == Counter(reasons.values())
    assert (reports["included"], reports["studies"]) == (len(kept), len(kept) - 1)
    searched, others = flow["columns"]
    from_others = [index for index in range(len(results)) if results[index]["source"] == "Citation searching"]
    assert others["reports"]["sought"] == len(set(passed) & set(from_others))
    assert searched["reports"]["included"] == len(set(kept) - set(from_others))
    assert document["finished"] is False

    svg = run("report", review, "-o", "prisma.svg") and (folder / "prisma.svg").read_text("utf-8")
    assert "Identification of studies via other methods" in svg
    assert f"Reports of included studies: {len(kept)}" in svg
    run("report", review, "-o", "prisma.png")
    assert (folder / "prisma.png").read_bytes().startswith(b"\x89PNG")
    told = run("report", review, "--format", "md").out
    assert "38 records were identified from one database (MEDLINE, n = 24), one register (" in told
    assert "MEDLINE: exercise AND hip" in told
    assert f"{A} and {B} both decided {len(read)} records and agreed on {len(read) - len(disputed)}" in told
