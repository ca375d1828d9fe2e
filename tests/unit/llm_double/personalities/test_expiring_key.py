"""Keys that are used up."""

from llm_double.personalities.expiring_key import ExpiringKey
from stage.asking import asked


def statuses(keys: ExpiringKey, *asking: tuple[str, float]) -> list[tuple[int, str | None] | None]:
    refusals = [keys.refusal(asked("x", key=key, now=now)) for key, now in asking]
    return [None if refusal is None else (refusal.status, refusal.code) for refusal in refusals]


EXPIRED, UNKNOWN = (401, "token_expired"), (401, "invalid_api_key")


def test_a_key_is_used_up_after_its_calls_and_the_next_one_of_the_list_is_valid_then() -> None:
    keys = ExpiringKey(after_calls=2, keys=("a", "b"))
    asking = [("a", 0.0), ("b", 0.0), ("a", 0.0), ("a", 0.0), ("b", 0.0), ("b", 0.0), ("b", 0.0), ("c", 0.0)]
    assert statuses(keys, *asking) == [None, UNKNOWN, None, EXPIRED, None, None, EXPIRED, UNKNOWN]
    assert keys.valid(0.0) is None


def test_a_refused_call_does_not_use_a_key() -> None:
    keys = ExpiringKey(after_calls=1, keys=("a", "b"))
    statuses(keys, ("b", 0.0), ("b", 0.0))
    assert statuses(keys, ("a", 0.0), ("b", 0.0)) == [None, None]


def test_a_key_is_used_up_so_many_seconds_after_its_first_call() -> None:
    keys = ExpiringKey(seconds=60, keys=("a", "b"))
    assert statuses(keys, ("a", 100.0), ("a", 159.9), ("a", 160.0), ("b", 500.0), ("b", 559.0), ("b", 560.0)) == [
        None,
        None,
        EXPIRED,
        None,
        None,
        EXPIRED,
    ]


def test_without_a_list_every_key_is_taken_until_it_is_used_up_itself() -> None:
    keys = ExpiringKey(after_calls=1)
    assert statuses(keys, ("a", 0.0), ("a", 0.0), ("b", 0.0), ("b", 0.0)) == [None, EXPIRED, None, EXPIRED]
    assert keys.valid(0.0) is None


def test_the_valid_key_can_be_told_and_rotated_by_hand() -> None:
    keys = ExpiringKey(keys=("a", "b"))
    assert keys.valid(0.0) == "a"
    assert keys.rotate(0.0) == "b"
    assert statuses(keys, ("a", 0.0), ("b", 0.0)) == [EXPIRED, None]
    assert keys.rotate(0.0) is None
    assert keys.rotate(0.0) is None


def test_it_remembers_no_key_that_it_was_not_given() -> None:
    keys = ExpiringKey(after_calls=1)
    keys.refusal(asked("x", key="sk-very-secret"))
    assert "secret" not in repr(vars(keys))
