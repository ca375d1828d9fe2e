"""`tamis keys` makes restricted keys, shows what they may do, and changes it."""

import json
from collections.abc import Callable

from stage import Finished

Run = Callable[..., Finished]


def test_restrictions_are_given_shown_and_changed(run: Run) -> None:
    restricted = ("--model", "a-1", "--model", "b-2", "--monthly-cost", "$20", "--callback", "https://here.example/x")
    made = json.loads(run("keys", "create", "A [b]pipeline", "--scope", "submit", *restricted, "--json").out)
    assert (made["models"], made["monthly_cost"], made["callback"]["url"]) == (
        ["a-1", "b-2"],
        20.0,
        "https://here.example/x",
    )
    key = made["key"].split("_")[1]
    listed = run("keys", "list", COLUMNS="200").out
    assert "A [b]pipeline" in listed
    assert "a-1, b-2" in listed
    assert "$20.00" in listed
    assert "https://here.example/x" in listed
    changed = json.loads(run("keys", "change", key, "--any-model", "--monthly-cost", "2.5", "--json").out)
    assert (changed["models"], changed["monthly_cost"], changed["callback"]["url"]) == (
        None,
        2.5,
        "https://here.example/x",
    )
    told = run("keys", "change", key, "--no-monthly-cost", "--no-callback").out
    assert told.split() == f"key {key}: models any; per month no limit; callback none".split()


def test_what_is_no_restriction_is_refused_with_its_option(run: Run) -> None:
    assert "--monthly-cost: 'much' is not an amount" in run("keys", "create", "x", "--monthly-cost", "much").err
    refused = run("keys", "change", "0", "--model", "a-1", "--any-model")
    assert refused.code == 2
    assert "--any-model cannot be combined" in refused.err
    assert "name a restriction to change" in run("keys", "change", "0").err
