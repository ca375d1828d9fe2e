"""What a benchmark found: tables for people, the same figures as JSON, and the machine that they were measured on."""

import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

Cell: TypeAlias = str | int | float | None

PACKAGES = ("tamis", "celery", "kombu", "redis", "openai", "aiohttp", "sqlalchemy", "psycopg", "uvloop", "gevent")
DIGITS_BELOW = {1: 3, 10: 2, 100: 1}  # digits after the point of a number smaller than the key


@dataclass(frozen=True)
class Table:
    """One comparison. Every row has one cell per column; notes stand below it, a line each."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """Rows as objects, numbers as they were measured."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return {"title": self.title, "columns": list(self.columns), "rows": rows, "notes": list(self.notes)}

    def to_markdown(self) -> str:
        """A heading, a table whose numbers stand to the right, and the notes."""
        right = [any(isinstance(row[place], int | float) for row in self.rows) for place in range(len(self.columns))]
        lines = [
            f"## {self.title}",
            "",
            _line(self.columns),
            _line("---:" if is_number else "---" for is_number in right),
            *(_line(_shown(cell) for cell in row) for row in self.rows),
        ]
        if self.notes:
            lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join(lines)


@dataclass(frozen=True)
class Machine:
    """Where and when figures were measured."""

    date: str
    cores: int
    processor: str
    system: str
    python: str
    load: float  # of the minute before, all programs together: more than none means that others were at work
    packages: dict[str, str]

    @classmethod
    def here(cls) -> "Machine":
        """This one, now."""
        return cls(
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
            processor=_processor(),
            system=f"{platform.system()} {platform.release()}",
            python=platform.python_version(),
            load=round(os.getloadavg()[0], 2),
            packages={name: _version(name) for name in PACKAGES},
        )

    def to_markdown(self) -> str:
        """Two lines."""
        packages = ", ".join(f"{name} {number}" for name, number in self.packages.items())
        return (
            f"{self.date}, {self.cores} cores ({self.processor}), {self.system}, Python {self.python}, "
            f"load before the run {self.load:g}.\n{packages}."
        )


@dataclass
class Report:
    """All tables of one run, by benchmark."""

    machine: Machine
    options: dict[str, Any]
    benchmarks: dict[str, list[Table]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        benchmarks = {name: [table.to_json() for table in tables] for name, tables in self.benchmarks.items()}
        return {"machine": self.machine.__dict__, "options": self.options, "benchmarks": benchmarks}

    def to_markdown(self) -> str:
        """A page."""
        tables = [table.to_markdown() for found in self.benchmarks.values() for table in found]
        return "\n\n".join(["# Benchmarks", self.machine.to_markdown(), *tables]) + "\n"


def spread(values: Sequence[float]) -> str:
    """Every value of several repetitions, for the column beside their median."""
    return " ".join(_shown(value) for value in values)


def ratio(values: Sequence[float], others: Sequence[float]) -> float | None:
    """The ratio of the medians; None where there is nothing to compare with."""
    return statistics.median(values) / statistics.median(others) if values and others else None


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _shown(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        digits = next((digits for bound, digits in DIGITS_BELOW.items() if abs(cell) < bound), 0)
        return f"{cell:,.{digits}f}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # no Linux
    return platform.processor() or platform.machine()
