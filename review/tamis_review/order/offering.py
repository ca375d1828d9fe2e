"""The records that a person is offered: those of an order, without what is decided by now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from tamis_schemas import ReadingReason

from .candidates import HumanSays
from .order_store import ReadingOrder


@dataclass(frozen=True)
class Offered:
    """A record that a person may read, at its place in the order."""

    index: int
    reason: ReadingReason
    probability: float | None


def offered(
    order: ReadingOrder,
    human: Mapping[int, HumanSays],
    *,
    reviewer: str | None = None,
    first: Sequence[int] = (),
    disputed: Sequence[int] = (),
) -> list[Offered]:
    """Return all records that may be read, the next one first.

    Those in `first` come before all others, in the order given; what rules exclude comes last. A record in conflict is
    undecided. With a `reviewer`: the records that this person has not decided on, those that others have coming first,
    in the order in which they did, so that who reads in pairs reads the same records. Behind these come the `disputed`,
    on which models differ, in the order given.
    """
    sampled: dict[int, Offered] = {}
    by_others: list[tuple[int, Offered]] = []
    others: list[Offered] = []
    ruled: list[Offered] = []
    drawn, apart = set(first), set(disputed)
    differed: dict[int, Offered] = {}
    for index, reason, probability in zip(order.places, order.reasons, order.probabilities, strict=True):
        says = human.get(index)
        if says is not None and (reviewer in says.reviewers if reviewer is not None else not says.conflict):
            continue
        if index in drawn:
            sampled[index] = Offered(index, ReadingReason.SAMPLE, probability)
        elif says is not None and reviewer is not None:
            by_others.append((says.first, Offered(index, ReadingReason.PAIR, None)))
        elif says is not None:
            others.append(Offered(index, ReadingReason.CONFLICT, probability))
        elif index in apart:
            differed[index] = Offered(index, ReadingReason.DISAGREEMENT, probability)
        else:
            (ruled if reason == ReadingReason.RULE else others).append(
                Offered(index, ReadingReason(reason), probability)
            )
    by_others.sort(key=lambda one: one[0])
    in_sample = (sampled[index] for index in first if index in sampled)
    in_dispute = (differed[index] for index in disputed if index in differed)
    return list(chain(in_sample, (one for _, one in by_others), in_dispute, others, ruled))


def by_number(records: Sequence[Offered]) -> list[Offered]:
    """Return the same records as people who read blind are offered them: no place and no figure tells a decision.

    The sample and what others have begun stay first, what rules exclude last; all others come by their number.
    """
    kept = {ReadingReason.SAMPLE, ReadingReason.PAIR}
    first = [one for one in records if one.reason in kept]
    ruled = [one for one in records if one.reason is ReadingReason.RULE]
    others = [one for one in records if one.reason not in {*kept, ReadingReason.RULE}]
    numbered = [replace(one, reason=ReadingReason.NUMBER) for one in sorted(others, key=lambda one: one.index)]
    ruled.sort(key=lambda one: one.index)
    return [replace(one, probability=None) for one in (*first, *numbered, *ruled)]
