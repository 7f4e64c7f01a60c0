"""The split by group: no group on two sides, each class in its share, and the order of the rows does not matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l2d_core.data import split_by_group


def lesions(seed=0, num_groups=150):
    """(groups, labels) with groups of 1 to 5 cases of one class each, in mixed order."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 6, num_groups)
    of_group = generator.choice(3, num_groups, p=[0.7, 0.2, 0.1])
    order = generator.permutation(sizes.sum())
    groups = np.repeat([f"lesion {g:03}" for g in generator.permutation(num_groups)], sizes)
    return groups[order], np.repeat(of_group, sizes)[order]


def split(groups, labels, fractions=(0.6, 0.2, 0.2), seed=0):
    return split_by_group(groups, labels, fractions, generator=np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(10))
def test_no_group_is_in_two_parts_and_every_case_in_one(seed):
    groups, labels = lesions(seed)
    parts = split(groups, labels, seed=seed)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(groups)))
    assert all((np.diff(part) > 0).all() for part in parts)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert not set(groups[parts[one]]) & set(groups[parts[other]])


@pytest.mark.parametrize("seed", range(10))
def test_each_class_has_its_share_of_the_groups_in_each_part(seed):
    groups, labels = lesions(seed)
    for label in range(3):
        of_class = len(set(groups[labels == label]))
        shares = [len(set(groups[part][labels[part] == label])) for part in split(groups, labels, seed=seed)]
        assert sum(shares) == of_class
        np.testing.assert_allclose(shares, np.array([0.6, 0.2, 0.2]) * of_class, rtol=0, atol=1)


def test_the_split_depends_on_the_generator_alone():
    groups, labels = lesions()
    for one, other in zip(split(groups, labels, seed=4), split(groups, labels, seed=4), strict=True):
        np.testing.assert_array_equal(one, other)
    assert set(split(groups, labels, seed=4)[2]) != set(split(groups, labels, seed=5)[2])


@given(
    seed=st.integers(0, 1000), fractions=st.sampled_from([(1.0,), (0.5, 0.5), (0.9, 0.1), (0.6, 0.2, 0.2), (0.0, 1.0)])
)
@settings(max_examples=40, deadline=None)
def test_the_order_of_the_rows_does_not_matter_where_each_group_has_one_class(seed, fractions):
    groups, labels = lesions(seed % 7, num_groups=20)
    order = np.random.default_rng(seed).permutation(len(groups))
    for one, other in zip(
        split(groups, labels, fractions), split(groups[order], labels[order], fractions), strict=True
    ):
        np.testing.assert_array_equal(one, np.sort(order[other]))


def test_a_group_of_several_classes_counts_as_the_class_of_its_first_case():
    groups = np.repeat(np.arange(40), 2)
    labels = np.where(np.arange(80) % 2 == 0, groups < 20, 0)  # the first case of half of the groups is of class 1
    parts = split(groups, labels, (0.5, 0.5))
    for part in parts:
        assert labels[part].sum() == 10
        assert len(part) == 40


def test_groups_may_be_any_values_and_the_shares_are_those_of_the_cases_where_each_is_a_group():
    labels = np.repeat([0, 1], [700, 300])
    for groups in (np.arange(1000), [f"case {row}" for row in range(1000)], np.arange(1000) / 7):
        train, test = split(groups, labels, (0.8, 0.2))
        assert np.bincount(labels[train]).tolist() == [560, 240]
        assert np.bincount(labels[test]).tolist() == [140, 60]


def test_one_group_alone_goes_whole_into_one_part():
    parts = split(["only"] * 9, np.zeros(9, dtype=int))
    assert sorted(len(part) for part in parts) == [0, 0, 9]


@pytest.mark.parametrize(
    ("groups", "labels", "fractions", "message"),
    [
        ([], [], (1.0,), "groups must hold at least one case, got 0"),
        (["a", "b"], [0], (1.0,), r"labels must have shape \(2\), got \(1,\)"),
        (["a", "b"], [0, 1], (0.5, 0.4), r"fractions must be at least 0 and sum to 1, got \[0.5, 0.4\]"),
        (["a", "b"], [0, 1], (1.5, -0.5), r"fractions must be at least 0 and sum to 1, got \[1.5, -0.5\]"),
        (["a", "b"], [0, 1], (), r"fractions must be at least 0 and sum to 1, got \[\]"),
    ],
)
def test_a_split_that_makes_no_sense_is_refused(groups, labels, fractions, message):
    with pytest.raises(ValueError, match=message):
        split(groups, np.array(labels, dtype=int), fractions)
