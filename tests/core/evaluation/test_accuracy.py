"""Estimates and accuracies: by hand, by slow twins, and at the edges."""

import numpy as np
import pytest
import torch
from scipy import stats
from small_scores import hand_scores, random_scores, scores_from_lists

from l2d_core.calibration.binned import calibration_error
from l2d_core.evaluation.accuracy import Statistic, accuracies
from l2d_core.evaluation.curves import budget_curve, coverage_curve, curves_at
from l2d_core.evaluation.deferral import defer_by_argmax, defer_margin
from l2d_core.evaluation.margins import margin_of_scores
from l2d_core.evaluation.probabilities import (
    classifier_pairs,
    clip_probability,
    expert_pairs,
    expert_probability,
    risk_distance,
    share_above_one,
)
from l2d_core.surrogates import SURROGATES

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def test_accuracies_computed_by_hand():
    scores = hand_scores()
    assert accuracies(scores, defer_by_argmax(scores.logits)) == {
        "system": Statistic(0.75, 4),
        "machine_on_kept": Statistic(1.0, 2),
        "expert_on_deferred": Statistic(0.5, 2),
        "machine_alone": Statistic(0.5, 4),
        "expert_alone": Statistic(0.5, 4),
        "coverage": Statistic(0.5, 4),
    }


def test_with_all_or_none_deferred_the_empty_side_has_no_value_and_no_nan():
    scores = hand_scores()
    everything, nothing = accuracies(scores, np.ones(4, bool)), accuracies(scores, np.zeros(4, bool))
    assert everything["machine_on_kept"] == nothing["expert_on_deferred"] == Statistic(None, 0)
    assert everything["system"] == everything["expert_on_deferred"] == everything["expert_alone"]
    assert nothing["system"] == nothing["machine_on_kept"] == nothing["machine_alone"]
    assert (everything["coverage"], nothing["coverage"]) == (Statistic(0.0, 4), Statistic(1.0, 4))


def test_with_two_experts_a_deferred_case_goes_to_the_one_with_the_higher_score():
    scores = scores_from_lists([[0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 3.0, 2.0]], [0, 0], [[1, 0], [1, 0]])
    result = accuracies(scores, torch.tensor([True, True]))
    assert result["system"] == result["expert_alone"] == Statistic(0.5, 2)


def test_an_expert_that_was_not_asked_counts_only_where_it_is_not_needed():
    scores = scores_from_lists([[3.0, 0.0, 1.0], [0.0, 0.0, 1.0]], [0, 1], [-1, 1])
    assert accuracies(scores, [False, True])["expert_alone"] == Statistic(1.0, 1)
    with pytest.raises(ValueError, match=r"what 'expert' said .*, got -1 \(not asked\) at row 0 \(0\)"):
        accuracies(scores, [True, True])
    for curve in (coverage_curve, lambda *given: curves_at(*given, [0.5])):
        with pytest.raises(ValueError, match=r"not asked\) at row 0"):
            curve(scores, [-2.0, 1.0])
    assert budget_curve(scores, [-2.0, 1.0], [0.5, 1.0], forced=False)["n_kept"].tolist() == [1, 1]
    with pytest.raises(ValueError, match=r"not asked\) at row 0"):
        budget_curve(scores, [-2.0, 1.0], [0.5, 1.0], forced=True)
    probability, correct = expert_pairs(scores)
    assert (len(probability), correct.tolist()) == (1, [True])


@pytest.mark.parametrize("deferred", [[1, 0, 0, 1], [0.0, 1.0, 1.0, 0.0], [True] * 3])
def test_decisions_are_one_bool_a_case(deferred):
    with pytest.raises(ValueError, match="deferred must"):
        accuracies(hand_scores(), deferred)


@pytest.mark.parametrize("name", list(SURROGATES))
def test_every_estimator_comes_out_raw_and_the_first_is_the_default(name):
    scores = random_scores(surrogate=name)
    estimators = SURROGATES[name].estimators
    for estimator, function in estimators.items():
        expected = function(torch.tensor(scores.logits, dtype=torch.float64)).numpy()
        assert (expert_probability(scores, estimator) == expected).all()
    assert (expert_probability(scores) == expert_probability(scores, next(iter(estimators)))).all()


