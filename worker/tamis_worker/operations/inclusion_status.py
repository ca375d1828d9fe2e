"""What a model's status comes to, given its own verdicts and the policy for unclear ones. Pure.

| said | a criterion failed | none failed, one is unclear | none failed, none is unclear |
|---|---|---|---|
| include | uncertain | include | include |
| exclude | exclude | uncertain | uncertain |
| uncertain | uncertain | uncertain | uncertain |

A criterion failed where an inclusion criterion is not met or an exclusion criterion is met; under the policy `exclude`
also where an inclusion criterion is unclear. Under the policy `refer` every status is uncertain as soon as one verdict
is unclear.
"""

from collections.abc import Mapping, Sequence

from tamis_schemas import Criterion, InclusionStatus, Verdict
from tamis_schemas.operations.inclusion import UnclearPolicy

Verdicts = Mapping[str, Verdict]  # by label


def failed(criteria: Sequence[Criterion], verdicts: Verdicts, unclear: UnclearPolicy) -> list[Criterion]:
    """The criteria that are a reason to exclude, in order: inclusion criteria first."""
    return [criterion for criterion in criteria if _fails(criterion, verdicts[criterion.label], unclear)]


def final_status(
    said: InclusionStatus, criteria: Sequence[Criterion], verdicts: Verdicts, unclear: UnclearPolicy
) -> InclusionStatus:
    """The status said, or uncertain where the verdicts contradict it or the policy refers the record to a person."""
    if unclear is UnclearPolicy.REFER and Verdict.UNCLEAR in verdicts.values():
        return InclusionStatus.UNCERTAIN
    against = bool(failed(criteria, verdicts, unclear))
    match said:
        case InclusionStatus.INCLUDE if not against:
            return said
        case InclusionStatus.EXCLUDE if against:
            return said
        case _:
            return InclusionStatus.UNCERTAIN


def deciding(
    status: InclusionStatus, criteria: Sequence[Criterion], verdicts: Verdicts, unclear: UnclearPolicy
) -> list[Criterion]:
    """The criteria that decided: those that failed (exclude), those met (include), those left open (uncertain)."""
    match status:
        case InclusionStatus.EXCLUDE:
            return failed(criteria, verdicts, unclear)
        case InclusionStatus.INCLUDE:
            return [c for c in criteria if not c.excludes and verdicts[c.label] is Verdict.MET]
        case InclusionStatus.UNCERTAIN:
            return [c for c in criteria if verdicts[c.label] is Verdict.UNCLEAR]


def _fails(criterion: Criterion, verdict: Verdict, unclear: UnclearPolicy) -> bool:
    if criterion.excludes:
        return verdict is Verdict.MET
    return verdict is Verdict.NOT_MET or (verdict is Verdict.UNCLEAR and unclear is UnclearPolicy.EXCLUDE)
