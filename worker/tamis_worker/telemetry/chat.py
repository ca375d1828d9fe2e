"""The span of one LLM call, after the semantic conventions for generative AI. No prompt and no answer stands in it.

What the metrics say of a result becomes events of the span whose answer they rate: `gen_ai.evaluation.result` belongs
to the span of the operation that is evaluated, so to the call whose answer became the result. Where that answer came
from the cache there was no call, and the item's span has them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self
from urllib.parse import urlsplit

from tamis_producer.process import tracing
from tamis_producer.process.tracing import NO_SPAN, Attributes, SpanKind, quietly
from tamis_schemas import Evaluation

from ..llm.chat import ChatAnswer, ChatRequest, Reply

# By the end of the host's name. Whoever else speaks this protocol is told apart by `server.address`.
PROVIDERS = {
    "api.anthropic.com": "anthropic",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral_ai",
    "api.perplexity.ai": "perplexity",
    "api.x.ai": "x_ai",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "openai.azure.com": "azure.ai.openai",
    "services.ai.azure.com": "azure.ai.inference",
}
PORTS = {"http": 80, "https": 443}

EVENT = "gen_ai.evaluation.result"


@dataclass(frozen=True)
class EndpointAddress:
    """An endpoint as spans name it: nothing else of its URL, which may hold a password."""

    provider: str = "openai"
    address: str | None = None
    port: int | None = None

    @classmethod
    def of(cls, url: str) -> Self:
        """Return the server of a base URL; of what is none, nothing is known."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port or PORTS.get(parts.scheme)
        except ValueError:
            return cls()
        providers = (name for end, name in PROVIDERS.items() if host and (host == end or host.endswith(f".{end}")))
        return cls(next(providers, "openai"), host, port)


UNKNOWN = EndpointAddress()


class ChatSpan:
    """The span of a call: begun by `begin`, ended with the block around it unless it is kept for ratings of the answer.

    It ends at the moment of the reply in either case.
    """

    __slots__ = ("_kept", "_replied_at", "_request", "_server", "span")

    def __init__(self, server: EndpointAddress, request: ChatRequest) -> None:
        self._server = server
        self._request = request
        self._kept = False
        self._replied_at: int | None = None
        self.span = NO_SPAN

    def begin(self) -> None:
        """The request is sent now."""
        request, server = self._request, self._server
        self.span = tracing.start(f"chat {request.model}", {}, kind=SpanKind.CLIENT)
        if self.span.recording:
            self.span.set(
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.provider.name": server.provider,
                    "gen_ai.request.model": request.model,
                    "gen_ai.request.max_tokens": request.max_tokens,
                    "gen_ai.request.temperature": request.temperature,
                    "gen_ai.output.type": "json",
                    "server.address": server.address,
                    "server.port": server.port,
                }
            )
        self.span.enter()

    def replied(self, reply: Reply) -> None:
        """The reply has come."""
        self.span.leave()
        if not self.span.recording:
            return
        self._replied_at = tracing.now()
        usage = reply.usage
        if usage.total_tokens:
            self.span.set(
                {
                    "gen_ai.usage.input_tokens": usage.prompt_tokens,
                    "gen_ai.usage.output_tokens": usage.completion_tokens,
                    "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
                    "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
                    "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
                }
            )
        if isinstance(reply, ChatAnswer):
            self.span.set(
                {
                    "gen_ai.response.model": reply.model or None,
                    "gen_ai.response.finish_reasons": (reply.finish_reason,),
                }
            )
        else:
            self.span.set({"http.response.status_code": reply.status})
            self.span.fail(reply.kind.value)

    def unusable(self, kind: str) -> None:
        """The answer came, and is not what was asked for."""
        self.span.fail(kind)

    def keep(self) -> Self:
        """Do not end it yet: `end` does."""
        self._kept = True
        return self

    def event(self, name: str, attributes: tracing.Attributes) -> None:
        """Add an event about the answer, at the moment in which it came."""
        self.span.event(name, attributes, self._replied_at)

    def end(self) -> None:
        """End the span at the moment of the reply."""
        self.span.leave()
        self.span.end(self._replied_at)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._kept:
            return
        if kind is not None and self._replied_at is None:
            self.span.fail(kind.__name__)
        self.end()


class Rated(Protocol):
    """A taker of events: an item's span, or that of a call."""

    def event(self, name: str, attributes: Attributes) -> None: ...


@quietly
def submit(evaluations: Iterable[Evaluation], to: Rated) -> None:
    """Attach evaluations that have a value. Never raises: a fault of telemetry is no fault of the work."""
    for evaluation in evaluations:
        if evaluation.value is not None:
            to.event(EVENT, attributes_of(evaluation))


def attributes_of(evaluation: Evaluation) -> Attributes:
    """Name an evaluation's parts as the conventions do; the field, of several, has a name of ours."""
    value = evaluation.value
    return {
        "gen_ai.evaluation.name": evaluation.label,
        "gen_ai.evaluation.score.value": None if isinstance(value, str) else value,
        "gen_ai.evaluation.score.label": value if isinstance(value, str) else None,
        "gen_ai.evaluation.explanation": evaluation.reason,
        "tamis.field": evaluation.field,
    }