def test_the_softmax_odds_are_computed_as_p_over_one_minus_p_and_may_exceed_one():
    scores = random_scores()
    p = np.exp(scores.logits) / np.exp(scores.logits).sum(axis=1, keepdims=True)
    odds = expert_probability(scores)
    assert odds.shape == (60, 1)
    assert odds[:, 0] == pytest.approx(p[:, 3] / (1 - p[:, 3]))
    assert odds.max() > 1
    probability, correct = expert_pairs(scores)
    assert (probability == np.minimum(odds[:, 0], 1)).all()
    assert 0 < calibration_error(probability, correct) < 1


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match=r"estimator must be one of 'odds', 'proxy'; got 'sigmoid'"):
        expert_probability(random_scores(), "sigmoid")
    with pytest.raises(ValueError, match=r"surrogate must be one of 'softmax', .*; got 'hinge'"):
        expert_probability(random_scores(surrogate="hinge"))
    with pytest.raises(ValueError, match=r"surrogate must be one of 'softmax', .*; got 'hinge'"):
        classifier_pairs(random_scores(surrogate="hinge"))
    with pytest.raises(ValueError, match=r"expert must lie in 0..0, got 1"):
        expert_pairs(random_scores(), expert=1)


def test_values_above_one_are_clipped_and_counted_over_all_and_over_the_deferred_cases():
    probability, deferred = np.array([0.2, 1.0, 1.5, 40.0]), np.array([False, True, True, True])
    assert clip_probability(probability).tolist() == [0.2, 1.0, 1.0, 1.0]
    assert share_above_one(probability, deferred) == {"all": Statistic(0.5, 4), "deferred": Statistic(2 / 3, 3)}
    assert share_above_one(probability, np.zeros(4, bool))["deferred"] == Statistic(None, 0)


def test_clipping_does_not_hide_what_is_no_estimate():
    for bad, shown in ((-0.1, "-0.1"), (np.nan, "nan")):
        with pytest.raises(ValueError, match=f"probability must lie in 0..inf, got {shown} at row 1"):
            clip_probability([0.5, bad])


def test_an_estimate_above_one_implies_a_deferral():
    scores = random_scores(500, 3)
    odds, deferred = expert_probability(scores)[:, 0], defer_by_argmax(scores.logits)
    shares = share_above_one(odds, deferred)
    assert (shares["all"].n, shares["deferred"].n) == (500, deferred.sum())
    assert shares["all"].value * 500 == pytest.approx(shares["deferred"].value * deferred.sum())


def test_the_classifiers_confidence_is_the_top_class_whatever_the_deferral_score():
    confidence, correct = classifier_pairs(hand_scores())
    assert confidence == pytest.approx(1 / (1 + np.exp(-np.array([3.0, 2.0, 1.0, 1.0]))))
    assert correct.tolist() == [True, True, False, False]
    confidence, _ = classifier_pairs(random_scores())
    assert ((confidence >= 1 / 3) & (confidence <= 1)).all()


def test_the_risk_distance_is_wasserstein_1():
    assert risk_distance([0.2, 0.4], [0.5, 0.3]) == pytest.approx(0.1)
    assert risk_distance([0.0] * 3, [1.0]) == 1
    predicted, true = np.random.default_rng(0).random((2, 50))
    slow = np.abs(np.sort(predicted) - np.sort(true)).mean()
    assert risk_distance(predicted, true) == pytest.approx(slow)
    few, many = np.round(predicted[:7], 1), np.round(true, 1)  # ties, and not as many of one as of the other
    assert risk_distance(few, many) == pytest.approx(stats.wasserstein_distance(few, many), abs=1e-15)


@pytest.mark.parametrize(
    ("predicted", "true", "message"),
    [
        ([], [0.5], "predicted_risk must hold at least one case, got 0"),
        ([0.5], [], "true_risk must hold at least one case, got 0"),
        ([-0.5], [0.5], r"predicted_risk must lie in 0..1, got -0.5 at row 0"),
        ([0.5], [0.5, np.nan], "true_risk must be finite, got nan at row 1"),
    ],
)
def test_risks_are_probabilities(predicted, true, message):
    with pytest.raises(ValueError, match=message):
        risk_distance(predicted, true)


@pytest.mark.parametrize("sign", [1, -1], ids=["all near 1", "all near 0"])
def test_where_probabilities_saturate_the_margin_keeps_the_sign_and_the_order_of_the_logits(sign):
    logits = [[60, 0, 45], [60, 0, 50], [45, 0, 60], [50, 0, 60], [60, 0, 60]]
    scores = scores_from_lists(
        (sign * np.array(logits, dtype=float)).tolist(), [0] * 5, [1] * 5, surrogate="one_vs_all"
    )
    margin, exact = margin_of_scores(scores), defer_margin(scores.logits)
    assert (np.sign(margin) == np.sign(exact)).all()
    if sign == 1:
        assert np.argsort(margin).tolist() == np.argsort(exact).tolist()
    assert np.array_equal(margin >= 0, defer_by_argmax(scores.logits))
