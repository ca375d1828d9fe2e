"""A receiver of traces: OTLP over HTTP, in this process; spans as plain values."""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult


@dataclass(frozen=True)
class Event:
    """An event of a span."""

    name: str
    attributes: dict[str, Any]
    at: int


@dataclass(frozen=True)
class Received:
    """A span as it was received."""

    name: str
    trace: str
    id: str
    parent: str  # empty: it is a root
    kind: int
    attributes: dict[str, Any]
    events: tuple[Event, ...]
    failed: bool
    began: int
    ended: int
    resource: dict[str, Any]


@dataclass
class Receiver:
    """What was received so far."""

    url: str
    spans: list[Received] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)

    def named(self, name: str) -> list[Received]:
        """The spans of a name."""
        return [span for span in list(self.spans) if span.name == name]

    def children(self, parent: Received) -> list[Received]:
        """The spans right below one."""
        return [span for span in list(self.spans) if span.parent == parent.id and span.trace == parent.trace]

    def roots(self) -> list[Received]:
        """The spans without a parent. Fails where a span's parent was not received, or a span came twice."""
        spans = list(self.spans)
        twice = [span_id for span_id, n in Counter(span.id for span in spans).items() if n > 1]
        assert not twice
        known = {(span.trace, span.id) for span in spans}
        orphans = [span.name for span in spans if span.parent and (span.trace, span.parent) not in known]
        assert not orphans, orphans
        return [span for span in spans if not span.parent]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver on a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.raw.append(content)
            receiver.spans += _decoded(content)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nobody asks."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver = Receiver(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Tap(SpanExporter):
    """Hands spans to whoever listens. A process has one provider for good; its tests come and go."""

    listeners: ClassVar[list[SpanExporter]] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        for listener in self.listeners:
            listener.export(spans)
        return SpanExportResult.SUCCESS


@contextmanager
def traced_here(listener: SpanExporter) -> Iterator[None]:
    """This process records spans and exports them to `listener`."""
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        provider = TracerProvider(resource=Resource.create({"service.name": "a program"}), shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(_Tap()))
        trace.set_tracer_provider(provider)
    _Tap.listeners.append(listener)
    try:
        yield
    finally:
        _Tap.listeners.remove(listener)


@contextmanager
def exported_here(receiver: Receiver) -> Iterator[None]:
    """The spans of this process go to a receiver."""
    exporter = OTLPSpanExporter(endpoint=f"{receiver.url}/v1/traces")
    with traced_here(exporter):
        yield
    exporter.shutdown()  # type: ignore[no-untyped-call]  # the package leaves it out


def _decoded(content: bytes) -> Iterator[Received]:
    request = ExportTraceServiceRequest.FromString(content)
    for of_resource in request.resource_spans:
        resource = _attributes(of_resource.resource.attributes)
        for scope in of_resource.scope_spans:
            for span in scope.spans:
                yield Received(
                    name=span.name,
                    trace=span.trace_id.hex(),
                    id=span.span_id.hex(),
                    parent=span.parent_span_id.hex(),
                    kind=span.kind,
                    attributes=_attributes(span.attributes),
                    events=tuple(Event(e.name, _attributes(e.attributes), e.time_unix_nano) for e in span.events),
                    failed=span.status.code == span.status.STATUS_CODE_ERROR,
                    began=span.start_time_unix_nano,
                    ended=span.end_time_unix_nano,
                    resource=resource,
                )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, kind)
