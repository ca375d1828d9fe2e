"""Lines that fit where they are put."""

from hypothesis import given
from hypothesis import strategies as st

from tamis_review.report.text_width import ELLIPSIS, width, wrapped


def test_wide_letters_are_wider_than_narrow_ones_and_a_wide_script_than_both() -> None:
    assert width("iii", 10) < width("nnn", 10) < width("WWW", 10)
    assert width("漢字", 10) > width("ab", 10)
    assert width("é", 10) == width("e\u0301", 10)  # an accent of its own takes no room


def test_what_does_not_fit_ends_in_an_ellipsis() -> None:
    lines = wrapped("one two three four five six seven eight nine ten", 10, 60, 2)
    assert len(lines) == 2
    assert lines[1].endswith(ELLIPSIS)


def test_a_word_wider_than_a_line_is_broken() -> None:
    lines = wrapped("10.1234/" + "x" * 60, 10, 100, 9)
    assert len(lines) > 1
    assert "".join(lines) == "10.1234/" + "x" * 60


def test_an_empty_text_is_one_empty_line() -> None:
    assert wrapped("  \n ", 10, 100) == [""]


@given(st.text(max_size=300), st.integers(min_value=40, max_value=400), st.integers(min_value=1, max_value=4))
def test_no_line_is_wider_than_its_room_and_none_is_one_too_many(text: str, room: int, lines: int) -> None:
    found = wrapped(text, 12, room, lines)
    assert 1 <= len(found) <= lines
    assert all(width(line, 12) <= room for line in found)


def test_a_text_of_a_million_characters_is_cut_at_once() -> None:
    assert len(wrapped("word " * 200_000, 12, 300)) == 3
    assert len(wrapped("x" * 1_000_000, 12, 300)) == 3
