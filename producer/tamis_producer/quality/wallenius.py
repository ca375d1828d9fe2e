"""Wallenius' noncentral hypergeometric distribution: drawing one after the other, where a kind is drawn more readily.

Of N records K are of a kind; at each of n draws a record of the kind is `bias` times as likely as another. As if each
record waited for an exponential time (of the rate `bias`, or 1) and the first n were drawn: that x of the kind are
among them has the probability

    C(K, x) C(N - K, n - x) * integral over t > 0 of D exp(-D t) (1 - exp(-bias t))^x (1 - exp(-t))^(n - x) dt

with D = bias (K - x) + (N - K - n + x), the rate of what is left. With t = exp(u) the integrand is smooth and falls off
on both sides, so that the trapezoidal rule over equal steps of u converges faster than any power of the step.

Source: Wallenius, K. T. (1963), Biased sampling: the noncentral hypergeometric probability distribution, Stanford
University; Fog, A. (2008), Calculation methods for Wallenius' noncentral hypergeometric distribution, Communications in
Statistics, Simulation and Computation 37, 258-273; Trefethen, L. N., Weideman, J. A. C. (2014), The exponentially
convergent trapezoidal rule, SIAM Review 56, 385-458.
"""

from math import exp, expm1, log, sqrt

from .finite_population import log_comb

NEGLIGIBLE = 1e-17  # of a sum
STEPS = 4  # of the rule in a standard deviation of the peak; it is at most 1, so the error is below 1e-15
ROUNDS = 60  # of bisection for the peak


def wallenius_up_to(found: int, sample: int, population: int, kind: int, bias: float, above: float = 1.0) -> float:
    """P(X <= found), or a number of at least `above` as soon as the probability is known to exceed it."""
    fewest, most = max(0, sample - (population - kind)), min(sample, kind)
    if found < fewest or found >= most:
        return float(found >= most)
    total = 0.0
    for x in range(found, fewest - 1, -1):
        term = _probability(x, sample, population, kind, bias)
        total += term
        if total >= above or term < total * NEGLIGIBLE:
            break
    return min(1.0, total)


def _probability(x: int, sample: int, population: int, kind: int, bias: float) -> float:
    """P(X = x), for a number that can be drawn."""
    others = sample - x
    rate = bias * (kind - x) + (population - kind - others)
    ways = log_comb(kind, x) + log_comb(population - kind, others) + log(rate)

    def integrand(u: float) -> float:
        t = exp(u)
        return exp(ways + u - rate * t + _log_drawn(x, bias * t) + _log_drawn(others, t))

    low, high = (
        log(1e-3 / rate),
        log((1 + sample) / rate),
    )  # the slope's sign changes in between
    for _ in range(ROUNDS):
        peak = (low + high) / 2
        t = exp(peak)
        if 1 - rate * t + x * _pull(bias * t) + others * _pull(t) > 0:
            low = peak
        else:
            high = peak
    t = exp(peak)
    curvature = rate * t - x * _pull_slope(bias * t) - others * _pull_slope(t)
    step = 1 / (STEPS * sqrt(max(1.0, curvature)))
    total = top = integrand(peak)
    for direction in (step, -step):
        u = peak + direction
        while (height := integrand(u)) > top * NEGLIGIBLE:
            total += height
            u += direction
    return total * step


def _log_drawn(number: int, t: float) -> float:
    """The logarithm of (1 - exp(-t))^number."""
    return number * log(-expm1(-t)) if number else 0.0


def _pull(t: float) -> float:
    """d/du of log(1 - exp(-t)) with t = exp(u): t / (exp(t) - 1)."""
    return t / expm1(t) if t < 500 else 0.0


def _pull_slope(t: float) -> float:
    """d/du of the above, which is never positive."""
    if t >= 500:
        return 0.0
    if t < 1e-4:
        return -t / 2
    grown = expm1(t)
    return t * (grown - t * exp(t)) / (grown * grown)
