"""The pause of a batch whose latest items all failed, so that people look before more items fail.

Each process counts how many items of a batch have failed in a row. From the fifth failure on, the process asks the
ledger for the batch's latest results from all processes. If the number of failed items in a row reaches the limit, the
batch is paused. The pause names the setting that may help.
"""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from tamis_schemas import ErrorKind, LedgerUnavailable, Pause, PauseKind

from ..operations import Decided, Failure

ASK_FROM = 5  # failed items in a row, in one process
UNCALLED = ErrorKind.NO_CONTENT  # the item's own: no model was asked

LARGER_ANSWERS = "Raise TAMIS_MAX_OUTPUT_TOKENS, or lower TAMIS_REASONING_EFFORT"
OTHER_REQUEST = "Set TAMIS_LOGPROBS to false if the endpoint knows no token probabilities; check TAMIS_LLM_BASE_URL"
OTHER_MODEL = "Choose another model in TAMIS_MODEL"
ADVICE = {
    ErrorKind.TRUNCATED: LARGER_ANSWERS,
    ErrorKind.EMPTY: LARGER_ANSWERS,
    ErrorKind.SERVER: OTHER_REQUEST,
    ErrorKind.INVALID_REQUEST: OTHER_REQUEST,
    ErrorKind.TIMEOUT: "Raise TAMIS_CALL_TIMEOUT",
    ErrorKind.CONTEXT_LENGTH: "Lower TAMIS_MAX_PROMPT_CHARS",
    ErrorKind.MALFORMED: OTHER_MODEL,
    ErrorKind.INVALID: OTHER_MODEL,
}
CHECK_ENDPOINT = "`tamis doctor --endpoint` checks the endpoint"

log = logging.getLogger(__name__)


@dataclass(eq=False)
class FailureStreaks:
    """The number of failed items in a row, for each batch. A worker process has one such object.

    `latest` returns one entry for each of a batch's latest results, the newest first. The entry of a failed item is the
    error's kind; the entry of a decided item is None. After `limit` failed items in a row, a batch is paused.
    """

    latest: Callable[[UUID, int], Awaitable[Sequence[ErrorKind | None]]]
    limit: int
    _failed: Counter[UUID] = field(init=False, default_factory=Counter)

    async def after(self, batch_id: UUID, ended: Decided | Failure) -> Pause | None:
        """Count an item's recorded result. Return a pause if the batch's latest `limit` results are failures."""
        if isinstance(ended, Decided):
            self._failed.pop(batch_id, None)
            return None
        if ended.kind is UNCALLED:
            return None
        self._failed[batch_id] += 1
        if self._failed[batch_id] < min(ASK_FROM, self.limit):
            return None
        try:
            kinds = await self.latest(batch_id, self.limit)
        except LedgerUnavailable as error:
            log.debug("batch=%s: its latest results are not known: %s", batch_id, error)
            return None
        if len(kinds) < self.limit or None in kinds:
            return None
        self._failed.pop(batch_id)
        return _pause(kinds, ended)


def _pause(kinds: Sequence[ErrorKind | None], ended: Failure) -> Pause:
    (kind, count), *_ = Counter(kinds).most_common(1)
    advice = ADVICE.get(kind, CHECK_ENDPOINT) if kind is not None else CHECK_ENDPOINT
    failed = f"the latest {len(kinds)} items failed, {count} of them with {kind}"
    return Pause(kind=PauseKind.FAILURES, message=f"{failed}. {advice}. The last error: {ended.message}")
