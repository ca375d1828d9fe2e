"""Extractions: which chunk a value was taken from, and the words that say so."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from ..values.frozen import Frozen
from .results import Confidence, Quote


class Extraction(Frozen):
    """One value as one chunk gives it.

    `validated` is None where there is nothing to validate it by: the model named no words of a chunk.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    value: Any = None  # any JSON value; 0, False and the empty text are values, None is none
    chunk_number: Annotated[int, Field(ge=1, strict=True)] | None = None  # from 1, as the prompt numbers them
    evidence: str | None = None  # the chunk's words, as the model gave them
    confidence: Confidence | None = Field(default=None, ge=0.0, le=1.0)  # the model's own
    quote: Quote | None = None  # the evidence as it was looked for in the chunk
    validated: bool | None = None  # the evidence is in the chunk, and says the value


class FieldExtractions(Frozen):
    """All extractions for one value."""

    extractions: tuple[Extraction, ...] = ()

    @property
    def contributing_chunks(self) -> list[int]:
        """The numbers of the chunks that are cited, each once, in order."""
        return sorted({one.chunk_number for one in self.extractions if one.chunk_number is not None})

    @property
    def average_rank(self) -> float | None:
        """The mean number of the chunk of each extraction, to one decimal; None where none cites a chunk."""
        ranks = [one.chunk_number for one in self.extractions if one.chunk_number is not None]
        return round(sum(ranks) / len(ranks), 1) if ranks else None


class RecallAnswer(Frozen):
    """A model's verdict on the chunks that were shown: do they hold all that a value needs?"""

    score: float = Field(ge=0.0, le=1.0)
    missing: tuple[str, ...] = ()  # what they lack


class ExtractionDetail(Frozen):
    """The evidence behind the value of an item with chunks: a result's `detail`.

    `fields` is by field of an `extract_fields`; an `extract` has one value, under the empty name.
    """

    fields: dict[str, FieldExtractions]
    recall: dict[str, RecallAnswer] = Field(default_factory=dict)  # of those that the model was asked about
