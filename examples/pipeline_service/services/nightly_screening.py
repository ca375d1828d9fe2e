"""A nightly job: enqueue in one process, read the results in another (synchronous: nobody waits in between)."""

from collections.abc import Iterable
from dataclasses import dataclass

from schemas import CanonicalResearchArticle
from tamis_producer import Client
from tamis_schemas import EvaluationResult, Filter


@dataclass(frozen=True)
class Screened:
    """One article's decision; None where it could not be decided."""

    item_id: str
    relevant: bool | None
    reasoning: str | None
    error: str | None


class NightlyScreening:
    """Screens what was found during the day. A batch outlives the process that enqueued it."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def enqueue(self, night: str, articles: Iterable[CanonicalResearchArticle], criteria: str) -> str:
        """The batch's id. Called twice for one night it is the same batch, paid for once."""
        batch = self._client.submit(
            Filter(criteria=criteria), [article.model_dump(mode="json") for article in articles], idempotency_key=night
        )
        return batch.id

    def collect(self, batch_id: str, timeout: float) -> list[Screened]:
        """Every article's decision, in the order enqueued, once the batch is finished. Raises `WaitTimeout`."""
        batch = self._client.batch(batch_id)
        batch.wait(timeout)
        screened = []
        for row in batch.results():
            if not isinstance(row.result, EvaluationResult):  # its batch was cancelled before anybody asked
                screened.append(Screened(row.item_id, None, None, f"not evaluated: the item is {row.status}"))
                continue
            relevant = row.result.value if isinstance(row.result.value, bool) else None
            screened.append(Screened(row.item_id, relevant, row.result.reasoning, row.result.error))
        return screened
