"""Folders and tables of images as people have them: damaged files, other exports, tools' own files, missing parts."""

import numpy as np
import pandas as pd
import pytest
from made_images import encode, picture
from PIL import Image

from l2d_core.cli.commands import main
from l2d_core.config import RunConfig
from l2d_core.datasets import cifar10, ham10000, voted_images
from l2d_core.datasets.image_files import read_images
from l2d_core.images.opening import ImageProblem, open_image
from l2d_core.runs.cases import load_splits
from l2d_core.sweeps.plan import plan_sweep

HEADER = "image_id,lesion_id,dx\n"


def photograph():
    """A JPEG with enough detail that damage shows."""
    noise = np.random.default_rng(0).normal(0, 20, (300, 400, 1))
    return np.clip(picture(300, 400) + noise, 0, 255).astype(np.uint8)


def cut_in_half(data):
    return data[: len(data) // 2] + b"\xff\xd9"


def zeroed(data):
    middle = len(data) // 2
    return data[:middle] + bytes(200) + data[middle + 200 :]


def half_zeros(data):
    return data[: len(data) // 2] + bytes(len(data) // 2 - 2) + b"\xff\xd9"


@pytest.mark.parametrize("damage", [cut_in_half, zeroed, half_zeros])
@pytest.mark.parametrize("kind", ["RGB", "L", "CMYK", "progressive"])
def test_a_damaged_jpeg_is_refused_by_the_page_and_by_training_alike(damage, kind, tmp_path):
    image = Image.fromarray(photograph())
    if kind == "progressive" and damage is zeroed:
        pytest.skip("a zeroed part of a later scan hardly changes the picture, and may be its own data")
    options = {"progressive": True} if kind == "progressive" else {}
    whole = encode(image if kind == "progressive" else image.convert(kind), "JPEG", **options)
    open_image(whole, "whole.jpg")
    with pytest.raises(ImageProblem, match=r"damaged|overwritten with zeros"):
        open_image(damage(whole), "a.jpg")
    (tmp_path / "a.jpg").write_bytes(damage(whole))
    with pytest.raises(OSError, match=r"a\.jpg cannot be read as an image: (its data are damaged|a part of its data)"):
        read_images([tmp_path / "a.jpg"], (30, 40))


@pytest.fixture
def home(tmp_path):
    """HAM10000 with three images."""
    home = tmp_path / "ham10000"
    (home / "images").mkdir(parents=True)
    for number in (1, 2, 3):
        (home / "images" / f"ISIC_{number}.jpg").write_bytes(encode(picture(20, 30), "JPEG"))
    (home / "metadata.csv").write_text(HEADER + "ISIC_1,HAM_1,nv\nISIC_2,HAM_2,mel\nISIC_3,HAM_3,bcc\n")
    return home


pytestmark = pytest.mark.filterwarnings("ignore:.*published ones")


def test_the_isic_archives_terms_are_mapped_and_counted(home):
    archive = "isic_id,diagnosis_1,diagnosis_2,diagnosis_3,diagnosis_4,diagnosis_5\n"
    vascular = "Benign soft tissue proliferations - Vascular"
    terms = [
        'Malignant,Malignant melanocytic proliferations (Melanoma),"Melanoma, NOS",,',
        'Malignant,Malignant epidermal proliferations,"Squamous cell carcinoma, NOS",,',
        f"Benign,{vascular},,,",
    ]
    (home / "metadata.csv").write_text(archive + "".join(f"ISIC_{k},{text}\n" for k, text in enumerate(terms, 1)))
    table = ham10000.list_images(home.parent)
    assert [ham10000.CLASS_NAMES[label] for label in table["label"]] == ["mel", "akiec", "vasc"]
    report = str(ham10000.examine(home.parent))
    assert "1 images: dx: diagnosis_3 'Melanoma, NOS' counts as mel" in report
    assert f"1 images: dx: diagnosis_2 {vascular!r} counts as vasc" in report


def test_an_archives_term_that_is_none_of_the_seven_is_refused_by_name():
    with pytest.raises(ValueError, match=r"dx must be one of .* got 'Scar' \(1 rows\)"):
        ham10000.read_metadata(b"isic_id,diagnosis_1,diagnosis_2,diagnosis_3\nISIC_1,Benign,Other,Scar\n")


def test_squamous_cell_carcinoma_in_another_table_is_none_of_the_seven():
    with pytest.raises(ValueError, match="got 'Squamous cell carcinoma'"):
        ham10000.read_metadata(b"image_id,dx\nISIC_1,Squamous cell carcinoma\n")


@pytest.mark.parametrize("name", ["train/ISIC_1.jpg", "ISIC_1.tif", "a\\b\\ISIC_1.JPEG", "ISIC_1.webp"])
def test_ids_with_folders_and_endings_are_the_images_without(home, name):
    (home / "metadata.csv").write_text(f"{HEADER}{name},HAM_1,nv\nISIC_2,HAM_2,mel\nISIC_3,HAM_3,bcc\n")
    assert ham10000.list_images(home.parent)["id"].tolist() == ["ISIC_1", "ISIC_2", "ISIC_3"]


def test_files_of_tools_are_skipped_and_masks_are_reported(home):
    for name in (".ipynb_checkpoints/ISIC_1-checkpoint.jpg", "@eaDir/ISIC_1.jpg", "__MACOSX/._ISIC_1.jpg"):
        (home / "images" / name).parent.mkdir(exist_ok=True)
        (home / "images" / name).write_bytes(b"x")
    (home / "images" / "ISIC_1_segmentation.png").write_bytes(b"x")
    with pytest.warns(UserWarning, match=r"holds 1 images that no table lists, the first is ISIC_1_segmentation\.png"):
        assert len(ham10000.list_images(home.parent)) == 3


def test_what_can_be_joined_is_joined_and_the_rest_is_counted(home):
    (home / "images" / "ISIC_2.jpg").unlink()
    with pytest.warns(UserWarning, match=r"lacks 1 of the 3 listed images, the first is ISIC_2; the others are used"):
        assert ham10000.list_images(home.parent)["id"].tolist() == ["ISIC_1", "ISIC_3"]
    for path in (home / "images").iterdir():
        path.rename(path.with_name(f"other-{path.name}"))
    with pytest.raises(FileNotFoundError, match="lacks all 3 listed images"):
        ham10000.list_images(home.parent)


@pytest.mark.parametrize("load", [ham10000.list_images, cifar10.list_images, cifar10.load])
def test_parquet_shards_are_named_with_what_to_do(load, tmp_path):
    for folder in ("ham10000", "cifar10/train", "cifar10/test"):
        (tmp_path / folder).mkdir(parents=True)
        pd.DataFrame({"image": [b"x"]}).to_parquet(tmp_path / folder / "train-00000-of-00001.parquet")
    (tmp_path / "ham10000" / "HAM10000_metadata.csv").write_text(HEADER)
    with pytest.raises(FileNotFoundError, match=r"Parquet or Arrow files, such as Hugging Face's, .* save each"):
        load(tmp_path)


@pytest.mark.parametrize("width", [28 * 28, 28 * 28 * 3, 64])
def test_a_table_of_pixels_is_called_what_it_is(width, tmp_path):
    header = ",".join([f"pixel{k:04}" for k in range(width)] + ["label"])
    (tmp_path / "hmnist.csv").write_text(f"{header}\n{','.join(['0'] * (width + 1))}\n")
    with pytest.raises(ValueError, match=r"holds the pixels of small copies \(such as 28x28\), too small here"):
        ham10000.read_metadata(tmp_path / "hmnist.csv")


def test_tools_folders_beside_the_classes_of_cifar10_do_not_stop_it(tmp_path):
    for part in cifar10.PARTS:
        for name in (*cifar10.CLASS_NAMES, ".ipynb_checkpoints", "@eaDir", "notes"):
            (tmp_path / "cifar10" / part / name).mkdir(parents=True)
            (tmp_path / "cifar10" / part / name / "0001.png").write_bytes(b"x")
            (tmp_path / "cifar10" / part / name / "._0001.png").write_bytes(b"x")
    with pytest.warns(UserWarning, match="folders that are no class of CIFAR-10 and are not read: notes"):
        assert len(cifar10.list_images(tmp_path)) == 20


def test_hidden_copies_of_voted_images_are_skipped(tmp_path):
    folder = tmp_path / "voted_images"
    cases = [f"case{number}" for number in range(20)]
    for name in (*cases, ".ipynb_checkpoints/case0"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.png").write_bytes(encode(picture(40, 40)))
    (folder / "votes.csv").write_text("id,cat,dog\n" + "".join(f"{name},3,1\n" for name in cases))
    options = {"case": "id", "classes": "cat=cat,dog=dog", "kind": "counts", "size": 32}
    splits = voted_images.load(tmp_path, **options)
    assert sum(map(len, (splits.train, splits.validation, splits.test))) == 20


@pytest.mark.parametrize("dataset", ["ham10000", "hate_speech", "galaxy_zoo"])
def test_an_expert_that_does_not_fit_the_classes_is_refused_before_data_are_read(dataset, tmp_path, capsys):
    with pytest.raises(ValueError, match="10"):
        load_splits(RunConfig(dataset=dataset), tmp_path / "nowhere")
    command = ["train", "--dataset", dataset, "--data-root", str(tmp_path), "--out", str(tmp_path / "run")]
    assert main(command) == 2
    assert "accurac" in capsys.readouterr().err


def test_dotted_settings_mean_the_same_in_base_as_in_the_grid():
    grid = {"surrogate": ["softmax"]}
    dotted = plan_sweep({"base": {"dataset": "digits", "expert.accuracy": [0.7]}, "grid": grid})
    nested = plan_sweep({"base": {"dataset": "digits", "expert": {"accuracy": [0.7]}}, "grid": grid})
    assert dotted.configs == nested.configs
    assert not dotted.problems
