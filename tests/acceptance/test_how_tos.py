"""The pages of `docs/how-to` that change the source, each followed to the letter in a copy of it."""

from pathlib import Path

import pytest

from stage.followed_page import FollowedPage


@pytest.mark.built_from(
    "docs/how-to/add-a-setting.md",
    "docs/how-to/add-a-reader.md",
    "docs/how-to/add-a-route.md",
    "producer/tamis_producer/config",
    "producer/tamis_producer/client",
    "producer/tamis_producer/gateway",
    "review/tamis_review/intake",
    "review/tamis_review/page",
)
@pytest.mark.parametrize(
    ("page", "most_files"), [("add-a-setting.md", 2), ("add-a-reader.md", 3), ("add-a-route.md", 3)]
)
def test_a_page_does_what_it_says_in_few_files(
    page: str, most_files: int, tmp_path: Path, environment: dict[str, str]
) -> None:
    followed = FollowedPage(page, tmp_path)
    assert len(followed.files) <= most_files
    assert followed.printed
    assert followed.run(environment) == followed.printed
