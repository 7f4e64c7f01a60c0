"""HAM10000 as images for training: sizes, scale, rows, splits, options, and damaged files."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from made_images import png
from made_lesions import IGNORE_SIZE, write_lesions
from PIL import Image

from l2d_core.config import ExpertConfig, RunConfig
from l2d_core.datasets import ham10000
from l2d_core.datasets.ham10000 import images as ham10000_images
from l2d_core.datasets.image_files import read_image, read_images
from l2d_core.images.opening import open_image
from l2d_core.models.backbones import MEAN, STD
from l2d_core.runs.cases import load_splits
from l2d_core.runs.shipped import DERMATOLOGIST, SHIPPED

CONFIG = RunConfig(dataset="ham10000", expert=DERMATOLOGIST)
pytestmark = pytest.mark.filterwarnings(IGNORE_SIZE)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return write_lesions(tmp_path_factory.mktemp("data"))


def parts_of(splits):
    return (splits.train, splits.validation, splits.test)


def numbers(data):
    return np.array([int(name.removeprefix("ISIC_")) for name in data.ids])


def test_images_labels_and_ids_belong_together_in_every_part(root):
    splits = ham10000_images.load(root, height=24, width=32)
    for data in parts_of(splits):
        assert data.inputs.shape[1:] == (3, 24, 32)
        assert data.inputs.dtype == torch.float16
        red = (data.inputs[:, 0].float().mean((1, 2)) * STD + MEAN) * 255
        np.testing.assert_allclose(red, numbers(data) * 3, atol=2.5)  # JPEG rounds
        np.testing.assert_array_equal(data.labels, numbers(data) // 10)
        assert data.class_names == ham10000.CLASS_NAMES
        assert (data.answers == -1).all()
    assert sorted(np.concatenate([numbers(data) for data in parts_of(splits)])) == list(range(70))


def test_no_lesion_is_in_two_parts_unless_the_split_is_by_image(root):
    def lesions(splits):
        return [set(numbers(data) // 2) for data in parts_of(splits)]

    train, validation, test = lesions(ham10000_images.load(root, height=16, width=16))
    assert len(train) + len(validation) + len(test) == len(train | validation | test) == 35
    with pytest.warns(UserWarning, match="image-level split, scores may be optimistic"):
        train, _, test = lesions(ham10000_images.load(root, height=16, width=16, split="by_image"))
    assert train & test


def test_the_split_of_a_run_depends_on_its_split_seed(root):
    config = replace(CONFIG, dataset_options={"height": 16, "width": 16})
    first, again = (load_splits(config, root) for _ in range(2))
    assert list(first.test.ids) == list(again.test.ids)
    assert torch.equal(first.train.answers, again.train.answers)
    assert list(load_splits(replace(config, split_seed=1), root).test.ids) != list(first.test.ids)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"height": 8}, "height must lie in 16..1024 pixels, got 8"),
        ({"width": 2000}, "width must lie in 16..1024 pixels, got 2000"),
        ({"width": 64.0}, "width of dataset 'ham10000' must be a whole number, got 64.0"),
        ({"width": True}, "width of dataset 'ham10000' must be a whole number, got True"),
        ({"split": "by_patient"}, "split must be one of 'by_lesion', 'by_image'; got 'by_patient'"),
        ({"size": 64}, "dataset 'ham10000' has no option 'size'; it has height, width, split"),
    ],
)
def test_options_that_do_not_do_are_named(root, options, message):
    with pytest.raises(ValueError, match=message):
        load_splits(replace(CONFIG, dataset_options=options), root)


def test_half_precision_keeps_all_shades_apart(tmp_path):
    shades = np.arange(256, dtype=np.uint8).reshape(16, 16)
    Image.fromarray(shades).save(tmp_path / "shades.png")
    image = read_images([tmp_path / "shades.png"], (16, 16))[0]
    assert torch.equal((image.float() * STD + MEAN).mul(255).round().to(torch.uint8)[0], torch.from_numpy(shades))
    assert float(image.min()) == -1
    assert float(image.max()) == 1


def test_an_image_is_resized_to_height_and_width(tmp_path):
    upper = np.zeros((30, 40, 3), dtype=np.uint8)
    upper[:15] = 255
    Image.fromarray(upper).save(tmp_path / "upper.png")
    image = read_image(tmp_path / "upper.png", (20, 50))
    assert image.shape == (3, 20, 50)
    assert (image[:, :8] > 0.9).all()
    assert (image[:, 12:] < -0.9).all()


@pytest.mark.parametrize("content", [b"", b"no image", "cut"])
def test_a_damaged_image_is_named(tmp_path, content):
    path = tmp_path / "damaged.jpg"
    Image.new("RGB", (40, 30), (9, 9, 9)).save(path)
    path.write_bytes(path.read_bytes()[:400] if content == "cut" else content)
    with pytest.raises(OSError, match=r"damaged\.jpg cannot be read as an image"):
        read_images([path], (16, 16))


def test_the_shipped_settings_are_of_this_data_set_and_the_paper_s_expert():
    assert SHIPPED["ham10000"].keys() == {"ham10000-one_vs_all", "ham10000-softmax"}
    for name, config in SHIPPED["ham10000"].items():
        assert config.surrogate == name.removeprefix("ham10000-")
        assert config.expert == ExpertConfig(accuracy=(0.39, 0.45, 0.37, 0.06, 0.21, 0.95, 0.48))
        assert RunConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize("size", [(450, 600), (150, 200), (90, 333)])
def test_the_quick_way_of_a_plain_jpeg_gives_the_pixels_of_the_door_for_uploads(tmp_path, size):
    path = tmp_path / "a.jpg"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (*size, 3)).astype(np.uint8)).save(path, quality=90)
    door = tmp_path / "a.png"
    Image.fromarray(open_image(path.read_bytes(), "a.jpg").pixels).save(door)
    assert torch.equal(read_image(path, (150, 200)), read_image(door, (150, 200)))


def test_a_file_of_more_pixels_than_are_allowed_is_named_unread(tmp_path):
    path = tmp_path / "huge.png"
    path.write_bytes(png(50_000, 50_000, bytes(1000), bits=1, colour=0))
    with pytest.raises(OSError, match=r"huge\.png cannot be read as an image: 50,000 x 50,000 pixels, allowed are"):
        read_image(path, (150, 200))
