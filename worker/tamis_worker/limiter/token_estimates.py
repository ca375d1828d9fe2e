"""The expected number of tokens of a call, learned from earlier calls: a characters rule that corrects itself."""

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
    completion: float = EXPECTED_ANSWER  # tokens


def believable(tokens: int, characters: int, max_tokens: int) -> bool:
    """Return whether a call can have used so many tokens. An impossible count must not delay other calls."""
    return tokens <= TOKENS_OF_CHARACTER * characters + max_tokens + THOUGHTS


class TokenEstimates:
    """The estimates of one process, per operation and model, because prompts and answers differ between them.

    Averages, not upper bounds: the limiter settles the difference afterwards, and over many calls it balances out. The
    first calls count in full; from the fiftieth on, the average moves by a fiftieth of each difference.
    """

    def __init__(self) -> None:
        self._learned: defaultdict[tuple[str, str], _Learned] = defaultdict(_Learned)

    def of(self, operation_name: str, model: str, characters: int, max_tokens: int) -> int:
        """Estimate the tokens of a prompt of `characters` and its answer of at most `max_tokens`."""
        learned = self._learned.get((operation_name, model)) or _UNKNOWN
        return round(characters * learned.ratio + min(learned.completion, max_tokens))

    def learn(
        self, operation_name: str, model: str, characters: int, prompt_tokens: int, completion_tokens: int
    ) -> None:
        """Learn from a call. Ignored if the endpoint reported no counts."""
        if characters <= 0 or prompt_tokens <= 0:
            return
        learned = self._learned[operation_name, model]
        learned.calls += 1
        weight = 1 / min(learned.calls, MEMORY)
        learned.ratio += weight * (prompt_tokens / characters - learned.ratio)
        learned.completion += weight * (completion_tokens - learned.completion)


_UNKNOWN = _Learned()
