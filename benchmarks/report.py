"""The results of benchmarks: tables for people, the same figures as JSON, and the machine."""

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
    """One comparison. Every row has one cell per column. Notes are printed below the table, a line each."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the table as JSON values: rows as objects, numbers not rounded."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return {"title": self.title, "columns": list(self.columns), "rows": rows, "notes": list(self.notes)}

    def to_markdown(self) -> str:
        """Return the table in Markdown: a heading, the rows with numbers aligned right, and the notes."""
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
    """The machine and time of a measurement."""

    date: str
    cores: int
    processor: str
    system: str
    python: str
    load: float  # load average of the minute before; above 0, other programs were running
    packages: dict[str, str]

    @classmethod
    def here(cls) -> "Machine":
        """Return this machine, now."""
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
        """Return a description in two lines."""
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
        """Return the report as JSON values."""
        benchmarks = {name: [table.to_json() for table in tables] for name, tables in self.benchmarks.items()}
        return {"machine": self.machine.__dict__, "options": self.options, "benchmarks": benchmarks}

    def to_markdown(self) -> str:
        """Return the report as a page of Markdown."""
        tables = [table.to_markdown() for found in self.benchmarks.values() for table in found]
        return "\n\n".join(["# Benchmarks", self.machine.to_markdown(), *tables]) + "\n"


def spread(values: Sequence[float]) -> str:
    """Return the values of all repetitions as a text, for the column next to their median."""
    return " ".join(_shown(value) for value in values)


def ratio(values: Sequence[float], others: Sequence[float]) -> float | None:
    """Return the ratio of the medians; None if a side has no values."""
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
