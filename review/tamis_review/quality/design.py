"""The interval that labelled records allow a figure: an ordinary one, a wider one, or none.

An interval whose half width is z standard errors is, with a design effect, z * sqrt(deff) of them; that is the interval
of the level to which this z belongs. Wilson's, the delta method's, DeLong's and that of a profile likelihood (whose
limit is z squared) all depend on the level by z alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

from .agreement import Agreement
from .design_effect import design_effect
from .figure import LEVEL, Figure
from .judged import Judged
from .sampling import Lie, Sampling

WIDEST = 8.0  # standard errors; beyond it a level cannot be told from 1
SELECTED = "no interval: the labelled records are no random sample of the batch"
ALIKE = "no interval: the labelled records of a block are too much alike"


@dataclass(frozen=True)
class Design:
    """The position of the labelled records, as it bears on figures about them."""

    sampling: Sampling

    def figure(
        self, make: Callable[[float], Figure], records: Sequence[Judged], counted: Callable[[Judged], bool]
    ) -> Figure:
        """A figure with the interval that it may have.

        Args:
            make: gives it with an interval of a level.
            records: that it is made of.
            counted: of which of them it is the share; of other figures, which of them speak for the system.
        """
        level = self.level(records, counted)
        made = make(LEVEL if level is None else level)
        return made.without_interval(self._reason) if level is None else made.model_copy(update={"level": LEVEL})

    def agreement(
        self, make: Callable[[float], Agreement], records: Sequence[Judged], counted: Callable[[Judged], bool]
    ) -> Agreement:
        """The same of kappa and AC1."""
        level = self.level(records, counted)
        made = make(LEVEL if level is None else level)
        ends = {} if level is not None else dict.fromkeys(("kappa_low", "kappa_high", "ac1_low", "ac1_high"))
        return made.model_copy(update={"level": LEVEL, **ends})

    def level(self, records: Sequence[Judged], counted: Callable[[Judged], bool]) -> float | None:
        """The level at which an interval over these records is as wide as it has to be; None: there may be none."""
        match self.sampling.lie:
            case Lie.CENSUS | Lie.RANDOM:
                return LEVEL
            case Lie.SELECTED:
                return None
        blocks = [self.sampling.block_of[one.index] for one in records]
        deff = design_effect(blocks, [counted(one) for one in records])
        errors = NormalDist().inv_cdf((1 + LEVEL) / 2) * sqrt(deff)
        return None if errors > WIDEST else 2 * NormalDist().cdf(errors) - 1 if deff > 1 else LEVEL

    @property
    def _reason(self) -> str:
        return SELECTED if self.sampling.lie is Lie.SELECTED else ALIKE
