"""Calibration in bins: hand values, edges, independent oracles, and what chance does."""

import math

import numpy as np
import pytest
import torch
from sklearn.calibration import calibration_curve

from l2d_core.calibration.binned import (
    calibration_error,
    calibration_error_by_chance,
    debiased_calibration_error,
    reliability_table,
    signed_calibration_errors,
)

STRATEGIES = ["equal_width", "equal_mass"]
ERRORS = [calibration_error, debiased_calibration_error]
FUNCTIONS = [*ERRORS, reliability_table]


def _draw(seed: int, n: int = 700, shrink: float = 0.85) -> tuple[np.ndarray, np.ndarray]:
    """Over-confident estimates with an atom at 1, as clipped softmax odds are."""
    generator = np.random.default_rng(seed)
    probability = np.minimum(generator.lognormal(-0.4, 0.6, n), 1)
    return probability, generator.random(n) < shrink * probability


def _simulate(probability: np.ndarray, draws: int) -> np.ndarray:
    """Outcomes (draws, N) for which these probabilities are perfectly calibrated."""
    return np.random.default_rng(0).random((draws, len(probability))) < probability


def test_a_table_computed_by_hand():
    table = reliability_table([0.1, 0.2, 0.3, 0.9], [0, 1, 0, 1], bins=2)
    assert table["low"].tolist() == [0.0, 0.5]
    assert table["high"].tolist() == [0.5, 1.0]
    assert table["n"].tolist() == [3, 1]
    assert table["mean_probability"].tolist() == pytest.approx([0.2, 0.9])
    assert table["share_correct"].tolist() == pytest.approx([1 / 3, 1.0])
    assert table["gap"].tolist() == pytest.approx([1 / 3 - 0.2, 0.1])


def test_the_error_weighs_the_gap_at_the_mean_estimate_not_at_the_bins_centre():
    error = calibration_error([0.1, 0.2, 0.3, 0.9], [0, 1, 0, 1], bins=2)
    assert error == pytest.approx(3 / 4 * (1 / 3 - 0.2) + 1 / 4 * 0.1)


def test_zero_and_one_both_count():
    table = reliability_table([0.0, 1.0, 1.0], [1, 0, 1], bins=10)
    assert table["n"].tolist() == [1] + [0] * 8 + [2]
    assert calibration_error([0.0, 1.0, 1.0], [1, 0, 1], bins=10) == pytest.approx((1 + 1) / 3)


@pytest.mark.parametrize("bins", [3, 10, 15, 49, 100])
def test_equal_width_bins_are_closed_on_the_right_at_every_edge(bins):
    edges = np.array([k / bins for k in range(1, bins + 1)])
    assert reliability_table(edges, np.ones(bins), bins=bins)["n"].tolist() == [1] * bins
    above = np.nextafter(edges[:-1], 1)
    assert reliability_table(above, np.ones(bins - 1), bins=bins)["n"].tolist() == [0] + [1] * (bins - 1)


def test_empty_bins_stay_empty_and_weigh_nothing():
    table = reliability_table([0.1, 0.95], [0, 1], bins=15)
    assert len(table) == 15
    empty = table[table["n"] == 0]
    assert len(empty) == 13
    assert empty.drop(columns=["low", "high", "n"]).isna().all(axis=None)
    assert table[table["n"] > 0].notna().all(axis=None)
    assert calibration_error([0.1, 0.95], [0, 1]) == pytest.approx((0.1 + 0.05) / 2)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_equal_scores_that_are_all_wrong_show_their_whole_gap(strategy):
    probability, correct = [0.9] * 10, [0] * 10
    table = reliability_table(probability, correct, strategy=strategy)
    assert table.loc[table["n"] > 0, ["n", "gap"]].to_numpy().tolist() == [[10, pytest.approx(-0.9)]]
    assert calibration_error(probability, correct, strategy=strategy) == pytest.approx(0.9)
    assert debiased_calibration_error(probability, correct, strategy=strategy) == pytest.approx(0.9)


def test_equal_mass_bins_of_distinct_values_hold_equal_numbers():
    probability = np.random.default_rng(0).random(103)
    n = reliability_table(probability, np.ones(103), bins=10, strategy="equal_mass")["n"]
    assert len(n) == 10
    assert set(n) == {10, 11}


