"""The decisions of a published review's two readers, and of the third, on records that no model was asked about."""

import csv
from pathlib import Path

import pytest

from stage.screened import Ledgered, written_batch
from stage.shared_data import DATA, needs_real_records
from tamis_producer import Batch, Client
from tamis_review import import_decisions, list_conflicts, list_overrides, measure_agreement, override
from tamis_review.decisions.foreign_file import TableColumns
from tamis_review.decisions.import_decisions import Imported
from tamis_review.intake import read_file
from tamis_schemas import HumanStage, InputError, ItemStatus

pytestmark = needs_real_records

RESPONSES = DATA / "reviews" / "snhl_dimitrov_2024" / "responses"
LB, LD = RESPONSES / "LB_response_complete.csv", RESPONSES / "LD_response_complete.csv"
FULL = RESPONSES / "full_text_reviews.csv"
# The third reader's, of third_reviewer_responses.md: 2 included, 4 excluded.
THIRD = {"16": "Exclude", "43": "Include", "59": "Include", "82": "Exclude", "159": "Exclude", "365": "Exclude"}


@pytest.fixture
def batch(client: Client) -> Batch:
    """The 1,498 records as the first reader was given them; nobody has been asked."""
    records = read_file(LB).records
    rows = [Ledgered(dict(record), ItemStatus.CANCELLED) for record in records]
    return written_batch(client, rows, state="cancelled")


@pytest.mark.night
def test_both_readers_the_third_and_the_full_texts_come_in_as_published(batch: Batch, tmp_path: Path) -> None:
    first = import_decisions(batch, LB, reviewer="LB")
    assert (first.rows, first.decisions, first.new, first.undecided) == (1498, 1498, 1498, 0)
    assert [one.shown for one in first.words] == ["2 = exclude (1,481)", "1 = include (17)"]
    assert (first.columns["decision"], first.columns["note"], first.columns["id"]) == ("response", "comments", "ID")
    assert (first.found_by, first.unmatched, first.ambiguous, first.conflicts) == ({"id": 1498}, (), (), 0)
    second = import_decisions(batch, LD, reviewer="LD")
    assert (second.new, second.conflicts) == (1498, 6)
    disputed = list_conflicts(batch)
    assert sorted(one.item_id for one in disputed) == sorted(THIRD)
    assert {tuple((said.reviewer, said.value) for said in one.decisions) for one in disputed} == {
        (("LB", "include"), ("LD", "exclude")),
        (("LB", "exclude"), ("LD", "include")),
    }
    (pair,) = measure_agreement(batch).people
    # po = 1492/1498, pe = (17^2 + 1481^2) / 1498^2, kappa = (po - pe) / (1 - pe)
    assert (pair.first, pair.second, pair.agreement.n, pair.agreement.observed) == ("LB", "LD", 1498, 1492 / 1498)
    assert round(pair.agreement.kappa or 0, 3) == 0.822
    again = import_decisions(batch, LD, reviewer="LD")
    assert (again.decisions, again.new, again.changed) == (1498, 0, 0)

    resolution = tmp_path / "third.csv"
    with resolution.open("w", newline="") as stream:
        csv.writer(stream).writerows([("id", "decision"), *THIRD.items()])
    third = import_decisions(batch, resolution, reviewer="Nish", settles=True)
    assert (third.new, third.conflicts, list_conflicts(batch)) == (6, 0, [])
    assert [(pair.first, pair.second) for pair in measure_agreement(batch).people] == [
        ("LB", "LD")
    ]  # not with who settled
    included = [row for row in batch.results() if row.final_value == "include"]
    assert len(included) == 14 + 2
    assert {row.item_id for row in included} >= {"43", "59"}

    def assessed() -> Imported:
        column = TableColumns(decision="final_decision")
        return import_decisions(batch, FULL, reviewer="consensus", stage=HumanStage.FULL_TEXT, columns=column)

    # Both had excluded it, and it was read all the same: it had come to them by another way, too.
    with pytest.raises(InputError, match=r"line 24: not passed by the screening: No\. 23 \(23\), which is excluded\."):
        assessed()
    override(batch, 22, "include", reviewer="LB", settles=True, note="also found by another way")
    full = assessed()
    assert [one.shown for one in full.words] == ["2 = exclude (11)", "1 = include (7)"]
    assert full.found_by == {"id": 15, "title": 1}  # the published table has no number for three
    assert [one.place for one in full.unmatched] == ["line 25", "line 26"]  # which came by other ways than the searches
    reasons = [
        one.reason for one in list_overrides(batch) if one.stage is HumanStage.FULL_TEXT and one.value == "exclude"
    ]
    assert set(reasons) == {"Not SNHL only", "Wrong age cohort"}
