"""CIFAR-10 from batches and from an image folder: the same ids, splits and pixels, and messages that name files."""

import shutil

import numpy as np
import pytest
import torch
from made_cifar10 import labels_of, pixels_of, python2_batch, shrink, write_batches, write_folder
from PIL import Image

from l2d_core.datasets import cifar10


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    shrink(monkeypatch)


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path)


def test_the_published_parts_are_split_with_as_many_of_each_class(folder):
    splits = cifar10.load(folder, seed=0)
    for data, size in ((splits.train, 9), (splits.validation, 1), (splits.test, 5)):
        assert data.labels.bincount().tolist() == [size] * 10
        assert data.inputs.shape == (10 * size, 3, 32, 32)
        assert data.inputs.dtype == torch.float32
        assert (data.answers == -1).all()
    assert not set(splits.train.ids) & set(splits.validation.ids)
    assert {str(image_id).split("/")[0] for image_id in splits.test.ids} == {"test"}


def test_an_id_counts_the_images_of_its_class_in_the_published_order(folder):
    test = cifar10.load(folder).test
    assert list(test.ids[:11]) == [f"test/{name}/0000" for name in cifar10.CLASS_NAMES] + ["test/airplane/0001"]
    cats = np.flatnonzero(labels_of("test") == 3)
    row = list(test.ids).index("test/cat/0002")
    mine, theirs = test.inputs[row].flatten().double().numpy(), pixels_of("test")[cats[2]].ravel().astype(float)
    assert np.corrcoef(mine, theirs)[0, 1] > 0.999


def test_pixels_are_standardised_by_the_training_images_alone(folder):
    splits = cifar10.load(folder)
    for values in splits.train.inputs.unbind(1):
        assert float(values.mean()) == pytest.approx(0, abs=1e-5)
        assert float(values.std(correction=0)) == pytest.approx(1, abs=1e-5)
    labels, pixels = labels_of("train"), pixels_of("train").astype(float)
    ids = np.empty(len(labels), dtype=object)
    for label, name in enumerate(cifar10.CLASS_NAMES):
        ids[labels == label] = [f"train/{name}/{number:04}" for number in range(10)]
    chosen = pixels[np.isin(ids, splits.train.ids)]
    mean, deviation = chosen.mean((0, 2, 3)), chosen.std((0, 2, 3))
    row = int(np.flatnonzero(ids == splits.validation.ids[0])[0])
    expected = (pixels[row] - mean[:, None, None]) / deviation[:, None, None]
    np.testing.assert_allclose(splits.validation.inputs[0].numpy(), expected, atol=1e-5)


def test_channel_statistics_are_those_of_numpy_and_survive_a_blank_channel():
    pixels = np.random.default_rng(0).integers(0, 256, (1500, 2, 4, 4), dtype=np.uint8)
    pixels[:, 1] = 7
    mean, deviation = cifar10.channel_statistics(pixels)
    np.testing.assert_allclose(mean, pixels.astype(float).mean((0, 2, 3)))
    np.testing.assert_allclose(deviation, [pixels[:, 0].astype(float).std(), 1.0])


def test_batches_and_an_image_folder_give_the_same_data(tmp_path):
    write_batches(tmp_path / "published")
    write_folder(tmp_path / "folder")
    published, folder = (cifar10.load(tmp_path / name, seed=3) for name in ("published", "folder"))
    for part in ("train", "validation", "test"):
        mine, theirs = getattr(published, part), getattr(folder, part)
        assert list(mine.ids) == list(theirs.ids)
        assert torch.equal(mine.labels, theirs.labels)
        assert torch.equal(mine.inputs, theirs.inputs)


@pytest.mark.parametrize("place", cifar10.BATCH_FOLDERS)
def test_torchvision_may_have_downloaded_to_either_folder(tmp_path, place):
    target = tmp_path / place
    target.parent.mkdir(exist_ok=True)
    shutil.move(write_batches(tmp_path / "elsewhere"), target)
    assert cifar10.find_layout(tmp_path) == target
    assert len(cifar10.load(tmp_path).train) == 90


def test_batches_come_before_an_image_folder(folder):
    assert cifar10.find_layout(folder) == folder / "cifar10"
    batches = write_batches(folder)
    assert cifar10.find_layout(folder) == batches


