"""The published images of CIFAR-10 and HAM10000, read once: their splits, and what the shipped networks say of them."""

import os

import numpy as np
import pytest

from l2d_core.common.paths import DATA_ROOT, PRETRAINED
from l2d_core.datasets.image_features import load_splits as load_features
from l2d_core.models.prediction import predict
from l2d_core.runs.cases import load_splits
from l2d_core.runs.folder import verify_run
from l2d_core.runs.shipped import SHIPPED

FOLDERS = {"cifar10": PRETRAINED / "runs", "ham10000": PRETRAINED / "ham10000"}
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif("L2D_DATA_ROOT" not in os.environ, reason="L2D_DATA_ROOT is not set"),
]


def parts_of(splits):
    return (splits.train, splits.validation, splits.test)


def assert_cifar10_is_45000_5000_10000(splits):
    sizes = [(len(data), data.labels.bincount().unique().numel()) for data in parts_of(splits)]
    assert sizes == [(45_000, 1), (5_000, 1), (10_000, 1)]
    assert splits.train.inputs.mean((0, 2, 3)).abs().max() < 1e-4
    assert splits.test.inputs.mean((0, 2, 3)).abs().max() < 0.05


def assert_lesions_are_split_as_the_features_of_the_live_lab(splits):
    for mine, theirs in zip(parts_of(splits), parts_of(load_features("ham10000")), strict=True):
        assert set(mine.ids) == set(theirs.ids)
    assert sum(len(data) for data in parts_of(splits)) == 10_015


CHECKS = {
    "cifar10": assert_cifar10_is_45000_5000_10000,
    "ham10000": assert_lesions_are_split_as_the_features_of_the_live_lab,
}


# To read 60,000 images takes a quarter of a minute.
READ = [pytest.param(name, marks=[pytest.mark.slow] if name == "cifar10" else []) for name in SHIPPED]


@pytest.fixture(scope="module", params=READ)
def read(request):
    """Name and splits of each data set; it is let go of before the next is read."""
    if not (DATA_ROOT / request.param).is_dir():
        pytest.skip(f"L2D_DATA_ROOT holds no {request.param}")
    return request.param, load_splits(next(iter(SHIPPED[request.param].values())), DATA_ROOT)


def test_the_published_images_are_split_as_is_said(read):
    name, splits = read
    CHECKS[name](splits)


def test_the_networks_give_the_scores_that_lie_beside_them(read):
    name, splits = read
    test = splits.test.subset(np.arange(60))
    for run in (verify_run(FOLDERS[name] / run) for run in SHIPPED[name]):
        assert list(run.test.ids[:60]) == list(test.ids)
        np.testing.assert_array_equal(run.test.answers[:60], test.answers.numpy())
        logits = predict(run.load_model(), test.inputs, batch_size=60, device="cpu").numpy()
        np.testing.assert_allclose(run.test.logits[:60], logits, atol=1e-3)
