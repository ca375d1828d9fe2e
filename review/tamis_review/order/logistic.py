"""Logistic regression of a few columns with expected weights, which few records hardly move and many do."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

INTERCEPT_SPREAD = 10.0  # the intercept is the data's
STEPS = 100  # of Newton's method, which takes about eight
ENOUGH = 1e-9  # the length of a step that changes nothing


def regress(columns: "np.ndarray", included: "np.ndarray", *, expected: Sequence[float], spread: float) -> "np.ndarray":
    """Return the intercept and a weight for each column that are the most probable ones.

    They maximise log L(weights) - sum of (weight - expected)^2 / (2 spread^2): the records' likelihood under a logistic
    regression, and a normal distribution of each weight about what is expected without any record.

    Args:
        columns: one row a record, one column a value of it.
        included: 1 for an include, 0 for an exclude.
        expected: a weight for each column.
        spread: the standard deviation of weights about what is expected.
    """
    import numpy as np
    from scipy.special import expit, log_expit

    with_ones = np.column_stack([np.ones(len(columns)), columns])
    centre = np.asarray([0.0, *expected])
    precision = np.asarray([INTERCEPT_SPREAD**-2] + [spread**-2] * len(expected))

    def loss(weights: "np.ndarray") -> float:
        likelihood = included * log_expit(with_ones @ weights) + (1 - included) * log_expit(-(with_ones @ weights))
        return float(precision @ (weights - centre) ** 2 / 2 - likelihood.sum())

    weights = centre.copy()
    for _ in range(STEPS):
        probability = expit(with_ones @ weights)
        slope = with_ones.T @ (included - probability) - precision * (weights - centre)
        curve = (with_ones.T * (probability * (1 - probability))) @ with_ones + np.diag(precision)
        step = np.linalg.solve(curve, slope)
        while loss(weights + step) > loss(weights) and np.abs(step).max() > ENOUGH:
            step /= 2  # far from the end Newton's method may leap beyond it
        weights = weights + step
        if np.abs(step).max() <= ENOUGH:
            break
    return weights


def predict(columns: "np.ndarray", weights: "np.ndarray") -> "np.ndarray":
    """Return the probability of an include for each row, by an intercept and weights."""
    import numpy as np
    from scipy.special import expit

    return np.asarray(expit(weights[0] + columns @ weights[1:]))
