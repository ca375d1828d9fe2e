"""The articles of an execution, in the service's own database."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import WipArticle


class WipArticleService:
    """Reads articles that wait for the filter, and writes what it said of them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get_for_filtering(self, execution_id: str, retrieval_unit_id: str) -> Sequence[WipArticle]:
        """Articles that nobody has decided about yet, those whose filter failed among them."""
        waiting = (
            select(WipArticle)
            .where(
                WipArticle.execution_id == execution_id,
                WipArticle.retrieval_unit_id == retrieval_unit_id,
                WipArticle.passed.is_(None),
            )
            .order_by(WipArticle.id)
        )
        return self._session.scalars(waiting).all()

    def update_filter_result(
        self, article: WipArticle, passed: bool, score: float, rejection_reason: str | None
    ) -> None:
        """Keep a decision."""
        article.passed = passed
        article.score = score
        article.rejection_reason = rejection_reason
        article.filter_error = None
        self._session.commit()

    def update_filter_error(self, article: WipArticle, error: str) -> None:
        """Keep why there is no decision; the article is asked about again next time."""
        article.filter_error = error
        self._session.commit()
