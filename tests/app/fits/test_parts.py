"""A fit in two workers at once is the fit in one."""

from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from app.fits import experiment, parts
from app.fits.settings import Binning, LabSettings
from l2d_core.datasets import LAB_DATASETS


class Pool:
    """Runs jobs here and keeps their losses; that of a failing loss raises, and the others go on until told to stop."""

    def __init__(self, num_free, failing=""):
        self.num_free, self.failing, self.losses = num_free, failing, []

    def run(self, settings, binning, losses, *, on_progress):
        self.losses.append(losses)
        if self.failing in losses:
            raise ValueError("no memory")
        while self.failing and on_progress(0.5):
            pass
        if self.failing:
            raise TimeoutError("nobody waits for it any more")
        return experiment.run(settings, binning, losses, on_progress=on_progress)


def settings(name="galaxy_zoo", **changes):
    dataset = LAB_DATASETS[name]
    accuracy = (0.9,) + (0.3,) * (len(dataset.class_names) - 1)
    return LabSettings(**vars(LabSettings.plain(name, dataset, accuracy, 2)) | changes)


@pytest.mark.parametrize("changes", [{}, {"with_asymmetric": True}])
def test_the_result_of_two_workers_is_that_of_one(changes):
    asked, pools = settings(**changes), [Pool(1), Pool(2)]
    one, two = (parts.fit(pool, asked, Binning(10), lambda _share: True) for pool in pools)
    assert pools[0].losses == [asked.surrogates]
    assert sorted(pools[1].losses) == sorted([asked.surrogates[:1], asked.surrogates[1:]])
    assert_same(one, two)


def assert_same(one, two, name="result"):
    """To rounding: with other losses beside it a head is trained with the same steps, added up in another order."""
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, two, atol=5e-3, check_dtype=False, obj=name)
    elif isinstance(one, dict):
        assert list(one) == list(two), name
        for key in one:
            assert_same(one[key], two[key], f"{name} {key}")
    elif isinstance(one, list):
        for place, pair in enumerate(zip(one, two, strict=True)):
            assert_same(*pair, f"{name} {place}")
    elif hasattr(one, "__dataclass_fields__"):
        for part in fields(one):
            if part.name != "seconds":
                assert_same(getattr(one, part.name), getattr(two, part.name), f"{name} {part.name}")
    elif isinstance(one, np.ndarray) and one.dtype.kind == "f":
        np.testing.assert_allclose(one, two, atol=1e-3, err_msg=name)
    else:
        assert np.array_equal(one, two), name


def test_heads_that_use_all_cores_are_not_divided():
    pool = Pool(2)
    parts.fit(
        pool,
        settings("digits", head=LAB_DATASETS["digits"].head.__class__(kind="mlp", epochs=1)),
        Binning(),
        lambda _: True,
    )
    assert pool.losses == [("softmax", "one_vs_all")]


def test_where_one_part_fails_the_other_stops_and_the_failure_is_reported():
    with pytest.raises(ValueError, match="no memory"):
        parts.fit(Pool(2, failing="one_vs_all"), settings(), Binning(), lambda _share: True)


def test_a_fit_that_nobody_waits_for_stops_in_both_parts():
    pool = Pool(2, failing="neither")
    with pytest.raises(TimeoutError):
        parts.fit(pool, settings(), Binning(), lambda _share: False)
    assert len(pool.losses) == 2
