"""How many includes people overlook while they read, measured on records that two of them read on their own.

Of the includes that at least one of the two saw, a share theta was overlooked by the other. Where each overlooks an
include with the probability mu on their own, theta = 2 mu (1 - mu) / (1 - mu^2) = 2 mu / (1 + mu), so

    mu = theta / (2 - theta)

Where the two differ, mu_A and mu_B, this is no less than their mean, and its square no less than mu_A mu_B, the
probability that both overlook it (for a given theta the product is largest where they are equal). Theta gets the
one-sided bound of Clopper and Pearson. What it assumes: that the two overlook includes independently of each other. An
include that is hard to see for anybody is overlooked by both more often than this says.

Were T records truly includes, those that the readers would include are at least Bin(T, 1 - mu) of them; the largest T
that their number leaves possible is the bound.

Source: two readers as two samples of a closed population (Kastner, M., Straus, S. E., McKibbon, K. A., Goldsmith, C. H.
(2009), The capture-mark-recapture technique can be used as a stopping rule when searching in systematic reviews,
Journal of Clinical Epidemiology 62, 149-157).
"""

from dataclasses import dataclass

from .exact import beta_below, largest, upper_bound

MOST_INCLUDES = 10_000_000  # where the search for the number of true includes ends


@dataclass(frozen=True)
class DoubleRead:
    """Records that two people decided independently, before anything was settled."""

    includes: int  # that at least one of them included, and that count as includes in the end
    missed_by_one: int  # of these, included by one of them alone

    def __post_init__(self) -> None:
        if not 0 <= self.missed_by_one <= self.includes:
            raise ValueError(f"{self.missed_by_one!r} of {self.includes!r} includes cannot have been missed by one")

    def miss_rate(self, level: float, readers: int = 1) -> float:
        """The bound on the probability that so many readers, each on their own, all overlook an include.

        Without an include that two people read it is 1.
        """
        theta = upper_bound(self.missed_by_one, self.includes, level)
        return float((theta / (2 - theta)) ** readers)


def may_have_been(total: int, seen: int, miss_rate: float, doubt: float) -> bool:
    """Return whether readers with this miss rate see `seen` or fewer of `total` includes with more than the doubt.

    P(Bin(total, 1 - miss_rate) <= seen) > doubt; of a rate of 1 always.
    """
    return total <= seen or miss_rate >= 1 or beta_below(miss_rate, total - seen, seen + 1) > doubt


def most_true_includes(seen: int, miss_rate: float, doubt: float) -> int | None:
    """The largest number of true includes that readers with this miss rate may have had before them; None: any.

    Args:
        seen: includes that they see, or would see if they read everything.
        miss_rate: the probability that they overlook an include.
        doubt: the probability that the bound is too small.
    """
    too_many = 2 * seen + 1
    while may_have_been(too_many, seen, miss_rate, doubt):
        if too_many > MOST_INCLUDES:
            return None
        too_many = 2 * too_many
    return largest(seen, too_many - 1, lambda total: may_have_been(total, seen, miss_rate, doubt))
