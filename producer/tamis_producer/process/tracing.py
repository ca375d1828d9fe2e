"""Traces: spans that never disturb the work, and the trace context that travels with a batch.

Only OpenTelemetry's API is used here. Without a recording SDK, a span is `NO_SPAN` and costs next to nothing. The
ledger and every message contain a batch's context as W3C's `traceparent`, so any later process continues the trace.

No function here raises an error. The first error of each function is logged, at debug level.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from importlib.metadata import version
from typing import ParamSpec, TypeAlias, TypeVar

from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind as SpanKind
from opentelemetry.trace import Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

HEADER = "traceparent"  # header of a message
LONGEST = 200  # characters of a text in an attribute

Value: TypeAlias = str | bool | int | float | tuple[str, ...]
Attributes: TypeAlias = Mapping[str, Value | None]

P = ParamSpec("P")
R = TypeVar("R")

tracer: trace.Tracer = trace.get_tracer("tamis", version("tamis"))

_propagator = TraceContextTextMapPropagator()
_told: set[str] = set()
_redact: Callable[[str], str] = str
log = logging.getLogger(__name__)


def quietly(function: Callable[P, R]) -> Callable[P, R | None]:
    """Return a version of the function that returns None instead of raising.

    The function's first error is logged, at debug level.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return function(*args, **kwargs)
        except Exception as error:  # telemetry is a side effect: the work continues without it
            _tell(function.__qualname__, error)
            return None

    return call


def _tell(where: str, error: Exception) -> None:
    if where not in _told:
        _told.add(where)
        log.debug("telemetry failed in %s (logged once): %s", where, type(error).__name__)


class Span:
    """A span of a trace, or no span. Attributes with the value None are omitted."""

    __slots__ = ("_span", "_token", "recording")

    def __init__(self, span: trace.Span | None) -> None:
        self._span = span
        self._token: object | None = None
        self.recording = False if span is None else bool(quietly(span.is_recording)())

    @quietly
    def set(self, attributes: Attributes) -> None:
        """Add attributes."""
        if self.recording and self._span is not None:
            self._span.set_attributes(_clean(attributes))

    @quietly
    def event(self, name: str, attributes: Attributes, at: int | None = None) -> None:
        """Add an event: now, or at the time `at` in nanoseconds."""
        if self.recording and self._span is not None:
            self._span.add_event(name, _clean(attributes), at)

    @quietly
    def fail(self, kind: str) -> None:
        """Mark the span as failed with this kind of error.

        The message is omitted, because it may quote a record or a secret.
        """
        if self.recording and self._span is not None:
            self._span.set_attribute("error.type", kind)
            self._span.set_status(Status(StatusCode.ERROR))

    @quietly
    def enter(self) -> None:
        """Make the span the parent of later spans in this task or thread, until `leave`."""
        if self._span is not None and self._token is None:
            self._token = otel.attach(trace.set_span_in_context(self._span))

    @quietly
    def leave(self) -> None:
        """Undo `enter`: later spans of this task or thread have the earlier parent again."""
        token, self._token = self._token, None
        if token is not None:
            otel.detach(token)  # type: ignore[arg-type]  # the token from `attach`

    @quietly
    def end(self, at: int | None = None) -> None:
        """End the span: now, or at the time `at` in nanoseconds."""
        if self._span is not None:
            self._span.end(at)


NO_SPAN = Span(None)


def start(
    name: str,
    attributes: Attributes,
    *,
    kind: SpanKind = SpanKind.INTERNAL,
    of: str | None = None,
    since: int | None = None,
) -> Span:
    """Return a span that begins now, or at the time `since` in nanoseconds; `NO_SPAN` if traces are not recorded.

    The span's parent is the current span. If there is none, the parent is the span in `of`, a W3C `traceparent`.
    """
    return _start(name, attributes, kind, of, since) or NO_SPAN


@quietly
def _start(name: str, attributes: Attributes, kind: SpanKind, of: str | None, since: int | None) -> Span:
    parent = None
    if of is not None and not trace.get_current_span().get_span_context().is_valid:
        parent = context_of(of)
    begun = tracer.start_span(name, parent, kind=kind, start_time=since)
    if not begun.get_span_context().is_valid:
        return NO_SPAN
    new = Span(begun)
    new.set(attributes)
    return new


@contextmanager
def span(
    name: str, attributes: Attributes, *, kind: SpanKind = SpanKind.INTERNAL, of: str | None = None
) -> Iterator[Span]:
    """Yield a span that is the parent of spans inside the block. An exception marks the span as failed."""
    current = start(name, attributes, kind=kind, of=of)
    current.enter()
    try:
        yield current
    except BaseException as error:
        current.fail(type(error).__name__)
        raise
    finally:
        current.leave()
        current.end()


def aggregating(batch_id: str, round_: int, shard: int, *, of: object) -> AbstractContextManager[Span]:
    """Return the span of the task that runs after all items of a shard (a part of a batch).

    `of`: the shard's W3C `traceparent`; any value other than text is ignored.
    """
    about: dict[str, Value] = {"tamis.batch_id": batch_id, "tamis.round": round_, "tamis.shard": shard}
    return span("tamis.aggregate", about, kind=SpanKind.CONSUMER, of=of if isinstance(of, str) else None)


@quietly
def traceparent() -> str | None:
    """Return the current span as W3C's `traceparent`; None if there is no span."""
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    return carrier.get(HEADER)


@quietly
def context_of(header: object) -> Context | None:
    """Return the context of a W3C `traceparent`; None for any other value."""
    if not isinstance(header, str):
        return None
    context = _propagator.extract({HEADER: header})
    return context if trace.get_current_span(context).get_span_context().is_valid else None


def headers(traceparent: str | None) -> dict[str, str] | None:
    """Return the headers of a message that belongs to a trace; None if the message belongs to no trace."""
    return None if traceparent is None else {HEADER: traceparent}


@quietly
def attach(header: object) -> None:
    """Continue the trace of a W3C `traceparent` for the rest of this task. Any other value is ignored."""
    if header is not None and (context := context_of(header)) is not None:
        otel.attach(context)


def redact_with(redact: Callable[[str], str]) -> None:
    """Redact the texts of attributes with this function: endpoints may repeat secrets."""
    global _redact
    _redact = redact


def now() -> int:
    """Return the present time in nanoseconds, as spans use it."""
    return time.time_ns()


def _clean(attributes: Attributes) -> dict[str, Value]:
    return {name: _cleaned(value) for name, value in attributes.items() if value is not None}


def _cleaned(value: Value) -> Value:
    match value:
        case str():
            return _redact(value)[:LONGEST]
        case tuple():
            return tuple(_redact(text)[:LONGEST] for text in value)
    return value
