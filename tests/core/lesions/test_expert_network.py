"""The learned expert: its network, its training, its measures beside the paper's, its folder, and runs with it."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from made_lesions import IGNORE_SIZE, NUM_IMAGES, write_lesions

from l2d_core.cli.commands import main
from l2d_core.config import ExpertConfig
from l2d_core.data import DeferralData
from l2d_core.datasets.ham10000 import CLASS_NAMES, list_images
from l2d_core.datasets.ham10000.features import feature_names
from l2d_core.datasets.ham10000.split import split_rows
from l2d_core.datasets.image_files import read_images
from l2d_core.experts.stored_answers import PARTS, open_answers
from l2d_core.lesions import expert_network
from l2d_core.lesions.expert_network import SETTINGS, class_table, load_expert, save_expert, train_expert
from l2d_core.lesions.expert_training import ExpertCases, fit, predict_logits
from l2d_core.models.mixer_expert import MixerExpert
from l2d_core.runs.cases import load_splits

pytest.importorskip("timm")
pytestmark = pytest.mark.filterwarnings(IGNORE_SIZE)
SIZE = {"height": 32, "width": 48}
QUICK = replace(SETTINGS, dataset_options=SIZE, epochs=3, warmup_epochs=1, batch_size=16, precision="float32")
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return write_lesions(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def trained(root):
    return train_expert(root, QUICK)


def made_cases(num_cases, seed=0, num_metadata=2):
    """Noise, and a first number of metadata that is the class."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(3, (num_cases,), generator=generator)
    metadata = torch.randn(num_cases, num_metadata, generator=generator)
    metadata[:, 0] = labels - 1.0
    return ExpertCases(torch.randn(num_cases, 3, 16, 32, generator=generator), metadata, labels)


