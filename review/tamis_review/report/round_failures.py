"""The rounds of a report: what failed in each, in words, and whether that depends on what the records are."""

from dataclasses import dataclass

from tamis_schemas.batches.retry_bias import Comparison, RoundFailures

from .error_words import error_words
from .figures import Figures

ABOUT = (
    "A record that failed may be asked about again in a later round. Where failing depends on what a record is, the "
    "records without a decision, and those decided late, are no random part of all. The test is Pearson's chi-square "
    "test of independence; it is left out where fewer than four fifths of the expected counts are 5 or more, or any is "
    "below 1 (Cochran). A difference is named from p < 0.01 on, because each round is looked at in up to three ways."
)


@dataclass(frozen=True)
class RoundPart:
    """One round of one stage."""

    heading: str
    text: str
    comparisons: tuple[Comparison, ...]


def round_parts(figures: Figures) -> tuple[RoundPart, ...]:
    """The rounds of every batch in which something failed, or which has more than one; none of any other."""
    many = len(figures.batches) > 1
    return tuple(
        RoundPart(f"Stage {stage}, round {one.round}" if many else f"Round {one.round}", _text(one), one.comparisons)
        for stage, batch in enumerate(figures.batches, 1)
        if batch.failures.worth_telling
        for one in batch.failures.rounds
    )


def _text(one: RoundFailures) -> str:
    kinds = ", ".join(f"{error_words(kind)} ({n:,})" for kind, n in one.kinds.items())
    failed = f"{one.failed:,} of {one.evaluated:,} records failed" + (f": {kinds}." if kinds else ".")
    share = one.pass_rate
    if share.estimate is None or share.low is None or share.high is None:
        return failed
    return (
        f"{failed} Of the {share.total:,} decided in it, {share.count:,} passed ({share.estimate:.1%}, "
        f"{share.level:.0%} interval {share.low:.1%} to {share.high:.1%})."
    )
