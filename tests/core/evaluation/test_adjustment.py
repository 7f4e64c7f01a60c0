"""Weighing rare classes: what it is at 0 and at 1, a slow twin of the curve, and marks chosen on validation."""

import numpy as np
import pandas as pd
import pytest

from l2d_core.data import Scores
from l2d_core.evaluation.adjustment import Adjustment, choose_taus, name_classes, tau_curve
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.surrogates import SURROGATES

PRIOR = np.array([0.1, 0.2, 0.7])


def scores(surrogate="one_vs_all", size=300, seed=0):
    generator = np.random.default_rng(seed)
    labels = generator.choice(3, size, p=PRIOR)
    logits = generator.normal(size=(size, 4)) + np.log(np.append(PRIOR, 0.3))
    logits[np.arange(size), labels] += 1
    answers = np.where(generator.random(size) < 0.6, labels, (labels + 1) % 3)
    return Scores.from_arrays(logits, labels, answers, surrogate=surrogate)


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize("adjustment", [None, Adjustment(PRIOR, 0.0)])
def test_without_weight_the_best_class_is_named_and_the_decision_is_that_of_the_scores(surrogate, adjustment):
    one = scores(surrogate)
    named = name_classes(one.logits, surrogate, adjustment)
    assert (named.classes == one.logits[:, :3].argmax(axis=1)).all()
    assert (named.deferred == defer_by_argmax(one.logits)).all()


def test_saturated_scores_still_decide_by_their_logits():
    logits = np.array([[60.0, 0.0, 0.0, 61.0], [61.0, 0.0, 0.0, 60.0], [60.0, 0.0, 0.0, 60.0]])
    assert name_classes(logits, "one_vs_all").deferred.tolist() == [True, False, True]


def test_with_the_true_prior_at_1_every_class_counts_the_same():
    # Probabilities that are right: with tau 1 the largest likelihood is named, as Bayes's rule for balanced classes.
    likelihood = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.4], [0.1, 0.1, 0.3]])
    posterior = likelihood * PRIOR / (likelihood * PRIOR).sum(axis=1, keepdims=True)
    logits = np.column_stack([np.log(posterior), np.full(3, -9.0)])
    assert name_classes(logits, "softmax").classes.tolist() == [2, 2, 2]
    assert name_classes(logits, "softmax", Adjustment(PRIOR, 1.0)).classes.tolist() == [0, 1, 2]


def test_a_class_that_is_named_against_the_scores_is_deferred_sooner():
    one = scores()
    plain, weighed = (
        name_classes(one.logits, "one_vs_all"),
        name_classes(one.logits, "one_vs_all", Adjustment(PRIOR, 1)),
    )
    assert (weighed.margin >= plain.margin - 1e-12).all()
    assert weighed.deferred.sum() > plain.deferred.sum()
    assert (weighed.confidence <= plain.confidence + 1e-12).all()


def test_the_curve_is_that_of_a_slow_twin():
    one, tau = scores(), 0.6
    row = tau_curve(one, PRIOR, np.array([0, tau]), 1).iloc[1]
    sigmoid = 1 / (1 + np.exp(-one.logits))
    machine, system, deferred = [], [], 0
    for place, label in enumerate(one.labels):
        weighed = [np.log(sigmoid[place, k]) - tau * np.log(PRIOR[k]) for k in range(3)]
        named = weighed.index(max(weighed))
        asks = sigmoid[place, 3] >= sigmoid[place, named]
        deferred += asks
        machine.append(named == label)
        system.append(one.answers[place, 0] == label if asks else named == label)
    recalls = [np.mean([m for m, label in zip(machine, one.labels, strict=True) if label == k]) for k in range(3)]
    assert row["machine"] == pytest.approx(np.mean(machine))
    assert row["system"] == pytest.approx(np.mean(system))
    assert row["deferred"] == pytest.approx(deferred / len(one))
    assert row["balanced"] == pytest.approx(np.mean(recalls))
    assert row["recall"] == pytest.approx(recalls[1])


def test_the_marks_are_the_best_of_each_kind_and_the_largest_that_costs_little():
    curve = pd.DataFrame(
        {"tau": [0, 0.5, 1, 1.5], "machine": [0.8, 0.8, 0.785, 0.7], "balanced": [0.6, 0.65, 0.7, 0.7]}
    )
    assert choose_taus(curve) == {"accurate": 0.0, "cheap": 1.0, "balanced": 1.0}


@pytest.mark.parametrize(("prior", "tau"), [([0.0, 1.0], 0), ([0.5, 0.5], -1), ([0.5, 0.5], float("nan"))])
def test_an_impossible_weight_is_refused(prior, tau):
    with pytest.raises(ValueError, match=r"prior|tau"):
        Adjustment(np.array(prior), tau)
