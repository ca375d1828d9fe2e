"""Is a probability from an answer's tokens worth its number, and does calibration by people's decisions mend it?

    python -m benchmarks.score_calibration

Over the answers of GPT-4o-mini that were recorded for a published review (Kwok and others 2020: 2,477 records, 119 of
them included), with the probability of the token that decided each. For samples of decided records that were drawn at
random, with a seed each: the expected calibration error (ECE) of the probability as it is, and of the cross-fitted one;
beside it the ECE of the curve over the records that nobody has decided yet, which it is for.
"""

import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

from tamis_review.quality.figure import auc, reliability
from tamis_review.quality.score_calibration import cross_fitted, fit, method_for
from tamis_schemas.records.random_order import sample

from .labelled_sets import DATA

RECORDED = DATA / "recorded" / "kwok_2020_gpt4omini" / "records.csv"
SAMPLES = (200, 500, 1000, None)  # decided records; None: all of them
SEEDS = 20
SUREST = 0.9

T = TypeVar("T")


@dataclass(frozen=True)
class Recorded:
    """What a model answered about each record, and what people decided."""

    probabilities: tuple[float, ...]  # of inclusion
    said: tuple[bool, ...]  # the model's decision
    labels: tuple[bool, ...]


@dataclass(frozen=True)
class Figures:
    """One row of the table: means over the seeds with which the sample bore a calibration."""

    decided: int
    borne: int  # of the seeds
    methods: tuple[str, ...]
    before: float | None  # None: no sample bore one
    cross_fitted: float | None
    rest_before: float | None  # of the records that nobody has decided; None: there are none
    rest_after: float | None


def recorded() -> Recorded:
    """The recorded answers: the probability of the token that was written, of inclusion where it included."""
    with RECORDED.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    said = tuple(row["llm_include"] == "True" for row in rows)
    written = [float(row["llm_token_probability"]) / 100 for row in rows]
    return Recorded(
        tuple(p if include else 1 - p for p, include in zip(written, said, strict=True)),
        said,
        tuple(row["label"] == "1" for row in rows),
    )


def figures(data: Recorded, decided: int | None, seeds: int = SEEDS) -> Figures:
    """The errors with a sample of so many decided records; None: with all of them."""
    everything = range(len(data.labels))
    found: list[tuple[float | None, ...]] = []  # of each seed, the four errors
    methods: list[str] = []
    drawn = len(everything) if decided is None else decided
    for seed in range(seeds if decided is not None else 1):
        known = sorted(sample(everything, drawn, seed=seed))
        scores, labels = _of(data.probabilities, known), _of(data.labels, known)
        method, curve = method_for(labels), fit(scores, labels)
        fitted = cross_fitted(scores, labels, known, seed=seed)
        if method is None or curve is None or fitted is None:
            continue
        rest = sorted(set(everything) - set(known))
        raw, truth = _of(data.probabilities, rest), _of(data.labels, rest)
        mended = [curve.probability(score) for score in raw]
        of_rest = (ece(raw, truth), ece(mended, truth)) if rest else (None, None)
        methods.append(method.value)
        found.append((ece(scores, labels), ece(fitted, labels), *of_rest))
    means = [_mean([row[column] for row in found]) for column in range(4)]
    return Figures(drawn, len(found), tuple(dict.fromkeys(methods)), *means)


def ece(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """The expected calibration error of a score as the probability of inclusion."""
    value = reliability(list(zip(scores, labels, strict=True))).ece.value
    assert value is not None  # noqa: S101 - there are records
    return value


def main() -> None:
    """Print the table as Markdown."""
    data = recorded()
    out = sys.stdout.write
    whole, alone = (
        auc(*_split(scores, data.labels)).value for scores in (data.probabilities, [float(yes) for yes in data.said])
    )
    out(f"{len(data.labels):,} records, {sum(data.labels)} included; AUC of the probability {whole:.3f}, ")
    out(f"of the decision alone {alone:.3f}. ")
    surest = [label for score, label in zip(data.probabilities, data.labels, strict=True) if score >= SUREST]
    out(f"Of {len(surest)} records at {SUREST:g} and more people included {fmean(surest):.1%}.\n\n")
    out("| decided, drawn at random | method | samples that bear one | ECE before | ECE after, cross-fitted ")
    out("| ECE of the undecided before | after |\n|---|---|---|---|---|---|---|\n")
    for decided in SAMPLES:
        row = figures(data, decided)
        seeds = 1 if decided is None else SEEDS
        errors = (row.before, row.cross_fitted, row.rest_before, row.rest_after)
        cells = " | ".join("" if error is None else f"{error:.3f}" for error in errors)
        out(f"| {row.decided:,} | {', '.join(row.methods)} | {row.borne} of {seeds} | {cells} |\n")


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return fmean(there) if there else None


def _of(values: Sequence[T], places: Iterable[int]) -> list[T]:
    return [values[place] for place in places]


def _split(scores: Sequence[float], labels: Sequence[bool]) -> tuple[list[float], list[float]]:
    paired = list(zip(scores, labels, strict=True))
    return [score for score, yes in paired if yes], [score for score, yes in paired if not yes]


if __name__ == "__main__":
    main()
