"""Calibration of a confidence: the reliability curve and the expected calibration error."""

from collections.abc import Callable, Sequence

from tamis_schemas import Proportion, wilson
from tamis_schemas.values.frozen import Frozen

from .figure import LEVEL, Figure

BINS = 10


class Bin(Frozen):
    """The decisions whose confidence lies in a tenth: from `low` up to, not including, `high`; the last one with 1."""

    low: float
    high: float
    n: int
    confidence: float | None  # the mean of the decisions' own; None where there are none
    right: Proportion  # of these decisions, those that the human shares


class Reliability(Frozen):
    """The reliability curve, and how far it lies from the diagonal."""

    n: int
    bins: tuple[Bin, ...]
    ece: Figure  # expected calibration error, 0 to 1
    right: Proportion  # over all of them
    confidence: float | None  # the mean over all of them


def reliability(
    decisions: Sequence[tuple[float, bool]], level_of: Callable[[Sequence[int]], float | None] = lambda _: LEVEL
) -> Reliability:
    """The curve over decisions: pairs of the confidence in one and whether the human decided alike.

    Args:
        decisions: in any order.
        level_of: of the interval around the share of some decisions, by their places; None: there is none.

    ECE = sum over bins of n(b) / n * |share right(b) - mean confidence(b)|, with ten bins of equal width.

    Source: Naeini, M. P., Cooper, G. F., Hauskrecht, M. (2015), Obtaining well calibrated probabilities using Bayesian
    binning, AAAI 29; Guo, C., Pleiss, G., Sun, Y., Weinberger, K. Q. (2017), On calibration of modern neural networks,
    ICML, PMLR 70, 1321-1330.
    """
    held: list[list[int]] = [[] for _ in range(BINS)]
    for at, (confidence, _) in enumerate(decisions):
        held[min(int(confidence * BINS), BINS - 1)].append(at)

    def bin_of(place: int, members: Sequence[int]) -> Bin:
        n, level = len(members), level_of(members)
        right = wilson(sum(decisions[at][1] for at in members), n, LEVEL if level is None else level)
        ends = {"low": None, "high": None} if level is None else {}
        return Bin(
            low=place / BINS,
            high=(place + 1) / BINS,
            n=n,
            confidence=sum(decisions[at][0] for at in members) / n if n else None,
            right=right.model_copy(update={"level": LEVEL, **ends}),
        )

    bins = tuple(bin_of(place, members) for place, members in enumerate(held))
    n = len(decisions)
    away = sum(
        one.n * abs(one.right.estimate - one.confidence)
        for one in bins
        if one.right.estimate is not None and one.confidence is not None
    )
    ece = Figure(value=away / n) if n else Figure(reason="the model decided no labelled record")
    everything = bin_of(0, range(n))
    return Reliability(n=n, bins=bins, ece=ece, right=everything.right, confidence=everything.confidence)
