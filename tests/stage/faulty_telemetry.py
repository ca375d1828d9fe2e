"""An SDK of which every part fails: whatever is asked of it raises."""

from collections import Counter
from typing import Any

from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

CONTEXT = SpanContext(0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x00F067AA0BA902B7, False, TraceFlags(1))
CALLS = ("is_recording", "set_attribute", "set_attributes", "add_event", "set_status", "end", "get_span_context")


class FaultySpan(NonRecordingSpan):
    """Raises in the calls that are named, and counts all."""

    def __init__(self, *failing: str) -> None:
        super().__init__(CONTEXT)
        self.failing = failing
        self.calls: Counter[str] = Counter()

    def _called(self, name: str) -> None:
        self.calls[name] += 1
        if name in self.failing:
            raise RuntimeError(f"the SDK fails in {name}")

    def is_recording(self) -> bool:
        self._called("is_recording")
        return True

    def get_span_context(self) -> SpanContext:
        self._called("get_span_context")
        return CONTEXT

    def set_attribute(self, *_: Any) -> None:
        self._called("set_attribute")

    def set_attributes(self, *_: Any) -> None:
        self._called("set_attributes")

    def add_event(self, *_: Any, **__: Any) -> None:
        self._called("add_event")

    def set_status(self, *_: Any, **__: Any) -> None:
        self._called("set_status")

    def end(self, *_: Any) -> None:
        self._called("end")


class FaultyTracer:
    """Gives one span, or raises where it should begin one."""

    def __init__(self, *failing: str) -> None:
        self.failing = failing
        self.span = FaultySpan(*failing)
        self.started = 0

    def start_span(self, *_: Any, **__: Any) -> FaultySpan:
        self.started += 1
        if "start_span" in self.failing:
            raise RuntimeError("the SDK fails in start_span")
        return self.span
