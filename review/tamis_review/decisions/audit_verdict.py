"""The verdict of an audit of exclusions on all of them: how many records were missed at most."""

from tamis_schemas import Audit, Stratum
from tamis_schemas.values.frozen import Frozen

from ..quality.exact import LEVEL, most_in_population, upper_bound

_DRAWN_FROM = {
    Stratum.ALL: "records excluded by software",
    Stratum.RULES: "records excluded by the rules of the initial filter",
    Stratum.MODEL: "records excluded by the model",
}


class AuditVerdict(Frozen):
    """An audit in numbers. A record of the sample that nobody has judged yet counts as missed, so the bounds hold."""

    stratum: Stratum
    population: int
    sample: int
    decided: int
    missed: int  # that a human would have included
    most: int  # in the population, with probability `level`, at most; those found among them
    most_share: float  # of the population
    binomial_share: float  # the bound of Clopper and Pearson on the share, which takes the population for endless
    level: float

    @property
    def undecided(self) -> int:
        return self.sample - self.decided

    @property
    def sentence(self) -> str:
        """The meaning of the numbers, for people."""
        of = f"{self.population:,} {_DRAWN_FROM[self.stratum]}"
        if not self.decided:
            return f"Of {of}, {_were(self.sample)} drawn at random; no decision of a human is recorded yet."
        judged = f"Of {of}, {_were(self.sample)} drawn at random and {self.decided:,} judged by a human"
        missing = f"{_records(self.missed)} should have been included"
        if self.sample == self.population and not self.undecided:
            return f"All {of} were judged by a human: {missing}."
        waiting = (
            f" The {_records(self.undecided)} not judged yet count as missed: the bound falls with each one "
            "rightly excluded."
            if self.undecided
            else ""
        )
        besides = f", with {'that one' if self.missed == 1 else f'those {self.missed:,}'} among them" * bool(
            self.missed
        )
        return (
            f"{judged}: {missing}. With {self.level:.0%} confidence at most {self.most:,} of all {self.population:,} "
            f"({self.most_share:.1%}) should have been{besides}.{waiting}"
        )


def verdict(audit: Audit, level: float = LEVEL) -> AuditVerdict:
    """The numbers of an audit."""
    missed, undecided = len(audit.missed), audit.sample - audit.decided
    most = most_in_population(missed + undecided, audit.sample, audit.population, level)
    return AuditVerdict(
        stratum=audit.stratum,
        population=audit.population,
        sample=audit.sample,
        decided=audit.decided,
        missed=missed,
        most=most,
        most_share=most / audit.population,
        binomial_share=upper_bound(missed + undecided, audit.sample, level),
        level=level,
    )


def _were(n: int) -> str:
    return "1 was" if n == 1 else f"{n:,} were"


def _records(n: int) -> str:
    return "1 record" if n == 1 else f"{n or 'no'} records" if n < 1_000 else f"{n:,} records"
