"""Labelled sets with their judges, as a team reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tamis_schemas import Inclusion, SearchCriteria

from .labelled_sets import LabelledSet, animal_review, labelled_sets
from .records import records
from .replayed_judges import Judgement, recorded_judgements, simulated_judgements
from .simulated_judges import Kind, simulate

if TYPE_CHECKING:
    from tamis_review.order.text_features import TextFeatures

ANIMALS = "kwok_2020_gpt4omini"
RECORDED = "GPT-4o-mini's recorded answers"
SIMULATED = Kind(auc=0.9, topics=20)
JUDGED_AT = f"a simulated model, AUC {SIMULATED.auc:g}, {SIMULATED.topics} topics"


@dataclass(frozen=True)
class Case:
    """A set and who judged its records before people read."""

    reviewed: LabelledSet
    judge: str | None  # None: no model
    kind: Kind | None = None  # of a simulated judge

    @property
    def name(self) -> str:
        """The set with its judge."""
        return f"{self.reviewed.name}, {self.judge or 'no model'}"

    @cached_property
    def labels(self) -> list[bool]:
        """Finally included, in the order of the records."""
        return [record["_label"] == "1" for record in self.reviewed.records]

    @property
    def operation(self) -> Inclusion:
        """What a model is asked of each record."""
        return Inclusion(criteria=self.reviewed.criteria)

    @cached_property
    def features(self) -> "TextFeatures":
        """The words of the records."""
        from tamis_review.order.candidates import texts_of
        from tamis_review.order.text_features import TextFeatures

        return TextFeatures.of(["\n".join(texts_of(record)) for record in self.reviewed.records])

    def judgements(self, seed: int) -> list[Judgement] | None:
        """What the judge says of each record; None where there is none. The recorded one says it to every seed."""
        if self.kind is not None:
            return simulated_judgements(self.labels, self.kind, seed)[0]
        return None if self.judge is None else recorded_judgements()

    def scores(self, seed: int) -> Sequence[float | None]:
        """The score for inclusion of each record, from the probability of the decision's token."""
        judgements = self.judgements(seed)
        return [None] * len(self.labels) if judgements is None else [one.probability for one in judgements]


def simulated_case(kind: Kind) -> Case:
    """A review of a kind: its records have the length of real ones, and texts that say nothing of what is included."""
    labels = simulate(kind, 0).labels.tolist()
    described = [
        {**record, "_label": str(int(label))} for record, label in zip(records(len(labels)), labels, strict=True)
    ]
    criteria = SearchCriteria(research_question="Which records are included?", inclusion_criteria=["To be included"])
    return Case(LabelledSet("simulated", described, criteria), f"AUC {kind.auc:g}", kind)


def main_cases() -> list[Case]:
    """The four of docs/quality.md: the recorded answers, and the sets that no model has judged."""
    small, middling, large = labelled_sets()
    return [Case(animal_review(), RECORDED), *(Case(one, None) for one in (large, middling, small))]


def cases() -> Mapping[str, Case]:
    """By name: the main ones, the recorded set without its answers, and every set with a simulated model."""
    main = main_cases()
    sets = [one.reviewed for one in main]
    every = [*main, Case(sets[0], None), *(Case(one, JUDGED_AT, SIMULATED) for one in sets)]
    return {one.name: one for one in every}