def test_equal_mass_never_splits_equal_values_and_merges_edges_that_coincide():
    probability, correct = _draw(0)
    table = reliability_table(probability, correct, bins=20, strategy="equal_mass")
    assert 1 < len(table) < 20
    assert (table["n"] > 0).all()
    assert (table["high"].to_numpy()[:-1] == table["low"].to_numpy()[1:]).all()
    assert table["n"].iloc[-1] >= (probability == 1).sum() > len(probability) / 20
    for low, high, n in table[["low", "high", "n"]].to_numpy()[1:]:
        assert n == ((probability > low) & (probability <= high)).sum()


def test_more_equal_mass_bins_than_values_give_one_bin_a_value():
    table = reliability_table([0.2, 0.2, 0.7], [1, 0, 1], bins=15, strategy="equal_mass")
    assert table[["low", "high", "n"]].to_numpy().tolist() == [[0.2, 0.2, 2], [0.2, 0.7, 1]]


@pytest.mark.parametrize("bins", [5, 15, 20])
def test_filled_equal_width_bins_agree_with_scikit_learn(bins):
    probability, correct = _draw(1)
    share, mean = calibration_curve(correct, probability, n_bins=bins, strategy="uniform")
    table = reliability_table(probability, correct, bins=bins).query("n > 0")
    assert table["share_correct"].to_numpy() == pytest.approx(share)
    assert table["mean_probability"].to_numpy() == pytest.approx(mean)


def test_pooled_scorings_of_the_same_cases_do_not_narrow_interval_or_band():
    probability, correct = _draw(2)
    once = reliability_table(probability, correct)
    pooled = reliability_table(np.tile(probability, 8), np.tile(correct, 8), repeats=8)
    assert (pooled["n"] == 8 * once["n"]).all()
    assert pooled.drop(columns="n").to_numpy() == pytest.approx(once.drop(columns="n").to_numpy(), nan_ok=True)
    taken_as_new = reliability_table(np.tile(probability, 8), np.tile(correct, 8))
    for side in ("interval", "band"):
        widths = [(t[f"{side}_high"] - t[f"{side}_low"]).dropna() for t in (taken_as_new, pooled)]
        assert (widths[0] < widths[1]).all()


def test_a_bin_that_few_of_the_pooled_scorings_reach_has_an_interval_and_a_band():
    filled = reliability_table([0.5, 0.5], [1, 0], repeats=8).query("n > 0").iloc[0]
    assert 0 <= filled["interval_low"] < 0.5 < filled["interval_high"] <= 1
    assert (filled["band_low"], filled["band_high"]) == (0, 1)


def test_a_calibrated_estimator_falls_into_its_band_19_times_in_20():
    probability = np.random.default_rng(1).beta(2, 1, 400)
    tables = [reliability_table(probability, outcome, bins=8) for outcome in _simulate(probability, 60)]
    inside = [(t["share_correct"].between(t["band_low"], t["band_high"])).mean() for t in tables]
    assert 0.94 < np.mean(inside) < 0.99


@pytest.mark.parametrize("bins", [1, 3, 15])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_error_by_chance_is_that_of_simulated_perfect_estimators(bins, strategy):
    probability = np.random.default_rng(2).beta(2, 1, 500)
    simulated = [
        calibration_error(probability, outcome, bins=bins, strategy=strategy)
        for outcome in _simulate(probability, 2000)
    ]
    expected = calibration_error_by_chance(probability, bins=bins, strategy=strategy)
    noise = np.std(simulated) / 2000**0.5
    assert np.mean(simulated) == pytest.approx(expected, abs=4 * noise + 0.003 * expected)


def test_the_error_by_chance_is_exact_for_equal_probabilities_and_zero_for_certain_ones():
    one_coin = calibration_error_by_chance([0.3])
    assert one_coin == pytest.approx(0.3 * 0.7 + 0.7 * 0.3)
    assert calibration_error_by_chance([0.0, 1.0, 1.0]) == 0
    assert calibration_error_by_chance([0.0, 1.0], bins=1) == 0


def test_the_debiased_error_agrees_with_pairs_counted_one_by_one():
    probability, correct = _draw(3, n=60, shrink=0.4)
    total = 0.0
    for low in np.arange(5) / 5:
        inside = np.flatnonzero((probability > low) & (probability <= low + 0.2 + 1e-12))
        r = correct[inside] - probability[inside]
        products = [r[i] * r[j] for i in range(len(r)) for j in range(len(r)) if i != j]
        total += len(r) / 60 * np.mean(products) if products else 0
    assert total > 0
    assert debiased_calibration_error(probability, correct, bins=5) == pytest.approx(total**0.5)


