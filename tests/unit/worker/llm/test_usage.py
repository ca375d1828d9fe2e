"""Usage as endpoints give it: OpenAI's details, and every way to leave them out."""

from typing import Any

import pytest

from tamis_schemas import Usage
from tamis_worker.llm.completion import read_usage

DETAILED = {
    "prompt_tokens": 2006,
    "completion_tokens": 300,
    "total_tokens": 2306,
    "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 128, "accepted_prediction_tokens": 0},
}
PLAIN = {"prompt_tokens": 100, "completion_tokens": 5}


@pytest.mark.parametrize(
    ("given", "usage"),
    [
        (DETAILED, Usage(2006, 300, 1920, 128)),
        ({"prompt_tokens": 7, "completion_tokens": 4}, Usage(7, 4)),
        (DETAILED | {"prompt_tokens_details": None, "completion_tokens_details": {}}, Usage(2006, 300)),
        (DETAILED | {"prompt_tokens_details": {"cached_tokens": None}}, Usage(2006, 300, 0, 128)),
        (DETAILED | {"prompt_tokens_details": {"cached_tokens": 9999}}, Usage(2006, 300, 2006, 128)),
        ({"prompt_tokens": -1, "completion_tokens": "4"}, Usage()),
        # OpenAI and OpenRouter, LiteLLM, Anthropic, DeepSeek, Moonshot.
        (PLAIN | {"prompt_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 30}}, Usage(100, 5, 20, 0, 30)),
        (PLAIN | {"prompt_tokens_details": {"cache_creation_tokens": 30}}, Usage(100, 5, 0, 0, 30)),
        (PLAIN | {"cache_read_input_tokens": 20, "cache_creation_input_tokens": 30}, Usage(100, 5, 20, 0, 30)),
        (PLAIN | {"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36}, Usage(100, 5, 64)),
        (PLAIN | {"cached_tokens": 64}, Usage(100, 5, 64)),
        # 100 in all, of which 90 were read: no more than 10 can have been written.
        (PLAIN | {"prompt_tokens_details": {"cached_tokens": 90, "cache_write_tokens": 30}}, Usage(100, 5, 90, 0, 10)),
        (PLAIN | {"prompt_tokens_details": {"cached_tokens": 0}, "prompt_cache_hit_tokens": 64}, Usage(100, 5, 64)),
        ({}, Usage()),
        (None, Usage()),
        ("none", Usage()),
    ],
)
def test_what_is_not_counted_is_zero_and_no_part_is_more_than_the_whole(given: Any, usage: Usage) -> None:
    assert read_usage(given) == usage
