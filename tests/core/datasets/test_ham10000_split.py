"""The split of HAM10000: no lesion on two sides by default, and the warning where there may be."""

import numpy as np
import pandas as pd
import pytest

from l2d_core.datasets.feature_bank import FeatureBank, bank_path
from l2d_core.datasets.ham10000.split import SPLITS, describe_split, shared_lesions, split_rows, split_warning
from l2d_core.datasets.image_features import load_splits


def two_of_each(num_lesions=20):
    """Two images of each lesion; two classes."""
    lesions = [f"HAM_{number // 2}" for number in range(2 * num_lesions)]
    ids = [f"ISIC_{number}" for number in range(2 * num_lesions)]
    labels = [number // 2 % 2 for number in range(2 * num_lesions)]
    return pd.DataFrame({"id": ids, "group": lesions, "label": labels})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(10))
def test_no_lesion_is_on_two_sides(seed):
    table = two_of_each()
    parts = split_rows(table, seed)
    assert [len(rows) for rows in parts] == [24, 8, 8]
    groups = [set(table["group"].iloc[rows]) for rows in parts]
    assert not groups[0] & groups[1] | groups[0] & groups[2] | groups[1] & groups[2]
    assert sorted(np.concatenate(parts)) == list(range(40))
    assert split_warning(table, parts) == ""


def test_each_class_is_split_in_the_same_shares():
    table = two_of_each(100)
    for rows, size in zip(split_rows(table), (60, 20, 20), strict=True):
        np.testing.assert_array_equal(np.bincount(table["label"].iloc[rows]), [size, size])


def test_by_image_says_how_many_lesions_are_on_both_sides():
    table = two_of_each(100)
    with pytest.warns(UserWarning, match="image-level split"):
        parts = split_rows(table, 0, "by_image")
    both = sum(
        len({part for part in range(3) if row in parts[part] or row + 1 in parts[part]}) > 1 for row in range(0, 200, 2)
    )
    assert shared_lesions(table, parts) == both > 0
    wanted = f"image-level split, scores may be optimistic: {both} of 100 lesions have images in two or more parts"
    assert split_warning(table, parts) == wanted
    assert describe_split(table, parts).endswith(f"; {wanted}")


def test_without_lesions_the_split_is_by_image_and_says_so():
    table = two_of_each().assign(group=lambda table: table["id"])
    with pytest.warns(UserWarning, match="scores may be optimistic"):
        parts = split_rows(table)
    assert [len(rows) for rows in parts] == [24, 8, 8]
    wanted = "image-level split, scores may be optimistic: the lesion of 40 of 40 images is not known"
    assert split_warning(table, parts) == wanted


def test_the_parts_are_described_with_their_counts():
    table = two_of_each()
    wanted = "training 24 images of 12 lesions, validation 8 images of 4 lesions, test 8 images of 4 lesions"
    assert describe_split(table, split_rows(table)) == wanted


@pytest.mark.filterwarnings("ignore:image-level split")
@pytest.mark.parametrize("split", SPLITS)
def test_the_split_depends_on_the_seed_and_not_on_the_order_of_the_rows(split):
    table = two_of_each()
    shuffled = table.iloc[np.random.default_rng(0).permutation(len(table))]
    for one, other in zip(split_rows(table, 3, split), split_rows(shuffled, 3, split), strict=True):
        assert set(table["id"].iloc[one]) == set(shuffled["id"].iloc[other])
    assert not np.array_equal(split_rows(table, 3, split)[0], split_rows(table, 4, split)[0])


@pytest.mark.parametrize("seed", [0, 5])
def test_the_split_by_lesion_is_that_of_the_shipped_features(seed):
    bank = FeatureBank.load(bank_path("ham10000"))
    table = pd.DataFrame({"id": bank.ids, "group": bank.groups, "label": bank.labels})
    lab = load_splits("ham10000", seed)
    for rows, part in zip(split_rows(table, seed), (lab.train, lab.validation, lab.test), strict=True):
        np.testing.assert_array_equal(bank.ids[rows], np.asarray(part.ids))


def test_an_unknown_split_lists_the_known_ones():
    with pytest.raises(ValueError, match="split must be one of 'by_lesion', 'by_image'; got 'random'"):
        split_rows(two_of_each(), 0, "random")
