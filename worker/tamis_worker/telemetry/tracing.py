"""The set-up of OpenTelemetry's SDK in this process, if the standard variables OTEL_* request traces."""

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tamis_producer.config.redaction import shown_url

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

FLUSH_WITHIN = 3.0  # s; later spans are lost, and the process ends
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
EXPORTERS = "opentelemetry_traces_exporter"  # the entry point group of exporters
OTLP = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}

log = logging.getLogger(__name__)


def wanted(environment: Mapping[str, str]) -> bool:
    """Return whether the environment requests traces: it names an endpoint or an exporter, and the SDK is enabled."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if environment.get("OTEL_TRACES_EXPORTER", "").strip():
        return bool(_names(environment))
    return any(environment.get(name, "").strip() for name in ENDPOINTS)


@contextmanager
def traced(
    service: str,
    *,
    instance: str | None = None,
    redact: Callable[[str], str] = str,
    environment: Mapping[str, str] = os.environ,
) -> Iterator[None]:
    """Wrap a process's work: export its spans, if requested, and flush the last spans at the end.

    Faults are only logged. If the process already has a provider of traces, nothing is changed.
    """
    provider = None
    if wanted(environment):
        # The import loads OpenTelemetry, which commands without traces do not need.
        from tamis_producer.process import tracing

        tracing.redact_with(redact)
        try:
            provider = _begin(service, instance, environment)
        except ModuleNotFoundError as error:
            log.warning("no traces: pip install 'tamis[telemetry]' (%s is missing)", error.name)
        except Exception as error:  # the work continues without traces
            log.warning("no traces: %s", redact(f"{type(error).__name__}: {error}"))
    try:
        yield
    finally:
        if provider is not None:
            end(provider, within=FLUSH_WITHIN)


def end(provider: Any, *, within: float) -> bool:
    """Export the remaining spans and close the provider. Return whether that took less than `within` seconds."""
    from tamis_producer.process import tracing

    closing = threading.Thread(target=tracing.quietly(provider.shutdown), name="end of traces", daemon=True)
    closing.start()
    closing.join(within)
    if closing.is_alive():
        log.warning("traces are lost: the last spans were not exported within %g s", within)
    return not closing.is_alive()


def _begin(service: str, instance: str | None, environment: Mapping[str, str]) -> "TracerProvider | None":
    from importlib.metadata import version

    from opentelemetry import trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    exporters = [_exporter(name) for name in _names(environment)]
    if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return None
    about = {"service.version": version("tamis")} | ({} if instance is None else {"service.instance.id": instance})
    named = environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
    if not environment.get("OTEL_SERVICE_NAME") and "service.name=" not in named:
        about["service.name"] = service
    # Not at the interpreter's exit, which would wait for a slow receiver without limit.
    provider = TracerProvider(resource=Resource.create(about), shutdown_on_exit=False)
    for make in exporters:
        provider.add_span_processor(BatchSpanProcessor(reporting(make(), _where(environment))))
    trace.set_tracer_provider(provider)
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # it repeats the message for every failed export
    return provider


def _names(environment: Mapping[str, str]) -> list[str]:
    """Return the names of the exporters that the environment requests. The default is `otlp`."""
    named = environment.get("OTEL_TRACES_EXPORTER", "").strip() or "otlp"
    protocol = environment.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or environment.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    otlp = OTLP.get(protocol or "http/protobuf", f"otlp ({protocol})")
    names = [name.strip() for name in named.split(",")]
    return [otlp if name == "otlp" else name for name in names if name and name != "none"]


def _exporter(name: str) -> "Callable[[], SpanExporter]":
    """Return a function that makes the exporter.

    Raises `ModuleNotFoundError` if no installed package has an exporter of this name.
    """
    from importlib.metadata import entry_points

    offered = entry_points(group=EXPORTERS, name=name)
    if not offered:
        raise ModuleNotFoundError(f"no exporter {name}", name=f"the exporter {name}")
    make: Callable[[], SpanExporter] = next(iter(offered)).load()
    return make


def _where(environment: Mapping[str, str]) -> str:
    named = next((environment[name] for name in ENDPOINTS if environment.get(name)), "")
    return shown_url(named) if named else "the receiver"


def reporting(exporter: "SpanExporter", where: str) -> "SpanExporter":
    """Return an exporter that logs when exports begin to fail, and when they work again."""
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    class Reporting(SpanExporter):
        failing = False

        def export(self, spans: "Sequence[ReadableSpan]") -> "SpanExportResult":
            try:
                result = exporter.export(spans)
            except Exception as error:  # the spans are lost, not the work
                log.debug("an exporter raised: %s", type(error).__name__)
                result = SpanExportResult.FAILURE
            failed = result is not SpanExportResult.SUCCESS
            if failed and not self.failing:
                log.warning("traces are lost: %s does not accept them; the work continues", where)
            elif self.failing and not failed:
                log.warning("traces are exported again: %s accepts them", where)
            self.failing = failed
            return result

        def shutdown(self) -> None:
            exporter.shutdown()

        def force_flush(self, timeout_millis: int = 30_000) -> bool:
            return exporter.force_flush(timeout_millis)

    return Reporting()
