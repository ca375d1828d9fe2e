"""How well calibrated is a probability from an answer's tokens, and how much does calibration by decisions improve it?

    python -m benchmarks.score_calibration

The data are GPT-4o-mini's recorded answers for a published review (Kwok and others 2020: 2,477 records, 119 of them
included), with the probability of each deciding token. For random samples of decided records, the table has the
expected calibration error (ECE) of the raw probability and of the cross-fitted probability. It also has the ECE of the
curve for the undecided records, which is the curve's purpose.
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
    """A model's answer about each record, and people's decision."""

    probabilities: tuple[float, ...]  # of inclusion
    said: tuple[bool, ...]  # the model's decision
    labels: tuple[bool, ...]


@dataclass(frozen=True)
class Figures:
    """One row of the table: means over the seeds whose sample allowed a calibration."""

    decided: int
    borne: int  # number of these seeds
    methods: tuple[str, ...]
    before: float | None  # ECE of the raw probability; None: no sample allowed a calibration
    cross_fitted: float | None  # ECE of the cross-fitted probability
    rest_before: float | None  # ECE of the undecided records before calibration; None: there are none
    rest_after: float | None  # ECE of the undecided records after calibration


def recorded() -> Recorded:
    """Return the recorded answers, with the probability of inclusion from the token that the model wrote."""
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
    """Return the errors with samples of `decided` records; None: with all records."""
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
    """Return the expected calibration error of scores that are used as probabilities of inclusion."""
    value = reliability(list(zip(scores, labels, strict=True))).ece.value
    assert value is not None  # noqa: S101 - there are records
    return value


def main() -> None:
    """Print the table, in Markdown."""
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
