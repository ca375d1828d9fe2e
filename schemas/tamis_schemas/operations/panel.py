"""A panel: several models that are asked about each record, and the policy that combines their answers.

| policy | decision on a record |
|---|---|
| `any` | included if any model includes it; else the answer of more than half of the models, else uncertain |
| `majority` | the answer of more than half of the models; else uncertain |
| `mean` | by the mean of the models' scores for inclusion: included above 0.5, excluded below, uncertain at 0.5 |
| `unanimous-exclude` | excluded if all models exclude it; included if any includes it; else uncertain |

A model's score for inclusion is its confidence if it includes, 1 - its confidence if it excludes, and 0.5 if it is
uncertain. A model that failed has no vote. The panel then has a decision only if all possible votes of the missing
models lead to the same decision.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, product
from typing import Annotated, Any, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from ..answers.results import InclusionStatus
from ..values.frozen import Frozen
from ..values.words import Words

MOST_MODELS = 7
HALF = 0.5
DIGITS = 12  # of a score: the mean of 0.9 and 1 - 0.9 is 0.5


class PanelPolicy(StrEnum):
    """The policy that combines the models' answers."""

    ANY = "any"
    MAJORITY = "majority"
    MEAN = "mean"
    UNANIMOUS_EXCLUDE = "unanimous-exclude"


@dataclass(frozen=True, slots=True)
class Vote:
    """A model's answer on a record."""

    status: InclusionStatus
    score: float  # for inclusion


# The most extreme votes of a missing model: every policy is monotone in a score between them.
POSSIBLE = (
    Vote(InclusionStatus.INCLUDE, 1.0),
    Vote(InclusionStatus.EXCLUDE, 0.0),
    Vote(InclusionStatus.UNCERTAIN, HALF),
)


class Panel(Frozen):
    """The models that are asked about every record of a batch, and the policy that combines their answers."""

    model_config = ConfigDict(extra="forbid")

    models: Annotated[Sequence[Words], AfterValidator(tuple)] = Field(min_length=1, max_length=MOST_MODELS)
    policy: PanelPolicy = PanelPolicy.UNANIMOUS_EXCLUDE

    @model_validator(mode="after")
    def _checked(self) -> Self:
        twice = [model for model, count in Counter(self.models).items() if count > 1]
        if twice:
            raise ValueError(
                f"models: {twice[0]!r} is named twice, but a model repeats its errors: name different models"
            )
        if len(self.models) == 1:
            raise ValueError("models: a panel needs several models; name more, or omit the panel")
        return self

    @property
    def words(self) -> str:
        """The models in one line, for people and in place of a model's name."""
        return ", ".join(self.models)


def decision(policy: PanelPolicy, votes: Sequence[Vote | None]) -> InclusionStatus | None:
    """Return the decision by the policy. A None in `votes` is a missing vote.

    Return None if a missing vote could change the decision.
    """
    missing = sum(vote is None for vote in votes)
    present = [vote for vote in votes if vote is not None]
    possible = {_decision(policy, [*present, *others]) for others in product(POSSIBLE, repeat=missing)}
    return possible.pop() if len(possible) == 1 else None


def _decision(policy: PanelPolicy, votes: Sequence[Vote]) -> InclusionStatus:
    statuses = Counter(vote.status for vote in votes)
    includes = statuses[InclusionStatus.INCLUDE] > 0
    match policy:
        case PanelPolicy.MEAN:
            mean = mean_score(votes)
            if mean == HALF:
                return InclusionStatus.UNCERTAIN
            return InclusionStatus.INCLUDE if mean > HALF else InclusionStatus.EXCLUDE
        case PanelPolicy.UNANIMOUS_EXCLUDE if not includes:
            unanimous = statuses[InclusionStatus.EXCLUDE] == len(votes)
            return InclusionStatus.EXCLUDE if unanimous else InclusionStatus.UNCERTAIN
        case PanelPolicy.ANY | PanelPolicy.UNANIMOUS_EXCLUDE if includes:
            return InclusionStatus.INCLUDE
    ((most, count),) = statuses.most_common(1)
    return most if 2 * count > len(votes) else InclusionStatus.UNCERTAIN


def mean_score(votes: Sequence[Vote]) -> float:
    """Return the panel's score for inclusion: the mean of its models' scores."""
    return round(sum(vote.score for vote in votes) / len(votes), DIGITS)


def confidence_in(status: InclusionStatus, score: float) -> float:
    """Return a panel's confidence in its decision, from its `score` for inclusion.

    The confidence is `score` for an include, `1 - score` for an exclude, and `1 - |2 * score - 1|` for `uncertain`.
    """
    match status:
        case InclusionStatus.INCLUDE:
            return score
        case InclusionStatus.EXCLUDE:
            return round(1 - score, DIGITS)
    return round(1 - abs(2 * score - 1), DIGITS)


def disagreement(statuses: Sequence[InclusionStatus]) -> float | None:
    """Return the share of pairs of models that disagree, 0 to 1; None if there is no pair."""
    pairs = list(combinations(statuses, 2))
    return sum(first is not second for first, second in pairs) / len(pairs) if pairs else None


def panel_of(operation: object) -> Panel | None:
    """Return the panel of an operation; None if the operation has no panel."""
    panel = getattr(operation, "panel", None)
    return panel if isinstance(panel, Panel) else None


def models_of(operation: object, model: str | None) -> tuple[str | None, ...]:
    """Return the models that a batch asks: a panel's models, or only `model`. A None means the workers' model."""
    panel = panel_of(operation)
    return (model,) if panel is None else tuple(panel.models)


def models_in(params: Mapping[str, Any], model: str | None) -> tuple[str | None, ...]:
    """Return the models that a batch asks, from its parameters in the ledger. A None means the workers' model."""
    panel = params.get("panel")
    return (model,) if panel is None else tuple(panel["models"])
