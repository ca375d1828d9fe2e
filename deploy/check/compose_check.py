"""`make compose-check`: start the services of docker-compose.yml, disturb them, and check that nothing is lost.

The demo's citations are screened through the gateway, with a double of the LLM. Then the worker is scaled to three.
Many copies of the citations must each end once, while a container is killed and Redis is stopped for 20 s. The check
needs a Docker engine, Compose, and root if images must be made (`deploy/check/stand-ins`). `--short` uses fewer copies,
stops Redis for 10 s, and skips Prometheus.
"""

import argparse
import base64
import http.client
import json
import re
import shutil
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from services import ROOT, CheckFailed, Services, ran, say, wait_until
from tamis_review.example import CITATIONS, CRITERIA
from tamis_review.intake.reading import read_records
from tamis_review.plans.criteria_file import read_criteria

WHEELS = ROOT / "dist" / "wheels"
STAND_INS = str(ROOT / "deploy" / "check" / "stand-ins")
REDIS_AWAY = 20.0  # s
REDIS_AWAY_SHORT = 10.0  # s
WORKERS = 3
CONCURRENCY = 8  # items in flight in one worker
SCREENED_WITHIN = 120.0  # s
COMPLETED_WITHIN = 600.0  # s
LONG_RUNNING = {"redis", "postgres", "worker", "gateway", "flower"}
GATEWAY_MEMORY = 300_000_000  # bytes
LEAST_LIMITS = ("Memory", "NanoCpus", "PidsLimit")


def asked(port: int, method: str, path: str, *, body: object = None, headers: dict[str, str] | None = None) -> bytes:
    """Return the body of an HTTP answer. Raise `CheckFailed` for a status of 400 or more."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        text = None if body is None else json.dumps(body)
        usual = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, path, text, usual | (headers or {}))
        response = connection.getresponse()
        answer = response.read()
    finally:
        connection.close()
    if response.status >= http.client.BAD_REQUEST:
        raise CheckFailed(f"{method} {path}: {response.status} {answer[:500]!r}")
    return answer


def expect(holds: object, what: str) -> None:
    """Raise `CheckFailed` with the message `what` if `holds` is false."""
    if not holds:
        raise CheckFailed(what)


class Pipeline:
    """A caller of the gateway with its own key."""

    def __init__(self, services: Services) -> None:
        self._port = services.gateway_port
        scopes = [word for scope in ("read", "submit", "control") for word in ("--scope", scope)]
        made = services.compose("exec", "-T", "gateway", "tamis", "keys", "create", "compose check", *scopes)
        self._headers = {"Authorization": f"Bearer {made.strip().splitlines()[-1]}"}

    def submit(self, items: list[dict[str, Any]]) -> str:
        criteria = read_criteria(CRITERIA).model_dump(mode="json")
        body = {"operation": {"operation": "inclusion", "criteria": criteria}, "items": items, "label": "compose check"}
        standing = json.loads(asked(self._port, "POST", "/v1/batches", body=body, headers=self._headers))
        return str(standing["batch"]["id"])

    def counts(self, batch: str) -> dict[str, int]:
        """Return the counts of a batch. Raise `CheckFailed` if they do not add up to the number of items."""
        standing = json.loads(asked(self._port, "GET", f"/v1/batches/{batch}", headers=self._headers))
        counts: dict[str, int] = standing["batch"]["counts"]
        expect(
            counts["n_items"] == sum(n for name, n in counts.items() if name != "n_items"), f"{counts} do not add up"
        )
        return counts | {"finished": int(standing["finished"])}

    def wait(self, batch: str, *, within: float) -> dict[str, int]:
        wait_until(lambda: self.counts(batch)["finished"], within=within, what=f"batch {batch} is completed")
        return self.counts(batch)

    def results(self, batch: str) -> list[dict[str, Any]]:
        lines = (
            asked(self._port, "GET", f"/v1/batches/{batch}/results?form=ndjson", headers=self._headers)
            .decode()
            .splitlines()
        )
        return [json.loads(line) for line in lines]


def citations(copies: int) -> list[dict[str, Any]]:
    """Return copies of the demo's records. Each has a number, so that no cached answer fits two copies."""
    records = read_records(CITATIONS)
    return [
        record | {"id": f"{record['id']}-{copy}", "title": f"{record['title']} (copy {copy})"}
        for copy in range(copies)
        for record in records
    ]


