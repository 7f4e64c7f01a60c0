"""Recalibration: what each correction does to estimates, and that it does so on one scale."""

import numpy as np
import pytest
import torch
from scipy import optimize
from scipy.special import expit, logit, logsumexp

from l2d_core.calibration.binned import calibration_error
from l2d_core.data import Scores
from l2d_core.evaluation.accuracy import machine_is_right
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.evaluation.estimator_view import view_scores
from l2d_core.evaluation.probabilities import clip_probability
from l2d_core.evaluation.recalibration import RECALIBRATIONS, fit_recalibration, raw
from l2d_core.surrogates import SURROGATES

N, K = 4000, 3


def made(surrogate, seed=0, stretch=2.0, num_experts=1):
    """Scores whose one-vs-all log-odds of deferring are `stretch` times what they should be."""
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 1, (N, num_experts))
    labels = rng.integers(0, K, N)
    right = rng.random((N, num_experts)) < expit(z)
    answers = np.where(right, labels[:, None], (labels[:, None] + 1) % K)
    logits = np.concatenate([rng.normal(0, 1, (N, K)), stretch * z], axis=1)
    return Scores.from_arrays(logits, labels, answers, surrogate=surrogate)


def test_temperature_finds_by_how_much_the_log_odds_were_stretched():
    found = fit_recalibration("temperature", made("one_vs_all"))
    assert found.parameters["temperature"] == pytest.approx(2, rel=0.1)
    low, high = (f"{found.machine_parameters[f'{side} temperature']:.3g}" for side in ("lowest", "highest"))
    assert found.describe() == (
        f"expert: temperature {found.parameters['temperature']:.3g}; "
        f"machine: lowest temperature {low}, highest temperature {high}"
    )


def test_a_temperature_divides_all_logits_and_so_changes_no_argmax():
    scores = made("softmax")
    t = fit_recalibration("temperature", scores).parameters["temperature"]
    expected = np.exp(scores.logits[:, K] / t - logsumexp(scores.logits[:, :K] / t, axis=1))
    found = fit_recalibration("temperature", scores).apply(scores.logits)[:, 0]
    np.testing.assert_allclose(found, expected)
    np.testing.assert_array_equal(scores.logits.argmax(1), (scores.logits / t).argmax(1))
    np.testing.assert_array_equal(defer_by_argmax(scores.logits), defer_by_argmax(scores.logits / t))


def test_temperature_has_the_least_log_loss_of_all_that_were_tried():
    scores = made("softmax", stretch=1.0)
    right = scores.expert_correct[:, 0]

    def loss(t):
        p = np.exp(scores.logits[:, K] / t - logsumexp(scores.logits[:, :K] / t, axis=1)).clip(1e-6, 1 - 1e-6)
        return -np.where(right, np.log(p), np.log(1 - p)).mean()

    found = fit_recalibration("temperature", scores).parameters["temperature"]
    assert loss(found) <= min(loss(t) for t in np.geomspace(0.1, 10, 300)) + 1e-6


def test_platt_is_a_logistic_regression_on_the_log_odds_towards_smoothed_targets():
    scores = made("one_vs_all")
    z, right = scores.logits[:, K], scores.expert_correct[:, 0]
    targets = np.where(right, (right.sum() + 1) / (right.sum() + 2), 1 / ((~right).sum() + 2))
    twin = optimize.minimize(
        lambda line: (np.logaddexp(0, line[0] * z + line[1]) - targets * (line[0] * z + line[1])).mean(),
        [0.0, 0.0],
        method="Nelder-Mead",
        options={"xatol": 1e-7, "fatol": 1e-12},
    ).x
    found = fit_recalibration("platt", scores)
    assert [found.parameters["slope"], found.parameters["offset"]] == pytest.approx(twin, abs=1e-3)
    np.testing.assert_allclose(found.apply(scores.logits)[:, 0], expit(twin[0] * z + twin[1]), atol=1e-3)


