"""What is said of models that answered a batch: what rows show, and nothing without them."""

from datetime import UTC, datetime

from tamis_producer.ledger.snapshots import ModelSnapshot, SnapshotChange


def answered(model: str, records: int, first: int, last: int, panel_model: str | None = None) -> ModelSnapshot:
    first_at, last_at = (datetime(2026, 3, day, 12, tzinfo=UTC) for day in (first, last))
    return ModelSnapshot(panel_model=panel_model, model=model, records=records, first_at=first_at, last_at=last_at)


BOTH = (answered("m-1", 60, 1, 3), answered("m-2", 40, 3, 3))
PILOT = (answered("m-0", 1, 1, 1),)


def test_shares_and_dates_of_several_snapshots_are_in_one_sentence() -> None:
    assert SnapshotChange(snapshots=BOTH).sentences == (
        "Answers came from several model snapshots: “m-1” (60 records, 60.0%, 2026-03-01 to 2026-03-03), “m-2” (40 "
        "records, 40.0%, 2026-03-03).",
    )


def test_a_pilots_snapshot_is_named_with_those_of_the_batch() -> None:
    change = SnapshotChange(snapshots=BOTH[1:], pilot_id="3f2a", pilot=PILOT)
    assert change.sentences == (
        "An earlier batch with the same question (3f2a) was answered by “m-0” (1 record, 100.0%, 2026-03-01); this "
        "batch was answered by “m-2” (40 records, 100.0%, 2026-03-03).",
    )
    assert len(SnapshotChange(snapshots=BOTH, pilot_id="3f2a", pilot=PILOT).sentences) == 2


def test_of_a_panel_only_models_with_several_snapshots_are_named_each_with_its_own_shares() -> None:
    panel = (answered("a-1", 9, 1, 1, "a"), answered("b-1", 3, 1, 1, "b"), answered("b-2", 6, 2, 2, "b"))
    (sentence,) = SnapshotChange(snapshots=panel).sentences
    assert "a-1" not in sentence
    assert "“b-1” (3 records, 33.3%, 2026-03-01), “b-2” (6 records, 66.7%" in sentence
    assert SnapshotChange(snapshots=panel[:2]).sentences == ()
    both = SnapshotChange(snapshots=(*panel, answered("a-2", 1, 2, 2, "a")))
    assert "“a-2” (1 record, 10.0%, 2026-03-02)" in both.sentences[0]
