"""HAM10000's metadata as numbers: hand-computed, always finite, and without what leaks the answer."""

import numpy as np
import pytest

from l2d_core.common.paths import DATA_ROOT
from l2d_core.datasets import ham10000
from l2d_core.datasets.ham10000.features import (
    REFERENCE_WARNING,
    AgeScale,
    feature_names,
    fit_age_scale,
    metadata_features,
)
from l2d_core.datasets.ham10000.metadata import read_metadata
from l2d_core.datasets.ham10000.split import split_rows

TABLE = read_metadata(
    b"image_id,lesion_id,dataset,dx,dx_type,age,sex,localization\n"
    b"ISIC_1,HAM_1,vidir,nv,histo,40,male,back\n"
    b"ISIC_2,HAM_2,rosendahl,mel,follow_up,60,female,ear\n"
    b"ISIC_3,HAM_3,vidir,mel,,,,lateral torso\n"
)


def test_features_are_hand_computed():
    features, names = metadata_features(TABLE, fit_age_scale(TABLE))
    assert fit_age_scale(TABLE) == AgeScale(50.0, 10.0)
    assert features.dtype == np.float32
    assert features.shape == (3, len(names))
    columns = dict(zip(names, features.T.tolist(), strict=True))
    assert columns["age"] == [-1, 1, 0]
    assert columns["age=unknown"] == [0, 0, 1]
    assert (columns["sex=male"], columns["sex=unknown"]) == ([1, 0, 0], [0, 0, 1])
    assert (columns["localization=back"], columns["localization=unknown"]) == ([1, 0, 0], [0, 0, 1])
    np.testing.assert_array_equal(features[:, 2:].sum(axis=1), [2, 2, 2])


def test_nothing_but_age_sex_and_site_is_an_input_by_default():
    names = feature_names()
    assert {name.split("=")[0] for name in names} == {"age", "sex", "localization"}
    assert len(names) == 2 + 3 + 15
    changed = TABLE.assign(dx="bcc", dx_type="confocal", image_id="x", lesion_id="y", notes="z")
    ages = AgeScale(50, 10)
    np.testing.assert_array_equal(metadata_features(changed, ages)[0], metadata_features(TABLE, ages)[0])


def test_the_authors_inputs_add_the_confirmation_and_are_warned_of():
    features, names = metadata_features(TABLE, AgeScale(50, 10), reference=True)
    added = tuple(f"dx_type={value}" for value in ("histo", "follow_up", "consensus", "confocal", "unknown"))
    assert names == (*feature_names(), *added)
    np.testing.assert_array_equal(features[:, -5:], [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 1]])
    assert "too good" in REFERENCE_WARNING


@pytest.mark.parametrize("age", ["", "0", "0.0", "unknown", "-1", "200", "45 years", "NaN", "inf", "1e999"])
def test_features_stay_finite_whatever_age_was_written(age):
    table = read_metadata(f"image_id,age\nISIC_1,{age}\n".encode(), labelled=False)
    features, _ = metadata_features(table, AgeScale(51.9, 17.0))
    assert np.isfinite(features).all()
    assert features[0, 1] == (table["age"].iloc[0] == "unknown")


def test_where_no_age_is_known_in_training_age_says_nothing():
    table = TABLE.assign(age="unknown")
    ages = fit_age_scale(table)
    assert ages == AgeScale(0, 0)
    np.testing.assert_array_equal(metadata_features(TABLE, ages)[0][:, 0], [0, 0, 0])


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("sex", "Male", "sex must be one of male, female, unknown; got 'Male' at row 1"),
        ("localization", np.nan, "localization must be one of abdomen, .*; got nan at row 1"),
        ("age", "200", r"age must lie in 0\.\.120 years or be 'unknown', got '200' at row 1"),
        ("age", np.nan, r"age must lie in .* got nan at row 1"),
    ],
)
def test_values_that_were_not_cleaned_are_refused(column, value, message):
    table = TABLE.assign(**{column: [TABLE[column].iloc[0], value, TABLE[column].iloc[2]]})
    with pytest.raises(ValueError, match=message):
        metadata_features(table, AgeScale(50, 10))


def test_a_missing_column_and_a_broken_scale_are_named():
    with pytest.raises(ValueError, match="must have the columns sex; it has image_id"):
        metadata_features(TABLE.drop(columns="sex"), AgeScale(50, 10))
    for mean, deviation in ((np.nan, 1.0), (0.0, -1.0), (0.0, np.inf)):
        with pytest.raises(ValueError, match="mean and deviation must be finite"):
            AgeScale(mean, deviation)


@pytest.mark.data
@pytest.mark.skipif(not (DATA_ROOT / "ham10000").is_dir(), reason="L2D_DATA_ROOT holds no ham10000")
def test_real_training_ages_are_standardised_by_their_own_scale_alone():
    table = ham10000.list_images(DATA_ROOT)
    train, _, test = (table.iloc[rows] for rows in split_rows(table))
    ages = fit_age_scale(train)
    features, names = metadata_features(train, ages)
    known = features[:, names.index("age=unknown")] == 0
    assert abs(features[known, 0].mean()) < 1e-4
    assert features[known, 0].std() == pytest.approx(1, abs=1e-4)
    assert np.isfinite(metadata_features(test, ages)[0]).all()
    assert (features[:, 2:].sum(axis=0) > 0).all()
