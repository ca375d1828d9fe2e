"""The cost of token probabilities for a worker: bytes on the wire, and CPU to read them.

    python -m benchmarks.token_probabilities

The answer is about six criteria, in tokens of four characters with five alternatives each, as OpenAI sends them.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from tamis_worker.llm.completion import read_completion
from tamis_worker.llm.token_probability import ALTERNATIVES, probability_of
from tamis_worker.operations.inclusion import DECISION

CHARACTERS = 4  # of a token
CRITERIA = 6
ROUNDS = 300
VERDICT = {"quote": "adults after a total hip replacement", "verdict": "met"}
CONTENT = json.dumps(
    {
        "rationale": "It describes a randomised trial in adults, and the comparison that the review asks for. " * 2,
        "verdicts": {f"I{number}": VERDICT for number in range(1, CRITERIA + 1)},
        "status": "include",
        "confidence": 0.9,
    }
)


def tokens() -> list[dict[str, Any]]:
    """Return the tokens of the answer."""
    return [_token(CONTENT[start : start + CHARACTERS]) for start in range(0, len(CONTENT), CHARACTERS)]


def body(told: list[dict[str, Any]] | None) -> bytes:
    """Return the body of a completion with these tokens; None: without tokens."""
    choice = {"message": {"content": CONTENT}, "finish_reason": "stop", "logprobs": told and {"content": told}}
    return json.dumps({"model": "m", "choices": [choice], "usage": {}}).encode()


def main() -> None:
    """Print the table, in Markdown."""
    told = tokens()
    sys.stdout.write(f"{len(told)} tokens\n\n| | bytes | ms of CPU to read |\n|---|---:|---:|\n")
    for name, sent in (("without", body(None)), ("with probabilities", body(told))):
        took = _ms(partial(read_completion, sent, api_key=""))
        sys.stdout.write(f"| {name} | {len(sent):,} | {took:.2f} |\n")
    took = _ms(partial(probability_of, CONTENT, told, DECISION))
    sys.stdout.write(f"| the decision's probability | | {took:.2f} |\n")


def _token(text: str) -> dict[str, Any]:
    listed = [(text, -0.0123456)] + [(f" o{place}", -8.7654321 - place) for place in range(ALTERNATIVES - 1)]
    alternatives = [{"token": one, "logprob": log, "bytes": list(one.encode())} for one, log in listed]
    return {**alternatives[0], "top_logprobs": alternatives}


def _ms(read: Callable[[], object]) -> float:
    began = time.process_time()
    for _ in range(ROUNDS):
        read()
    return (time.process_time() - began) / ROUNDS * 1000


if __name__ == "__main__":
    main()
