"""The pipeline: its step that filters articles (asynchronous: a request waits for it)."""

from typing import Any

from models import WipArticle
from services.wip_article_service import WipArticleService
from tamis_producer import get_ai_evaluation_service


class PipelineService:
    """Runs the steps of an execution."""

    def __init__(self, wip_article_service: WipArticleService) -> None:
        self.wip_article_service = wip_article_service

    async def _filter_articles(
        self,
        execution_id: str,
        retrieval_unit_id: str,
        filter_criteria: str,
        threshold: float,
    ) -> tuple[int, int]:
        """How many articles passed, and how many were rejected; an article whose evaluation failed is neither.

        A filter answers yes or no, so `threshold` has nothing to bound here; it belongs to the step's interface.
        """
        service = get_ai_evaluation_service()

        articles = self.wip_article_service.get_for_filtering(execution_id, retrieval_unit_id)
        if not articles:
            return 0, 0

        items = [self._wip_to_dict(wip) for wip in articles]
        results = await service.filter_batch(items, filter_criteria)

        passed, rejected = 0, 0
        for wip, result in zip(articles, results, strict=True):
            if result.error is not None:
                self.wip_article_service.update_filter_error(wip, result.error)
                continue
            is_relevant = result.value is True
            self.wip_article_service.update_filter_result(
                article=wip,
                passed=is_relevant,
                score=result.confidence,
                rejection_reason=result.reasoning if not is_relevant else None,
            )
            if is_relevant:
                passed += 1
            else:
                rejected += 1
        return passed, rejected

    def _wip_to_dict(self, wip: WipArticle) -> dict[str, Any]:
        """The article as an item: the six fields that the model may see, and no decision."""
        return {
            "id": wip.pmid or str(wip.id),
            "title": wip.title,
            "abstract": wip.abstract,
            "authors": wip.authors,
            "journal": wip.journal,
            "publication_date": str(wip.publication_date) if wip.publication_date else None,
        }
