"""The numbers of a published review, counted from its files without Tamis. A replay must give the same numbers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .replay_inputs import Decision, FullText


@dataclass(frozen=True)
class Published:
    """The review's numbers."""

    screened: int  # rows that both people decided
    includes: Mapping[str, int]  # of each person
    both: int  # rows that both people included
    conflicts: int
    kappa: float
    resolved: Counter[str]  # conflicts by the third person's decision
    assessed: int  # full texts
    differing: int  # full texts on which the two people differ
    found_otherwise: int  # full texts from lists of references
    excluded: Counter[str]  # by reason
    included: int


def published(
    decided: Mapping[str, Sequence[Decision]], resolved: Sequence[Decision], assessed: Sequence[FullText]
) -> Published:
    """Return the numbers of these decisions."""
    one, other = ({decision.row: decision.says for decision in own} for own in decided.values())
    pairs = Counter((one[row], other[row]) for row in one)
    return Published(
        screened=len(one),
        includes={person: sum(own.says == "include" for own in said) for person, said in decided.items()},
        both=pairs["include", "include"],
        conflicts=pairs["include", "exclude"] + pairs["exclude", "include"],
        kappa=cohens_kappa(pairs),
        resolved=Counter(own.says for own in resolved),
        assessed=len(assessed),
        differing=sum(len(set(own.said.values())) > 1 for own in assessed),
        found_otherwise=sum(own.row is None for own in assessed),
        excluded=Counter(own.reason for own in assessed if own.reason is not None),
        included=sum(own.final == "include" for own in assessed),
    )


def cohens_kappa(pairs: Mapping[tuple[str, str], int]) -> float:
    """Return two people's agreement beyond chance: Cohen (1960), Educ Psychol Meas 20:37."""
    total = sum(pairs.values())
    agreed = sum(count for (one, other), count in pairs.items() if one == other) / total
    said = [Counter[str](), Counter[str]()]
    for both, count in pairs.items():
        for own, value in zip(said, both, strict=True):
            own[value] += count
    chance = sum(said[0][value] * said[1][value] for value in said[0]) / total**2
    return (agreed - chance) / (1 - chance)