def test_the_seed_decides_the_split(folder):
    first, again, other = (set(cifar10.load(folder, seed).validation.ids) for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_names_without_leading_zeros_count_as_numbers(tmp_path):
    padded, plain = write_folder(tmp_path / "padded"), write_folder(tmp_path / "plain", width=1)
    extra = plain / "cifar10" / "train" / "cat"
    assert (extra / "9.png").is_file()
    assert list(cifar10.load(plain).train.ids) == list(cifar10.load(padded).train.ids)
    shutil.copy(extra / "9.png", extra / "10.png")
    assert list(cifar10.list_images(plain).query("label == 3")["path"].map(lambda path: path.stem)[:11])[-2:] == [
        "9",
        "10",
    ]


def test_without_data_three_ways_to_get_them_are_told(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        cifar10.load(tmp_path)
    for part in (str(tmp_path), "(1) torchvision.datasets.CIFAR10", "(2) unpack", "(3) have an image folder"):
        assert part in str(caught.value)


def test_a_missing_class_folder_is_named(folder):
    shutil.rmtree(folder / "cifar10" / "test" / "frog")
    with pytest.raises(FileNotFoundError, match="test lacks the class folders frog"):
        cifar10.load(folder)


def test_a_class_with_too_few_images_is_named_with_its_folder(folder):
    (folder / "cifar10" / "train" / "ship" / "0004.png").unlink()
    with pytest.raises(ValueError, match=r"train.ship must hold 10 images, got 9: copy or unpack it again"):
        cifar10.load(folder)


def test_an_image_of_another_size_is_named(folder):
    path = folder / "cifar10" / "train" / "dog" / "0003.png"
    Image.new("RGB", (64, 32)).save(path)
    with pytest.raises(ValueError, match=r"images must be 32 x 32 pixels, got 64 x 32 in .*dog.0003\.png"):
        cifar10.load(folder)


@pytest.mark.parametrize("content", [b"", b"<html>", b"\x89PNG\r\n\x1a\n" + 30 * b"\x00", b"GIF89a" + 30 * b"\x00"])
def test_a_file_that_is_no_image_is_named(folder, content):
    (folder / "cifar10" / "train" / "dog" / "0003.png").write_bytes(content)
    with pytest.raises(ValueError, match=r"dog.0003\.png is no readable JPEG or PNG image"):
        cifar10.load(folder)


def test_grey_and_palette_images_count_as_rgb(folder):
    path = folder / "cifar10" / "test" / "dog" / "0000.png"
    Image.new("L", (32, 32), 128).save(path)
    inputs = cifar10.load(folder).test.inputs[5]
    assert inputs.shape == (3, 32, 32)
    assert (inputs.flatten(1).std(dim=1) < 1e-5).all()


def test_a_missing_batch_is_named(tmp_path):
    (write_batches(tmp_path) / "data_batch_2").unlink()
    with pytest.raises(FileNotFoundError, match="cifar-10-batches-py lacks data_batch_2: download it again"):
        cifar10.load(tmp_path)


def test_a_truncated_batch_is_named(tmp_path):
    path = write_batches(tmp_path) / "test_batch"
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(ValueError, match="test_batch is no pickled dict of plain NumPy arrays"):
        cifar10.load(tmp_path)


def test_a_batch_with_pixels_of_another_shape_is_named(tmp_path):
    path = write_batches(tmp_path) / "test_batch"
    path.write_bytes(python2_batch(np.zeros((50, 300), dtype=np.uint8), labels_of("test")))
    with pytest.raises(ValueError, match=r"test_batch must hold data \(N, 3072\) of bytes, and N labels"):
        cifar10.load(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"), [(np.roll, "in their published order; it differs"), (None, "50 labels")]
)
def test_batches_in_another_order_or_number_are_refused(tmp_path, change, message):
    path = write_batches(tmp_path) / "test_batch"
    rows = np.zeros((50 if change else 49, 3072), dtype=np.uint8)
    labels = np.roll(labels_of("test"), 1) if change else labels_of("test")[:49]
    path.write_bytes(python2_batch(rows, labels))
    with pytest.raises(ValueError, match=message):
        cifar10.load(tmp_path)
