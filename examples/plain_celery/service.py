"""A service that has Celery and nothing of Tamis: its application, its own tasks, and the names of Tamis's two.

celery -A service worker --queues pipeline     what it takes up when Tamis has answered
python main.py ...                             what it asks (see there)
"""

import json
import os
from pathlib import Path

from celery import Celery

BROKER = os.environ["BROKER_URL"]  # that of Tamis: TAMIS_BROKER_URL
RESULTS = os.environ["RESULTS_URL"]  # TAMIS_RESULT_BACKEND_URL: with Redis as the broker, its next database
OURS = "pipeline"  # the queue of this service's own tasks
# Every key of Tamis in Redis begins with this prefix. What this service's own workers hold stands apart, or Tamis would
# take it for lost after its own TAMIS_VISIBILITY_TIMEOUT.
ON_REDIS = {
    "global_keyprefix": "tamis:",
    "unacked_key": "pipeline.unacked",
    "unacked_index_key": "pipeline.unacked_index",
    "unacked_mutex_key": "pipeline.unacked_mutex",
}

app = Celery("pipeline", broker=BROKER, backend=RESULTS)
app.conf.update(
    broker_transport_options=ON_REDIS if BROKER.startswith("redis") else {},
    # Results stand in Redis beside RabbitMQ, too.
    result_backend_transport_options={"global_keyprefix": "tamis:"},
    task_routes={"tamis.*": {"queue": "tamis"}},
    task_default_queue=OURS,
)

evaluate = app.signature("tamis.evaluate", kwargs={"operation": "filter", "params": {"criteria": "Is it about sleep?"}})
submit = app.signature("tamis.submit", kwargs={"operation": "filter", "params": {"criteria": "Is it about sleep?"}})


@app.task(name="pipeline.collect")
def collect(results: list[dict[str, object]], run: str) -> list[object]:
    """The values in the order of the items, with a line in the journal for each time that this is called."""
    values = [result["item_id"] for result in results]
    with Path(os.environ["JOURNAL"]).open("a") as journal:
        journal.write(json.dumps([run, values]) + "\n")
    return values


@app.task(name="pipeline.finished")
def finished(batch: dict[str, object], run: str) -> None:
    """What is done at the end of a batch: Tamis sends this task, with what came of the batch."""
    with Path(os.environ["JOURNAL"]).open("a") as journal:
        journal.write(json.dumps([run, batch]) + "\n")


@app.task(name="pipeline.shelve")
def shelve(result: dict[str, object], run: str) -> list[object]:
    """What is done with one result."""
    return collect([result], run)
