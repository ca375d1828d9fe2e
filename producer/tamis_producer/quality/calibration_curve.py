"""Whether a confidence means what it says: the reliability curve and the expected calibration error."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from tamis_schemas import Proportion, wilson

from .figure import Figure

BINS = 10


class Bin(BaseModel):
    """The decisions whose confidence lies in a tenth: from `low` up to, not including, `high`; the last one with 1."""

    model_config = ConfigDict(frozen=True)

    low: float
    high: float
    n: int
    confidence: float | None  # the mean of the decisions' own; None where there are none
    right: Proportion  # of these decisions, those that the human shares


class Reliability(BaseModel):
    """The reliability curve, and how far it lies from the diagonal."""

    model_config = ConfigDict(frozen=True)

    n: int
    bins: tuple[Bin, ...]
    ece: Figure  # expected calibration error, 0 to 1
    right: Proportion  # over all of them
    confidence: float | None  # the mean over all of them


def reliability(decisions: Sequence[tuple[float, bool]]) -> Reliability:
    """The curve over decisions: pairs of the confidence in one and whether the human decided alike.

    ECE = sum over bins of n(b) / n * |share right(b) - mean confidence(b)|, with ten bins of equal width.

    Source: Naeini, M. P., Cooper, G. F., Hauskrecht, M. (2015), Obtaining well calibrated probabilities using Bayesian
    binning, AAAI 29; Guo, C., Pleiss, G., Sun, Y., Weinberger, K. Q. (2017), On calibration of modern neural networks,
    ICML, PMLR 70, 1321-1330.
    """
    held: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for confidence, right in decisions:
        held[min(int(confidence * BINS), BINS - 1)].append((confidence, right))
    bins = tuple(_bin(place, members) for place, members in enumerate(held))
    n = len(decisions)
    away = sum(
        one.n * abs(one.right.estimate - one.confidence)
        for one in bins
        if one.right.estimate is not None and one.confidence is not None
    )
    ece = Figure(value=away / n) if n else Figure(reason="the model decided no labelled record")
    everything = _bin(0, decisions)
    return Reliability(n=n, bins=bins, ece=ece, right=everything.right, confidence=everything.confidence)


def _bin(place: int, members: Sequence[tuple[float, bool]]) -> Bin:
    n = len(members)
    return Bin(
        low=place / BINS,
        high=(place + 1) / BINS,
        n=n,
        confidence=sum(confidence for confidence, _ in members) / n if n else None,
        right=wilson(sum(right for _, right in members), n),
    )
