"""docker-compose.yml, its images and its secrets, as far as they can be judged without a Docker engine."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tamis_cli.doctor.examination import CONNECTIONS_OF_A_WORKER
from tamis_producer.config.redaction import SECRET_NAMES, secrets_in
from tamis_producer.config.settings import ProducerSettings
from tamis_worker.config.settings import WorkerSettings

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
CHECK: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "check" / "docker-compose.check.yml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("migrate", "worker", "gateway", "flower")
SETTINGS = {f"TAMIS_{name.upper()}" for name in WorkerSettings.model_fields}
PINNED = re.compile(r"[\w./-]+:v?\d+\.\d+\.?\d*(-[\w.-]+)?")
MODERN = {"deploy", "configs", "develop", "gpus", "models", "provider", "post_start", "pre_stop", "name", "include"}
TRACES = {
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_RESOURCE_ATTRIBUTES",
    "OTEL_TRACES_SAMPLER",
    "OTEL_TRACES_SAMPLER_ARG",
    "OTEL_SDK_DISABLED",
}
LEFT_OUT = {
    "TAMIS_HOME": "the image says where it is",
    "TAMIS_RESULT_BACKEND_URL": "the broker's server holds it",
    "TAMIS_LIMITER_URL": "the broker's server holds it",
    "TAMIS_LLM_API_KEY_COMMAND": "the image has none of the programs that print keys; a sidecar may write the file",
    "TAMIS_LLM_API_KEY_TTL": "of such a command",
    "TAMIS_RETENTION_DAYS": "the workers' role deletes no batch; `tamis purge` is run as the owner of the tables",
    "TAMIS_RETENTION_ARCHIVE": "of such a policy",
    "TAMIS_EXTRA_HEADERS": "may hold secrets: a file and TAMIS_EXTRA_HEADERS_FILE, in an override file of one's own",
}
RESERVED = 3  # connections, for superusers
CONNECTIONS_OF_A_GATEWAY = 15  # SQLAlchemy's 5, and 10 beyond them
MEMORY_OF_A_FILE = (
    8  # bytes for each of it: 4.1 for its records, measured at 10 and 30 MB of RIS, and as much for items
)
every_service = pytest.mark.parametrize("name", sorted(SERVICES))


def mebibytes(name: str) -> int:
    """The memory of a service's container."""
    bound = SERVICES[name]["mem_limit"]
    return int(bound[:-1]) * (1024 if bound.endswith("g") else 1)


def environment(service: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in service.get("environment", {}).items()}


def test_these_are_the_services_and_two_of_them_only_come_with_a_profile() -> None:
    assert set(SERVICES) == {"redis", "postgres", *OURS, "prometheus", "grafana"}
    profiles = {name: service["profiles"] for name, service in SERVICES.items() if "profiles" in service}
    assert profiles == {"prometheus": ["observability"], "grafana": ["observability"]}


@every_service
def test_an_image_is_pinned_to_a_version(name: str) -> None:
    image = SERVICES[name]["image"]
    assert PINNED.fullmatch(image), image


def test_the_images_that_ours_is_built_from_are_pinned_too_and_ours_is_of_this_version() -> None:
    bases = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    assert len(bases) == 2
    assert len(set(bases)) == 1
    assert PINNED.fullmatch(bases[0])
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert version is not None
    ours = {SERVICES[name]["image"] for name in OURS} | {CHECK["services"]["llm-double"]["image"]}
    assert ours == {f"tamis:{version[1]}"}


@every_service
def test_a_service_has_bounds_and_a_user_that_is_not_root(name: str) -> None:
    service = SERVICES[name]
    assert re.fullmatch(r"\d+[mg]", service["mem_limit"])
    assert 0 < service["cpus"] <= 2
    assert 0 < service["pids_limit"] <= 256
    assert re.fullmatch(r"[1-9]\d*:\d+", service["user"]), "by number: a name would have to be known in the image"


@every_service
def test_a_service_may_do_nothing_beyond_its_work(name: str) -> None:
    service = SERVICES[name]
    assert not {"privileged", "cap_add", "network_mode", "pid", "ipc", "devices"} & set(service)
    if name in OURS:
        assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


@every_service
def test_a_service_that_stays_has_a_health_check_and_is_started_again(name: str) -> None:
    service = SERVICES[name]
    if name == "migrate":
        assert service["restart"] == "no"
        return
    assert service["restart"] == "always"
    check = service["healthcheck"]
    assert check["test"][0] in ("CMD", "CMD-SHELL")
    assert {"interval", "timeout", "retries"} <= set(check)


def test_the_worker_is_judged_by_its_progress_and_has_time_to_stop() -> None:
    worker = SERVICES["worker"]
    alive = worker["command"][worker["command"].index("--alive-file") + 1]
    assert worker["healthcheck"]["test"] == ["CMD", "tamis", "health", alive]
    longest = float(WorkerSettings.model_fields["call_timeout"].default)
    assert re.fullmatch(r"\d+m", worker["stop_grace_period"])
    assert 60 * int(worker["stop_grace_period"][:-1]) >= longest + 60


