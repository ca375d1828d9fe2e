"""docs/plain-celery.md tells services the names that workers listen for; its blocks run with Celery alone."""

import json
import re
from pathlib import Path
from typing import Any

from tamis_producer.services.named_tasks import EvaluateRequest, SubmitRequest
from tamis_schemas import parse_operation
from tamis_schemas.batches import wire
from tamis_schemas.batches.callback import OnComplete
from tamis_schemas.operations import OPERATIONS, operation_name

TEXT = (Path(__file__).parents[3] / "docs" / "plain-celery.md").read_text("utf-8")


def test_what_a_service_sets_is_what_workers_listen_for() -> None:
    said: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(block, said)  # noqa: S102 - our own document; it connects to nothing
    assert (said["evaluate"].task, said["submit"].task) == (wire.EVALUATE, wire.SUBMIT)
    conf = said["app"].conf
    assert conf.task_routes == {"tamis.*": {"queue": wire.DOOR_QUEUE}}
    assert conf.broker_transport_options["global_keyprefix"] == wire.KEY_PREFIX
    assert conf.result_backend_transport_options == {"global_keyprefix": wire.KEY_PREFIX}
    assert (
        OnComplete.of(said["finished"].s("tonight").set(queue="pipeline")).url == "celery://pipeline/pipeline.finished"
    )


def test_the_table_names_every_argument_of_the_two_tasks() -> None:
    rows = dict(re.findall(r"^\| `(tamis\.\w+)` \| (.*?) \|", TEXT, re.MULTILINE))
    for task, request in ((wire.EVALUATE, EvaluateRequest), (wire.SUBMIT, SubmitRequest)):
        assert set(re.findall(r"`(\w+)`", rows[task])) == set(request.model_fields)


def test_the_table_of_operations_has_each_with_parameters_that_are_taken() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| `(\{.*?\})` \|", TEXT, re.MULTILINE))
    assert list(rows) == [operation_name(kind) for kind in OPERATIONS]
    for name, params in rows.items():
        parse_operation({**json.loads(params), "operation": name})
