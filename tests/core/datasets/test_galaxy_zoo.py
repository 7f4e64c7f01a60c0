"""Galaxies and other images with votes: both layouts, labels, one volunteer as the expert, a bank, a small training."""

import numpy as np
import pytest
import torch
from made_galaxies import HEADER, save_as_kaggle, save_galaxies, votes_on, write
from torch import nn

from l2d_core.common.paths import DATA_ROOT
from l2d_core.config import ExpertConfig, RunConfig
from l2d_core.datasets import galaxy_zoo, voted_images
from l2d_core.datasets.votes import shares_of
from l2d_core.experiment import run_experiment
from l2d_core.pretraining.image_bank import make_bank
from l2d_core.runs.cases import load_splits

VOTER = ExpertConfig(kind="human", name="one_voter")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return save_galaxies(tmp_path_factory.mktemp("counts"))


@pytest.fixture(scope="module")
def kaggle(tmp_path_factory):
    return save_as_kaggle(tmp_path_factory.mktemp("kaggle"))


def numbers(data):
    return [int(name) % 1000 for name in data.ids]


def parts_of(splits):
    return (splits.train, splits.validation, splits.test)


def all_numbers(splits):
    return sorted(number for part in parts_of(splits) for number in numbers(part))


def test_the_label_is_the_majority_and_the_split_keeps_its_shares(root):
    splits = galaxy_zoo.load(root, 0, size=16)
    assert [len(part) for part in parts_of(splits)] == [18, 6, 6]
    for part in parts_of(splits):
        assert part.labels.tolist() == [number % 3 for number in numbers(part)]
        assert part.class_names == ("smooth", "featured", "artifact")
        assert part.inputs.shape[1:] == (3, 16, 16)
        assert (part.answers == -1).all()
    assert all_numbers(splits) == list(range(30))


def test_debiased_labels_are_an_option_and_leave_the_votes_alone(root):
    table = galaxy_zoo.list_images(root, "debiased")
    assert table["label"].tolist() == [1 if number % 3 == 0 else 0 for number in range(30)]
    assert table["votes: smooth"].tolist() == galaxy_zoo.list_images(root)["votes: smooth"].tolist()


def test_so_many_images_at_most_are_drawn_by_the_seed(root):
    chosen = [all_numbers(galaxy_zoo.load(root, seed, size=16, images=15)) for seed in (0, 0, 1)]
    assert len(chosen[0]) == 15
    assert chosen[0] == chosen[1] != chosen[2]
    with pytest.raises(ValueError, match="images must be at least 3, one a part, got 2"):
        galaxy_zoo.load(root, images=2)


def test_kaggles_37_shares_are_read_and_its_images_found_by_id(kaggle):
    table = galaxy_zoo.list_images(kaggle)
    assert table["label"].tolist() == [number % 3 for number in range(12)]
    assert [path.name for path in table["path"]] == [f"{number}.jpg" for number in range(12)]
    wanted = shares_of(np.array([votes_on(number) for number in range(12)]))
    np.testing.assert_allclose(galaxy_zoo.voters(kaggle).shares, wanted, atol=1e-5)
    with pytest.raises(ValueError, match=r"labels must be 'raw' for .*no debiased shares; got 'debiased'"):
        galaxy_zoo.load(kaggle, labels="debiased")
    with pytest.raises(ValueError, match="labels must be one of 'raw', 'debiased'; got 'best'"):
        galaxy_zoo.load(kaggle, labels="best")


def test_a_volunteer_is_right_as_often_as_the_votes_say(root):
    splits, voters = galaxy_zoo.load(root, size=16), galaxy_zoo.voters(root)
    asked = [voters.ask(splits, "one_voter", generator=np.random.default_rng(seed)).train for seed in range(300)]
    share = torch.stack([data.expert_correct.float().mean() for data in asked]).mean()
    wanted = np.mean([max(votes_on(number)) / sum(votes_on(number)) for number in numbers(splits.train)])
    assert asked[0].expert_names == ("one of the volunteers",)
    assert share == pytest.approx(wanted, abs=4 * (0.25 / 300 / len(splits.train)) ** 0.5)


def test_what_is_missing_is_named_with_ways_to_get_it(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"no training_solutions_rev1\.csv and no gz2_votes\.csv .*Willett.*Kag"
    ):
        galaxy_zoo.load(tmp_path)
    home = tmp_path / "galaxy_zoo"
    home.mkdir()
    write(home / "gz2_votes.csv", [HEADER, "7,images/7.png,1,2,3,1,0,0"])
    with pytest.raises(FileNotFoundError, match=r"lacks the images of 1 of the 1 cases: 7\. Galaxy Zoo must lie there"):
        galaxy_zoo.load(tmp_path)


