"""What a view of an estimator gives to charts: each case drawn once, and the histogram of raw estimates."""

import numpy as np
import pytest

from l2d_core.calibration.binned import without_above_one
from l2d_core.data import Scores
from l2d_core.evaluation import estimator_view
from l2d_core.evaluation.summary import class_means, pooled_view

CASES, CLASSES = 400, 3


def scores(seed):
    """Scores of softmax with odds on both sides of 1."""
    draw = np.random.default_rng(seed)
    labels = np.random.default_rng(0).integers(0, CLASSES, CASES)
    answers = np.where(draw.random(CASES) < 0.6, labels, (labels + 1) % CLASSES)
    logits = draw.normal(0, 1.5, (CASES, CLASSES + 1)).astype(np.float32)
    return Scores.from_arrays(logits, labels, answers, surrogate="softmax", class_names=["a", "b", "c"])


@pytest.fixture
def view():
    return pooled_view([scores(1), scores(2)], "odds")


def test_the_table_for_drawing_holds_the_estimates_up_to_one_and_the_other_table_is_left_as_it_was(view):
    table = estimator_view.reliability(view)
    whole = table.copy()
    drawn = without_above_one(table, estimator_view.above_one(view))
    kept = view.probability <= 1
    expected = estimator_view.reliability_of(view.probability[kept], view.expert_correct[kept], num_seeds=2)
    assert 0 < kept.sum() < len(kept)
    np.testing.assert_allclose(drawn.to_numpy(dtype=float), expected.to_numpy(dtype=float), atol=1e-9)
    assert table.equals(whole)


def test_where_all_estimates_of_the_last_bin_are_above_one_it_is_empty_for_drawing(view):
    all_above = estimator_view.pool([view])
    object.__setattr__(all_above, "probability", np.full(len(view), 1.5))
    drawn = without_above_one(estimator_view.reliability(all_above), estimator_view.above_one(all_above))
    assert drawn[["n", "cases", "cases_right"]].to_numpy().sum() == 0
    assert drawn["share_correct"].isna().all()


def test_the_histogram_of_estimates_counts_each_case_once_and_one_itself_is_not_above_one(view):
    object.__setattr__(view, "probability", np.array([0.0, 0.05, 1.0, 1.0000001, 2.99, 3.0, 50.0]))
    object.__setattr__(view, "expert_correct", np.array([True, False, True, False, True, False, True]))
    table = estimator_view.estimate_histogram(view)
    assert table["share"].sum() == pytest.approx(1)
    assert table.loc[table["low"] >= 1, "share"].sum() == pytest.approx(4 / 7)
    assert table.loc[table["low"] >= 1, "share_right"].sum() == pytest.approx(2 / 7)
    last = table.iloc[-1]
    assert (last["low"], last["high"], last["share"]) == (3.0, np.inf, pytest.approx(2 / 7))


def test_the_means_by_class_are_those_of_a_loop_over_its_cases():
    seeds = [scores(1), scores(2)]
    table = class_means(seeds)
    assert table["n"].sum() == CASES
    for k, row in enumerate(table.to_dict("records")):
        estimates, deferred, right = [], [], []
        for one in seeds:
            for logits, label, answer in zip(one.logits, one.labels, one.answers[:, 0], strict=True):
                if label == k:
                    estimates.append(min(np.exp(logits[3]) / np.exp(logits[:3]).sum(), 1))
                    deferred.append(logits[3] >= logits[:3].max())
                    right.append(answer == label)
        assert row["odds"] == pytest.approx(np.mean(estimates), rel=1e-5)
        assert row["deferred"] == pytest.approx(np.mean(deferred))
        assert row["expert_alone"] == pytest.approx(np.mean(right))
