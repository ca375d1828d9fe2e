"""The criteria of a review: its question, inclusion and exclusion criteria."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, ValidationError, WithJsonSchema, model_validator
from pydantic_core import InitErrorDetails

from ..values.frozen import Frozen
from ..values.words import Words
from ..values.written import without_empty

MAX_EXAMPLES = 20
LONGEST_TITLE = 500  # characters of an example, which is sent with every record
LONGEST_ABSTRACT = 3_000
LONGEST_REASON = 500

STUDY_TYPE = "S1"  # label of the criterion of all study types together

Wording = Annotated[Words, Field(max_length=LONGEST_REASON)]
_CRITERION_LISTS = {"inclusion_criteria": "I", "exclusion_criteria": "E"}  # letters of their labels


class Criterion(Frozen):
    """One criterion, with the label by which an answer refers to it (`I1`, `I2`, ..., `S1`, `E1`, `E2`, ...)."""

    label: str
    text: str
    excludes: bool
    exclude_as: str | None = None  # caller's wording of the exclusion reason

    @property
    def reason(self) -> str:
        """The reason of an exclusion by this criterion: the caller's wording, otherwise the result of `reason_of`."""
        return self.exclude_as or reason_of(self.text, excludes=self.excludes)


def reason_of(text: str, *, excludes: bool) -> str:
    """Return a criterion's text as the reason for an exclusion.

    For an inclusion criterion the reason begins with `not met: `, because the text alone would mean the opposite.
    """
    return text if excludes else f"not met: {text}"


class WordedCriterion(Frozen):
    """A criterion, with the caller's wording of the reason for its exclusions."""

    model_config = ConfigDict(extra="forbid")

    criterion: Words
    exclude_as: Wording | None = None


class WorkedExample(Frozen):
    """A record with a person's decision, which shows a model how to apply the criteria."""

    model_config = ConfigDict(extra="forbid")

    title: Annotated[Words, Field(max_length=LONGEST_TITLE)]
    abstract: Annotated[Words, Field(max_length=LONGEST_ABSTRACT)] | None = None  # the beginning is enough
    decision: Literal["include", "exclude"]
    reason: Annotated[Words, Field(max_length=LONGEST_REASON)] | None = None  # for example the deciding criterion


_TEXT = {"type": "string", "minLength": 1, "pattern": r"\S"}
# The forms that a caller may use. The model stores texts, and the wordings in `exclude_as`.
_Entry = Annotated[
    Words,
    WithJsonSchema(
        {
            "anyOf": [
                _TEXT,
                {
                    "type": "object",
                    "properties": {
                        "criterion": _TEXT,
                        "exclude_as": {**_TEXT, "maxLength": LONGEST_REASON},
                    },
                    "required": ["criterion"],
                    "additionalProperties": False,
                },
            ]
        },
        mode="validation",
    ),
]


class SearchCriteria(Frozen):
    """The criteria of a review: at least one inclusion or exclusion criterion.

    A criterion is a text, or a dict of a text and the wording of its exclusions (`WordedCriterion`). The wording is
    stored in `exclude_as` under the criterion's label, and is never shown to a model.
    """

    model_config = ConfigDict(extra="forbid")

    research_question: Words
    purpose: Words | None = None
    inclusion_criteria: list[_Entry] = Field(default_factory=list, max_length=100)
    exclusion_criteria: list[_Entry] = Field(default_factory=list, max_length=100)
    date_range: tuple[int, int] | None = None  # first and last year, both included
    study_types: list[Words] = Field(default_factory=list)
    custom_keywords: list[Words] = Field(default_factory=list)
    # Omitted if empty, so that criteria without examples are stored as in releases that had no examples.
    examples: list[WorkedExample] = Field(default_factory=list, max_length=MAX_EXAMPLES)
    # Wordings of exclusions for flow and report, by the criterion's label. Omitted if empty, for the same reason.
    exclude_as: dict[str, Wording] = Field(default_factory=dict)

    _written = without_empty("examples", "exclude_as")

    @model_validator(mode="before")
    @classmethod
    def _wordings_apart(cls, criteria: Any) -> Any:
        return _with_wordings_apart(criteria) if isinstance(criteria, Mapping) else criteria

    @model_validator(mode="after")
    def _checked(self) -> Self:
        if not self.inclusion_criteria and not self.exclusion_criteria:
            raise ValueError("inclusion_criteria or exclusion_criteria must name at least one criterion")
        if self.date_range is not None and self.date_range[0] > self.date_range[1]:
            raise ValueError(f"date_range begins after it ends: {self.date_range[0]} > {self.date_range[1]}")
        labels = [criterion.label for criterion in self.labelled()]
        for label in self.exclude_as:
            if label not in labels:
                raise ValueError(f"exclude_as names {label!r}, but the criteria are {', '.join(labels)}")
        return self

    def labelled(self) -> list[Criterion]:
        """Return every criterion with its label: inclusion criteria, all study types as one, exclusion criteria."""
        listed = [(f"I{n}", text, False) for n, text in enumerate(self.inclusion_criteria, 1)]
        if self.study_types:
            listed.append((STUDY_TYPE, f"Study type: {' or '.join(self.study_types)}", False))
        listed += [(f"E{n}", text, True) for n, text in enumerate(self.exclusion_criteria, 1)]
        return [
            Criterion(label=label, text=text, excludes=excludes, exclude_as=self.exclude_as.get(label))
            for label, text, excludes in listed
        ]


def _with_wordings_apart(criteria: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with every criterion as a text, and the wordings by label in `exclude_as`."""
    fields, wordings = dict(criteria), {}
    for name, letter in _CRITERION_LISTS.items():
        entries = fields.get(name)
        if not isinstance(entries, list | tuple):
            continue
        texts = list(entries)
        for place, entry in enumerate(entries):
            if isinstance(entry, WordedCriterion) or (isinstance(entry, Mapping) and "criterion" in entry):
                worded = _worded(entry, name, place)
                texts[place] = worded.criterion
                if worded.exclude_as is not None:
                    wordings[f"{letter}{place + 1}"] = worded.exclude_as
        fields[name] = texts
    listed = fields.get("exclude_as")
    if wordings and (listed is None or isinstance(listed, Mapping)):
        if twice := sorted(wordings.keys() & (listed or {}).keys()):
            raise ValueError(f"exclude_as repeats {twice[0]}: its criterion already has a wording")
        fields["exclude_as"] = {**(listed or {}), **wordings}
    return fields


def _worded(entry: object, name: str, place: int) -> WordedCriterion:
    """Return a validated entry of a list of criteria. Errors name the entry's place."""
    try:
        return WordedCriterion.model_validate(entry)
    except ValidationError as error:
        lines: list[InitErrorDetails] = []
        for fault in error.errors():
            located = InitErrorDetails(type=fault["type"], loc=(name, place, *fault["loc"]), input=fault["input"])
            lines.append(located | {"ctx": fault["ctx"]} if "ctx" in fault else located)
        raise ValidationError.from_exception_data("SearchCriteria", lines) from error
