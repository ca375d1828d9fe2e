"""The documents and the dashboard name exactly the figures that there are."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import Metric
from sqlalchemy import create_engine

from tamis_producer.gateway.metrics import GatewayMetrics as Gateway
from tamis_worker.telemetry.metrics import Metrics, Present, QueueDepths

ROOT = Path(__file__).parents[4]
DASHBOARD = ROOT / "observability" / "grafana" / "dashboards" / "tamis.json"
PROMETHEUS = ROOT / "observability" / "prometheus.yml"
ALERTS = ROOT / "observability" / "alerts.yml"
PROMTOOL = shutil.which("promtool")
NAME = re.compile(r"\btamis_[a-z0-9_]+")
GATEWAY = Gateway(create_engine("postgresql+psycopg://user@127.0.0.1:1/tamis"))
SAMPLES = {
    "counter": ("_total",),
    "gauge": ("",),
    "histogram": ("_bucket", "_sum", "_count"),
}


def families() -> Iterator[Metric]:
    metrics = Metrics()
    yield from metrics.registry.collect()
    yield from QueueDepths(dict).describe()
    yield from GATEWAY.registry.collect()
    yield from Present(items=int, holding_back=bool, limiters=dict, label=str).describe()


def exported() -> set[str]:
    """The names of all samples."""
    return {f"{family.name}{suffix}" for family in families() for suffix in SAMPLES[family.type]}


def labels_of(names: set[str]) -> set[str]:
    """The labels that metrics have, those of these samples."""
    made = [*vars(Metrics()).values(), *QueueDepths(dict).describe()]
    made += [*vars(GATEWAY).values(), *GATEWAY.registry.collect()]
    made += Present(items=int, holding_back=bool, limiters=dict, label=str).describe()
    known = {
        getattr(one, "_name", None) or one.name: getattr(one, "_labelnames", ())
        for one in made
        if hasattr(one, "_labelnames")
    } | {"tamis_worker_info": ("version",)}
    return {"le"} | {label for name in names for of, had in known.items() if name.startswith(of) for label in had}


def first_cells() -> list[str]:
    """Return the first cells of both tables of the document: names of metrics, then queries."""
    section = (ROOT / "docs" / "operations.md").read_text("utf-8").split("\n## Metrics and traces\n")[1]
    return re.findall(r"^\| (`.*?`) \| ", section.split("\n## ")[0], re.MULTILINE)


def documented() -> list[str]:
    """Return the documented names."""
    return [name for cell in first_cells() for name in re.findall(r"`(tamis_\w+)`", cell)]


def queries() -> list[str]:
    """Return the documented queries."""
    return [cell.strip("`") for cell in first_cells() if "(" in cell]


def expressions() -> list[str]:
    board = json.loads(DASHBOARD.read_text("utf-8"))
    return [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]


def alerts() -> dict[str, dict[str, Any]]:
    """Return the alert rules by their names."""
    (group,) = yaml.safe_load(ALERTS.read_text("utf-8"))["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def labels_in(query: str) -> set[str]:
    selected = re.findall(r"([a-z_]+)(?:=~?|!=)\"", query)
    grouped = [name.strip() for group in re.findall(r"\bby \(([^)]*)\)", query) for name in group.split(",")]
    return {*selected, *grouped}


def test_the_documented_metrics_are_the_exported_ones() -> None:
    names = {family.name + ("_total" if family.type == "counter" else "") for family in families()}
    assert sorted(documented()) == sorted(names)


@pytest.mark.parametrize(
    "query", [*queries(), *expressions(), *(rule["expr"] for name, rule in alerts().items() if name != "TamisDown")]
)
def test_each_query_of_document_and_dashboard_asks_for_exported_metrics_by_their_labels(query: str) -> None:
    asked = set(NAME.findall(query))
    assert asked
    assert asked <= exported()
    assert labels_in(query) <= labels_of(asked)
    assert query.count("(") == query.count(")")


def test_every_metric_is_on_the_dashboard() -> None:
    shown = {name for query in expressions() for name in NAME.findall(query)}
    for family in families():
        assert any(f"{family.name}{suffix}" in shown for suffix in SAMPLES[family.type]), family.name


def test_what_all_workers_see_alike_is_never_summed_over_them() -> None:
    asked = [*expressions(), *queries(), *(rule["expr"] for rule in alerts().values())]
    for shared in ("tamis_queue_messages", "tamis_limiter_calls", "tamis_batches"):
        for query in asked:
            assert shared not in query or re.search(rf"max by \(\w+\) \({shared}[){{]", query), query


def test_each_alert_says_what_happens_and_what_to_do_and_prometheus_loads_it() -> None:
    for name, rule in alerts().items():
        assert re.fullmatch(r"Tamis[A-Za-z]+", name)
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert set(rule["annotations"]) == {"summary", "action"}
        assert set(re.findall(r"\$labels\.(\w+)", str(rule))) <= {"instance", "job"} | labels_in(rule["expr"])
    configuration = yaml.safe_load(PROMETHEUS.read_text("utf-8"))
    assert configuration["rule_files"] == [ALERTS.name]
    assert set(re.findall(r'job=~"([^"]+)"', alerts()["TamisDown"]["expr"])) == {
        "|".join(scrape["job_name"] for scrape in configuration["scrape_configs"])
    }


@pytest.mark.night
@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
@pytest.mark.parametrize(
    ("series", "firing"),
    [
        ({'tamis_batches{state="running"}': "1x40"}, {"TamisNoWorker"}),
        ({'tamis_batches{state="running"}': "1x40", 'tamis_worker_info{version="1"}': "1x40"}, set()),
        ({"tamis_items_in_flight": "8x60", 'tamis_items_total{outcome="decided"}': "5x60"}, {"TamisNoProgress"}),
        ({"tamis_items_in_flight": "8x60", 'tamis_items_total{outcome="decided"}': "0+5x60"}, set()),
        ({'tamis_llm_calls_total{model="m",outcome="timeout"}': "0+1x60",
          'tamis_llm_calls_total{model="m",outcome="ok"}': "0+2x60"}, {"TamisCallsFail"}),
        ({'tamis_reconciler_actions_total{action="released"}': "0 0 5x60"}, {"TamisWorkersDie"}),
        ({"tamis_holding_back": "0x40"}, set()),
        ({'up{job="gateway"}': "0x40"}, {"TamisDown"}),
    ],
)  # fmt: skip
def test_an_alert_fires_when_its_words_are_true(series: dict[str, str], firing: set[str], tmp_path: Path) -> None:
    tests = [{"eval_time": "35m", "alertname": name, "exp_alerts": []} for name in alerts() if name not in firing]
    inputs = [{"series": name, "values": values} for name, values in series.items()]
    document = {
        "rule_files": [str(ALERTS)],
        "tests": [{"interval": "1m", "input_series": inputs, "alert_rule_test": tests}],
    }
    (tmp_path / "silent.yml").write_text(yaml.safe_dump(document))
    silent = subprocess.run([str(PROMTOOL), "test", "rules", str(tmp_path / "silent.yml")], check=False)
    assert silent.returncode == 0
    document["tests"][0]["alert_rule_test"] = [{"eval_time": "35m", "alertname": name} for name in firing]
    (tmp_path / "firing.yml").write_text(yaml.safe_dump(document))
    fired = subprocess.run([str(PROMTOOL), "test", "rules", str(tmp_path / "firing.yml")], check=False)
    assert (fired.returncode != 0) is bool(firing)  # no alert was expected


def test_the_panels_of_the_dashboard_overlap_nowhere() -> None:
    board = json.loads(DASHBOARD.read_text("utf-8"))
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_the_dashboard_asks_the_datasource_that_is_provisioned() -> None:
    folder = ROOT / "observability" / "grafana" / "provisioning"
    sources = yaml.safe_load((folder / "datasources" / "prometheus.yml").read_text("utf-8"))["datasources"]
    board: dict[str, Any] = json.loads(DASHBOARD.read_text("utf-8"))
    asked = {panel["datasource"]["uid"] for panel in board["panels"] if "datasource" in panel}
    assert asked == {source["uid"] for source in sources}
    provided = yaml.safe_load((folder / "dashboards" / "tamis.yml").read_text("utf-8"))["providers"]
    assert [provider["type"] for provider in provided] == ["file"]
    scrapes = yaml.safe_load((ROOT / "observability" / "prometheus.yml").read_text("utf-8"))["scrape_configs"]
    assert {scrape["job_name"] for scrape in scrapes} == {"tamis", "gateway"}
