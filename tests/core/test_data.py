"""Cases and scores: what they hold, what is taken from them, and what is refused when they are made."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scores_files import CLASSES, IDS, named_scores

from l2d_core.data import DeferralData, Scores


def some_cases(**change):
    parts = {
        "inputs": torch.arange(15.0).reshape(5, 3),
        "labels": torch.tensor([0, 1, 1, 0, 1]),
        "answers": torch.tensor([[0], [-1], [1], [1], [0]]),
        "ids": IDS,
        "class_names": CLASSES,
    }
    return DeferralData(**{**parts, **change})


# Cases.


def test_an_expert_is_correct_where_asked_and_right():
    assert some_cases().expert_correct.tolist() == [[True], [False], [True], [False], [False]]
    asked_twice = [[True, False], [True, False], [False, False], [False, False], [True, True]]
    assert named_scores().expert_correct.tolist() == asked_twice


def test_unasked_cases_hold_no_answers():
    cases = DeferralData.unasked(torch.zeros(3, 2), torch.tensor([1, 0, 1]), ["a", "b", "c"], ["x", "y"])
    assert cases.answers.tolist() == [[-1], [-1], [-1]]
    assert not cases.expert_correct.any()
    assert cases.class_names == ("x", "y")
    assert len(cases) == 3


def test_a_subset_takes_every_part_of_a_case_in_the_order_asked():
    part = some_cases().subset(np.array([3, 0, 3]))
    assert part.inputs[:, 0].tolist() == [9, 0, 9]
    assert part.labels.tolist() == [0, 0, 0]
    assert part.answers.tolist() == [[1], [0], [1]]
    assert list(part.ids) == [IDS[3], IDS[0], IDS[3]]
    assert part.class_names == CLASSES


@pytest.mark.parametrize(("size", "expected"), [(1, 1), (3, 3), (5, 5), (99, 5)])
def test_a_sample_draws_without_replacement_and_keeps_the_order(size, expected):
    drawn = [some_cases().sample(size, generator=np.random.default_rng(seed)) for seed in range(20)]
    rows = [(part.inputs[:, 0] / 3).tolist() for part in drawn]
    assert all(len(one) == expected and one == sorted(set(one)) for one in rows)
    again = some_cases().sample(size, generator=np.random.default_rng(7))
    assert (again.inputs[:, 0] / 3).tolist() == rows[7]
    if size < 5:
        assert {row for one in rows for row in one} == {0, 1, 2, 3, 4}


def test_a_sample_of_nothing_is_refused():
    with pytest.raises(ValueError, match="size must be at least 1, got 0"):
        some_cases().sample(0, generator=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": torch.tensor([0, 1, 2, 0, 1])}, r"labels must lie in 0\.\.1, got 2 at row 2 \(Ωmega é\)"),
        ({"labels": torch.tensor([0, -1, 1, 0, 1])}, r"labels must lie in 0\.\.1, got -1 at row 1 \(ISIC_0024310\)"),
        ({"labels": torch.tensor([0.0, 1, 1, 0, 1])}, "labels must be whole numbers, got float32"),
        ({"labels": torch.tensor([0, 1])}, r"labels must have shape \(5\), got \(2,\)"),
        ({"answers": torch.tensor([[0], [1], [1], [-2], [0]])}, r"answers must lie in -1\.\.1, got -2 at row 3"),
        ({"answers": torch.tensor([[0], [1], [1], [0], [2]])}, r"answers must lie in -1\.\.1, got 2 at row 4"),
        ({"answers": torch.zeros(5, dtype=torch.int64)}, r"answers must have shape \(5, 1\), got \(5,\)"),
        ({"answers": torch.zeros(5, 2, dtype=torch.int64)}, r"answers must have shape \(5, 1\), got \(5, 2\)"),
        ({"ids": ("a",)}, "ids must name each of the 5 cases, got 1"),
        ({"inputs": torch.zeros(0, 3)}, "at least one case, got 0"),
    ],
)
def test_cases_that_do_not_fit_together_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        some_cases(**change)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_an_input_that_is_not_finite_is_named_with_its_case(bad):
    inputs = torch.zeros(5, 2, 2)
    inputs[3, 1, 0] = bad
    with pytest.raises(ValueError, match=rf"inputs must be finite, got {bad} at row 3 \(皮膚\)"):
        some_cases(inputs=inputs)


# Scores.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"logits": np.zeros((5, 3))}, r"logits must have shape \(any, 4\), got \(5, 3\)"),
        ({"logits": np.zeros((0, 4))}, "at least one case, got 0"),
        ({"logits": np.full((5, 4), np.nan)}, r"logits must be finite, got nan at row 0 \(a\)"),
        ({"labels": np.array([0, 1, 1, 9, 1])}, r"labels must lie in 0\.\.1, got 9 at row 3 \(皮膚\)"),
        ({"answers": np.zeros((5, 1), dtype=int)}, r"answers must have shape \(5, 2\), got \(5, 1\)"),
        ({"answers": np.zeros((5, 2))}, "answers must be whole numbers, got float64"),
        ({"ids": np.array(["a", "b"])}, "ids must name each of the 5 cases, got 2"),
        ({"class_names": ("one",)}, r"logits must have shape \(any, 3\), got \(5, 4\)"),
    ],
)
def test_scores_that_do_not_fit_together_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        named_scores(**change)


def test_plain_arrays_become_scores_with_numbered_names():
    scores = Scores.from_arrays(np.zeros((3, 3)), np.array([0, 1, 0]), np.array([0, -1, 1]), surrogate="softmax")
    assert (scores.num_classes, scores.num_experts, len(scores)) == (2, 1, 3)
    assert scores.answers.shape == (3, 1)
    assert scores.ids.tolist() == ["0", "1", "2"]
    assert scores.class_names == ("class 0", "class 1")
    assert scores.expert_names == ("expert",)


def test_names_and_ids_that_are_given_are_kept():
    scores = Scores.from_arrays(
        np.zeros((2, 4)),
        np.array([0, 1]),
        np.zeros((2, 2), dtype=int),
        surrogate="softmax",
        ids=["7", "8"],
        class_names=["x", "y"],
        expert_names=["anna", "bo"],
    )
    assert scores.ids.tolist() == ["7", "8"]
    assert scores.class_names == ("x", "y")
    assert scores.expert_names == ("anna", "bo")
    unnamed = Scores.from_arrays(scores.logits, scores.labels, scores.answers, surrogate="softmax")
    assert unnamed.expert_names == ("expert 1", "expert 2")


@pytest.mark.parametrize(
    ("logits", "answers", "message"),
    [
        (np.zeros(3), np.zeros(3, dtype=int), r"logits must have shape \(any, any\), got \(3,\)"),
        (np.zeros((3, 2)), np.zeros((3, 1, 1), dtype=int), r"answers must have shape \(any, any\), got \(3, 1, 1\)"),
        (np.zeros((3, 2)), np.zeros((3, 2), dtype=int), r"logits must have K\+J columns, got 2 for 2 experts"),
    ],
)
def test_arrays_of_which_no_scores_can_be_made_are_refused(logits, answers, message):
    with pytest.raises(ValueError, match=message):
        Scores.from_arrays(logits, np.zeros(3, dtype=int), answers, surrogate="softmax")


def test_replacing_a_part_checks_anew():
    with pytest.raises(ValueError, match=r"labels must lie in 0\.\.1"):
        replace(named_scores(), labels=np.full(5, 2))


def test_a_subset_is_taken_by_flags_too_and_other_numbers_are_refused():
    cases = some_cases()
    flags = np.arange(len(cases)) % 2 == 1
    assert list(cases.subset(flags).ids) == [name for name, flag in zip(cases.ids, flags, strict=True) if flag]
    for rows, message in (
        (flags[:-1], "rows must have shape"),
        (np.array([0.0, 1.0]), "rows must be whole numbers, or a flag for each case, got float64"),
        (np.array([len(cases)]), "rows must lie in"),
    ):
        with pytest.raises(ValueError, match=message):
            cases.subset(rows)


def test_class_names_may_be_an_array_and_none_at_all_is_not_as_none_given():
    logits, labels, answers = np.zeros((2, 3)), np.array([0, 1]), np.array([[0], [1]])
    made = Scores.from_arrays(logits, labels, answers, class_names=np.array(["a", "b"]), surrogate="softmax")
    assert made.class_names == ("a", "b")
    with pytest.raises(ValueError, match=r"logits must have shape \(any, 1\)"):
        Scores.from_arrays(logits, labels, answers, class_names=[], surrogate="softmax")
