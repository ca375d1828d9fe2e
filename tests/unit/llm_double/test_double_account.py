"""The account, added up."""

import json

from llm_double import Account, Charge
from llm_double.account import Books

USAGE = {
    "prompt_tokens": 1000,
    "completion_tokens": 30,
    "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 128},
    "completion_tokens_details": {"reasoning_tokens": 20},
}


def booked() -> Books:
    books = Books()
    books.enter("m", {"usage": USAGE, "service_tier": "flex"}, read=True)
    books.enter("m", {"usage": USAGE, "service_tier": "flex"}, read=True)
    books.enter("m", {"usage": {"prompt_tokens": 7, "completion_tokens": 1, "prompt_tokens_details": None}}, read=True)
    books.enter("n", {"usage": USAGE, "service_tier": None}, read=False)
    books.enter("n", {}, read=True)
    return books


def test_charges_are_added_up_by_model_and_tier_and_by_who_read_them() -> None:
    account = booked().account()
    assert account.of(model="m", tier="flex") == Charge("m", "flex", True, 2, 2000, 1200, 256, 60, 40)
    assert account.of(model="m", tier="default") == Charge("m", "default", True, 1, 7, 0, 0, 1, 0)
    assert account.of(read=False) == Charge("", "", False, 1, 1000, 600, 128, 30, 20)
    assert account.of().calls == 4
    assert account.of(model="nobody").calls == 0


def test_an_answer_without_usage_is_counted_apart() -> None:
    assert booked().account().untold == 1


def test_numbers_of_any_length_are_added_up() -> None:
    books = Books()
    for _ in range(3):
        books.enter("m", {"usage": {"prompt_tokens": 10**3999}}, read=True)
    assert books.account().of().prompt_tokens == 3 * 10**3999


def test_an_account_survives_the_way_as_json() -> None:
    account = booked().account()
    assert Account.from_json(json.loads(json.dumps(account.to_json()))) == account
