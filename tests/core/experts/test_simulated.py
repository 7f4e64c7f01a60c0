"""Simulated experts: their matrices, the answers drawn from them, and how often they are right."""

import math

import numpy as np
import pytest
import torch

from l2d_core.experts.simulated import check_confusion, expert_correct_probability, per_class, right_on, sample_answers


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def matrix(rows):
    return torch.tensor(rows, dtype=torch.float64)


def assert_equal(value, expected):
    torch.testing.assert_close(value, matrix(expected), rtol=0, atol=1e-15)


# Matrices.


def test_wrong_answers_are_spread_over_the_other_classes():
    assert_equal(per_class([0.6, 1.0, 0.0]), [[0.6, 0.2, 0.2], [0, 1, 0], [0.5, 0.5, 0]])


def test_a_guess_over_all_classes_is_right_again_in_one_case_of_k():
    third = 1 / 3
    assert_equal(per_class([0.4, 1.0, 0.0], wrong="all"), [[0.6, 0.2, 0.2], [0, 1, 0], [third, third, third]])


def test_75_percent_and_random_over_ten_classes_is_right_in_77_and_a_half_percent():
    assert per_class([0.75] * 10, wrong="all").diagonal().tolist() == pytest.approx([0.775] * 10)
    assert per_class([0.75] * 10).diagonal().tolist() == pytest.approx([0.75] * 10)


def test_accuracies_may_come_as_a_list_an_array_or_a_tensor_and_are_left_alone():
    accuracy = [0.5, 0.25, 1.0]
    tensor = torch.tensor(accuracy)
    for given in (accuracy, np.array(accuracy), tensor, [0.5, 0.25, 1]):
        assert torch.equal(per_class(given), per_class(matrix(accuracy)))
    per_class(tensor, wrong="all")
    assert tensor.tolist() == accuracy


def test_right_on_knows_its_classes_and_guesses_over_all_on_the_rest():
    quarter = [0.25] * 4
    assert_equal(right_on([0, 2], 4), [[1, 0, 0, 0], quarter, [0, 0, 1, 0], quarter])
    assert_equal(right_on([1], 4, 0.7)[1], [0.1, 0.7, 0.1, 0.1])


def test_an_expert_right_on_no_class_guesses_all_of_them():
    assert_equal(right_on((), 2), [[0.5, 0.5], [0.5, 0.5]])


@pytest.mark.parametrize("wrong", ["others", "all"])
@pytest.mark.parametrize("num_classes", [2, 3, 10, 1000])
def test_rows_are_distributions_for_any_accuracy(num_classes, wrong):
    accuracy = torch.rand(num_classes, generator=seeded(), dtype=torch.float64)
    confusion = per_class(accuracy, wrong=wrong)
    assert confusion.shape == (num_classes, num_classes)
    assert (confusion >= 0).all()
    torch.testing.assert_close(confusion.sum(dim=1), torch.ones(num_classes, dtype=torch.float64))


# Answers.


def test_answers_follow_the_matrix():
    confusion = matrix([[0.5, 0.3, 0.2], [0.05, 0.9, 0.05], [0.6, 0.1, 0.3]])
    num_draws = 20_000
    for label in range(3):
        answers = sample_answers(confusion, torch.full((num_draws,), label), generator=seeded(label))
        share = torch.bincount(answers, minlength=3) / num_draws
        error = (confusion[label] * (1 - confusion[label]) / num_draws).sqrt()
        assert ((share - confusion[label]).abs() < 4 * error).all()


def test_an_answer_of_probability_0_is_never_given_and_one_of_probability_1_always():
    confusion = matrix([[0, 1, 0, 0], [0.1, 0.7, 0.2, 0], [0, 0, 1, 0], [0.3, 0, 0.7, 0]])
    labels = torch.arange(4).repeat(5000)
    answers = sample_answers(confusion, labels, generator=seeded())
    assert (confusion[labels, answers] > 0).all()
    assert (answers[labels == 0] == 1).all()
    assert (answers[labels == 2] == 2).all()


def test_what_rounding_leaves_of_a_row_goes_to_no_answer_of_probability_0():
    confusion = matrix([[0, 0.5, 0.5 - 9e-6], [0, 1, 0], [0, 0, 1]])
    labels = torch.zeros(2_000_000, dtype=torch.int64)  # about 18 of them draw a number above the row's sum
    answers = sample_answers(confusion, labels, generator=seeded())
    assert set(answers.unique().tolist()) == {1, 2}


def test_the_same_seed_gives_the_same_answers_and_leaves_the_global_state_alone():
    labels = torch.arange(7).repeat(30)
    state = torch.get_rng_state()
    first = sample_answers(right_on((), 7), labels, generator=seeded(3))
    assert torch.equal(first, sample_answers(right_on((), 7), labels, generator=seeded(3)))
    assert not torch.equal(first, sample_answers(right_on((), 7), labels, generator=seeded(4)))
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("wrong", ["others", "all"])
def test_raising_one_accuracy_only_turns_wrong_answers_on_that_class_into_right_ones(wrong):
    labels = torch.arange(4).repeat(500)
    before = sample_answers(per_class([0.3, 0.5, 0.2, 0.9], wrong=wrong), labels, generator=seeded())
    after = sample_answers(per_class([0.3, 0.5, 0.6, 0.9], wrong=wrong), labels, generator=seeded())
    assert torch.equal(before[labels != 2], after[labels != 2])
    right_before, right_after = before[labels == 2] == 2, after[labels == 2] == 2
    assert (right_after | ~right_before).all()
    assert right_after.sum() > right_before.sum() + 100


