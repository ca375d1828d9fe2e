"""The status of a record, by the model's status, its verdicts, their quotes and the policies. Pure.

| model | a criterion failed | none failed, one is unclear | none failed, none is unclear |
|---|---|---|---|
| include | uncertain | include | include |
| exclude | exclude, where one of them is verified; else uncertain | uncertain | uncertain |
| uncertain | uncertain | uncertain | uncertain |

A criterion failed where an inclusion criterion is not met or an exclusion criterion is met; under the policy `exclude`
for unclear verdicts also where an inclusion criterion is unclear. Under their policy `refer` every status is uncertain
as soon as one verdict is unclear.

A failed criterion is verified where the record holds its quote, or where its verdict needs none: it is not met by
silence and no quote is given, or unclear and counted as failed. Of an answer whose quotes are all invented or altered
no silence is verified either, whichever verdicts they were given for: who invents words has not found the record
silent. Under the policy `exclude` for unverified exclusions every failed criterion counts as verified.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tamis_schemas import Criterion, InclusionStatus, UncertainReason, UnclearPolicy, UnverifiedPolicy, Verdict
from tamis_schemas.answers.results import CriterionVerdict

Verdicts = Mapping[str, CriterionVerdict]  # by label


@dataclass(frozen=True)
class Conclusion:
    """The status of a record, the criteria that decided it, and why it is uncertain where the model said otherwise.

    Those that decided: the failed and verified ones (exclude), those met (include), those left open (uncertain). The
    first of an exclusion's is its reason; it has at least one.
    """

    status: InclusionStatus
    deciding: tuple[Criterion, ...]
    uncertain_reason: UncertainReason | None = None


def conclude(
    model_status: InclusionStatus,
    criteria: Sequence[Criterion],
    verdicts: Verdicts,
    unclear: UnclearPolicy,
    unverified: UnverifiedPolicy,
) -> Conclusion:
    """The conclusion from the model's status. Criteria stay in their order: inclusion criteria first."""
    failed = [each for each in criteria if _fails(each, verdicts[each.label].verdict, unclear)]
    quotes = [verdict.quote for verdict in verdicts.values() if verdict.quote is not None]
    invents = bool(quotes) and not any(quote.found for quote in quotes)
    any_stands = unverified is UnverifiedPolicy.EXCLUDE
    standing = [each for each in failed if any_stands or _verified(verdicts[each.label], invents=invents)]
    open_ = [each for each in criteria if verdicts[each.label].verdict is Verdict.UNCLEAR]
    refers = bool(open_) and unclear is UnclearPolicy.REFER
    match model_status:
        case InclusionStatus.UNCERTAIN:
            return Conclusion(model_status, tuple(open_))
        case _ if refers:
            return Conclusion(InclusionStatus.UNCERTAIN, tuple(open_), UncertainReason.UNCLEAR)
        case InclusionStatus.INCLUDE if not failed:
            return Conclusion(
                model_status, tuple(each for each in criteria if _met(each, verdicts[each.label].verdict))
            )
        case InclusionStatus.EXCLUDE if standing:
            return Conclusion(model_status, tuple(standing))
        case InclusionStatus.EXCLUDE if failed:
            left = tuple(each for each in criteria if each in failed or each in open_)
            return Conclusion(InclusionStatus.UNCERTAIN, left, UncertainReason.UNVERIFIED)
        case _:
            return Conclusion(InclusionStatus.UNCERTAIN, tuple(open_), UncertainReason.CONTRADICTED)


def _fails(criterion: Criterion, verdict: Verdict, unclear: UnclearPolicy) -> bool:
    if criterion.excludes:
        return verdict is Verdict.MET
    return verdict.denies or (verdict is Verdict.UNCLEAR and unclear is UnclearPolicy.EXCLUDE)


def _verified(verdict: CriterionVerdict, *, invents: bool) -> bool:
    """True of a failed criterion whose verdict may be relied upon: by words of the record, or without any."""
    if verdict.verdict is Verdict.UNCLEAR:
        return True
    if verdict.quote is None:
        return verdict.verdict is Verdict.SILENT and not invents
    return verdict.quote.found


def _met(criterion: Criterion, verdict: Verdict) -> bool:
    return not criterion.excludes and verdict is Verdict.MET
