"""Workers on three machines and one broker; one machine is cut off in the middle, silently, and comes back."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sqlalchemy import text

from llm_double import Double
from stage import Faults, TcpProxy, WorkerProcess, abstracts, reckon, through, wait_until
from stage.machines import Machine, machines, needs_machines
from tamis_cli.embedded.postgres import PORT, Postgres
from tamis_producer import Batch, Client
from tamis_schemas import Filter

pytestmark = pytest.mark.chaos

ONCOLOGY = Filter(criteria="Is this about oncology?")
CONCURRENCY = 8  # items in flight in one worker
LEASE = 2  # s
GONE_WITHIN = 30.0  # s; the lease, and room for a busy machine
BACK_WITHIN = 90.0  # s; connections that hung are given up, and made anew


@dataclass(frozen=True)
class Site:
    """A machine and the worker that runs there."""

    machine: Machine
    worker: WorkerProcess


@pytest.fixture
def sites(
    client: Client, environment: dict[str, str], double: Double, postgres: Postgres, tmp_path: Path
) -> Iterator[list[Site]]:
    """Three workers that have nothing but the network: the servers stand at an address of this machine."""
    needs_machines()
    with ExitStack() as stack:
        net = stack.enter_context(machines(3))

        def proxied(server: tuple[str, int] | Path) -> TcpProxy:
            return stack.enter_context(TcpProxy(server, host=net.address))

        broker = proxied(through(client.settings.broker)).url(client.settings.broker)
        ledger_port = proxied(postgres.socket_folder / f".s.PGSQL.{PORT}").port
        ledger = f"postgresql+psycopg://postgres@{net.address}:{ledger_port}{urlsplit(client.settings.database).path}"
        llm = proxied(through(double.base_url)).url(double.base_url)
        there = environment | {
            "TAMIS_BROKER_URL": broker,
            "TAMIS_DATABASE_URL": ledger,
            "TAMIS_LLM_BASE_URL": llm,
            "TAMIS_CONCURRENCY": str(CONCURRENCY),
            "TAMIS_LEASE_SECONDS": str(LEASE),
            "TAMIS_SWEEP_INTERVAL": "1",
            "TAMIS_CALL_TIMEOUT": "10",
        }
        found: list[Site] = []
        try:
            for number, machine in enumerate(net.each):
                worker = WorkerProcess(tmp_path, f"machine-{number}", there, network=machine.namespace)
                found.append(Site(machine, worker))
            yield found
        finally:
            for site in found:
                site.worker.kill()


def workers_seen(client: Client) -> set[str]:
    """The ids of the workers whose lease holds."""
    return {view.id for view in client.workers()}


def claims(client: Client, batch: Batch) -> dict[int, str]:
    """The worker of each running item, by the item's index."""
    running = text("SELECT idx, worker FROM item_states WHERE batch_id = :id AND state = 'running'")
    with client.engine.connect() as connection:
        return {row.idx: row.worker for row in connection.execute(running, {"id": batch.id})}


def is_seen(client: Client, workers: int) -> Callable[[], bool]:
    return lambda: len(workers_seen(client)) == workers


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("items", "comes_back"),
    [
        pytest.param(120, False, id="stays away"),
        pytest.param(360, True, id="comes back", marks=pytest.mark.night),
    ],
)
def test_a_batch_completes_though_one_of_three_machines_is_cut_off_and_that_machine_works_again_once_it_is_back(
    client: Client, sites: list[Site], double: Double, faults: Faults, items: int, comes_back: bool
) -> None:
    double.script(latency=0.4)
    everybody = workers_seen(client)
    assert len(everybody) == 3
    lost = sites[0]
    batch = client.submit(ONCOLOGY, abstracts(items))
    wait_until(lambda: batch.status().counts.decided >= items // 6, within=60, what="a sixth is decided")
    wait_until(lambda: double.in_flight() > 2 * CONCURRENCY, within=30, what="all three machines call")
    lost.machine.cut()
    claimed = claims(client, batch)
    assert not batch.status().finished
    wait_until(is_seen(client, 2), within=GONE_WITHIN, what="two workers are left")
    (lost_id,) = everybody - workers_seen(client)
    assert batch.wait(timeout=120).decided == items
    lost.worker.check()  # it waits: to end itself would mend nothing
    double.wait(in_flight=0, bound=30)
    calls_afterwards = work_again(client, sites, everybody, abstracts(items + 60)[items:]) if comes_back else 0
    asked = [re.search(r"record number (\d+)", call.prompt) for call in double.calls()]
    probes = asked.count(None)
    assert probes <= comes_back  # its calls failed: it asks once whether the endpoint answers
    calls = Counter(int(number[1]) for number in asked if number is not None)
    again = calls - Counter(calls.keys())
    assert again <= Counter(index for index, worker in claimed.items() if worker == lost_id)
    reckoning = reckon(client, batch, double, asked_again=calls_afterwards + probes)
    assert 0 <= reckoning.extra_calls <= CONCURRENCY  # those in flight at the cut; none is made for what others took
    faults.record(row=8, reckoning=reckoning, faults=1, note="one of three machines cut off")


def work_again(client: Client, sites: list[Site], everybody: set[str], records: list[dict[str, str]]) -> int:
    """Mend the first machine's network and have its worker do a batch by itself; the number of its calls."""
    lost = sites[0]
    lost.machine.mend()
    wait_until(is_seen(client, 3), within=BACK_WITHIN, what="the third worker is back")
    assert workers_seen(client) == everybody  # the same processes
    for site in sites[1:]:
        assert site.worker.stop() == 0
    after = client.submit(ONCOLOGY, records)
    assert after.wait(timeout=BACK_WITHIN).decided == len(records)  # by the machine that was away: no other is left
    lost.worker.check()
    return len(records)
