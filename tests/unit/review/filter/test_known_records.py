"""Of a later search only what an earlier one did not give is asked about."""

from pathlib import Path
from typing import Any

from tamis_review.filter.identification import identify
from tamis_review.filter.known_records import KnownRecords, find_new_duplicates


def record(name: str, doi: str | None = None, **more: Any) -> dict[str, Any]:
    title = f"The {name} of walking after a hip replacement in older adults: a randomised controlled trial"
    return {"id": name, "title": title, "year": 2020, **({"doi": doi} if doi else {}), **more}


EARLIER = KnownRecords("batch 3f2a91c0", [record("speed", "10.1/a"), record("cost", "10.1/b")])


def test_a_copy_of_what_is_known_is_kept_out_however_much_more_it_holds() -> None:
    fuller = record("speed", "10.1/a", abstract="Adults walked. " * 40, id="new-1")
    new = find_new_duplicates(EARLIER, [fuller, record("pain", "10.1/c"), record("speed", "10.1/a", id="new-3")])
    assert list(new.known) == [0, 2]
    assert new.known[0].reason == "A copy of record 'speed' of batch 3f2a91c0, found by an earlier search."
    assert (new.known[0].rule, new.known[0].duplicate_of) == ("duplicate", None)
    assert (new.copies, new.doubts) == ([], [])


def test_copies_among_the_new_records_are_named_by_their_places_there() -> None:
    new = find_new_duplicates(EARLIER, [record("cost", "10.1/b"), record("pain", "10.1/c"), record("pain", "10.1/c")])
    assert list(new.known) == [0]
    assert [(copy.index, copy.of) for copy in new.copies] == [(2, 1)]


def test_what_is_known_stays_out_where_copies_are_to_be_kept(tmp_path: Path) -> None:
    path = tmp_path / "later.csv"
    rows = [record("speed", "10.1/a"), record("pain", "10.1/c"), record("pain", "10.1/c")]
    path.write_text("title,doi,year\n" + "".join(f'"{row["title"]}",{row["doi"]},2020\n' for row in rows))
    assert sorted(identify(path, known=EARLIER).exclusions) == [0, 2]
    assert sorted(identify(path, known=EARLIER, keep_duplicates=True).exclusions) == [0]
    assert sorted(identify(path).exclusions) == [2]
