"""A published review, replayed from the exports of its searches to its PRISMA figure, with its people's decisions.

    python -m benchmarks.replay [--short] [-o FOLDER]

`tamis review run` screens a plan with the eight sources and the reference lists. The LLM double is an additional
reader. Then the decisions of two people are imported, a third person's decisions about their conflicts, and those about
the full texts. FOLDER gets the figure (SVG and PNG), the report, and a table of the review's numbers and Tamis'
numbers. `--short` uses a part of each export. The exit status is 1 if a number differs that must be the published
number.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from llm_double import Double
from tamis_producer import Batch, Client
from tamis_review import find_review, list_reviews, write_report_file
from tamis_schemas import HumanStage
from tamis_schemas.batches.flow import Flow

from .labelled_sets import hearing_review
from .parts import clean_environment, parts
from .records import MODEL
from .replay_decisions import ImportedTable, Importer, Row
from .replay_inputs import PEOPLE, THIRD, Decision, FullText, decisions, full_texts, resolutions
from .replay_published import published
from .replay_searches import Searches, searches, third_reader, write_plan
from .replay_table import Line, imports_to_markdown, lines, to_markdown
from .review_rows import REVIEW, Placed, PlacedBy, exported_records, place, screened_titles

WITHIN = 900.0  # s of one command
FOUND_OTHERWISE = "reference lists"
CONSENSUS = " and ".join(PEOPLE)
FORMS = ("figure.svg", "figure.png", "report.html", "report.json")


@dataclass(frozen=True)
class Replayed:
    """The result of a replay."""

    tables: Sequence[ImportedTable]
    lines: Sequence[Line]
    flow: Flow


def replay(client: Client, run_plan: Callable[[Path], object], folder: Path, *, short: bool = False) -> Replayed:
    """Replay the review in a folder, from its files to its figure. `run_plan` runs a plan to its end."""
    placed = place(exported_records(), screened_titles())
    found = searches(REVIEW, folder, placed, short=short)
    run_plan(write_plan(found, hearing_review().criteria, folder))
    review = find_review(client, list_reviews(client, 1)[0].id)
    (batch,) = review.stages()
    tables = bring_decisions(batch, found, placed, folder)
    figures = [write_report_file(review, folder / name) for name in FORMS][-1]
    flow = figures.flow
    said = published(found.kept(decisions(REVIEW)), resolutions(REVIEW), full_texts(REVIEW))
    own = lines(found, said, tables, batch, flow)
    (folder / "table.md").write_text(to_markdown(own) + "\n" + imports_to_markdown(tables), "utf-8")
    return Replayed(tables, own, flow)


def bring_decisions(batch: Batch, found: Searches, placed: Sequence[Placed], folder: Path) -> list[ImportedTable]:
    """Import all decisions of the review's people, in their order, and return the imported tables."""
    importer = Importer(batch, records_of_rows(batch, found, placed), folder)
    assessed = full_texts(REVIEW)
    tables = [
        importer.bring(person, [Row(one) for one in own]) for person, own in found.kept(decisions(REVIEW)).items()
    ]
    tables.append(importer.bring(THIRD, [Row(one) for one in resolutions(REVIEW)], settles=True))
    # Who finds a report in a list of references and wants its full text takes it in, whatever was said before.
    otherwise = [Row(Decision("", own.title, "include")) for own in assessed if own.row is None]
    tables.append(importer.bring(FOUND_OTHERWISE, otherwise, settles=True))
    full_text = HumanStage.FULL_TEXT
    for person in PEOPLE:
        tables.append(importer.bring(person, [_full_text(own, own.said[person]) for own in assessed], full_text))
    tables.append(importer.bring(CONSENSUS, [_full_text(own, own.final) for own in assessed], full_text, settles=True))
    return tables


def _full_text(own: FullText, says: str) -> Row:
    return Row(Decision(own.row or "", own.title, says), own.reason if says == "exclude" else None)


def records_of_rows(batch: Batch, found: Searches, placed: Sequence[Placed]) -> dict[str, tuple[str, str]]:
    """Return for each row of the review its record: the id in the batch, and the title."""
    index_of = found.index_of()
    results = list(batch.results())
    surest = sorted(placed, key=lambda one: one.by not in (PlacedBy.NUMBER, PlacedBy.WRITTEN))
    records: dict[str, tuple[str, str]] = {}
    for one in surest:
        index = index_of.get((one.record.source, one.record.place))
        if one.row is not None and index is not None:
            own = results[index]
            records.setdefault(one.row, (own.item_id, str(own.item.get("title") or "")))
    return records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="a part of each export")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/replay"), help="the folder to write to")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    folder = given.output.resolve()
    with parts() as running, running.ledger() as ledger, Double.start(remember=False) as double:
        double.script(answers=third_reader(hearing_review().criteria), remember=False)
        settings = ledger.settings
        environment = clean_environment(
            {"TAMIS_BROKER_URL": settings.broker, "TAMIS_DATABASE_URL": settings.database, "TAMIS_MODEL": MODEL}
        )

        def run_plan(plan: Path) -> None:
            command = [sys.executable, "-m", "tamis_cli", "review", "run", str(plan)]
            subprocess.run(command, cwd=folder, env=environment, check=True, timeout=WITHIN)

        with running.workers(1, ledger, double):
            replayed = replay(ledger.client, run_plan, folder, short=given.short)
    sys.stdout.write("\n" + (folder / "table.md").read_text("utf-8") + f"\n{folder}: {', '.join(FORMS)}, table.md\n")
    sys.exit(0 if all(one.agrees for one in replayed.lines) else 1)


if __name__ == "__main__":
    main()
