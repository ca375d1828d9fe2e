"""Records that no model is asked about: in the batch, in the counts, in the results, and never in a call."""

import pytest

from stage import House, abstracts
from tamis_review import decide_copies
from tamis_schemas import (
    BatchStatus,
    Exclusion,
    Filter,
    IdempotencyConflict,
    InvalidParameters,
    ItemStatus,
)

ONCOLOGY = Filter(criteria="Is this about oncology?")
COPY = Exclusion(rule="duplicate", reason="a copy of rec-0", duplicate_of=0)
EDITORIAL = Exclusion(rule="editorial", reason="an editorial", matched="Title", field="title", start=0, end=5)


def test_an_excluded_item_is_counted_and_kept_and_never_asked_about(house: House) -> None:
    client, double = house.client, house.fresh().double
    batch = client.submit(ONCOLOGY, abstracts(120), exclusions={1: COPY, 7: EDITORIAL, 119: COPY})
    decide_copies(batch, 2, 3, "copies", reviewer="A")  # which changes no figure of the software's
    counts = batch.wait(timeout=60)
    decide_copies(batch, 2, 3, None, reviewer="A")
    assert (counts.n_items, counts.excluded_by_filter, counts.decided) == (120, 3, 117)
    assert counts.identity_holds
    assert double.count() == 117
    asked = "".join(call.messages[1]["content"] for call in double.calls())
    assert "record number 7." not in asked
    rows = list(batch.results())
    assert [row.index for row in rows if row.status == ItemStatus.EXCLUDED_BY_FILTER] == [1, 7, 119]
    assert rows[7].exclusion == EDITORIAL
    assert rows[7].result is None
    assert rows[8].exclusion is None
    summary = batch.summary()
    assert summary is not None
    assert summary.exclusions == {"duplicate": 2, "editorial": 1}
    assert summary.pass_rate.total == 117


def test_a_batch_of_nothing_but_exclusions_is_completed_without_a_call(house: House) -> None:
    client, double = house.client, house.fresh().double
    batch = client.submit(ONCOLOGY, abstracts(60), exclusions=dict.fromkeys(range(60), COPY))
    counts = batch.wait(timeout=60)
    assert (counts.excluded_by_filter, counts.decided) == (60, 0)
    assert batch.status().state is BatchStatus.COMPLETED
    assert double.count() == 0


def test_an_exclusion_of_no_item_is_refused(house: House) -> None:
    with pytest.raises(InvalidParameters, match="there is no item at place 5"):
        house.client.submit(ONCOLOGY, abstracts(5), exclusions={5: COPY})


def test_other_exclusions_are_other_content(house: House) -> None:
    house.client.submit(ONCOLOGY, abstracts(3), exclusions={1: COPY}, idempotency_key="with-exclusions")
    with pytest.raises(IdempotencyConflict):
        house.client.submit(ONCOLOGY, abstracts(3), exclusions={2: COPY}, idempotency_key="with-exclusions")
