"""Titles: what databases add to them, and in which other ways they write them."""

import time

import pytest

from tamis_review.intake.traits import title_of

WALKING = "Walking and the mood of older people"


@pytest.mark.parametrize(
    "written",
    [
        f"{WALKING}.",
        f"[{WALKING}].",
        f"{WALKING} [Article in German]",
        f"{WALKING}. [German]",
        f"{WALKING} [German, English]",
        f"{WALKING} (in French)",
        f"{WALKING} [Title translated].",
        f"[{WALKING} (author's transl)]",
        f"[{WALKING}] [Article in Chinese]",
        f"{WALKING}. [References].",
        f"{WALKING} [12 refs]",
        f"{WALKING} [see comments]. [Dutch]",
        f"{WALKING} LA",
        f"{WALKING} LA: Chi",
        f"{WALKING}. [Chinese] LA: chi, eng",
        f"{WALKING}.LA  - English",
        f"{WALKING}.DP  - Mar 15, 2017",
    ],
)
def test_what_a_database_adds_is_no_part_of_a_title(written: str) -> None:
    assert title_of(written).main.rstrip(".") == WALKING


@pytest.mark.parametrize(
    "written",
    [
        "Walking in the suburbs of Villa",  # no tag
        "Walking in LA: children and their mood",  # a subtitle
        "Walking in the UK - a survey",  # one blank before the dash: a subtitle
        "Walking of older people (Germany)",
        "Walking of older people [Germans]",
        "[Walking] and the mood of [older people]",
        "Walking of older people (n = 30)",
        "[12]",
        "",
    ],
)
def test_what_belongs_to_a_title_stays(written: str) -> None:
    assert title_of(written).main == written.removeprefix("[12]") or written == "[12]"


@pytest.mark.parametrize(
    ("written", "others"),
    [
        (f"{WALKING}: a randomised trial", [WALKING]),
        (f"{WALKING} - a randomised trial", [WALKING]),
        (f"{WALKING}. A randomised trial", [WALKING]),
        (f"{WALKING}; [Gehen und Stimmung im Alter]", [WALKING, "Gehen und Stimmung im Alter"]),
        (f"{WALKING}. [German]; [Gehen und Stimmung im Alter]", [WALKING, "Gehen und Stimmung im Alter"]),
        (WALKING, []),
    ],
)
def test_a_title_may_be_written_without_its_subtitle_or_in_one_of_two_languages(
    written: str, others: list[str]
) -> None:
    assert list(title_of(written).others) == others


@pytest.mark.parametrize(
    ("subtitle", "another"),
    [
        ("study protocol", True),
        ("a commentary", True),
        ("part II", True),
        ("2019", True),
        ("a randomised trial", False),
        ("in partial shade", False),
    ],
)
def test_a_subtitle_that_names_another_paper_is_known(subtitle: str, another: bool) -> None:
    assert title_of(f"{WALKING}: {subtitle}").says_another_paper is another


def test_a_long_title_takes_no_longer_than_its_length() -> None:
    begun = time.process_time()
    for mark in ("[", "(", "] ", ". ", " ", ": ", "[see comments ", "[a] ", "LA  - "):
        title_of(mark * (50_000 // len(mark)) + "]")
    assert time.process_time() - begun < 2  # about 0.05; squares of 50,000 are minutes