def test_galaxies_that_are_listed_twice_count_once_and_are_told(tmp_path):
    table = save_galaxies(tmp_path, 3) / "galaxy_zoo" / "gz2_votes.csv"
    rows = table.read_text(encoding="utf-8").splitlines()
    write(table, [*rows, rows[1]])
    with pytest.warns(UserWarning, match="1 rows of votes say the same again"):
        assert len(galaxy_zoo.list_images(tmp_path)) == 3


def test_a_bank_of_galaxies_has_their_votes_and_components_of_the_training_part(root):
    network = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten())
    bank = make_bank("galaxy_zoo", root, network=network)
    assert bank.votes is not None
    assert bank.votes.tolist() == [votes_on(number) for number in range(30)]
    assert bank.votes.dtype == np.uint16
    assert bank.features.shape == (30, 12)
    train = voted_images.split_rows(galaxy_zoo.list_images(root), 0)[0]
    assert np.abs(bank.features[train].astype(np.float64).mean(axis=0)).max() < 2e-3
    assert (bank.name, bank.licence) == ("Galaxy Zoo 2", "attribution, non-commercial")


def test_a_small_network_trains_from_end_to_end_with_a_volunteer(root, tmp_path):
    config = RunConfig(
        dataset="galaxy_zoo",
        dataset_options={"size": 16},
        model="small_resnet",
        expert=VOTER,
        epochs=2,
        batch_size=9,
        learning_rate=0.02,
        augment="flip",
    )
    run = run_experiment(config, data_root=root, device="cpu", folder=tmp_path / "run")
    assert len(run.history) == 2
    assert run.test.logits.shape == (6, 4)
    assert set(run.test.answers.ravel().tolist()) <= {0, 1, 2}
    assert run.test.expert_names == ("one of the volunteers",)


# Any folder of images with a table of votes.

OPTIONS = {"folder": "galaxy_zoo", "table": "gz2_votes.csv", "file": "file", "kind": "counts"}


def test_any_folder_with_a_table_of_votes_does(root):
    classes = "round=n_smooth,other=n_featured"
    config = RunConfig(
        dataset="voted_images",
        dataset_options={**OPTIONS, "classes": classes, "size": 16},
        expert=VOTER,
        augment="none",
    )
    splits = load_splits(config, root)
    for part in parts_of(splits):
        assert part.class_names == ("round", "other")
        assert part.labels.tolist() == [int(votes_on(n)[1] > votes_on(n)[0]) for n in numbers(part)]
        assert set(part.answers.ravel().tolist()) <= {0, 1}
    right = voted_images.voters(root, **OPTIONS, classes=classes).right(splits.test.ids, splits.test.labels.numpy())
    n = numbers(splits.test)[0]
    assert right[0] == pytest.approx(max(votes_on(n)[:2]) / sum(votes_on(n)[:2]))


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ("", "classes must be CLASS=COLUMN,CLASS=COLUMN"),
        ("a=x,b", "got 'a=x,b'"),
        ("a=x,=y", "got 'a=x,=y'"),
        ("a=x,a=y", "classes must name each class once"),
        ("a=x", "classes must be two or more"),
    ],
)
def test_classes_that_are_written_wrongly_are_refused(classes, message):
    with pytest.raises(ValueError, match=message):
        voted_images.parse_columns(case="id", classes=classes, kind="counts")


# The real ones.


@pytest.mark.data
@pytest.mark.skipif(not (DATA_ROOT / "galaxy_zoo").is_dir(), reason="L2D_DATA_ROOT holds no galaxy_zoo")
def test_the_real_galaxies_have_the_published_votes():
    table = galaxy_zoo.list_images(DATA_ROOT)
    votes = galaxy_zoo.voters(DATA_ROOT)
    assert len(table) == 1000
    assert np.bincount(table["label"]).tolist() == [764, 232, 4]
    assert np.bincount(galaxy_zoo.list_images(DATA_ROOT, "debiased")["label"]).tolist() == [374, 619, 7]
    counts = table[[f"votes: {name}" for name in galaxy_zoo.CLASS_NAMES]].to_numpy()
    assert (counts.sum(axis=1).min(), counts.sum(axis=1).max(), counts.sum()) == (22, 73, 42_822)
    assert votes.right(table["id"].to_numpy(str), table["label"].to_numpy()).mean() == pytest.approx(0.7587, abs=1e-4)


@pytest.mark.data
@pytest.mark.skipif(not (DATA_ROOT / "galaxy_zoo").is_dir(), reason="L2D_DATA_ROOT holds no galaxy_zoo")
def test_the_shipped_bank_of_galaxies_is_of_these_votes():
    from l2d_core.datasets.feature_bank import FeatureBank, bank_path

    bank, table = FeatureBank.load(bank_path("galaxy_zoo")), galaxy_zoo.list_images(DATA_ROOT)
    assert bank.ids.tolist() == table["id"].tolist()
    assert bank.labels.tolist() == table["label"].tolist()
    assert bank.votes.tolist() == table[[f"votes: {name}" for name in galaxy_zoo.CLASS_NAMES]].to_numpy(int).tolist()
