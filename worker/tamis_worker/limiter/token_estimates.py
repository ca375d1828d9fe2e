"""The expected number of tokens of a call, from the characters of its prompt and the tokens of earlier calls."""

from collections import defaultdict
from dataclasses import dataclass

CHARACTERS_PER_TOKEN = 4  # of English prose, by the usual rule of thumb
EXPECTED_ANSWER = 250  # tokens; an answer is a value with a short explanation
MEMORY = 50  # calls; older ones fade
# A token has at least a quarter of a character. Hidden reasoning may exceed the answer's budget, but not by more.
TOKENS_OF_CHARACTER = 4
THOUGHTS = 100_000  # tokens


@dataclass(slots=True)
class _Learned:
    calls: int = 0
    ratio: float = 1 / CHARACTERS_PER_TOKEN  # prompt tokens per character
    completion: float = EXPECTED_ANSWER  # tokens of an answer


def believable(tokens: int, characters: int, max_tokens: int) -> bool:
    """Return True if a call can have used `tokens` tokens. Callers ignore impossible counts, so they delay no calls.

    `characters`: length of the prompt. `max_tokens`: limit on the answer's tokens.
    """
    return tokens <= TOKENS_OF_CHARACTER * characters + max_tokens + THOUGHTS


class TokenEstimates:
    """The estimates of one process, per operation and model.

    An estimate is an average, not an upper limit: the limiter corrects the difference after the call. The n-th call
    moves the average towards its own figure, by 1 / min(n, `MEMORY`) of the difference.
    """

    def __init__(self) -> None:
        self._learned: defaultdict[tuple[str, str], _Learned] = defaultdict(_Learned)

    def of(self, operation_name: str, model: str, characters: int, max_tokens: int) -> int:
        """Return the expected number of tokens of a call, prompt and answer together.

        `characters`: length of the prompt. `max_tokens`: limit on the answer's tokens.
        """
        learned = self._learned.get((operation_name, model)) or _UNKNOWN
        return round(characters * learned.ratio + min(learned.completion, max_tokens))

    def learn(
        self, operation_name: str, model: str, characters: int, prompt_tokens: int, completion_tokens: int
    ) -> None:
        """Correct the estimates with the tokens of a call. If the endpoint reported no tokens, nothing changes."""
        if characters <= 0 or prompt_tokens <= 0:
            return
        learned = self._learned[operation_name, model]
        learned.calls += 1
        weight = 1 / min(learned.calls, MEMORY)
        learned.ratio += weight * (prompt_tokens / characters - learned.ratio)
        learned.completion += weight * (completion_tokens - learned.completion)


_UNKNOWN = _Learned()
