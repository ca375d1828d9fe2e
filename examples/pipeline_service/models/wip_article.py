"""An article while a pipeline is at work on it."""

from datetime import date

from sqlalchemy import JSON, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    """The service's own tables; those of Tamis are in the ledger, and belong to nobody else."""


class WipArticle(Base):
    """One article of one execution of the pipeline, and what the filter said of it."""

    __tablename__ = "wip_articles"

    id: Mapped[int] = mapped_column(primary_key=True)
    execution_id: Mapped[str] = mapped_column(String(64), index=True)
    retrieval_unit_id: Mapped[str] = mapped_column(String(64))
    pmid: Mapped[str | None] = mapped_column(String(16))
    title: Mapped[str]
    abstract: Mapped[str | None]
    authors: Mapped[list[str]] = mapped_column(JSON, default=list)
    journal: Mapped[str | None]
    publication_date: Mapped[date | None]
    passed: Mapped[bool | None]  # None: not decided
    score: Mapped[float | None]
    rejection_reason: Mapped[str | None]
    filter_error: Mapped[str | None]  # why it is not decided, where it was asked about
