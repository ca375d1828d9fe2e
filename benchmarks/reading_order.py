"""The effect of each part of the reading order: score alone, text alone, both, with and without exploration.

    python -m benchmarks.reading_order [--seeds 10] [--json FILE] [--asreview FILE] [SET ...]

People's decisions are the labels of the sets in `../shared/data`. Each seed begins with an included and an excluded
record, as the runs of ASReview do (`benchmarks.asreview_runs`). These two records count as read. The order is updated
after each of the first 300 decisions, then after every fifth. The output has medians over seeds: the share of records
read for 95, 98 and 100 % of the includes, and the work saved over sampling (WSS@95). FILE gets every seed. For servers,
pages and stop rules, see `benchmarks.reading_replay`.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TypeAlias

from tamis_review.order.exploration import EXPLORE, with_exploration
from tamis_review.order.ranking import rank
from tamis_review.order.text_features import TextFeatures

from .asreview_runs import SEEDS, Priors, priors
from .reading_cases import RECORDED, Case, cases
from .reading_curve import RECALLS, ReadingCurve
from .report import Table

Figures: TypeAlias = Mapping[str, float | None]  # read_95, read_98, read_100, wss_95

ONE_BY_ONE = 300  # decisions that are followed by a new order each: of ptsd pages of five from 100 on read a tenth more
THEN = 5  # decisions, from then on
COLUMNS = ("set", "order", "explored", "95 %", "98 %", "100 %", "WSS@95", "ASReview 95 %", "ratio")


def read(
    features: TextFeatures,
    scores: Sequence[float | None],
    labels: Sequence[bool],
    start: Priors,
    *,
    seed: int,
    explore: float = EXPLORE,
    learns: bool = True,
) -> ReadingCurve:
    """Read until every include is found, and return the curve. `learns=False`: read in the order of the scores."""
    order = [start.included, start.excluded]
    known = {row: labels[row] for row in order}
    while sum(known.values()) < sum(labels):
        learned = known if learns else {}
        best = [record.row for record in rank(features, scores, learned, seed=seed).records]
        rows, _ = with_exploration(best, read=len(learned), share=explore, seed=seed)
        page = 1 if len(known) < ONE_BY_ONE else THEN
        new = [row for row in rows if row not in known]
        for row in new[: page if learns else None]:
            known[row] = labels[row]
            order.append(row)
    return ReadingCurve.of(order, labels)


def figures(curve: ReadingCurve) -> Figures:
    """Return the figures of a reading."""
    return {**{f"read_{recall * 100:.0f}": curve.share_read(recall) for recall in RECALLS}, "wss_95": curve.saved()}


def measure(case: Case, seeds: int) -> Iterator[tuple[str, float, dict[str, Figures]]]:
    """Yield for each way to order a set's records its name, the share of exploration, and the figures by seed."""
    fused = case.judge is not None
    ways = [("score and text" if fused else "text", explore, True) for explore in (EXPLORE, 0.0)]
    for name, explore, learns in [*ways, *([("score", 0.0, False)] if fused else [])]:
        runs = {}
        for seed in range(seeds):
            curve = read(
                case.features,
                case.scores(seed),
                case.labels,
                priors(case.labels, seed),
                seed=seed,
                explore=explore,
                learns=learns,
            )
            runs[str(seed)] = figures(curve)
            sys.stderr.write(f"{case.name}, {name}, explored {explore:g}, seed {seed}: {runs[str(seed)]['read_95']}\n")
        yield name, explore, runs


def main() -> None:
    """Measure the sets whose names begin with a given name, or all sets."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reading_order",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sets", nargs="*", metavar="SET")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every seed's figures there")
    parser.add_argument("--asreview", type=Path, metavar="FILE", help="what `benchmarks.asreview_runs` wrote")
    given = parser.parse_args()
    beside = json.loads(given.asreview.read_text("utf-8")) if given.asreview else {}
    found, rows = [], []
    for name, case in cases().items():
        if case.judge not in (None, RECORDED) or (given.sets and not name.startswith(tuple(given.sets))):
            continue
        theirs = [run["read_95"] for run in beside.get(case.reviewed.name, {}).values()]
        for way, explore, runs in measure(case, given.seeds):
            found.append({"set": case.reviewed.name, "order": way, "explored": explore, "seeds": runs})
            medians = [median(run[key] or 0 for run in runs.values()) for key in next(iter(runs.values()))]
            other = median(theirs) if theirs else None
            shown = (*medians, other, medians[0] / other if other else None)
            rows.append((case.reviewed.name, way, explore, *shown))
    if not rows:
        parser.error(f"no set begins with {given.sets}; there are: {'; '.join(cases())}")
    sys.stdout.write(Table("The reading order's parts", COLUMNS, rows).to_markdown() + "\n")
    if given.json is not None:
        given.json.write_text(json.dumps(found) + "\n", "utf-8")


if __name__ == "__main__":
    main()