def test_the_worker_can_be_scaled() -> None:
    assert not {"container_name", "ports", "hostname"} & set(SERVICES["worker"])


def test_ports_are_published_on_this_machine_alone() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(published) == 4
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_redis_keeps_what_it_is_given_and_evicts_nothing() -> None:
    words = SERVICES["redis"]["command"]
    options = dict(zip(words[1::2], words[2::2], strict=True))
    assert options["--appendonly"] == "yes"
    assert options["--appendfsync"] == "everysec"
    assert options["--maxmemory-policy"] == "noeviction"
    assert options["--maxmemory"].endswith("mb")
    bound = int(options["--maxmemory"][:-2])
    assert bound <= int(SERVICES["redis"]["mem_limit"][:-1]) / 2, "writing its file anew may take as much again"


def test_the_servers_are_reached_by_these_services_alone() -> None:
    assert COMPOSE["networks"]["servers"]["internal"] is True
    for name in ("redis", "postgres"):
        assert SERVICES[name]["networks"] == ["servers"]
        assert "ports" not in SERVICES[name]


def test_one_service_builds_the_image_and_makes_the_tables_and_the_others_wait_for_it() -> None:
    assert [name for name, service in SERVICES.items() if "build" in service] == ["migrate"]
    for name in ("worker", "gateway", "flower"):
        assert SERVICES[name]["depends_on"] == {
            "postgres": {"condition": "service_healthy"},
            "redis": {"condition": "service_healthy"},
            "migrate": {"condition": "service_completed_successfully"},
        }


@every_service
def test_every_tamis_variable_is_a_setting(name: str) -> None:
    for service in (SERVICES[name], CHECK["services"].get(name, {})):
        named = {variable for variable in environment(service) if variable.startswith("TAMIS_")}
        named |= {
            variable for value in environment(service).values() for variable in re.findall(r"\$\{(TAMIS_\w+)", value)
        }
        assert {variable.removesuffix("_FILE") for variable in named} <= SETTINGS


def test_every_setting_is_passed_on_to_who_reads_it_or_left_out_for_a_reason() -> None:
    passed = {name: {one.removesuffix("_FILE") for one in environment(SERVICES[name])} for name in OURS}
    of_producers = {f"TAMIS_{name.upper()}" for name in ProducerSettings.model_fields} - set(LEFT_OUT)
    assert passed["gateway"] >= of_producers
    of_flower = {name for name in SETTINGS if name.startswith("TAMIS_FLOWER_")}
    assert passed["worker"] >= {name.removesuffix("_FILE") for name in SETTINGS} - set(LEFT_OUT) - of_flower
    assert of_flower <= passed["flower"] | passed["gateway"]
    assert not set(LEFT_OUT) & set().union(*passed.values())
    assert all(LEFT_OUT.values())
    for name in ("worker", "gateway"):
        assert {one for one in environment(SERVICES[name]) if one.startswith("OTEL_")} == TRACES


