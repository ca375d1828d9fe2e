"""An article as every part of the service knows it."""

from datetime import date

from pydantic import BaseModel


class CanonicalResearchArticle(BaseModel):
    """One research article, wherever it was found."""

    id: str
    title: str
    abstract: str | None = None
    authors: list[str] = []
    journal: str | None = None
    publication_date: date | None = None
