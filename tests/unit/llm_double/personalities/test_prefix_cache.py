"""Prefix caching, to the token: four characters are one."""

from typing import Any

import pytest

from llm_double.asked import Asked, serialised, tokens_of
from llm_double.personalities.prefix_cache import PrefixCache, laid_out
from stage.asking import SCHEMA, asked

FRAME = len("<|system|>\n") + len("\n<|user|>\n")  # around the text of a system message before a user's


def static(tokens: int) -> str:
    """A system message with which so many tokens come before the user's text."""
    return "s" * (tokens * 4 - FRAME)


def counted(cache: PrefixCache, request: Asked) -> tuple[int, int, int | None]:
    """Prompt, cached and written tokens."""
    usage = cache.usage(request, {"prompt_tokens": 1, "completion_tokens": 5, "total_tokens": 6})
    assert usage is not None
    assert usage["total_tokens"] == usage["prompt_tokens"] + 5
    details = usage["prompt_tokens_details"]
    return usage["prompt_tokens"], details["cached_tokens"], details.get("cache_write_tokens")


@pytest.mark.parametrize(
    ("block", "minimum", "shared", "cached"),
    [
        (128, 1024, 1023, 0),  # 7 whole blocks are 896 tokens: below the minimum
        (128, 1024, 1024, 1024),  # 8 x 128
        (128, 1024, 1151, 1024),  # 8 x 128, and 127 of the ninth block
        (128, 1024, 1152, 1152),  # 9 x 128
        (64, 0, 130, 128),  # 2 x 64
        (16, 0, 47, 32),  # 2 x 16
    ],
)
def test_whole_blocks_of_a_shared_prefix_are_read(block: int, minimum: int, shared: int, cached: int) -> None:
    cache = PrefixCache(block=block, minimum=minimum)
    assert counted(cache, asked(static(shared), "first" * 200))[1] == 0
    assert counted(cache, asked(static(shared), "other" * 200))[1] == cached


def test_written_tokens_are_the_whole_blocks_that_were_not_read() -> None:
    cache = PrefixCache(block=128, minimum=1024, writes=True)
    # 1,100 static tokens and 250 characters, one of them the line's end: 1,100 + 63 = 1,163; whole blocks: 9 = 1,152.
    assert counted(cache, asked(static(1100), "a" * 249)) == (1163, 0, 1152)
    assert counted(cache, asked(static(1100), "b" * 249)) == (1163, 1024, 128)
    assert counted(cache, asked(static(1100), "b" * 249)) == (1163, 1152, 0)


def test_a_prompt_below_the_minimum_is_neither_read_nor_written() -> None:
    cache = PrefixCache(writes=True)
    assert [counted(cache, asked(static(900), "a"))[1:] for _ in range(2)] == [(0, 0), (0, 0)]


def test_the_schema_stands_first_and_is_paid_for() -> None:
    bare, with_schema = asked("a question"), asked("a question", schema=SCHEMA)
    assert laid_out(with_schema).text == serialised(SCHEMA) + "\n" + laid_out(bare).text
    assert counted(PrefixCache(), with_schema)[0] == tokens_of(laid_out(with_schema).text)
    assert counted(PrefixCache(schema=False), with_schema)[0] == tokens_of(laid_out(bare).text)


def test_another_schema_breaks_the_prefix() -> None:
    cache = PrefixCache(block=16, minimum=0)
    counted(cache, asked(static(200), "a", schema=SCHEMA))
    assert counted(cache, asked(static(200), "a", schema=SCHEMA))[1] > 200
    assert counted(cache, asked(static(200), "a", schema={**SCHEMA, "type": "array"}))[1] == 0


@pytest.mark.parametrize("other", [{"prompt_cache_key": "two"}, {"model": "n"}])
def test_another_key_or_model_is_another_cache(other: dict[str, Any]) -> None:
    cache = PrefixCache(block=16, minimum=0)
    first = asked(static(64), "a", prompt_cache_key="one")
    counted(cache, first)
    assert counted(cache, asked(static(64), "a", **{"prompt_cache_key": "one", **other}))[1] == 0
    assert counted(cache, first)[1] == 64


def marked(first: str, second: str, mode: str | None = None) -> Asked:
    """A user message of two parts, a breakpoint behind the first one."""
    parts = [{"type": "text", "text": first, "prompt_cache_breakpoint": {"mode": "explicit"}}, {"type": "text"}]
    parts[1]["text"] = second
    options = {} if mode is None else {"prompt_cache_options": {"mode": mode}}
    return Asked({"model": "m", "messages": [{"role": "user", "content": parts}], **options})


def up_to(tokens: int) -> str:
    return "s" * (tokens * 4 - len("<|user|>\n"))


def test_where_only_breakpoints_match_a_changing_end_reads_nothing_and_writes_everything() -> None:
    cache = PrefixCache(breakpoints=True, writes=True)
    # 1,500 static tokens, and 100 characters: the prefix ends with the message, 1,525 tokens, its line's end beyond.
    assert counted(cache, asked(static(1500), "a" * 100)) == (1526, 0, 1525)
    assert counted(cache, asked(static(1500), "b" * 100)) == (1526, 0, 1525)
    assert counted(cache, asked(static(1500), "b" * 100)) == (1526, 1525, 0)


def test_an_explicit_breakpoint_lets_a_changing_end_read_what_stands_before_it() -> None:
    cache = PrefixCache(breakpoints=True, writes=True)
    assert counted(cache, marked(up_to(1500), "a" * 100)) == (1526, 0, 1525)
    assert counted(cache, marked(up_to(1500), "b" * 100)) == (1526, 1500, 25)


def test_where_only_explicit_breakpoints_count_nothing_behind_them_is_written() -> None:
    cache = PrefixCache(breakpoints=True, writes=True)
    assert counted(cache, marked(up_to(1500), "a" * 100, "explicit")) == (1526, 0, 1500)
    assert counted(cache, marked(up_to(1500), "b" * 100, "explicit")) == (1526, 1500, 0)
    blocks = PrefixCache(writes=True)
    assert counted(blocks, marked(up_to(1500), "a" * 600, "explicit"))[1:] == (0, 1408)  # 11 x 128
    assert counted(PrefixCache(writes=True), asked(static(1500), "a", prompt_cache_options={"mode": "explicit"}))[
        1:
    ] == (0, 0)


def test_deepseek_tells_hits_and_misses_in_fields_of_their_own() -> None:
    cache = PrefixCache(block=64, minimum=0, deepseek=True)
    told = [
        cache.usage(asked(static(128), "a"), {"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1})
        for _ in range(2)
    ]
    fields = [(usage["prompt_cache_hit_tokens"], usage["prompt_cache_miss_tokens"]) for usage in told if usage]
    assert fields == [(0, 129), (128, 1)]  # 128 static tokens, the letter and the line's end
    assert not any(usage is None or "prompt_tokens_details" in usage for usage in told)


def test_a_usage_that_is_not_told_stays_so() -> None:
    assert PrefixCache().usage(asked("x"), None) is None
