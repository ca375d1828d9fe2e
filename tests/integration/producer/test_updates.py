"""A later search joins a review: what it had is not asked about again, and the figure counts both."""

import json
from collections.abc import Callable
from pathlib import Path

from stage import Finished
from stage.screened import CRITERIA, decided, written_batch
from tamis_producer import Batch, Client
from tamis_review import known_records, may_stop, override, write_report_file
from tamis_review.filter.identification import identify
from tamis_schemas import HumanStage, Inclusion, InclusionDecision

Run = Callable[..., Finished]
SCREENING = Inclusion(criteria=CRITERIA)
TITLE = "{} of walking after a hip replacement in older adults: a randomised controlled trial"


def write(path: Path, *names: str) -> Path:
    path.write_text("title,doi,year\n" + "".join(f'"{TITLE.format(name)}",10.1/{name},2020\n' for name in names))
    return path


def screened(client: Client, **statuses: str) -> Batch:
    """A batch in which people include, and exclude, in full text too."""
    said = {
        name: InclusionDecision.model_validate({"status": status, "confidence": 0.8, "rationale": "because"})
        for name, status in statuses.items()
    }
    rows = [
        decided({"id": name, "title": TITLE.format(name), "doi": f"10.1/{name}", "year": 2020}, one)
        for name, one in said.items()
    ]
    return written_batch(client, rows, operation=SCREENING)


def test_an_update_asks_about_what_is_new_and_its_figure_counts_both(client: Client, tmp_path: Path, run: Run) -> None:
    earlier = screened(client, speed="include", cost="include", fear="exclude")
    override(earlier, 0, "include", reviewer="Reviewer A", stage=HumanStage.FULL_TEXT)
    override(earlier, 1, "exclude", reviewer="Reviewer A", stage=HumanStage.FULL_TEXT, reason="wrong age")

    later = write(tmp_path / "later.csv", "speed", "fear", "pain", "gait")
    identified = identify(later, known=known_records(client, earlier.id))
    assert sorted(identified.exclusions) == [0, 1]
    batch = client.submit(
        SCREENING,
        identified.records,
        exclusions=identified.exclusions,
        source=identified.sources,
        updates=earlier.id[:13],
    )
    for index in (2, 3):
        override(batch, index, "include", reviewer="Reviewer A")
        override(batch, index, "include", reviewer="Reviewer A", stage=HumanStage.FULL_TEXT)

    stop = may_stop(batch)
    assert (stop.updates, stop.found, stop.records) == (earlier.id, 2, 2)  # the earlier include does not count
    assert may_stop(earlier).updates is None

    figures = write_report_file(batch, tmp_path / "figure.json")
    flow = figures.flow
    assert (flow.n_identified, flow.duplicates, flow.included) == (4, 2, 2)
    assert flow.previous is not None
    assert (flow.previous.identified, flow.previous.included, flow.previous.studies) == (3, 1, 1)
    assert json.loads((tmp_path / "figure.json").read_text())["flow"]["previous"]["batch_id"] == earlier.id
    assert [one.final_value for one in earlier.results()] == ["include", "include", "exclude"]

    write_report_file(batch, tmp_path / "figure.svg")
    drawn = (tmp_path / "figure.svg").read_text()
    for words in ("Total studies included in review", "in the previous version of the review", "new in this version"):
        assert words in drawn
    assert "(n\u00a0=\u00a03)" in drawn  # 1 of before, and 2 new ones
    write_report_file(batch, tmp_path / "figure.html")
    assert "for which 3 records were identified" in (tmp_path / "figure.html").read_text()

    # An update of the update: 3 + 4 records and 1 + 2 studies of before, and nothing new.
    again = identify(write(tmp_path / "again.csv", "gait", "cost"), known=known_records(client, batch.id))
    assert len(again.exclusions) == 2
    third = client.submit(SCREENING, again.records, exclusions=again.exclusions, updates=batch.id)
    previous = write_report_file(third, tmp_path / "third.json").flow.previous
    assert previous is not None
    assert (previous.identified, previous.studies) == (7, 3)


def test_the_command_line_says_what_an_update_keeps_out(client: Client, tmp_path: Path, run: Run) -> None:
    earlier = screened(client, speed="include")
    criteria = tmp_path / "criteria.json"
    criteria.write_text(CRITERIA.model_dump_json())
    later = write(tmp_path / "later.csv", "speed", "pain")
    done = run("screen", str(later), "--criteria", str(criteria), "--updates", earlier.id[:13], "--detach")
    assert done.code == 0, done.err
    assert "1 of 2 records removed: the earlier search has them already\n" in done.err
    assert "--keep-duplicates" not in done.err  # it would not ask about them either
    assert [row.status for row in client.batch(done.out.strip()).results()] == ["excluded_by_filter", "pending"]
    unknown = run("screen", str(later), "--criteria", str(criteria), "--updates", "ffff", "--detach")
    assert unknown.code == 2
    assert "ffff" in unknown.err
