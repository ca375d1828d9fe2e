"""The iterative answer service of spec 2: generate, evaluate, refine, through the workers."""

from typing import Any

from tamis_schemas import AnswerResult, OperationFailed, parse_operation

from ..calls.single_calls import CallQuestion
from ..client.client import Client
from ..ledger import CallResult
from .service_client import ServiceClient

SERVICE = "answer"
ITEM_ID = "question"  # an answer without source data has no record to be named after


class IterativeAnswerService:
    """Every answer is an item in the ledger; calls of the same question at the same time share a batch."""

    def __init__(
        self,
        score_threshold: float = 0.8,
        *,
        client: Client | None = None,
        timeout: float | None = None,
        service: str = SERVICE,
        api_key_id: str | None = None,
    ) -> None:
        """Args:
            score_threshold: an answer of this score, from 0.0 to 1.0, is accepted.
            client: what to submit with; it stays open. None: a client of its own, after the settings of the process.
            timeout: seconds to wait for one answer at most; None waits as long as it takes, for a worker too.
            service: under which name its calls are shown together, by the hour, beside the batches that people follow.
            api_key_id: the gateway's key on whose behalf it asks; None: no key.

        Raises `InvalidParameters`: a threshold that is none.
        """
        parse_operation(_params("-", "-", "-", score_threshold=score_threshold))
        self.score_threshold = score_threshold
        self._client = ServiceClient(client)
        self._timeout = timeout
        self._service = service
        self._api_key_id = api_key_id

    async def generate_answer(
        self,
        instruct: str,
        resp_format: str,
        eval_crit: str,
        iter_max: int = 3,
        model: str | None = None,
        score_threshold: float | None = None,
        *,
        parallel_attempts: int = 1,
        fresh: bool = False,
    ) -> dict[str, Any]:
        """The first answer whose score reaches the threshold, else the best of all iterations.

        Args:
            instruct: the question, or the task.
            resp_format: what the answer should look like.
            eval_crit: what makes an answer good.
            iter_max: generate and evaluate at most so many times, from 1 to 10.
            model: the model to ask. None: the one of the settings, else the workers' own; spec 2 has "gpt-4o", which
                only endpoints that serve this model could answer.
            score_threshold: instead of the service's own; 0.0 is a threshold, which every evaluated answer reaches.
            parallel_attempts: answers generated and evaluated side by side in each iteration, from 1 to 10.
            fresh: past the answers that are kept of the same questions.

        Returns:
            A dict of `final_answer` (str), `iterations` (`IterationData` in the order made, failed ones among them),
            `success` (bool: the final answer reached the threshold), `total_iterations` (int), `final_score` (float).

        Raises:
            InvalidParameters: naming the parameter that is wrong. Nothing is written.
            OperationFailed: no attempt could be evaluated; with the kind of error and its message.
            ConfigurationError: no broker or ledger is named.
            LedgerUnavailable: the ledger does not answer.
            WaitTimeout: it took longer than the timeout; the batch goes on.
        """
        threshold = self.score_threshold if score_threshold is None else score_threshold
        operation = parse_operation(
            _params(
                instruct,
                resp_format,
                eval_crit,
                iter_max=iter_max,
                score_threshold=threshold,
                parallel_attempts=parallel_attempts,
            )
        )
        question = CallQuestion(operation, service=self._service, model=model, fresh=fresh, api_key_id=self._api_key_id)
        return dict(answer_of(await self._client.connected.calls.ask(question, {"id": ITEM_ID}, within=self._timeout)))

    def close(self) -> None:
        """Give its own connections back; a later call connects anew. A client that was given stays open."""
        self._client.close()


def _params(instruct: str, resp_format: str, eval_crit: str, **others: object) -> dict[str, object]:
    return {"operation": "answer", "instruct": instruct, "resp_format": resp_format, "eval_crit": eval_crit, **others}


def answer_of(came: CallResult) -> AnswerResult:
    """The answer that a call came to. Raises `OperationFailed` where no attempt could be evaluated, saying why."""
    if came.detail is not None:
        return AnswerResult.model_validate(came.detail)
    if came.error_kind is not None and came.result is not None:
        raise OperationFailed(f"{came.error_kind}: {came.result.error}")
    raise OperationFailed(came.reason)