def calls(services: Services) -> int:
    """Return the number of calls to the LLM double so far."""
    return int(json.loads(asked(services.double_port, "GET", "/double/count"))["calls"])


def check_containers(services: Services) -> None:
    """Check that containers have limits, do not run as root, and show no secret in variables or command lines."""
    named = ("postgres_password", "flower_password", "llm_api_key", "webhook_secret")
    secrets = {name: services.secret(name) for name in named}
    for name in ("broker_url", "worker_database_url", "gateway_database_url"):
        secrets[name] = services.secret(name).split(":")[2].partition("@")[0]
    running = services.inspected()
    names = {found["Config"]["Labels"]["com.docker.compose.service"] for found in running}
    expect(names >= LONG_RUNNING, f"these do not run: {LONG_RUNNING - names}")
    for found in running:
        name, host = found["Name"], found["HostConfig"]
        for limit in LEAST_LIMITS:
            expect(host[limit], f"{name} has no bound for {limit}")
        expect(found["Config"]["User"] not in ("", "root", "0"), f"{name} runs as root")
        said = json.dumps(found)
        for secret, text in secrets.items():
            expect(text not in said, f"the engine shows the secret {secret} of {name}")


def check_memory(services: Services) -> None:
    """Check the largest memory that the gateway has taken since its start."""
    lines = services.compose(
        "exec", "-T", "gateway", "sh", "-c", "grep -hs VmHWM /proc/[0-9]*/status || true"
    ).splitlines()
    most = 1024 * max(int(line.split()[1]) for line in lines)
    expect(most <= GATEWAY_MEMORY, f"the gateway took {most:,} bytes of memory")
    say(f"the gateway took at most {most / 1e6:.0f} MB of memory")


def check_flower(services: Services) -> None:
    """Check that Flower requires its password, and serves its page of tasks."""
    try:
        asked(services.flower_port, "GET", "/api/workers")
    except CheckFailed as error:
        expect(": 401 " in str(error), f"Flower without a password: {error}")
    else:
        raise CheckFailed("Flower answers without a password")
    token = base64.b64encode(f"tamis:{services.secret('flower_password')}".encode()).decode()
    page = asked(services.flower_port, "GET", "/tasks", headers={"Authorization": f"Basic {token}"})
    expect(b"Flower" in page, "Flower's page of tasks is another page")
    say("Flower asks for its password")


def check_metrics(services: Services) -> None:
    """Check that Prometheus finds every worker by the name of the service."""
    services.compose("--profile", "observability", "up", "--detach", "prometheus")
    services.wait_until_healthy()

    def workers_seen() -> bool:
        answer = asked(services.prometheus_port, "GET", "/api/v1/query?query=up%7Bjob%3D%22tamis%22%7D")
        return len([one for one in json.loads(answer)["data"]["result"] if one["value"][1] == "1"]) == WORKERS

    wait_until(workers_seen, within=90, what=f"Prometheus reads {WORKERS} workers")
    say(f"Prometheus reads {WORKERS} workers")


def scale(services: Services) -> None:
    """Start `WORKERS` workers, and check that all are healthy, and that the probe of docker-compose.yml works."""
    services.compose("up", "--detach", "--no-recreate", "--scale", f"worker={WORKERS}", "worker")
    services.wait_until_healthy()
    expect(len(services.containers("worker")) == WORKERS, f"not {WORKERS} workers run")
    services.compose("exec", "-T", "worker", "tamis", "health", "/tmp/alive")  # noqa: S108 - of the container
    say(f"{WORKERS} workers run")


