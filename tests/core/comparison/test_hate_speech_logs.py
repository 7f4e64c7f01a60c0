"""The outputs that the paper's authors logged on HateSpeech give the figures that they plotted."""

import json
import os

import numpy as np
import pytest

from l2d_core.calibration.binned import calibration_error
from l2d_core.common.paths import DATA_ROOT
from l2d_core.comparison.author_logs import read_logged
from l2d_core.evaluation.deferral import defer_by_argmax, defer_by_budget, defer_margin
from l2d_core.evaluation.probabilities import clip_probability

FOLDER = DATA_ROOT / "ova_l2d_hatespeech_logs"
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif("L2D_DATA_ROOT" not in os.environ, reason="L2D_DATA_ROOT is not set"),
    pytest.mark.skipif(not FOLDER.is_dir(), reason="L2D_DATA_ROOT holds no ova_l2d_hatespeech_logs"),
]


def _read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities (4096, 4), the last one to defer, and whether the expert was right (4096,)."""
    probability = np.array(json.loads((FOLDER / f"{name}_confs.json").read_text()))
    correct = np.array(json.loads((FOLDER / f"{name}_acc.json").read_text()))
    return probability, correct[: len(probability)]


@pytest.mark.parametrize(
    ("name", "surrogate", "estimator", "percent"),
    [("softmax", "softmax", "odds", 6.96), ("ova", "one_vs_all", "sigmoid", 0.77)],
)
def test_their_own_format_is_read_and_gives_the_published_errors_too(name, surrogate, estimator, percent):
    outputs = read_logged(FOLDER / f"{name}_confs.json", FOLDER / f"{name}_acc.json", surrogate=surrogate)
    assert (len(outputs.logits), outputs.left_over) == (4096, 4)
    probability = clip_probability(outputs.expert_probability(estimator))
    assert round(100 * calibration_error(probability, outputs.expert_correct, bins=20), 2) == percent


def test_the_softmax_odds_have_the_published_error():
    probability, correct = _read("softmax")
    odds = probability[:, -1] / (1 - probability[:, -1])
    assert round(100 * calibration_error(clip_probability(odds), correct, bins=20), 2) == 6.96


@pytest.mark.parametrize(("bins", "percent"), [(10, 0.57), (15, 0.86), (20, 0.77), (25, 1.29)])
def test_one_vs_all_has_the_published_error_at_20_bins_and_others_at_others(bins, percent):
    probability, correct = _read("ova")
    assert round(100 * calibration_error(probability[:, -1], correct, bins=bins), 2) == percent


@pytest.mark.parametrize(("name", "percent"), [("softmax", 76.0), ("ova", 65.5)])
def test_each_system_defers_its_published_share(name, percent):
    probability, _ = _read(name)
    assert round(100 * defer_by_argmax(probability).mean(), 1) == percent
    capped = defer_by_budget(defer_margin(probability), 1.0, forced=False)
    assert (capped == defer_by_argmax(probability)).all()
