"""deploy/kubernetes/tamis.yaml, as far as it can be judged without a cluster."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from tamis_cli.commands.app import app, load_commands
from tamis_producer.config.redaction import SECRET_NAMES
from tamis_schemas.batches import wire
from tamis_worker.config.settings import WorkerSettings

load_commands()

ROOT = Path(__file__).parents[2]
OBJECTS: list[dict[str, Any]] = list(
    yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "tamis.yaml").read_text("utf-8"))
)
OPERATIONS = (ROOT / "docs" / "operations.md").read_text("utf-8")
SETTINGS = {f"TAMIS_{name.upper()}" for name in WorkerSettings.model_fields}
PODS = {
    one["metadata"]["name"]: one["spec"]["template"]["spec"] for one in OBJECTS if "template" in one.get("spec", {})
}
every_pod = pytest.mark.parametrize("name", sorted(PODS))


def one(kind: str) -> dict[str, Any]:
    """The only object of a kind."""
    (found,) = [candidate for candidate in OBJECTS if candidate["kind"] == kind]
    return found


def variables(pod: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """With their values; None where the secret holds it."""
    yield from one("ConfigMap")["data"].items()
    for container in pod["containers"]:
        for variable in container["env"]:
            yield variable["name"], variable.get("value")


@every_pod
def test_a_container_runs_as_nobody_with_bounds_from_a_pinned_image(name: str) -> None:
    pod = PODS[name]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    for container in pod["containers"]:
        assert re.fullmatch(r"tamis:\d+\.\d+\.\d+", container["image"])
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert set(container["resources"]["requests"]) == {"cpu", "memory"}
        assert "memory" in container["resources"]["limits"]
        assert name == "tamis-migrate" or "livenessProbe" in container


@every_pod
def test_every_command_and_probe_is_one_of_ours(name: str) -> None:
    (container,) = PODS[name]["containers"]
    commands = [container["command"]]
    commands += [
        container[probe]["exec"]["command"] for probe in ("livenessProbe",) if "exec" in container.get(probe, {})
    ]
    for program, command, *arguments in commands:
        assert program == "tamis"
        group = typer.main.get_command(app)
        group.commands[command].make_context(command, arguments)  # type: ignore[attr-defined] # raises for what is wrong


@every_pod
def test_every_variable_is_a_setting_and_a_secret_is_never_written_down(name: str) -> None:
    for variable, value in variables(PODS[name]):
        assert variable in SETTINGS
        secret = bool(SECRET_NAMES.search(variable)) or variable in ("TAMIS_BROKER_URL", "TAMIS_DATABASE_URL")
        assert (value is None) is secret
        assert value is None or isinstance(value, str), f"{variable}: Kubernetes takes texts alone"


def test_the_secret_that_the_operator_makes_has_every_key_that_is_asked_for() -> None:
    named = {
        variable["valueFrom"]["secretKeyRef"]["key"]
        for pod in PODS.values()
        for container in pod["containers"]
        for variable in container["env"]
        if "valueFrom" in variable
    }
    named |= {
        item["key"]
        for pod in PODS.values()
        for volume in pod["volumes"]
        for item in volume.get("secret", {}).get("items", [])
    }
    named |= {target["key"] for target in one("TriggerAuthentication")["spec"]["secretTargetRef"]}
    assert named == set(re.findall(r"--from-file=(\w+)", OPERATIONS))


def test_workers_are_scaled_by_all_queues_of_items_together() -> None:
    scaled = one("ScaledObject")["spec"]
    lists = {trigger["metadata"]["listName"]: trigger["name"] for trigger in scaled["triggers"]}
    assert set(lists) == {f"{wire.KEY_PREFIX}{name}" for name in wire.ITEM_QUEUES}
    assert sorted(scaled["advanced"]["scalingModifiers"]["formula"].split(" + ")) == sorted(lists.values())
    assert scaled["scaleTargetRef"] == {"name": "tamis-worker"}
    assert scaled["minReplicaCount"] >= 1  # the reconciler lives in the workers
    assert all(isinstance(value, str) for trigger in scaled["triggers"] for value in trigger["metadata"].values())


def test_the_worker_has_time_to_finish_its_calls() -> None:
    longest = float(WorkerSettings.model_fields["call_timeout"].default)
    assert PODS["tamis-worker"]["terminationGracePeriodSeconds"] >= longest + 90  # as long as its watchdog gives it


def test_every_selector_finds_its_pods() -> None:
    labels = [
        candidate["spec"]["template"]["metadata"]["labels"]
        for candidate in OBJECTS
        if "template" in candidate.get("spec", {})
    ]
    selectors = [candidate["spec"]["selector"] for candidate in OBJECTS if candidate["kind"] == "Service"]
    selectors += [
        candidate["spec"]["selector"]["matchLabels"]
        for candidate in OBJECTS
        if candidate["kind"] in ("Deployment", "PodDisruptionBudget")
    ]
    assert len(selectors) == 4
    for selector in selectors:
        assert any(selector.items() <= label.items() for label in labels)
