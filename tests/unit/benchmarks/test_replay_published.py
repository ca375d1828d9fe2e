"""What the published review says of itself, without Tamis; and a table that marks what should agree and does not."""

import pytest
from benchmarks.replay_inputs import decisions, exports, full_texts, resolutions
from benchmarks.replay_published import cohens_kappa, published
from benchmarks.replay_table import Line, to_markdown
from benchmarks.review_rows import REVIEW

from stage.shared_data import needs_real_records


@needs_real_records
def test_the_review_s_numbers_are_those_of_its_readme() -> None:
    said = published(decisions(REVIEW), resolutions(REVIEW), full_texts(REVIEW))
    assert (said.screened, said.includes, said.both, said.conflicts) == (1_498, {"LB": 17, "LD": 17}, 14, 6)
    assert round(said.kappa, 3) == 0.822
    assert said.resolved == {"include": 2, "exclude": 4}
    assert (said.assessed, said.found_otherwise, said.differing, said.included) == (18, 3, 1, 7)
    assert said.excluded == {"Not SNHL only": 9, "Wrong age cohort": 2}
    assert sum(export.published for export in exports(REVIEW)) == 2_695


def test_kappa_is_agreement_beyond_chance() -> None:
    # po = (4 + 4) / 10 = 0.8, pe = 0.5 * 0.5 + 0.5 * 0.5 = 0.5, kappa = (0.8 - 0.5) / (1 - 0.5) = 0.6
    pairs = {("include", "include"): 4, ("exclude", "exclude"): 4, ("include", "exclude"): 1, ("exclude", "include"): 1}
    assert cohens_kappa(pairs) == pytest.approx(0.6)


def test_a_number_that_has_to_be_the_published_one_and_is_not_is_marked() -> None:
    own = [Line("included", "7", "6"), Line("left", "10", "11", same=False), Line("sought", "8", "8")]
    assert [one.agrees for one in own] == [False, True, True]
    assert to_markdown(own).count("**differs**") == 1