def made_network(seed=0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return MixerExpert(3, (16, 32), 2)


def test_the_network_is_the_paper_s():
    network = MixerExpert(7, (112, 144), 5)
    assert len(network.mixer.blocks) == 8
    assert network.mixer.stem.proj.kernel_size == network.mixer.stem.proj.stride == (16, 16)
    assert network.mixer.stem.num_patches == 63
    for block in network.mixer.blocks:
        assert block.mlp_tokens.fc1.weight.shape == (2 * 128, 63)
        assert block.mlp_channels.fc1.weight.shape == (2 * 128, 128)
    assert network.head.weight.shape == (7, 128 + 5)


def test_metadata_reach_the_last_layer_alone():
    network, cases = made_network().eval(), made_cases(4)
    change = torch.tensor([0.5, -2.0])
    with torch.no_grad():
        before = network(cases.images, cases.metadata)
        after = network(cases.images, cases.metadata + change)
    expected = before + network.head.weight.detach()[:, -2:] @ change
    torch.testing.assert_close(after, expected, rtol=0, atol=1e-5)


def test_an_image_that_is_no_whole_number_of_patches_is_refused():
    for size in ((100, 144), (0, 16)):
        with pytest.raises(ValueError, match="image_size must be multiples of 16 pixels, got"):
            MixerExpert(7, size, 5)


def test_a_network_learns_what_the_metadata_tell():
    """Only they do: the images are all black, and the first number of metadata is the class."""
    train, validation = made_cases(120), made_cases(60, seed=1)
    train, validation = (replace(cases, images=cases.images * 0) for cases in (train, validation))
    config = replace(QUICK, epochs=10, learning_rate=0.05, augment="none")
    history = fit(made_network(), train, validation, config, device=CPU)
    assert history[-1].validation_accuracy > 0.9
    assert history[0].validation_accuracy < 0.8


def test_the_network_ends_with_its_best_weights_and_patience_ends_a_training():
    network, validation = made_network(), made_cases(60, seed=1)
    config = replace(QUICK, epochs=40, patience=2, learning_rate=0.3, schedule="constant", warmup_epochs=0)
    history = fit(network, made_cases(40), validation, config, device=CPU)
    losses = [report.validation_loss for report in history]
    assert len(history) == np.argmin(losses) + 1 + 2 < 40
    logits = predict_logits(network, validation, device=CPU)
    assert torch.nn.functional.cross_entropy(logits, validation.labels).item() == pytest.approx(min(losses))


def test_a_seed_gives_the_same_bits_again_and_leaves_random_numbers_alone(root, trained):
    torch.manual_seed(5)
    state = torch.random.get_rng_state()
    again = train_expert(root, QUICK)
    assert torch.equal(torch.random.get_rng_state(), state)
    for name, tensor in again.expert.network.state_dict().items():
        assert torch.equal(tensor, trained.expert.network.state_dict()[name]), name
    np.testing.assert_array_equal(again.answers.answers, trained.answers.answers)


def test_all_images_are_answered_each_with_its_part(root, trained):
    table = list_images(root)
    assert list(trained.answers.ids) == list(table["id"])
    assert trained.answers.class_names == CLASS_NAMES
    for part, rows in zip(PARTS, split_rows(table), strict=True):
        assert set(np.flatnonzero(trained.answers.parts == part)) == set(rows)
    assert len(trained.answers.answers) == NUM_IMAGES


def test_ages_are_scaled_by_those_of_the_training_part(root, trained):
    rows = split_rows(list_images(root))[0]
    ages = [20 + 10 * (row // 10) for row in rows if row != 9]
    assert trained.expert.ages.mean == pytest.approx(np.mean(ages))
    assert trained.expert.ages.deviation == pytest.approx(np.std(ages))


def test_shares_of_classes_are_as_counted_by_hand():
    answers, labels = np.array([0, 0, 0, 1, 4, 5]), np.array([0, 0, 1, 1, 5, 5])
    table = class_table(answers, labels).set_index("class")
    assert table.loc["akiec", ["recall", "cases", "precision", "answered"]].tolist() == [1, 2, 2 / 3, 3]
    assert table.loc["bcc", ["recall", "cases", "precision", "answered"]].tolist() == [0.5, 2, 1, 1]
    assert table.loc["nv", ["recall", "cases", "precision", "answered"]].tolist() == [0.5, 2, 1, 1]
    assert table.loc["mel", ["precision", "answered"]].tolist() == [0, 1]
    assert np.isnan(table.loc["mel", "recall"])
    assert table.loc[["df", "vasc"], ["recall", "precision"]].isna().all(axis=None)
    assert table["paper_recall"].tolist() == [0.39, 0.45, 0.37, 0.06, 0.21, 0.95, 0.48]
    assert table["paper_precision"].tolist() == [0.44, 0.47, 0.52, 0.33, 0.51, 0.82, 0.27]


def test_an_expert_comes_back_from_its_folder_with_the_same_answers(root, trained, tmp_path):
    save_expert(tmp_path, trained)
    table = list_images(root)
    images = read_images(list(table["path"]), (32, 48))
    np.testing.assert_array_equal(load_expert(tmp_path).answer(images, table), trained.answers.answers)
    np.testing.assert_array_equal(open_answers(tmp_path).answers, trained.answers.answers)
    assert (tmp_path / "model.safetensors").stat().st_size < 2.2e6  # half precision


def test_the_measures_are_beside_the_paper_s_with_their_numbers_of_cases(trained, tmp_path):
    save_expert(tmp_path, trained)
    metrics = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    test = trained.answers.parts == "test"
    share = float((trained.answers.answers == trained.labels)[test].mean())
    assert metrics["accuracy"]["test"] == {"share": pytest.approx(share), "n": int(test.sum())}
    assert [row["class"] for row in metrics["classes"]["test"]] == list(CLASS_NAMES)
    assert sum(row["cases"] for row in metrics["classes"]["train"]) == metrics["accuracy"]["train"]["n"]
    assert "its own training images" in metrics["notes"][0]
    assert len(metrics["history"]) == len(trained.history)
    assert not metrics["reference"]
    assert metrics["settings"]["epochs"] == 3
    assert "surrogate" not in metrics["settings"]


def test_with_reference_the_leaking_input_is_there_and_said(root, tmp_path):
    trained = train_expert(root, replace(QUICK, epochs=1, warmup_epochs=0), reference=True)
    save_expert(tmp_path, trained)
    metrics = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["reference"]
    assert "leak" in metrics["name"] or "dx_type" in metrics["name"]
    assert any("dx_type is an input" in note for note in metrics["notes"])
    loaded = load_expert(tmp_path)
    assert loaded.reference
    assert loaded.network.head.weight.shape[1] == 128 + len(feature_names(reference=True))
    assert len(feature_names(reference=True)) > len(feature_names())


def test_images_of_another_size_are_refused(root, trained):
    with pytest.raises(ValueError, match=r"images must have shape \(N, 3, 32, 48\), got \(1, 3, 48, 32\)"):
        trained.expert.answer(torch.zeros(1, 3, 48, 32), list_images(root).iloc[:1])


def test_an_unknown_option_of_the_images_is_named(root):
    with pytest.raises(ValueError, match="dataset 'ham10000' has no option 'size'; it has height, width, split"):
        train_expert(root, replace(QUICK, dataset_options={"size": 32}))


def test_missing_weights_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file .*model\.safetensors"):
        load_expert(tmp_path)


def test_a_run_has_the_learned_expert_s_answers(root, trained, tmp_path):
    save_expert(tmp_path, trained)
    config = replace(QUICK, expert=ExpertConfig("learned", name=str(tmp_path)))
    splits = load_splits(config, root)
    row_of = {name: row for row, name in enumerate(trained.answers.ids)}
    for data in (splits.train, splits.validation, splits.test):
        assert isinstance(data, DeferralData)
        assert data.answers[:, 0].tolist() == [trained.answers.answers[row_of[name]] for name in data.ids]
        assert data.expert_names == ("MLP-Mixer",)
    with pytest.raises(ValueError, match=r"MLP-Mixer was trained on \d+ \(ISIC_.*\) of the validation cases"):
        load_splits(replace(config, split_seed=1), root)


def test_the_command_trains_and_keeps_an_expert(root, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(expert_network, "SETTINGS", replace(QUICK, epochs=2))
    out = tmp_path / "expert"
    assert main(["pretrain", "expert", "--data-root", str(root), "--out", str(out), "--device", "cpu"]) == 0
    told = capsys.readouterr().out
    assert "epoch 2 of 2: loss" in told
    assert "paper_recall" in told
    assert sorted(path.name for path in out.iterdir()) == ["answers.npz", "metrics.json", "model.safetensors"]
    assert isinstance(class_table(np.zeros(1, int), np.zeros(1, int)), pd.DataFrame)
