"""Installed by Python itself at the start of a process: every span of it is one that raises."""

import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from opentelemetry import trace

from stage.faulty_telemetry import FaultyTracer

CALLS = os.environ["BROKEN_TELEMETRY"].split(",")


class _Provider(trace.TracerProvider):
    def get_tracer(self, *_: Any, **__: Any) -> Any:
        return FaultyTracer(*CALLS)


trace.set_tracer_provider(_Provider())