def disturb(services: Services, pipeline: Pipeline, *, copies: int, away: float) -> None:
    """Kill a container and stop Redis. Check that every item ends once, and few calls are paid twice."""
    items, before = citations(copies), calls(services)
    batch = pipeline.submit(items)

    def wait_for(share: float) -> None:
        wait_until(
            lambda: pipeline.counts(batch)["decided"] >= share * len(items),
            within=SCREENED_WITHIN,
            what=f"{share:.0%} are decided",
        )
        expect(not pipeline.counts(batch)["finished"], "the batch ended before it was disturbed: take more copies")

    wait_for(0.1)
    victim = services.containers("worker")[0]
    ran(services.docker, "kill", "--signal", "KILL", victim)
    say(f"killed the container {victim[:12]}")

    wait_for(0.3)
    (redis,) = services.containers("redis")
    ran(services.docker, "stop", redis)
    counts = pipeline.counts(batch)
    expect(not counts["finished"], "the batch ended while Redis was stopped: take more copies")
    say(f"Redis is stopped; {counts['decided']} of {len(items)} are decided")
    time.sleep(away)
    ran(services.docker, "start", redis)
    say("Redis is started")

    counts = pipeline.wait(batch, within=COMPLETED_WITHIN)
    places = Counter(row["index"] for row in pipeline.results(batch))
    extra = calls(services) - before - len(items)
    expect(counts["decided"] == len(items), f"not every item is decided: {counts}")
    expect(places == Counter(range(len(items))), "the results are not one row for each item")
    expect(0 <= extra <= CONCURRENCY, f"{extra} calls were paid beyond one an item: one container was killed")
    say(f"{len(items)} items, 0 lost, 0 twice, {extra} extra calls")


def check(*, short: bool) -> None:
    """Run all checks. Raise `CheckFailed` at the first failure."""
    say("making what is missing of the base images")
    ran(STAND_INS, "make", "python", "redis", "postgres", *(() if short else ("prom/prometheus",)))
    say("making wheels")
    make_wheels(WHEELS)
    say("building the image, starting the services")
    with Services(TAMIS_LIMIT_CONCURRENCY="8", TAMIS_CONCURRENCY=str(CONCURRENCY)) as services:
        pipeline = Pipeline(services)
        check_containers(services)
        batch = pipeline.submit(read_records(CITATIONS))
        counts = pipeline.wait(batch, within=SCREENED_WITHIN)
        expect(counts["decided"] == counts["n_items"], f"the demonstration's citations: {counts}")
        say(f"{counts['n_items']} citations are screened through the gateway")
        scale(services)
        disturb(services, pipeline, copies=8 if short else 40, away=REDIS_AWAY_SHORT if short else REDIS_AWAY)
        check_memory(services)
        check_flower(services)
        if not short:
            scale(services)
            check_metrics(services)
    say("everything is stopped and removed")


def make_wheels(folder: Path) -> None:
    """Make the wheels for the image with this machine's pip, because a build container may reach no package index."""
    wanted = re.match(r"FROM python:(\d+\.\d+)", dockerfile_base())
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    expect(wanted and wanted[1] == here, f"wheels are made by the Python of the image, and this is {here}")
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--constraint", "constraints.txt"]
    # redis-py wants async-timeout below Python 3.11.3, which the stand-in's may be.
    ran(*pip, "--wheel-dir", str(folder), ".[worker,http,order,telemetry]", "async-timeout")


def dockerfile_base() -> str:
    """Return the line of the Dockerfile that names the base image."""
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    return next(line for line in lines if line.startswith("FROM "))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="fewer items, a shorter outage, no Prometheus")
    parser.add_argument("--keep-images", action="store_true", help="leave the stand-ins, and what was built on them")
    parser.add_argument("--wheels-only", action="store_true", help="fill dist/wheels, and no more")
    given = parser.parse_args()
    try:
        if given.wheels_only:
            make_wheels(WHEELS)
            return 0
        try:
            check(short=given.short)
        finally:
            shutil.rmtree(WHEELS, ignore_errors=True)  # the next build would take them for what stands here then
            if not given.keep_images:  # under these tags somebody else would take them for the real ones
                ran(STAND_INS, "remove")
    except CheckFailed as error:
        sys.stderr.write(f"compose-check: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
