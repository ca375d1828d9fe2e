"""Answers of several model snapshots are named with their shares and dates."""

import json
from pathlib import Path

from llm_double.personalities.personality import Personality
from stage import House, abstracts, tamis
from tamis_producer import Batch
from tamis_producer.ledger.snapshots import SnapshotChange, read_snapshot_change
from tamis_review import write_report_file
from tamis_schemas import Filter, Panel

N = 40
LATER = "another_snapshot"


def shown(house: House, folder: Path, *words: str) -> str:
    return tamis("status", *words, env=house.environment, cwd=folder).out


def report(batch: Batch, folder: Path) -> str:
    file = folder / f"{batch.id}.md"
    write_report_file(batch, file)
    return file.read_text("utf-8")


def change(house: House, batch: Batch) -> SnapshotChange | None:
    with house.client.reading() as connection:
        return read_snapshot_change(connection, batch.uuid)


def submitted(house: House, question: str, n: int = N, panel: Panel | None = None) -> Batch:
    batch = house.client.submit(Filter(criteria=question), abstracts(n), panel=panel, use_cache=False)
    batch.wait(timeout=60)
    return batch


def test_two_snapshots_in_one_batch_are_told_with_shares_and_dates_and_one_is_not(house: House, tmp_path: Path) -> None:
    double = house.fresh().double
    alone = submitted(house, "Is it told of one?")
    assert change(house, alone) is None
    assert "model snapshots" not in report(alone, tmp_path) + shown(house, tmp_path, alone.id)
    double.script(personalities=[Personality(LATER, share=0.5)])
    batch = submitted(house, "Is it told of two?")
    changed = change(house, batch)
    assert changed is not None
    records = {row.model: row.records for row in changed.snapshots}
    assert records.keys() == {"double-1-double", "double-1-double-later"}
    assert sum(records.values()) == N
    (sentence,) = changed.sentences
    for row in changed.snapshots:
        assert f"“{row.model}” ({row.records} records, {row.records / N:.1%}, {row.first_at:%Y-%m-%d})" in sentence
    assert report(batch, tmp_path).count(sentence) == 2  # as a warning, and in the methods
    status = shown(house, tmp_path, batch.id)
    assert sentence in status
    assert f"tamis retry {batch.id} --sample 100 asks a random sample again." in status
    document = json.loads(shown(house, tmp_path, batch.id, "--json"))
    assert SnapshotChange.model_validate(document["snapshots"]) == changed


def test_another_snapshot_than_the_pilots_is_told_by_the_later_batch(house: House, tmp_path: Path) -> None:
    double = house.fresh().double
    pilot = submitted(house, "Has the pilot another snapshot?", 5)
    double.script(personalities=[LATER])
    batch = submitted(house, "Has the pilot another snapshot?")
    sentence = f"An earlier batch with the same question ({pilot.id}) was answered by “double-1-double” (5 records, "
    for text in (report(batch, tmp_path), shown(house, tmp_path, batch.id, "--watch")):
        assert sentence in text
        assert "several model snapshots" not in text
    assert change(house, pilot) is None
    assert change(house, submitted(house, "Has the pilot another snapshot?", 3)) is None  # its pilot is the second


def test_the_models_of_a_panel_are_not_snapshots_of_one_another(house: House) -> None:
    double = house.fresh().double
    panel = Panel(models=("small", "large"), policy="any")
    assert change(house, submitted(house, "Is a panel one snapshot each?", panel=panel)) is None
    double.script(personalities=[Personality(LATER, share=0.5, models=("large",))])
    changed = change(house, submitted(house, "Is a panel one snapshot each?", panel=panel))
    assert changed is not None
    assert [row.model for row in changed.snapshots if row.panel_model == "small"] == ["small-double"]
    assert "“small-double”" not in changed.sentences[0]
