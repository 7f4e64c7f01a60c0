"""A run folder that an earlier version of this program wrote: it still opens, everywhere that runs are read."""

import shutil
from pathlib import Path

import pytest
import torch

from l2d_core.config import ExpertConfig, RunConfig
from l2d_core.runs.folder import list_runs, read_scores, verify_run
from l2d_core.runs.index import index_runs

OLD_RUN = Path(__file__).with_name("old_run")  # written before the modules were put into folders


def test_a_run_folder_made_before_opens_with_its_settings_scores_and_weights():
    run = verify_run(OLD_RUN)
    assert run.is_done
    assert run.config == RunConfig(
        dataset="digits",
        model="wide_resnet",
        model_options={"depth": 10, "width": 1},
        surrogate="softmax",
        expert=ExpertConfig(accuracy=(0.75,) * 5 + (0.2,) * 5),
        epochs=1,
        batch_size=64,
        learning_rate=0.05,
        augment="none",
        precision="float32",
    )
    assert (len(run.validation), len(run.test), run.test.num_classes) == (360, 359, 10)
    assert run.history["train_loss"].tolist() == [2.7820171763591732]
    logits = run.load_model()(torch.full((1, 1, 8, 8), 0.5))[0]
    assert logits.tolist()[-2:] == pytest.approx([-0.19374540448188782, 1.0759378671646118], abs=1e-5)


def test_a_run_folder_made_before_is_in_the_list_and_in_the_index_that_compare_reads(tmp_path):
    shutil.copytree(OLD_RUN, tmp_path / "old")
    (entry,) = list_runs(tmp_path)
    assert (entry.state, entry.epochs, entry.problem) == ("done", 1, "")
    (row,) = index_runs(tmp_path).to_dict("records")
    assert (row["state"], row["problem"], row["epochs_done"], row["test_cases"]) == ("done", "", 1, 359)
    expected = {
        "system_accuracy": 179 / 359,
        "coverage": 0.0,
        "ece_odds": 0.21549778271653464,
        "ece_proxy": 0.2782646709238344,
    }
    assert row["measures"] == pytest.approx(expected, rel=1e-12)
    assert read_scores(tmp_path / "old")[1] is not None
