"""An endpoint that fails for all (fault 22): no item fails, no attempt is spent, and work resumes by itself."""

import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from llm_double import Double
from llm_double.script import Fault, Kind
from nursery import shared
from stage import Faults, abstracts, reckon, wait_until
from stage.fault_house import CONCURRENCY, ONCOLOGY, FaultHouse, fault_house
from stage.storm import attempts
from stage.tls import Authority, tls_front
from tamis_producer import Batch
from tamis_schemas import BatchStatus, PauseKind

pytestmark = pytest.mark.chaos

RESUMED_WITHIN = 5.0  # s after the endpoint is back
SAID_WITHIN = 20.0  # s


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultHouse]:
    """Two workers whose items have little time and few calls, but for faults of the endpoint."""
    with fault_house(
        tmp_path_factory.mktemp("outage"), item_deadline="5", max_calls="2", call_timeout="2", shard_size="500"
    ) as house:
        yield house


def outlast(house: FaultHouse, faults: Faults, kind: Kind, *, items: int, seconds: float) -> None:
    """Begin a batch, have every call fail for so long, let it finish."""
    batch = house.begin(items)
    decided = batch.status().counts.decided
    house.double.script(faults=[Fault(kind, delay=30.0 if kind is Kind.SLOW else 0.0)])
    failed_before = house.double.count() - house.double.count(200)
    threading.Event().wait(seconds)
    wait_until(lambda: is_said(batch), within=SAID_WITHIN, what="the batch says that the endpoint fails")
    counts = batch.status().counts
    assert counts.identity_holds
    assert (counts.failed, attempts(house, batch)) == (0, {1})
    assert counts.decided < items
    failed = house.double.count() - house.double.count(200) - failed_before
    workers = len(house.workers)
    assert failed <= workers * (CONCURRENCY + 2 + (seconds + SAID_WITHIN) / 4 + 5)  # in flight, and probes
    answered = house.double.count(200)
    back = time.monotonic()
    house.double.script(faults=[])
    wait_until(lambda: house.double.count(200) > answered, within=60, what="calls are answered again")
    resumed = time.monotonic() - back
    assert batch.wait(timeout=120).decided == items
    assert attempts(house, batch) == {1}
    assert resumed <= RESUMED_WITHIN + (10.0 if kind is Kind.SLOW else 0.0), resumed
    reckoning = reckon(house.client, batch, house.double, refused=failed)
    faults.record(row=22, reckoning=reckoning, faults=1, note=f"{kind} for {seconds:g} s after {decided} items")


def is_said(batch: Batch) -> bool:
    return "the endpoint fails for double-1: " in (batch.status().waits_for or "")


@pytest.mark.parametrize("kind", [Kind.SERVER_ERROR])
def test_an_outage_fails_no_item_and_spends_no_attempt(house: FaultHouse, faults: Faults, kind: Kind) -> None:
    outlast(house, faults, kind, items=200, seconds=6)


@pytest.mark.night
@pytest.mark.parametrize(
    "kind", [Kind.SERVER_ERROR, Kind.UNAVAILABLE, Kind.BAD_GATEWAY, Kind.DROPPED, Kind.CUT, Kind.SLOW]
)
def test_longer_outages_fail_no_item_and_spend_no_attempt(house: FaultHouse, faults: Faults, kind: Kind) -> None:
    outlast(house, faults, kind, items=300, seconds=15)


def refused_connections(house: FaultHouse, faults: Faults, *, items: int, seconds: float) -> None:
    """The endpoint's process ends in the middle of a batch, and another one begins at the same address."""
    batch = house.begin(items)
    port = urlsplit(house.double.base_url).port
    assert port is not None
    house.double.stop()
    began = time.monotonic()
    wait_until(lambda: is_said(batch), within=SAID_WITHIN, what="the batch says that the endpoint fails")
    threading.Event().wait(seconds - (time.monotonic() - began))
    counts = batch.status().counts
    assert counts.identity_holds
    assert (counts.failed, attempts(house, batch)) == (0, {1})
    with Double.start(port=port, nursery=shared(), latency=0.2, remember=False) as double:
        back = time.monotonic()
        wait_until(lambda: double.count(200) > 0, within=60, what="calls are answered again")
        resumed = time.monotonic() - back
        assert batch.wait(timeout=120).decided == items
        assert resumed <= RESUMED_WITHIN, resumed
        assert attempts(house, batch) == {1}
        probes = len(house.workers)
        assert double.count() <= items - counts.decided + probes  # calls in flight at the end were never answered
        faults.record(
            row=22,
            reckoning=reckon(house.client, batch, double, refused=double.count() - items),
            faults=1,
            note=f"connections refused for {seconds:g} s, resumed after {resumed:.1f} s",
        )


def test_refused_connections_fail_no_item_and_work_resumes_within_five_seconds(
    tmp_path_factory: pytest.TempPathFactory, faults: Faults
) -> None:
    with fault_house(tmp_path_factory.mktemp("refused"), workers=1, item_deadline="5", max_calls="2") as house:
        refused_connections(house, faults, items=80, seconds=6)


@pytest.mark.night
def test_a_minute_of_refused_connections_fails_none_of_1500_items(
    tmp_path_factory: pytest.TempPathFactory, faults: Faults
) -> None:
    with fault_house(tmp_path_factory.mktemp("refused"), item_deadline="5", max_calls="2", shard_size="500") as house:
        refused_connections(house, faults, items=1_500, seconds=60)


def test_an_expired_certificate_pauses_the_batch_with_the_reason_and_the_next_command(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("tls")
    with (
        Double.start(nursery=shared()) as double,
        tls_front(
            Authority.new(folder, "ca").server("localhost", expired=True), port=urlsplit(double.base_url).port
        ) as port,
        fault_house(folder, workers=1, llm_base_url=f"https://localhost:{port}/v1") as house,
    ):
        batch = house.client.submit(ONCOLOGY, abstracts(40))
        wait_until(lambda: batch.status().state is BatchStatus.PAUSED, within=30, what="the batch is paused")
        status = batch.status()
        assert (status.counts.failed, status.counts.decided) == (0, 0)
        assert status.pause is not None
        assert status.pause.kind is PauseKind.ENDPOINT
        assert "CERTIFICATE_VERIFY_FAILED" in (status.pause.message or "")
        assert f"tamis resume {batch.id}" in status.pause.remedy(str(batch.id))
