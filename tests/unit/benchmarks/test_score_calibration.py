"""The probability of recorded answers, as it is and calibrated by a part of the labels."""

from benchmarks.score_calibration import ece, figures, recorded

from stage.shared_data import needs_real_records


@needs_real_records
def test_calibration_mends_the_probability_of_a_recorded_model() -> None:
    data = recorded()
    assert (len(data.labels), sum(data.labels)) == (2477, 119)
    assert round(ece(data.probabilities, data.labels), 3) == 0.080
    some = figures(data, 500, seeds=2)
    assert (some.borne, some.methods) == (2, ("platt",))
    whole = figures(data, None)
    assert whole.methods == ("isotonic",)
    for before, after in ((some.rest_before, some.rest_after), (whole.before, whole.cross_fitted)):
        assert before is not None
        assert after is not None
        assert after < before / 3
    assert figures(data, 100, seeds=1).borne == 0
