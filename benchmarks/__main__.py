"""`python -m benchmarks`: the figures of the whole system, in Markdown on standard output, and as JSON in a file."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from .options import CONTESTANTS, Options
from .report import Machine, Report, Table

if TYPE_CHECKING:
    from .parts import Parts

Benchmark: TypeAlias = Callable[["Parts", Options], list[Table]]

# The module and the function of each: one that does not run is not imported, which took longer than a short one runs.
BENCHMARKS: Mapping[str, tuple[str, str]] = {
    "limit": ("limit", "limit"),
    "throughput": ("throughput", "throughput"),
    "submit": ("submit_rate", "submit_rate"),
    "loop": ("loop_stalls", "loop_stalls"),
    "memory": ("redis_memory", "memory"),
    "disk": ("disk", "disk"),
    "summary": ("summary_delay", "summary_delay"),
    "tablizer": ("tablizer", "tablizer"),
    "service": ("service", "service"),
    "scaling": ("throughput", "scaling"),
    "recovery": ("recovery", "recovery"),
    "ledger": ("ledger_cost", "ledger_cost"),
    "retention": ("retention", "retention"),
    "snapshot": ("held_snapshot", "held_snapshot"),
    "next": ("next_records", "next_records"),
    "work_list": ("work_list", "work_list"),
}


def main() -> None:
    """Run the named benchmarks, or all."""
    given = _arguments()
    options = Options(
        short=given.short,
        items=given.items,
        processes=tuple(given.processes) if given.processes else None,
        repetitions=given.repetitions,
        only=given.only,
    )
    report = Report(Machine.here(), asdict(options))
    from .parts import parts

    try:
        with parts() as running:
            for name in given.benchmarks or BENCHMARKS:
                report.benchmarks[name] = _benchmark(name)(running, options)
    except KeyboardInterrupt:
        sys.exit(130)  # every part is gone; what was measured so far would look like a whole run
    sys.stdout.write(report.to_markdown())
    if given.markdown is not None:
        given.markdown.write_text(report.to_markdown(), "utf-8")
    if given.json is not None:
        given.json.write_text(json.dumps(report.to_json(), indent=2) + "\n", "utf-8")


def _benchmark(name: str) -> Benchmark:
    module, function = BENCHMARKS[name]
    benchmark: Benchmark = getattr(import_module(f".{module}", __package__), function)
    return benchmark


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("benchmarks", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; none: all")
    parser.add_argument("--short", action="store_true", help="fewer items and shorter runs: shows that all works")
    parser.add_argument("--items", type=int, help="items of a batch")
    parser.add_argument("--processes", type=int, nargs="+", help="worker processes; several: one after the other")
    parser.add_argument("--repetitions", type=int, help="runs of each contestant")
    parser.add_argument("--only", choices=list(CONTESTANTS), help="one contestant of the throughput")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables there too")
    given = parser.parse_args()
    if unknown := set(given.benchmarks) - set(BENCHMARKS):
        parser.error(f"{sorted(unknown)[0]!r} is none of {', '.join(BENCHMARKS)}")
    return given


if __name__ == "__main__":
    main()
