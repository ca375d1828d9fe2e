"""Extractions: extracted values, each with the chunk (a retrieved passage) and the words that support the value."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from ..values.frozen import Frozen
from .results import Confidence, Quote


class Extraction(Frozen):
    """One extracted value, and the chunk (a retrieved passage) that the model cites for the value.

    `validated` is None if the model quoted no words of a chunk.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    value: Any = None  # any JSON value; 0, False and the empty text are values, None is not
    chunk_number: Annotated[int, Field(ge=1, strict=True)] | None = None  # from 1, as in the prompt
    evidence: str | None = None  # the chunk's words, as the model quoted them
    confidence: Confidence | None = Field(default=None, ge=0.0, le=1.0)  # as the model stated it
    quote: Quote | None = None  # result of comparing the evidence with the chunk
    validated: bool | None = None  # True if the evidence is in the chunk, and contains the value


class FieldExtractions(Frozen):
    """All extractions that support one value."""

    extractions: tuple[Extraction, ...] = ()

    @property
    def contributing_chunks(self) -> list[int]:
        """The numbers of the cited chunks, each once, in order."""
        return sorted({cited.chunk_number for cited in self.extractions if cited.chunk_number is not None})

    @property
    def average_rank(self) -> float | None:
        """The mean chunk number of the extractions, to one decimal; None if no extraction cites a chunk."""
        ranks = [cited.chunk_number for cited in self.extractions if cited.chunk_number is not None]
        return round(sum(ranks) / len(ranks), 1) if ranks else None


class RecallAnswer(Frozen):
    """A model's judgement whether the chunks (retrieved passages) in its prompt contain everything for a value."""

    score: float = Field(ge=0.0, le=1.0)
    missing: tuple[str, ...] = ()  # items missing in the chunks


class ExtractionDetail(Frozen):
    """The evidence for the values that were extracted from an item's chunks (retrieved passages).

    The evidence is the `detail` of the item's result. `fields` has the field's name as key. The operation `extract` has
    no field names: its only key is the empty text.
    """

    fields: dict[str, FieldExtractions]
    recall: dict[str, RecallAnswer] = Field(default_factory=dict)  # for the values that the model was asked about
