"""The trained networks that are shipped: whole, and as their cards say."""

import hashlib
from pathlib import Path

import pytest

from l2d_core.common.paths import PRETRAINED
from l2d_core.config import RunConfig
from l2d_core.experts.stored_answers import open_answers
from l2d_core.runs.folder import verify_run
from l2d_core.runs.shipped import SHIPPED

FOLDERS = {"cifar10": PRETRAINED / "runs", "ham10000": PRETRAINED / "ham10000"}
RUNS = [
    (dataset, FOLDERS[dataset] / name, config) for dataset, runs in SHIPPED.items() for name, config in runs.items()
]
MOST_BYTES = 13_000_000  # networks, and the pictures of the test cases
CARDS = (PRETRAINED / "README.md").read_text(encoding="utf-8")


def identify(value):
    return value.name if isinstance(value, Path) else "" if isinstance(value, RunConfig) else None


@pytest.mark.parametrize(("dataset", "folder", "config"), RUNS, ids=identify)
def test_a_shipped_run_is_whole_and_made_with_the_settings_of_its_command(dataset, folder, config):
    run = verify_run(folder)
    assert run.is_done
    assert run.config == config
    assert run.config.dataset == dataset
    assert len(run.test) > 2000
    assert not (folder / "checkpoint").exists()


@pytest.mark.parametrize("folder", [folder for _, folder, _ in RUNS], ids=identify)
def test_the_card_has_the_checksum_of_the_weights(folder):
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert f"| `{folder.relative_to(PRETRAINED)}/model.safetensors` | `{digest}` |" in CARDS


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=identify)
def test_the_networks_of_a_data_set_take_little_room(folder):
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < MOST_BYTES


def test_the_mixer_has_answered_every_case_that_the_networks_are_scored_on():
    stored = open_answers(FOLDERS["ham10000"] / "expert")
    for name in SHIPPED["ham10000"]:
        run = verify_run(FOLDERS["ham10000"] / name)
        assert set(run.test.ids) == set(stored.ids[stored.parts == "test"])
        assert set(run.validation.ids) == set(stored.ids[stored.parts == "validation"])
