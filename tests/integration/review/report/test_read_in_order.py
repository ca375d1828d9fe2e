"""The methods say that records were read in an order only of decisions that people made while reading in it."""

from uuid import UUID

import httpx2 as httpx
import pytest

from stage.assessed import A, B, figures, record, said
from stage.screened import decided, written_batch
from tamis_producer import Batch, Client
from tamis_review import draw_stop_sample, next_records, override
from tamis_review.decisions.blindness import set_mode
from tamis_review.report.methods import reading_paragraphs
from tamis_schemas import ScreeningMode


@pytest.fixture
def batch(client: Client) -> Batch:
    """A batch whose reading order somebody has opened."""
    batch = written_batch(client, [decided(record(n), said("include" if n % 2 else "exclude")) for n in range(40)])
    assert next_records(batch, 5).records
    return batch


def told(client: Client, batch: Batch) -> str:
    return " ".join(part.text for part in reading_paragraphs(figures(client, batch.id)))


def decided_over(http: httpx.Client, batch: Batch, index: int) -> None:
    answer = http.post(f"/v1/batches/{batch.id}/items/{index}/override", json={"value": "include", "in_order": True})
    assert answer.status_code == 201, answer.text


def test_an_order_that_somebody_only_opened_is_no_order_in_which_records_were_read(
    client: Client, http: httpx.Client, batch: Batch
) -> None:
    assert figures(client, batch.id).screening.reading is None
    override(batch, 7, "include", reviewer=A)  # from elsewhere
    assert told(client, batch) == ""
    decided_over(http, batch, 1)
    decided_over(http, batch, 3)
    assert told(client, batch).startswith("2 records were read in the order of the ")
    assert "Reviewers read 3 of 40 records" in told(client, batch)


@pytest.mark.night
def test_a_withdrawn_decision_and_one_on_a_random_sample_were_not_read_in_the_order(
    client: Client, http: httpx.Client, batch: Batch
) -> None:
    decided_over(http, batch, 1)
    http.delete(f"/v1/batches/{batch.id}/items/1/override")
    assert told(client, batch) == ""
    sample = draw_stop_sample(batch, seed=1)
    drawn = [one.index for one in sample.samples[-1].records]
    decided_over(http, batch, drawn[0])
    assert "read in the order" not in told(client, batch)


@pytest.mark.night
def test_who_reads_blind_reads_by_number(client: Client, http: httpx.Client, batch: Batch) -> None:
    with client.engine.begin() as connection:
        set_mode(connection, UUID(batch.id), ScreeningMode.PAIR, set_by=B)
    decided_over(http, batch, 1)
    assert told(client, batch) == ""
