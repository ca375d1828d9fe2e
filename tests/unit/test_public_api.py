"""What is promised to stay is what was recorded: whoever changes it does so knowingly."""

from public_api import RECORDED, surface


def test_the_public_surface_is_as_recorded() -> None:
    recorded, now = set(RECORDED.read_text("utf-8").splitlines()), set(surface())
    gone, new = sorted(recorded - now), sorted(now - recorded)
    assert (gone, new) == ([], []), "on purpose? `python -m tests.public_api`, and a line in CHANGELOG.md"
