"""Simulated teams read labelled sets: how much they read for 95, 98 and 100 % of the includes, and where rules stop.

    python -m benchmarks.reading_replay --json replay.json [--asreview asreview.json] [--figure reading.svg]
    python -m benchmarks.reading_replay --through-ledger --seeds 1

Each seed begins with an included and an excluded record, as the runs of ASReview do (`benchmarks.asreview_runs`). Then
it reads twice in the order of `tamis next`. The first reading ends when every include is found. It measures the order,
and where rules would have stopped. The second reads pages of 20, with the samples and the end of `tamis stop`. It
measures whether the promised recall is kept.

Judges (models) are recorded or simulated. Without a judge, the order uses texts only. By default, pure functions do all
this in one process. With `--through-ledger`, the LLM double screens over HTTP, and people read, decide and stop in the
ledger.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .asreview_runs import SEEDS, priors
from .pure_desk import PureDesk
from .reading_cases import Case, cases, main_cases, simulated_case
from .reading_curve import RECALLS
from .reading_replay_figure import draw_curves
from .reading_replay_table import to_markdown
from .reading_team import Read, at_once, read_until_found, read_with_certificate
from .simulated_judges import Kind
from .stop_rules import certificate_stop, stops


def replay(case: Case, seeds: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Yield the figures of each seed's readings with the pure functions, as JSON values."""
    for seed in seeds:
        scores, start = case.scores(seed), priors(case.labels, seed)
        in_order = read_until_found(
            PureDesk(case.features, scores, seed=seed), case.labels, start, pace=at_once(len(scores))
        )
        certified = read_with_certificate(PureDesk(case.features, scores, seed=seed), case.labels, start)
        yield figures(in_order, certified, case.labels)


def replay_through_ledger(case: Case, seeds: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Yield the figures of each seed's readings through HTTP and the ledger. Each reading has its own batch."""
    from .replayed_screening import screened

    with screened(case) as screen:
        for seed in seeds:
            start = priors(case.labels, seed)
            in_order = read_until_found(screen(seed), case.labels, start)
            yield figures(in_order, read_with_certificate(screen(seed), case.labels, start), case.labels)


def figures(in_order: Read, certified: Read, labels: Sequence[bool]) -> dict[str, Any]:
    """Return the figures of one seed's two readings, as JSON values."""
    curve = in_order.curve
    return {
        "n": curve.records,
        "includes": curve.includes,
        **{f"read_{recall * 100:.0f}": curve.share_read(recall) for recall in RECALLS},
        "wss_95": curve.saved(0.95),
        "stops": [asdict(one) for one in (*stops(in_order, labels), certificate_stop(certified))],
        "order": list(in_order.order),
    }


def main() -> None:
    known = cases()
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reading_replay", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "cases", nargs="*", metavar="CASE", help="those whose name begins so; none: the four of docs/quality.md"
    )
    parser.add_argument(
        "--simulate", metavar="KIND", help='a simulated review instead: {"auc": 0.9, "prevalence": 0.02, "drift": 1}'
    )
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument(
        "--through-ledger", action="store_true", help="the whole way, in pages of 20; sets with a model"
    )
    parser.add_argument("--asreview", type=Path, metavar="FILE", help="what `benchmarks.asreview_runs` wrote")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, seed by seed")
    parser.add_argument("--known", action="store_true", help="go on with what --json names")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables there too")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw the curves of finding there, as SVG")
    given = parser.parse_args()
    wanted = (
        [one for name, one in known.items() if name.startswith(tuple(given.cases))] if given.cases else main_cases()
    )
    if given.simulate is not None:
        try:
            wanted = [simulated_case(Kind(**json.loads(given.simulate)))]
        except (TypeError, ValueError) as error:
            parser.error(f"--simulate: {error}")
    if given.through_ledger:
        wanted = [one for one in wanted if one.judge is not None]  # what nobody screened has no batch
    if not wanted:
        parser.error(f"no case begins with {given.cases}; there are: {'; '.join(known)}")
    found: dict[str, dict[str, Any]] = (
        json.loads(given.json.read_text("utf-8")) if given.known and given.json and given.json.exists() else {}
    )
    read = replay_through_ledger if given.through_ledger else replay
    for case in wanted:
        runs = found.setdefault(case.name, {})
        seeds = [seed for seed in range(given.seeds) if str(seed) not in runs]
        for seed, one in zip(seeds, read(case, seeds) if seeds else (), strict=True):
            runs[str(seed)] = one
            sys.stderr.write(f"{case.name}, seed {seed}: {one['read_95']:.3f}\n")
            if given.json is not None:
                given.json.write_text(json.dumps(found) + "\n", "utf-8")
    beside = json.loads(given.asreview.read_text("utf-8")) if given.asreview else {}
    text = to_markdown(found, beside)
    sys.stdout.write(text)
    if given.markdown is not None:
        given.markdown.write_text(text, "utf-8")
    if given.figure is not None:
        given.figure.write_text(draw_curves(found, beside, {one.name: one.labels for one in wanted}), "utf-8")


if __name__ == "__main__":
    main()
