"""Logistic regression with expected weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_review.order.ranking import regress

DRAW = np.random.default_rng(1)
COLUMNS = DRAW.normal(size=(400, 2))


def predict(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    from scipy.special import expit  # takes half a second: not for whoever only collects

    return np.asarray(expit(weights[0] + columns @ weights[1:]))


@pytest.fixture(scope="module")
def included() -> np.ndarray:
    return (DRAW.random(400) < predict(COLUMNS, np.array([-1.0, 2.0, 0.5]))).astype(float)


def test_without_records_the_weights_are_those_that_are_expected() -> None:
    weights = regress(np.empty((0, 2)), np.empty(0), expected=[0.3, 0.7], spread=0.5)
    assert weights == pytest.approx([0, 0.3, 0.7])


def test_many_records_outweigh_what_is_expected(included: np.ndarray) -> None:
    """A wide normal distribution about 0 is the ridge of scikit-learn with C = spread^2."""
    from sklearn.linear_model import LogisticRegression  # takes two seconds: not for whoever only collects

    weights = regress(COLUMNS, included, expected=[0, 0], spread=100)
    theirs = LogisticRegression(C=100.0**2, tol=1e-8).fit(COLUMNS, included)
    assert weights[1:] == pytest.approx(theirs.coef_[0], abs=0.01)
    assert weights[0] == pytest.approx(theirs.intercept_[0], abs=0.02)


def test_a_narrow_expectation_holds_the_weights(included: np.ndarray) -> None:
    assert regress(COLUMNS, included, expected=[5, -5], spread=0.001)[1:] == pytest.approx([5, -5], abs=0.01)


def test_the_mean_probability_is_the_share_of_includes(included: np.ndarray) -> None:
    weights = regress(COLUMNS, included, expected=[0, 0], spread=1)
    assert predict(COLUMNS, weights).mean() == pytest.approx(included.mean(), abs=0.001)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3), st.booleans()), min_size=1, max_size=20),
    st.floats(0.1, 10),
)
def test_it_ends_wherever_the_records_lie(records: list[tuple[float, bool]], spread: float) -> None:
    """Separated, all of one kind, far out: the weights are finite, and no step is better."""
    columns = np.array([[value] for value, _ in records])
    included = np.array([float(kind) for _, kind in records])
    weights = regress(columns, included, expected=[1.0], spread=spread)
    assert np.isfinite(weights).all()
    slope = columns[:, 0] @ (included - predict(columns, weights)) - (weights[1] - 1) / spread**2
    assert abs(slope) < 1e-3 * (1 + np.abs(columns).sum())