@pytest.mark.parametrize("name", ["worker", "gateway"])
def test_what_is_not_set_is_as_if_it_was_not_passed_on(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compose gives an empty text to a variable that nobody set."""
    defaults = WorkerSettings()
    for variable, value in environment(SERVICES[name]).items():
        if variable.startswith("TAMIS_") and (plain := re.fullmatch(r"\$\{TAMIS_\w+:-(.*)\}", value)):
            monkeypatch.setenv(variable, plain[1])
    differing = {field for field, value in WorkerSettings() if value != getattr(defaults, field)}
    assert differing == {"max_file_bytes"}


def test_each_service_has_a_role_of_its_own_in_the_ledger_and_flower_has_none() -> None:
    roles = {name: {one for one in SERVICES[name]["secrets"] if one.endswith("database_url")} for name in OURS}
    assert roles == {
        "migrate": {"database_url", "worker_database_url", "gateway_database_url"},
        "worker": {"worker_database_url"},
        "gateway": {"gateway_database_url"},
        "flower": set(),
    }
    named = {name: environment(SERVICES[name]).get("TAMIS_DATABASE_URL_FILE") for name in OURS}
    assert named["migrate"] == "/run/secrets/database_url"
    words = SERVICES["migrate"]["command"]
    assert words[words.index("--worker-url") + 1] == named["worker"]
    assert words[words.index("--gateway-url") + 1] == named["gateway"]
    script = (ROOT / "deploy" / "make-secrets").read_text("utf-8")
    users = dict(re.findall(r"keep (\w*database_url) \"postgresql\+psycopg://(\w+):", script))
    assert len(set(users.values())) == len(users) == 3


def test_bounds_fit_the_containers() -> None:
    """Memory of a container, connections of all of them."""
    default = re.fullmatch(
        r"\$\{TAMIS_MAX_FILE_BYTES:-(\d+)\}", environment(SERVICES["gateway"])["TAMIS_MAX_FILE_BYTES"]
    )
    assert default is not None
    assert MEMORY_OF_A_FILE * int(default[1]) <= mebibytes("gateway") * 2**20
    fields = WorkerSettings.model_fields
    answers = fields["concurrency"].default * fields["max_answer_bytes"].default
    assert answers <= mebibytes("worker") * 2**20 / 2, "all answers at once, as large as they may be"
    settings = [word.split("=") for word in SERVICES["postgres"]["command"] if "=" in word]
    connections = int(dict(settings)["max_connections"]) - RESERVED - CONNECTIONS_OF_A_GATEWAY
    scaled = re.findall(r"--scale worker=(\d+)", (ROOT / "docs" / "operations.md").read_text("utf-8"))
    assert scaled
    assert connections // CONNECTIONS_OF_A_WORKER == 11  # as the file says
    assert max(map(int, scaled)) <= connections // CONNECTIONS_OF_A_WORKER


@every_service
def test_secrets_come_as_files_and_never_as_variables_or_arguments(name: str) -> None:
    service = SERVICES[name]
    mounted = {f"/run/secrets/{secret}" for secret in service.get("secrets", [])}
    named = set()
    for variable, value in environment(service).items():
        assert not list(secrets_in(value)), variable
        if variable.endswith("_FILE"):
            assert value in mounted, f"{variable} names a file that is not mounted"
            named.add(value)
        else:
            assert not SECRET_NAMES.search(variable) or variable == "TAMIS_MAX_OUTPUT_TOKENS", variable
    words = service.get("command", [])
    named |= {word for word in words if word.startswith("/run/secrets/")}
    assert named == mounted, "what is mounted is used, and what is used is mounted"
    assert not any("password" in word and "--" in word for word in words)


def test_every_secret_is_declared_as_a_file_and_made_by_the_script() -> None:
    used = {secret for service in SERVICES.values() for secret in service.get("secrets", [])}
    script = (ROOT / "deploy" / "make-secrets").read_text("utf-8")
    assert used == set(COMPOSE["secrets"]) == set(re.findall(r"^ *keep (\w+) ", script, re.MULTILINE))
    for name, secret in COMPOSE["secrets"].items():
        assert secret == {"file": f"${{SECRETS_DIR:-./secrets}}/{name}"}


def test_secrets_enter_neither_the_repository_nor_the_image() -> None:
    assert "secrets/" in (ROOT / ".gitignore").read_text("utf-8").splitlines()
    lines = [line for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if not line.startswith("#")]
    assert lines[0] == "*"
    assert not any("secret" in line for line in lines)


def test_the_rights_in_redis_are_those_of_the_document() -> None:
    document = (ROOT / "docs" / "security.md").read_text("utf-8")
    (rights,) = re.findall(r"```acl\n(.*?)```", document, re.DOTALL)
    script = (ROOT / "deploy" / "make-secrets").read_text("utf-8")
    (given,) = re.findall(r"^user tamis on >\$password (.*)\"$", script, re.MULTILINE)
    assert given.split() == [word for word in rights.split() if word != "on"]


def test_only_keys_are_used_that_both_versions_of_compose_know() -> None:
    assert "version" not in COMPOSE
    assert not MODERN & set(COMPOSE)
    for service in SERVICES.values():
        assert not MODERN & set(service)
        assert all(isinstance(port, str) for port in service.get("ports", []))
        assert all(isinstance(volume, str) for volume in service.get("volumes", []))
        assert all(isinstance(secret, str) for secret in service.get("secrets", []))


def test_prometheus_finds_the_workers_where_they_serve_their_figures() -> None:
    configuration = yaml.safe_load((ROOT / "observability" / "prometheus.yml").read_text("utf-8"))
    (found,) = configuration["scrape_configs"][0]["dns_sd_configs"]
    worker = environment(SERVICES["worker"])
    assert found["names"] == ["worker"]
    assert str(found["port"]) == worker["TAMIS_METRICS_PORT"]
    provider = yaml.safe_load(
        (ROOT / "observability" / "grafana" / "provisioning" / "dashboards" / "tamis.yml").read_text("utf-8")
    )["providers"][0]
    mounts = dict(volume.split(":")[:2] for volume in SERVICES["grafana"]["volumes"])
    assert mounts["./observability/grafana/dashboards"] == provider["options"]["path"]


def test_every_file_that_is_mounted_exists() -> None:
    for service in (*SERVICES.values(), *CHECK["services"].values()):
        for volume in service.get("volumes", []):
            if volume.startswith("./"):
                assert (ROOT / volume.split(":")[0]).exists(), volume


def test_every_volume_and_network_is_declared() -> None:
    volumes = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    assert {volume for volume in volumes if not volume.startswith("./")} == set(COMPOSE["volumes"])
    assert {network for service in SERVICES.values() for network in service["networks"]} == set(COMPOSE["networks"])
