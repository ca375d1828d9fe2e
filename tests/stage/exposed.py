"""The figures of a worker, as Prometheus would read them."""

import re
import urllib.request
from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

from .worker_process import WorkerProcess


def metrics_url(worker: WorkerProcess) -> str:
    """Where a worker serves its figures, as its log says."""
    found = re.findall(r"metrics at (http://[^\s\"]+)", worker.text())
    assert found, worker.tail()
    return str(found[-1])


def scraped(url: str) -> str:
    """The text of one scrape."""
    with urllib.request.urlopen(url, timeout=20) as response:
        return str(response.read().decode())


def value(text: str, name: str, **labels: str) -> float:
    """The sum of the samples of a name whose labels are these, and maybe others."""
    samples = [
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and _has(sample.labels, labels)
    ]
    assert samples, f"no {name} {labels} in:\n{text}"
    return sum(samples)


def _has(given: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(given.get(name) == text for name, text in wanted.items())
