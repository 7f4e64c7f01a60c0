"""Who is right in which class, by hand."""

import numpy as np
import pytest
from small_scores import scores_from_lists

from l2d_core.evaluation.accuracy import balanced_accuracy, class_table

NAMES = ("a", "b", "c")


def test_every_class_counts_the_same_and_one_without_cases_is_named_and_left_out():
    result = balanced_accuracy(np.array([True, False, True, True]), np.array([0, 0, 1, 1]), NAMES)
    assert result.value == 0.75
    assert result.left_out == ("c",)


def test_without_cases_there_is_no_balanced_accuracy():
    result = balanced_accuracy(np.zeros(0, dtype=bool), np.zeros(0, dtype=int), NAMES)
    assert result.value is None
    assert result.left_out == NAMES


def test_it_is_the_mean_recall_of_scikit_learn_where_every_class_has_cases():
    from sklearn.metrics import balanced_accuracy_score

    generator = np.random.default_rng(0)
    labels, said = generator.integers(0, 3, 200), generator.integers(0, 3, 200)
    ours = balanced_accuracy(labels == said, labels, NAMES).value
    assert ours == pytest.approx(balanced_accuracy_score(labels, said))


def test_a_class_table_by_hand():
    logits = [[2.0, 0, 0, 1], [0, 2, 0, 3], [0, 2, 0, 1], [0, 0, 2, 3]]  # of three classes, then to defer
    scores = scores_from_lists(logits, labels=[0, 0, 1, 1], answers=[1, 0, 1, 0])
    table = class_table(scores, np.array([False, True, False, True]))
    table["class"] = list(NAMES)
    table = table.set_index("class")
    assert table["n"].tolist() == [2, 2, 0]
    assert table.loc["a"].tolist() == [2, 0.5, 0.5, 0.5, 1.0]
    assert table.loc["b"].tolist() == [2, 0.5, 0.5, 0.5, 0.5]
    assert table.loc["c", ["machine_alone", "expert_alone", "deferred", "system"]].isna().all()


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="correct"):
        balanced_accuracy(np.array([True]), np.array([0, 1]), NAMES)
