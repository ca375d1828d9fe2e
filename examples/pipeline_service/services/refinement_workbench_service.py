"""The refinement workbench: try a criterion on a few articles (asynchronous: a person waits for it)."""

from typing import Any

from schemas import CanonicalResearchArticle
from tamis_producer import get_ai_evaluation_service
from tamis_schemas import EvaluationResult


class RefinementWorkbenchService:
    """Evaluates articles without keeping anything."""

    async def filter_articles(
        self,
        articles: list[CanonicalResearchArticle],
        filter_criteria: str,
        threshold: float,
        output_type: str = "boolean",
    ) -> list[dict[str, Any]]:
        """For each article whether it passed, its score, and why.

        `passed` is None where the evaluation failed; `error` says why. A number passes from `threshold` on, a text
        where the article holds one.
        """
        service = get_ai_evaluation_service()

        items = [article.model_dump() for article in articles]

        if output_type == "boolean":
            results = await service.filter_batch(items, filter_criteria)
        elif output_type == "number":
            results = await service.score_batch(items, filter_criteria)
        else:  # "text"
            results = await service.extract_batch(items, filter_criteria, output_type="text")

        return [
            {
                "article": articles[i],
                "passed": _passed(r, threshold),
                "score": r.confidence if output_type == "boolean" else r.value,
                "reasoning": r.reasoning or "",
                "error": r.error,
            }
            for i, r in enumerate(results)
        ]


def _passed(result: EvaluationResult, threshold: float) -> bool | None:
    """An error comes first: it is never a decision, and has no value that could be compared."""
    if result.error is not None:
        return None
    match result.value:
        case bool() as said:
            return said
        case int() | float() as number:
            return number >= threshold
        case text:
            return text is not None
