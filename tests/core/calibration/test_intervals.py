"""What chance alone does: intervals against scipy's exact answers and against sums written out."""

import numpy as np
import pytest
from scipy import stats

from l2d_core.calibration.intervals import binomial_band, binomial_mean_deviation, mean_and_interval, wilson_interval

PROBABILITIES = np.array([0.0, 0.001, 0.1, 1 / 3, 0.5, 0.9, 0.999, 1.0])


@pytest.mark.parametrize("n", [1, 2, 9, 130])
def test_the_wilson_interval_agrees_with_scipy(n):
    for right in {0, 1, n // 2, n}:
        expected = stats.binomtest(right, n).proportion_ci(0.95, method="wilson")
        low, high = wilson_interval([right / n], [n])
        assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_the_wilson_interval_holds_its_share_and_stays_within_zero_and_one():
    share = np.array([0.0, 0.3, 1.0, 0.0, 1.0])
    low, high = wilson_interval(share, [0.25, 0.25, 0.25, 1e6, 1e6])
    assert ((low >= 0) & (low <= share) & (share <= high) & (high <= 1)).all()
    assert low[0] == 0
    assert high[2] == 1


@pytest.mark.parametrize("n", [1, 2, 3, 10, 57])
def test_de_moivres_formula_is_the_mean_deviation_summed_out(n):
    counts = np.arange(n + 1)
    expected = [(stats.binom.pmf(counts, n, p) * np.abs(counts / n - p)).sum() for p in PROBABILITIES]
    result = binomial_mean_deviation(PROBABILITIES, np.full(len(PROBABILITIES), n))
    assert result == pytest.approx(expected, abs=1e-12)


def test_the_mean_deviation_of_many_cases_is_that_of_the_normal_law():
    expected = np.sqrt(2 / np.pi * 0.3 * 0.7 / 1e6)
    assert binomial_mean_deviation([0.3], [1_000_000])[0] == pytest.approx(expected, rel=1e-5)


def test_the_interval_of_a_mean_is_students():
    values = [0.71, 0.74, 0.69, 0.75]
    mean, half = mean_and_interval(values)
    low, high = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert (mean, half) == pytest.approx(((low + high) / 2, (high - low) / 2))


def test_one_seed_has_a_mean_without_interval_and_none_has_neither():
    assert mean_and_interval([0.5]) == (0.5, None)
    assert mean_and_interval([]) == (None, None)
    assert mean_and_interval([None, None]) == (None, None)


def test_seeds_without_cases_are_left_out_of_the_mean():
    assert mean_and_interval([0.2, None, 0.4]) == mean_and_interval(np.array([0.2, 0.4]))


def test_a_seed_that_is_not_a_number_is_refused():
    with pytest.raises(ValueError, match="values must be finite, got nan at row 1"):
        mean_and_interval([0.5, float("nan")])


@pytest.mark.parametrize("n", [1, 2, 10, 57, 1000, 12_345])
def test_the_band_is_made_of_the_quantiles_that_scipy_gives(n):
    probability = np.concatenate(
        [PROBABILITIES, [0.0, 5e-324, 1e-300, 1e-12, 1 - 1e-12, 1 - 2**-53, 1.0], np.linspace(0, 1, 301)]
    )
    low, high = binomial_band(probability, np.full(len(probability), n))
    assert (low * n).round().tolist() == stats.binom.ppf(0.025, n, probability).tolist()
    assert (high * n).round().tolist() == stats.binom.ppf(0.975, n, probability).tolist()


# Coverage: how often an interval holds the truth.


@pytest.mark.parametrize("n", [10, 50, 500])
def test_the_wilson_interval_covers_95_percent_on_average_over_the_true_share(n):
    truth, counts = np.linspace(0.01, 0.99, 99), np.arange(n + 1)
    low, high = wilson_interval(counts / n, np.full(n + 1, n))
    holds = (low <= truth[:, None]) & (truth[:, None] <= high)
    coverage = (stats.binom.pmf(counts, n, truth[:, None]) * holds).sum(axis=1)  # exact, no samples needed
    assert coverage.mean() == pytest.approx(0.95, abs=0.015)
    assert coverage.min() > 0.83  # near 0 and 1, where no count gives just 95 %


@pytest.mark.parametrize("num_seeds", [2, 6])
@pytest.mark.parametrize("num_cases", [None, 300])
def test_students_interval_over_seeds_covers_the_mean_over_trainings(num_seeds, num_cases):
    rng, truth = np.random.default_rng(num_seeds), 0.8
    held = []
    for _ in range(1000):
        seeds = np.clip(rng.normal(truth, 0.03, num_seeds), 0, 1)
        if num_cases is not None:  # what a training is worth is itself a share of cases
            seeds = rng.binomial(num_cases, seeds) / num_cases
        mean, half_width = mean_and_interval(seeds)
        held.append(abs(mean - truth) <= half_width)
    assert 0.93 <= np.mean(held) <= 0.97
