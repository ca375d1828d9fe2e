"""Redis fails over to its replica: Sentinels promote it after a crash, or its address moves in a planned switchover."""

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

import pytest
import redis

from stage import Faults, TcpProxy, reckon, through, wait_until
from stage.fault_house import CONCURRENCY, FaultHouse, fault_house, frozen
from stage.sentinels import replica_of, sentinel_url, sentinels_of
from tamis_cli.embedded.ports import HOST
from tamis_cli.embedded.valkey import Valkey
from tamis_producer import Batch
from tamis_producer.config.redis_clients import connect

pytestmark = pytest.mark.chaos

PROGRESS_WITHIN = 30.0  # s after the new primary answers
LENGTHS = [
    pytest.param(300, id="short"),
    pytest.param(1_500, id="whole", marks=[pytest.mark.night, pytest.mark.timeout(300)]),
]


def role(server: Valkey) -> str:
    with redis.Redis.from_url(server.url) as client, suppress(redis.ConnectionError):  # Sentinels cut its connections
        return str(client.info("replication")["role"])
    return "unknown"


def goes_on_and_ends(house: FaultHouse, faults: Faults, batch: Batch, *, note: str) -> None:
    """The batch makes progress within half a minute, and each item has one result in the end."""
    back = time.monotonic()
    held = len(house.workers) * CONCURRENCY  # items that need no further message
    known = batch.status().counts.decided + held
    wait_until(lambda: batch.status().counts.decided > known, within=PROGRESS_WITHIN, what="further items are decided")
    progress = time.monotonic() - back
    counts = batch.wait(timeout=200)
    assert counts.decided == counts.n_items
    reckoning = reckon(house.client, batch, house.double)
    assert reckoning.extra_calls == 0
    house.check_workers()
    faults.record(row=24, reckoning=reckoning, faults=1, note=f"{note}, goes on after {progress:.1f} s")


def killed(house: FaultHouse, stack: ExitStack) -> None:
    house.valkey.process.kill()


def suspended(house: FaultHouse, stack: ExitStack) -> None:
    """As a machine without power: connections stay open, and nothing comes."""
    stack.enter_context(frozen(house.valkey))


@pytest.mark.parametrize("items", LENGTHS)
@pytest.mark.parametrize("crash", [killed, pytest.param(suspended, marks=pytest.mark.night)])
def test_a_batch_goes_on_at_the_replica_that_sentinels_promote_after_a_crash(
    items: int,
    crash: Callable[[FaultHouse, ExitStack], None],
    tmp_path_factory: pytest.TempPathFactory,
    faults: Faults,
) -> None:
    folder = tmp_path_factory.mktemp("sentinels")
    with ExitStack() as stack:
        primary = stack.enter_context(Valkey(folder / "valkey"))
        replica = stack.enter_context(replica_of(primary, folder / "replica"))
        sentinels = stack.enter_context(sentinels_of(primary, folder))
        house = stack.enter_context(fault_house(folder, valkey=primary, broker=sentinel_url(primary, sentinels)))
        batch = house.begin(items)
        crash(house, stack)
        sentinels[0].process.kill()  # on the same machine
        wait_until(lambda: role(replica) == "master", within=20, what="the replica is promoted")
        goes_on_and_ends(house, faults, batch, note=f"primary {crash.__name__}, replica promoted by Sentinels")
        with connect(house.client.settings.broker) as broker:
            assert broker.connection_pool.get_master_address() == (HOST, replica.port)


@pytest.mark.night
@pytest.mark.parametrize("items", LENGTHS)
def test_a_batch_goes_on_when_the_address_of_redis_moves_to_another_primary(
    items: int, tmp_path_factory: pytest.TempPathFactory, faults: Faults
) -> None:
    folder = tmp_path_factory.mktemp("switchover")
    with ExitStack() as stack:
        primary = stack.enter_context(Valkey(folder / "valkey"))
        replica = stack.enter_context(replica_of(primary, folder / "replica"))
        proxy = stack.enter_context(TcpProxy(through(primary.url)))
        house = stack.enter_context(fault_house(folder, valkey=primary, broker=proxy.url(primary.url)))
        batch = house.begin(items)
        with redis.Redis.from_url(primary.url) as old, redis.Redis.from_url(replica.url) as new:
            new.replicaof("NO", "ONE")
            old.replicaof(HOST, replica.port)
            proxy.move(through(replica.url))  # open connections stay with the demoted server
            goes_on_and_ends(house, faults, batch, note="address moved to the new primary")
