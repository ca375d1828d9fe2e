"""Does the report distinguish shared errors from independent errors? Simulated panels with known labels.

    python -m benchmarks.panels

Each model sees a value: the record's true class (included or not) plus noise. The model includes the record if this is
above its threshold. One part of the noise is shared by all models, the other is each model's own. If no noise is
shared, models err independently on records of one class. If all noise is shared, they err on the same records. The last
panel has an additional model that repeats the first model's answers, which adds nothing.
"""

import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import exp, sqrt

from tamis_review.quality.panel_figures import PanelFigures, panel_figures
from tamis_review.quality.panel_record import PanelRecord, Word
from tamis_review.quality.shared_errors import Sharing
from tamis_schemas import InclusionStatus, Panel, PanelPolicy, Verdict
from tamis_schemas.operations.panel import Vote

RECORDS, PREVALENCE = 1_000, 0.1
DISTANCE = 2.0  # of the classes, in standard deviations of what a model sees: an AUC of 0.92
THRESHOLD = 0.9  # of a model: it misses 14 % of the includes and keeps 18 % of the others
BAND = 0.1  # around the threshold it is uncertain
STEEPNESS = 1.5  # of the confidence, by the distance from the threshold
PANELS = 200  # of each kind
SEED = 1


@dataclass(frozen=True)
class Simulated:
    """A panel's verdicts on the records of one review, and the true labels."""

    panel: Panel
    records: tuple[PanelRecord, ...]
    human: Mapping[int, bool]

    @property
    def figures(self) -> PanelFigures:
        """The report's figures for the panel."""
        return panel_figures(self.panel, self.records, self.human)


def simulated(
    shared: float,
    seed: int,
    *,
    models: int = 3,
    repeats_first: bool = False,
    records: int = RECORDS,
    policy: PanelPolicy = PanelPolicy.UNANIMOUS_EXCLUDE,
) -> Simulated:
    """Return a panel whose models share this part (0 to 1) of the variance of their noise.

    `repeats_first`: add a model that repeats the first model's answers.
    """
    draw = random.Random(f"{shared} {seed}")  # noqa: S311 - a simulation
    human, judged = {}, []
    for index in range(records):
        included = human[index] = draw.random() < PREVALENCE
        common = draw.gauss()
        seen = [DISTANCE * included + sqrt(shared) * common + sqrt(1 - shared) * draw.gauss() for _ in range(models)]
        words = tuple(_word(one) for one in (*seen, *seen[:repeats_first]))
        judged.append(PanelRecord(index, f"r{index}", words))
    names = tuple(f"model-{number + 1}" for number in range(models + repeats_first))
    return Simulated(Panel(models=names, policy=policy), tuple(judged), human)


def _word(seen: float) -> Word:
    above = seen - THRESHOLD
    confidence = 1 / (1 + exp(-STEEPNESS * abs(above)))
    if abs(above) < BAND:
        return Word(Vote(InclusionStatus.UNCERTAIN, 0.5), {"I1": Verdict.UNCLEAR})
    if above > 0:
        return Word(Vote(InclusionStatus.INCLUDE, confidence), {"I1": Verdict.MET})
    return Word(Vote(InclusionStatus.EXCLUDE, 1 - confidence), {"I1": Verdict.NOT_MET})


@dataclass(frozen=True)
class Told:
    """The figures in the reports of many panels of one kind."""

    shared: float  # share of panels with at least one pair of models that the report says shares misses
    every_pair: float  # share of these pairs among all pairs
    ratio: float  # mean of joint misses / joint misses if the models erred independently
    phi: float  # mean
    recall_one: float  # mean share of the includes that the first model keeps
    recall: float  # mean share of the includes that the whole panel keeps


def told(shared: float, panels: int, *, seed: int = SEED) -> Told:
    """Return the figures of `panels` panels of three models that share this part of their noise."""
    figures = [simulated(shared, seed * 10_000 + number).figures for number in range(panels)]
    errors = [pair.misses for one in figures for pair in one.pairs if pair.misses is not None]
    said = [
        [pair.misses is not None and pair.misses.sharing is Sharing.SHARED for pair in one.pairs] for one in figures
    ]
    return Told(
        shared=_mean([float(any(pairs)) for pairs in said]),
        every_pair=_mean([float(pair) for pairs in said for pair in pairs]),
        ratio=_mean([one.joint / one.expected if one.expected else 0.0 for one in errors]),
        phi=_mean([one.phi or 0.0 for one in errors]),
        recall_one=1 - _mean([one.members[0].missed.estimate or 0.0 for one in figures]),
        recall=_mean([one.brought[0].recall_with.estimate or 0.0 for one in figures]),
    )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def table(panels: int) -> Iterator[str]:
    """Yield the lines of the table, in Markdown."""
    yield (
        "| shared part of the noise | panels said to share misses | pairs | joint misses / expected | phi "
        "| recall of one model | of the panel |"
    )
    yield "|---:|---:|---:|---:|---:|---:|---:|"
    for shared in (0.0, 0.1, 0.3, 0.6, 0.9):
        one = told(shared, panels)
        yield (
            f"| {shared:.0%} | {one.shared:.1%} | {one.every_pair:.1%} | {one.ratio:.2f} | {one.phi:.2f} "
            f"| {one.recall_one:.3f} | {one.recall:.3f} |"
        )


def main() -> None:
    """Print the table, and in how many panels the report says that the repeating model adds nothing."""
    sys.stdout.write("\n".join(table(PANELS)) + "\n")
    repeated = [simulated(0.0, SEED * 10_000 + number, repeats_first=True).figures for number in range(PANELS)]
    named = sum(one.brought[-1].nothing for one in repeated)
    sys.stdout.write(
        f"\nThe model that repeats the first one is said to bring nothing in {named} of {PANELS} panels.\n"
    )


if __name__ == "__main__":
    main()
