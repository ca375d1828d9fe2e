"""Answers of several model snapshots are named with their shares and dates."""

import json
from pathlib import Path

from llm_double.personalities.personality import Personality
from stage import Finished, House, abstracts, tamis
from tamis_producer import Batch
from tamis_producer.ledger.snapshots import read_snapshot_change
from tamis_review import write_report_file
from tamis_schemas import Filter, Panel

N = 40
LATER = "another_snapshot"


def run(house: House, folder: Path, *words: str) -> Finished:
    return tamis(*words, env=house.environment, cwd=folder)


def told(house: House, batch: Batch, folder: Path) -> list[str]:
    """The places that speak of snapshots: the terminal, its JSON, and the report's methods and warnings."""
    report = folder / f"{batch.id}.md"
    write_report_file(batch, report)
    change = json.loads(run(house, folder, "status", batch.id, "--json").out)["snapshots"]
    return [
        run(house, folder, "status", batch.id).out,
        report.read_text("utf-8"),
        "" if change is None else str(change),
    ]


def submitted(house: House, question: str, n: int = N) -> Batch:
    batch = house.client.submit(Filter(criteria=question), abstracts(n), use_cache=False)
    batch.wait(timeout=60)
    return batch


def test_two_snapshots_in_one_batch_are_told_with_shares_and_dates_and_one_is_not(house: House, tmp_path: Path) -> None:
    double = house.fresh().double
    alone = submitted(house, "Is one snapshot told?")
    assert not any("snapshot" in text.replace("one snapshot", "") for text in told(house, alone, tmp_path))
    double.script(personalities=[Personality(LATER, share=0.5)])
    batch = submitted(house, "Are two snapshots told?")
    with house.client.reading() as connection:
        change = read_snapshot_change(connection, batch.uuid)
    assert change is not None
    names = {row.model: row.records for row in change.snapshots}
    assert names.keys() == {"double-1-double", "double-1-double-later"}
    assert sum(names.values()) == N
    (sentence,) = change.sentences
    for row in change.snapshots:
        assert f"“{row.model}” ({row.records} records, {row.records / N:.1%}, {row.first_at:%Y-%m-%d})" in sentence
    shown, methods, stored = told(house, batch, tmp_path)
    assert sentence in shown
    assert f"tamis retry {batch.id} --sample 100 asks a random sample again." in shown
    assert methods.count(sentence) == 2  # as a warning, and in the methods
    assert "double-1-double-later" in stored


def test_another_snapshot_than_the_pilots_is_told_by_the_later_batch(house: House, tmp_path: Path) -> None:
    double = house.fresh().double
    pilot = submitted(house, "Has the pilot another snapshot?", 5)
    double.script(personalities=[LATER])
    batch = submitted(house, "Has the pilot another snapshot?")
    sentence = f"An earlier batch with the same question ({pilot.id}) was answered by “double-1-double” (5 records, "
    followed = run(house, tmp_path, "status", batch.id, "--watch").out
    for text in (*told(house, batch, tmp_path)[:2], followed):
        assert sentence in text
        assert "several model snapshots" not in text
    assert not any("An earlier batch" in text for text in told(house, pilot, tmp_path))
    same = submitted(house, "Has the pilot another snapshot?", 3)  # its pilot is the batch before it
    assert not any("An earlier batch" in text for text in told(house, same, tmp_path))


def test_the_models_of_a_panel_are_not_snapshots_of_one_another(house: House) -> None:
    double = house.fresh().double
    panel = Panel(models=("small", "large"), policy="any")
    asked = Filter(criteria="Is a panel one snapshot each?")
    for personalities, several in (((), False), ((Personality(LATER, share=0.5, models=("large",)),), True)):
        double.script(personalities=personalities)
        batch = house.client.submit(asked, abstracts(N), panel=panel, use_cache=False)
        batch.wait(timeout=60)
        with house.client.reading() as connection:
            change = read_snapshot_change(connection, batch.uuid)
        assert (change is not None) is several
    assert change is not None
    assert [(row.panel_model, row.model) for row in change.snapshots if row.panel_model == "small"] == [
        ("small", "small-double")
    ]
    assert "“small-double”" not in change.sentences[0]
