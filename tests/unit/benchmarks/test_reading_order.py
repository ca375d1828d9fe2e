"""What the reading order is worth on a real review: the short form of `python -m benchmarks.reading_order`."""

from benchmarks.asreview_runs import priors
from benchmarks.reading_cases import cases
from benchmarks.reading_order import figures, read

from stage.shared_data import needs_real_records


@needs_real_records
def test_donners_is_read_to_less_than_a_third_for_95_percent_of_its_includes() -> None:
    """ASReview's default model reads 38 % of it, and chance 94 %: all of 15 records have to be found."""
    case = cases()["synergy_Donners_2021, no model"]
    curve = read(case.features, case.scores(0), case.labels, priors(case.labels, 0), seed=0)
    found = figures(curve)
    assert (curve.records, curve.includes) == (258, 15)
    assert found["read_95"] is not None
    assert found["wss_95"] is not None
    assert 15 / 258 < found["read_95"] < 0.33
    assert found["wss_95"] == 0.95 - found["read_95"]


@needs_real_records
def test_recorded_answers_are_read_by_their_score_alone() -> None:
    """25 / 35 / 58 % for 95 / 98 / 100 % of the includes."""
    case = next(case for name, case in cases().items() if name.startswith("kwok") and "recorded" in name)
    start = priors(case.labels, 0)
    found = figures(read(case.features, case.scores(0), case.labels, start, seed=0, explore=0, learns=False))
    assert [round(found[key] or 0, 2) for key in ("read_95", "read_98", "read_100")] == [0.25, 0.35, 0.58]
