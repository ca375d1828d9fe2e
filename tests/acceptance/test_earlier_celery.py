"""A service with an earlier Celery submits to workers of this release, by the client and by name."""

from pathlib import Path

import pytest

from stage import House
from stage.fresh_project import FreshProject, build_wheel

PROGRAM = """
import json, os
import celery
from tamis_producer import Client
from tamis_schemas import Filter

items = [{"id": f"s{number}", "title": f"Sleep {number}"} for number in range(60)]
with Client() as client:
    batch = client.submit(Filter(criteria="Is this about sleep?"), items)
    decided = batch.wait(timeout=60).decided
    ids = [row.item_id for row in batch.results()]
app = celery.Celery("service", broker=os.environ["TAMIS_BROKER_URL"], backend=os.environ["RESULTS_URL"])
app.conf.update(
    broker_transport_options={"global_keyprefix": "tamis:"},
    result_backend_transport_options={"global_keyprefix": "tamis:"},
    task_routes={"tamis.*": {"queue": "tamis"}},
)
asked = {"item": items[0], "operation": "filter", "params": {"criteria": "Is it about sleep?"}}
by_name = app.send_task("tamis.evaluate", kwargs=asked).get(timeout=60)
print(json.dumps([celery.__version__, decided, ids, by_name["item_id"]]))
"""


@pytest.mark.night
@pytest.mark.timeout(900)
@pytest.mark.parametrize("release", ["5.5.3", "5.6.3"])
def test_the_client_and_a_task_by_name_work_beside_an_earlier_celery(
    house: House, release: str, tmp_path: Path
) -> None:
    (tmp_path / "main.py").write_text(PROGRAM, "utf-8")
    wheel = build_wheel(tmp_path)
    project = FreshProject.installed(tmp_path, tmp_path / "environment", str(wheel), f"celery[redis]=={release}")
    environment = house.environment | {"RESULTS_URL": house.client.settings.result_backend}
    assert project.told("main.py", env=environment) == [release, 60, [f"s{number}" for number in range(60)], "s0"]
