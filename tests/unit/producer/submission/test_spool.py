"""A spool gives back what was added, however much of it lies on disk."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_producer.submission.spool import AT_ONCE, IN_MEMORY, LARGEST_PIECE, Spool
from tamis_schemas import ConfigurationError


def spooled(values: list[str], size: int = 1) -> Spool[str]:
    spool = Spool[str]()
    for value in values:
        spool.append(value, size)
    return spool


@given(st.lists(st.text(max_size=3), max_size=9), st.integers(0, 3))
def test_what_was_added_comes_out_in_its_order_and_again(values: list[str], pieces: int) -> None:
    values = values + [f"{n}" for n in range(pieces * AT_ONCE)]
    with spooled(values) as spool:
        assert list(spool) == values
        assert list(spool) == values
        assert len(spool) == len(values)


def test_two_readers_may_take_turns_while_more_is_added() -> None:
    values = [str(n) for n in range(2 * AT_ONCE + 1)]
    with spooled(values) as spool:
        one, other = iter(spool), iter(spool)
        assert [next(one), next(other), next(one)] == ["0", "0", "1"]
        spool.append("more", LARGEST_PIECE)
        assert [*one] == [*values[2:], "more"]
        assert [*other] == [*values[1:], "more"]


def test_more_than_memory_is_to_hold_lies_in_a_file_without_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    megabytes = [str(n) * 1_000_000 for n in range(6)]
    with spooled(megabytes, size=LARGEST_PIECE) as spool:
        assert sum(map(len, megabytes)) > IN_MEMORY
        assert spool._file._rolled  # type: ignore[attr-defined]  # what SpooledTemporaryFile calls it
        assert list(tmp_path.iterdir()) == []
        assert list(spool) == megabytes


def test_a_folder_that_takes_no_more_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(ConfigurationError, match=r"gone cannot store the items .*No such file.*TMPDIR"):
        spooled(["x" * 1_000_000] * 6, size=LARGEST_PIECE)