@pytest.mark.parametrize("num_cases", [0, 1])
def test_no_case_and_one_case_are_answered_too(num_cases):
    labels = torch.zeros(num_cases, dtype=torch.int32)
    answers = sample_answers(right_on((), 3), labels, generator=seeded())
    assert (answers.shape, answers.dtype) == ((num_cases,), torch.int64)


# What is known of an expert.


def test_the_chance_of_a_right_answer_sums_over_the_classes():
    confusion = per_class([0.9, 0.5, 0.1])
    truth = matrix([[0.2, 0.3, 0.5], [1, 0, 0]])
    assert expert_correct_probability(confusion, truth).tolist() == pytest.approx([0.38, 0.9])


def test_the_chance_of_a_right_answer_is_the_share_of_right_answers():
    confusion = matrix([[0.5, 0.3, 0.2], [0.05, 0.9, 0.05], [0.6, 0.1, 0.3]])
    truth = matrix([[0.2, 0.5, 0.3]])
    labels = torch.multinomial(truth[0], 40_000, replacement=True, generator=seeded(1))
    right = (sample_answers(confusion, labels, generator=seeded(2)) == labels).double()
    expected = expert_correct_probability(confusion, truth).item()
    assert right.mean().item() == pytest.approx(expected, abs=4 * math.sqrt(0.25 / 40_000))


def test_float32_class_probabilities_pass_as_distributions():
    truth = torch.softmax(5 * torch.randn(10_000, 7, generator=seeded()), dim=1)
    value = expert_correct_probability(right_on((), 7), truth)
    torch.testing.assert_close(value, torch.full((10_000,), 1 / 7, dtype=torch.float64), rtol=0, atol=1e-6)


# Bad input.


@pytest.mark.parametrize(
    ("accuracy", "message"),
    [
        ([0.5, 1.2], r"accuracy must lie in 0\.\.1, got 1\.2 at row 1"),
        ([-0.1, 0.5], r"accuracy must lie in 0\.\.1, got -0\.1 at row 0"),
        ([0.5, float("nan")], r"accuracy must lie in 0\.\.1, got nan at row 1"),
        ([0.5], "an expert needs at least 2 classes, got 1"),
        ([[0.5, 0.5]], r"accuracy must have shape \(any\), got \(1, 2\)"),
    ],
)
def test_accuracies_that_are_no_probabilities_are_refused(accuracy, message):
    with pytest.raises(ValueError, match=message):
        per_class(accuracy)


def test_an_unknown_rule_for_wrong_answers_lists_the_known_ones():
    with pytest.raises(ValueError, match="wrong must be one of 'others', 'all'; got 'none'"):
        per_class([0.5, 0.5], wrong="none")


def test_right_on_refuses_classes_that_do_not_exist():
    with pytest.raises(ValueError, match=r"classes must lie in 0\.\.2, got 3 at row 1"):
        right_on([1, 3], 3)
    with pytest.raises(ValueError, match=r"accuracy must lie in 0\.\.1, got 70\.0"):
        right_on([1], 3, 70.0)
    with pytest.raises(ValueError, match="an expert needs at least 2 classes, got 0"):
        right_on((), 0)


@pytest.mark.parametrize(
    ("confusion", "message"),
    [
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], r"must be a square \(K, K\) matrix, got shape \(2, 3\)"),
        ([[1.0, 0.0], [0.5, 0.4]], r"confusion must sum to 1 in each row, got 0\.9 in row 1"),
        ([[1.0, 0.0], [1.5, -0.5]], r"confusion must lie in .* got 1\.5 at row 1"),
        ([[1.0, 0.0], [float("nan"), 1.0]], "confusion must lie in .* got nan at row 1"),
        ([[1.0]], "an expert needs at least 2 classes, got 1"),
    ],
)  # fmt: skip
def test_a_matrix_that_is_no_expert_is_refused_with_its_row(confusion, message):
    confusion, labels = matrix(confusion), torch.tensor([0])
    for use in (
        check_confusion,
        lambda c: sample_answers(c, labels, generator=seeded()),
        lambda c: expert_correct_probability(c, matrix([[0.5, 0.5]])),
    ):
        with pytest.raises(ValueError, match=message):
            use(confusion)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (torch.tensor([0, 1, 3]), r"labels must lie in 0\.\.2, got 3 at row 2"),
        (torch.tensor([0, -1]), r"labels must lie in 0\.\.2, got -1 at row 1"),
        (torch.tensor([0.0, 1.0]), "labels must be whole numbers, got torch.float32"),
        (torch.tensor([[0, 1]]), r"labels must have shape \(any\), got \(1, 2\)"),
    ],
)
def test_labels_that_fit_no_class_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        sample_answers(right_on((), 3), labels, generator=seeded())


def test_class_probabilities_must_be_distributions():
    expert = right_on((), 3)
    with pytest.raises(ValueError, match=r"class_probability must sum to 1 in each row, got 1\.5 in row 1"):
        expert_correct_probability(expert, matrix([[1, 0, 0], [0.5, 0.5, 0.5]]))
    with pytest.raises(ValueError, match=r"class_probability must have shape \(any, 3\), got \(1, 2\)"):
        expert_correct_probability(expert, matrix([[0.5, 0.5]]))