def test_the_debiased_error_of_equal_estimates_is_kumars():
    correct = np.array([1, 1, 1, 0, 1, 1])
    share, n = correct.mean(), len(correct)
    expected = (share - 0.3) ** 2 - share * (1 - share) / (n - 1)
    assert debiased_calibration_error(np.full(n, 0.3), correct) == pytest.approx(expected**0.5)


def test_the_debiased_error_is_unbiased_where_the_plug_in_is_not():
    outcomes = np.random.default_rng(4).random((3000, 50)) < 0.8
    probability = np.full(50, 0.6)
    debiased = np.mean([debiased_calibration_error(probability, outcome) ** 2 for outcome in outcomes])
    plug_in = np.mean([calibration_error(probability, outcome) ** 2 for outcome in outcomes])
    assert debiased == pytest.approx(0.2**2, abs=0.0015)
    assert plug_in == pytest.approx(0.2**2 + 0.8 * 0.2 / 50, abs=0.0015)
    assert plug_in > debiased + 0.0025


def test_one_case_gives_numbers_without_a_warning():
    assert calibration_error([0.25], [1]) == 0.75
    assert debiased_calibration_error([0.25], [1]) == 0
    assert reliability_table([0.25], [1])["n"].sum() == 1


def test_scores_of_one_only_are_read_as_the_share_that_is_wrong():
    assert calibration_error(np.ones(4, dtype=np.float32), [1, 1, 0, 1]) == 0.25


def test_the_largest_float32_softmax_probabilities_are_accepted():
    logits = torch.randn(10_000, 7, generator=torch.Generator().manual_seed(0)) * 30
    top = torch.softmax(logits, dim=1).max(dim=1).values
    assert 0 <= calibration_error(top, torch.ones(10_000)) <= 1


@pytest.mark.parametrize("as_type", [list, tuple, np.array, torch.tensor])
def test_any_kind_of_array_gives_the_same_table(as_type):
    probability, correct = as_type([0.25, 0.5, 0.75]), as_type([True, False, True])
    expected = reliability_table(np.array([0.25, 0.5, 0.75]), np.array([1.0, 0.0, 1.0]), bins=4)
    assert reliability_table(probability, correct, bins=4).equals(expected)


@pytest.mark.parametrize(
    ("probability", "correct", "message"),
    [
        ([0.5, 1.3], [1, 0], r"probability must lie in 0..1, got 1.3 at row 1; clip .*clip_probability"),
        ([-0.2, 0.5], [1, 0], r"probability must lie in 0..1, got -0.2 at row 0"),
        ([0.5, math.nan], [1, 0], "probability must be finite, got nan at row 1"),
        ([], [], "probability must hold at least one case, got 0"),
        ([0.5, 0.5], [1], r"correct must have shape \(2\), got \(1,\)"),
        ([[0.5], [0.5]], [1, 0], r"probability must have shape \(any\), got \(2, 1\)"),
        ([0.5, 0.5, 0.5], [1, 0, 2], "correct must be 0 or 1, got 2 at row 2"),
        ([0.5, 0.5], [0.5, 1], "correct must be 0 or 1, got 0.5 at row 0"),
        ([0.5, 0.5], [1, math.nan], "correct must be finite, got nan at row 1"),
        (["high"], [1], "probability must be numbers"),
    ],
)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_bad_input_is_refused_by_argument_rule_and_row(function, probability, correct, message):
    with pytest.raises(ValueError, match=message):
        function(probability, correct)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_unknown_strategy_lists_the_known_ones_and_bins_are_at_least_one(function):
    with pytest.raises(ValueError, match="strategy must be one of 'equal_width', 'equal_mass'; got 'uniform'"):
        function([0.5], [1], strategy="uniform")
    with pytest.raises(ValueError, match="bins must be a whole number of at least 1, got 0"):
        function([0.5], [1], bins=0)
    with pytest.raises(ValueError, match="repeats must be a whole number of at least 1, got 0"):
        reliability_table([0.5], [1], repeats=0)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_over_and_underconfidence_add_up_to_the_ece_and_differ_by_the_mean_gap(strategy):
    probability, correct = _draw(5)
    over, under = signed_calibration_errors(probability, correct, strategy=strategy)
    assert over + under == pytest.approx(calibration_error(probability, correct, strategy=strategy))
    assert over - under == pytest.approx(np.mean(probability) - np.mean(correct))
    assert signed_calibration_errors([0.1, 0.9], [1, 0]) == pytest.approx((0.45, 0.45))
