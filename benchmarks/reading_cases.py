"""Labelled sets and the models that judged them before people read. A model is called a judge here."""

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
    """A labelled set, and the judge of its records."""

    reviewed: LabelledSet
    judge: str | None  # name of the judge; None: no model judged the records
    kind: Kind | None = None  # kind of a simulated judge; None: its answers are recorded

    @property
    def name(self) -> str:
        """The name of the set and of its judge."""
        return f"{self.reviewed.name}, {self.judge or 'no model'}"

    @cached_property
    def labels(self) -> list[bool]:
        """Whether each record is finally included, in their order."""
        return [record["_label"] == "1" for record in self.reviewed.records]

    @property
    def operation(self) -> Inclusion:
        """The question to a model about each record."""
        return Inclusion(criteria=self.reviewed.criteria)

    @cached_property
    def features(self) -> "TextFeatures":
        """The features of the records' texts for the reading order."""
        from tamis_review.order.candidates import texts_of
        from tamis_review.order.text_features import TextFeatures

        return TextFeatures.of(["\n".join(texts_of(record)) for record in self.reviewed.records])

    def judgements(self, seed: int) -> list[Judgement] | None:
        """Return the judge's answer about each record; None if there is no judge. Recorded answers ignore the seed."""
        if self.kind is not None:
            return simulated_judgements(self.labels, self.kind, seed)[0]
        return None if self.judge is None else recorded_judgements()

    def scores(self, seed: int) -> Sequence[float | None]:
        """Return each record's score for inclusion: the probability of the decision's token; None without a judge."""
        judgements = self.judgements(seed)
        return [None] * len(self.labels) if judgements is None else [one.probability for one in judgements]


def simulated_case(kind: Kind) -> Case:
    """Return a simulated review. Its records have the length of real records, and texts unrelated to the labels."""
    labels = simulate(kind, 0).labels.tolist()
    described = [
        {**record, "_label": str(int(label))} for record, label in zip(records(len(labels)), labels, strict=True)
    ]
    criteria = SearchCriteria(research_question="Which records are included?", inclusion_criteria=["To be included"])
    return Case(LabelledSet("simulated", described, criteria), f"AUC {kind.auc:g}", kind)


def main_cases() -> list[Case]:
    """Return the four cases of docs/quality.md: the set with recorded answers, and three sets without a judge."""
    small, middling, large = labelled_sets()
    return [Case(animal_review(), RECORDED), *(Case(one, None) for one in (large, middling, small))]


def cases() -> Mapping[str, Case]:
    """Return all cases: the main cases, the recorded set without its answers, each set with a simulated judge."""
    main = main_cases()
    sets = [one.reviewed for one in main]
    every = [*main, Case(sets[0], None), *(Case(one, JUDGED_AT, SIMULATED) for one in sets)]
    return {one.name: one for one in every}