def test_platt_reads_softmax_odds_above_one_without_cutting_them_off():
    scores = made("softmax")
    found = fit_recalibration("platt", scores)
    odds = raw("softmax").apply(scores.logits)[:, 0]
    z = scores.logits[:, K] - logsumexp(scores.logits[:, :K], axis=1)
    assert (odds > 1).sum() > 100
    expected = expit(found.parameters["slope"] * z + found.parameters["offset"])
    np.testing.assert_allclose(found.apply(scores.logits)[:, 0], expected, rtol=1e-6)
    assert len(np.unique(found.apply(scores.logits)[odds > 1])) == (odds > 1).sum()


def test_odds_and_proxy_have_the_same_platt():
    scores = made("softmax")
    assert (
        fit_recalibration("platt", scores, "odds").parameters == fit_recalibration("platt", scores, "proxy").parameters
    )


def test_isotonic_never_falls_and_has_the_share_right_in_each_level():
    scores = made("one_vs_all")
    found = fit_recalibration("isotonic", scores)
    estimate = found.apply(scores.logits)[:, 0]
    order = np.argsort(scores.logits[:, K])
    assert (np.diff(estimate[order]) >= 0).all()
    assert len(np.unique(estimate)) == found.parameters["levels"]
    for level in np.unique(estimate):
        assert scores.expert_correct[estimate == level, 0].mean() == pytest.approx(level)


# One temperature cannot turn logits that were made for a sigmoid into softmax odds; the others can.
@pytest.mark.parametrize(
    ("surrogate", "method"),
    [
        ("softmax", "platt"),
        ("softmax", "isotonic"),
        ("softmax", "venn_abers"),
        ("one_vs_all", "temperature"),
        ("one_vs_all", "platt"),
        ("one_vs_all", "isotonic"),
        ("one_vs_all", "venn_abers"),
    ],
)
def test_every_correction_helps_on_new_cases_of_a_stretched_estimator(surrogate, method):
    held_out, new = made(surrogate), made(surrogate, seed=1)
    before = clip_probability(raw(surrogate).apply(new.logits)[:, 0])
    after = clip_probability(fit_recalibration(method, held_out).apply(new.logits)[:, 0])
    right = new.expert_correct[:, 0]
    assert calibration_error(after, right) < 0.6 * calibration_error(before, right)


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize("method", RECALIBRATIONS)
def test_every_correction_gives_finite_estimates_for_extreme_logits(surrogate, method):
    found = fit_recalibration(method, made(surrogate))
    extreme = np.array([[0.0, 0, 0, 800], [0, 0, 0, -800], [800, 0, 0, 0], [0, 0, 0, 0]])
    estimate = found.apply(extreme)
    assert estimate.shape == (4, 1)
    assert np.isfinite(estimate).all()
    assert (estimate >= 0).all()


@pytest.mark.parametrize("method", RECALIBRATIONS)
@pytest.mark.parametrize("right", [True, False])
def test_an_expert_who_is_always_right_or_always_wrong_can_be_fitted(method, right):
    scores = made("one_vs_all")
    answers = scores.labels if right else (scores.labels + 1) % K
    same = Scores.from_arrays(scores.logits, scores.labels, answers, surrogate="one_vs_all")
    estimate = fit_recalibration(method, same).apply(scores.logits)
    assert np.isfinite(estimate).all()
    if method in ("platt", "isotonic"):
        assert (np.abs(estimate - right) < 0.01).all()


def test_the_answers_of_all_experts_count_and_missing_ones_do_not():
    scores = made("one_vs_all", num_experts=2)
    answers = scores.answers.copy()
    answers[:, 1] = -1
    one = Scores.from_arrays(scores.logits[:, :4], scores.labels, answers[:, 0], surrogate="one_vs_all")
    both = Scores.from_arrays(scores.logits, scores.labels, answers, surrogate="one_vs_all")
    assert fit_recalibration("platt", both).parameters == pytest.approx(fit_recalibration("platt", one).parameters)
    assert fit_recalibration("isotonic", both).apply(scores.logits, 2).shape == (N, 2)
    none = Scores.from_arrays(scores.logits, scores.labels, np.full((N, 2), -1), surrogate="one_vs_all")
    with pytest.raises(ValueError, match="there are none"):
        fit_recalibration("platt", none)


