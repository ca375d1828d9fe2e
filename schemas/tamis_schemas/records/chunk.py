"""Chunks: the passages of a document that a search retrieved for an item, and the limits of the search."""

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import AliasChoices, BeforeValidator, ConfigDict, Field, ValidationError

from ..values.frozen import Frozen
from .item import Item

CHUNKS = "chunks"  # item's field with the chunks
RETRIEVAL = "retrieval"  # item's field with the limits of the search
MAX_CHUNKS = 1_000  # in an item; more than any model reads
BM25, KNN, BOTH = "bm25", "knn", "both"  # methods that the metrics know; other names are allowed


def _no_bool(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("a boolean is not a text or a number")  # noqa: TRY004 - pydantic turns it into its own
    return value


def _as_text(value: object) -> object:
    return str(_no_bool(value)) if isinstance(value, int) else value


class Chunk(Frozen):
    """One retrieved passage, with the search's data about it. Unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    id: Annotated[str | None, BeforeValidator(_as_text)] = Field(
        default=None, validation_alias=AliasChoices("id", "chunk_id")
    )
    text: str = ""
    score: Annotated[float | None, BeforeValidator(_no_bool)] = None
    page: Annotated[int | str | None, BeforeValidator(_no_bool)] = None
    retrieval_method: str | None = None

    def found_by(self, method: str) -> bool:
        """Return whether the method (`bm25` or `knn`) found the chunk, alone or together with the other method."""
        return self.retrieval_method in (method, BOTH)


class Retrieval(Frozen):
    """The limits of a search for passages. A limit of None is unknown."""

    model_config = ConfigDict(extra="forbid")

    bm25_limit: Annotated[int | None, BeforeValidator(_no_bool), Field(ge=1)] = None  # largest number of results
    knn_limit: Annotated[int | None, BeforeValidator(_no_bool), Field(ge=1)] = None
    total_before_filter: Annotated[int | None, BeforeValidator(_no_bool), Field(ge=0)] = None  # before score thresholds


class Retrieved(Frozen):
    """The chunks (passages) that a search retrieved for one item, and the limits of the search."""

    chunks: tuple[Chunk, ...] = Field(min_length=1, max_length=MAX_CHUNKS)  # in the given order, best first
    retrieval: Retrieval = Retrieval()

    @classmethod
    def of(cls, item: Item) -> Self | None:
        """Return an item's `chunks` and `retrieval`; None if the item has no chunk.

        Raises `ValueError` with the place of a mistake: `chunks.2.text: ...`. The first chunk has the place 0.
        """
        if item.get(CHUNKS) is None or item[CHUNKS] == []:
            return None
        if not isinstance(item[CHUNKS], list | tuple):
            given_type = type(item[CHUNKS]).__name__
            raise ValueError(f"{CHUNKS}: a {given_type}, not a list of chunks")  # noqa: TRY004 - as any other mistake
        fields: dict[str, Any] = {"chunks": item[CHUNKS]}
        if item.get(RETRIEVAL) is not None:
            fields["retrieval"] = item[RETRIEVAL]
        try:
            retrieved = cls.model_validate(fields)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(step) for step in first["loc"])[:100]
            raise ValueError(f"{place}: {first['msg']}") from error
        _check_texts(retrieved.chunks)
        return retrieved

    @property
    def numbered(self) -> list[Chunk]:
        """The chunks, each id once, in order. Prompts and citations number them from 1 in this order."""
        return distinct(self.chunks)


def distinct(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return each chunk once, in order: two search methods may have found the same chunk.

    Chunks with the same id are the same. Chunks without an id are all different.
    """
    seen: set[str] = set()
    kept = []
    for chunk in chunks:
        if chunk.id is None or chunk.id not in seen:
            kept.append(chunk)
        if chunk.id is not None:
            seen.add(chunk.id)
    return kept


def _check_texts(chunks: Sequence[Chunk]) -> None:
    first: dict[str, int] = {}
    for place, chunk in enumerate(chunks):
        if not chunk.text.strip():
            raise ValueError(f"{CHUNKS}.{place}.text: missing or blank; omit chunks without text")
        if chunk.id is None:
            continue
        earlier = first.setdefault(chunk.id, place)
        if chunks[earlier].text != chunk.text:
            raise ValueError(
                f"{CHUNKS}.{place}: has the same id as {CHUNKS}.{earlier} ({chunk.id!r:.80}) but another text; a chunk "
                "that two methods found must have the same text"
            )
