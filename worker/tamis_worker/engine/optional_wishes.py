"""The optional parameters of requests, and the models whose endpoint fails because of them.

Some servers answer 500 or 400 to an optional parameter, but do not name the parameter. So a question that fails is
asked once more without its optional parameters. If three questions in a row to a model are answered only in this way,
requests to that model omit the optional parameters for an hour.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..llm.chat import ChatRequest
from ..llm.token_probability import PARAMETERS as OF_TOKENS

OPTIONAL = frozenset({"reasoning_effort", "prompt_cache_key", "seed", *OF_TOKENS})
HELPED = 3  # questions in a row
OMITTED_FOR = 3600.0  # seconds


def has_wishes(request: ChatRequest) -> bool:
    """Return whether a request has optional parameters."""
    return request.decision is not None or not OPTIONAL.isdisjoint(request.options)


def without_wishes(request: ChatRequest) -> ChatRequest:
    """Return the request without its optional parameters. The service tier stays: it decides the price."""
    options = {name: value for name, value in request.options.items() if name not in OPTIONAL}
    return replace(request, options=options, decision=None)


@dataclass(eq=False)
class OptionalWishes:
    """A worker process's record of models whose calls fail because of optional parameters. `clock` returns seconds."""

    clock: Callable[[], float]
    _helped: Counter[str] = field(init=False, default_factory=Counter)
    _omitted_until: dict[str, float] = field(init=False, default_factory=dict)

    def applied(self, request: ChatRequest) -> ChatRequest:
        """Return the request. While optional parameters are omitted for its model, remove them from the request."""
        until = self._omitted_until.get(request.model)
        return request if until is None or self.clock() >= until else without_wishes(request)

    def answered(self, request: ChatRequest, *, bare: bool) -> None:
        """Record an answered question. If `bare` is True, the question was asked without optional parameters."""
        if not has_wishes(request):
            return
        if not bare:
            self._helped.pop(request.model, None)
            return
        self._helped[request.model] += 1
        if self._helped[request.model] >= HELPED:
            self._omitted_until[request.model] = self.clock() + OMITTED_FOR