def test_an_unknown_method_or_estimator_is_named_with_the_known_ones():
    with pytest.raises(
        ValueError,
        match="method must be one of 'none', 'temperature', 'platt', 'isotonic', 'venn_abers'; got 'beta'",
    ):
        fit_recalibration("beta", made("softmax"))
    with pytest.raises(ValueError, match="estimator must be one of 'odds', 'proxy'; got 'sigmoid'"):
        fit_recalibration("platt", made("softmax"), "sigmoid")


def test_one_vs_all_log_odds_are_the_logit_itself():
    scores = made("one_vs_all")
    sigmoid = raw("one_vs_all").apply(scores.logits)[:, 0]
    np.testing.assert_allclose(logit(sigmoid), scores.logits[:, K], atol=1e-9)


def overconfident(surrogate, seed, stretch, n=6000):
    """Scores of a machine whose class logits, and of an expert whose deferral score, are `stretch` times too large."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.2, (n, K + 1))
    known = SURROGATES[surrogate]
    p = known.class_probability(torch.from_numpy(logits), 1).numpy()
    if surrogate == "one_vs_all":  # the top class is right with its sigmoid, else any other
        top = p.argmax(axis=1)
        labels = np.where(rng.random(n) < p.max(axis=1), top, (top + rng.integers(1, K, n)) % K)
    else:
        labels = (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=K - 1)
    right = rng.random(n) < np.minimum(
        next(iter(known.estimators.values()))(torch.from_numpy(logits), 1).numpy()[:, 0], 1
    )
    logits[:, :K] *= stretch
    answers = np.where(right, labels, (labels + 1) % K)
    return Scores.from_arrays(logits, labels, answers, surrogate=surrogate)


@pytest.mark.parametrize("surrogate", ["softmax", "asymmetric_softmax", "one_vs_all"])
@pytest.mark.parametrize("method", ["platt", "isotonic", "venn_abers", "temperature"])
def test_the_machines_confidence_is_corrected_too_and_its_class_stays(surrogate, method):
    held_out, new = overconfident(surrogate, 0, 3.0), overconfident(surrogate, 1, 3.0)
    correct = machine_is_right(new)
    before = calibration_error(raw(surrogate).confidence(new.logits), correct)
    found = fit_recalibration(method, held_out)
    assert calibration_error(found.confidence(new.logits), correct) < 0.5 * before
    view = view_scores(new, None, found)
    np.testing.assert_array_equal(view.machine_correct, correct)
    np.testing.assert_allclose(view.defer_margin, view.probability - found.confidence(new.logits))


def test_softmax_classes_share_one_temperature_which_is_found():
    found = fit_recalibration("temperature", overconfident("softmax", 0, 3.0)).machine_parameters
    assert found["temperature"] == pytest.approx(3, rel=0.1)


def test_each_class_of_one_vs_all_has_the_temperature_of_the_least_log_loss():
    scores = overconfident("one_vs_all", 0, 3.0)
    tried = np.geomspace(0.02, 50, 4000)
    best = []
    for k in range(K):
        z, is_label = scores.logits[:500, k, None] / tried, scores.labels[:500, None] == k
        best.append(tried[(np.logaddexp(0, z) - is_label * z).mean(axis=0).argmin()])
    few = Scores.from_arrays(scores.logits[:500], scores.labels[:500], scores.answers[:500], surrogate="one_vs_all")
    found = fit_recalibration("temperature", few).machine_parameters
    assert (found["lowest temperature"], found["highest temperature"]) == pytest.approx(
        (min(best), max(best)), rel=2e-3
    )
