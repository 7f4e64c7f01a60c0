"""Feature banks: the round trip, what is refused, and the two that are shipped."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest

from l2d_core.common.seeds import numpy_generator
from l2d_core.data import split_by_group
from l2d_core.datasets import cifar10, feature_bank, ham10000
from l2d_core.datasets.feature_bank import BANKS, FOLDER, FeatureBank, bank_path

CARD = (FOLDER.parent / "README.md").read_text(encoding="utf-8")


def bank_of_three(**changes):
    parts = {
        "features": np.array([[0.5, -1.0], [2.0, 0.0], [1.5, 3.0]], dtype=np.float16),
        "labels": np.array([0, 1, 1]),
        "ids": np.array(["a", "b", "c"]),
        "groups": np.array(["x", "x", "y"]),
        "parts": np.array(["train", "train", "test"]),
        "class_names": ("cat", "dog"),
        "name": "Pets",
        "licence": "CC0",
        "source": "made up for this test",
    }
    return FeatureBank(**(parts | changes))


def saved_arrays(path, **changes):
    """A file as `save` writes it, with some arrays changed, or left out where they are None."""
    bank_of_three().save(path)
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files} | changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


@pytest.fixture(scope="module")
def shipped():
    return {name: FeatureBank.load(bank_path(name)) for name in BANKS}


def test_a_saved_bank_comes_back_the_same(tmp_path):
    bank = bank_of_three()
    bank.save(tmp_path / "new folder" / "pets.npz")
    back = FeatureBank.load(tmp_path / "new folder" / "pets.npz")
    for name in ("features", "labels", "ids", "groups", "parts"):
        np.testing.assert_array_equal(getattr(back, name), getattr(bank, name))
    assert back.features.dtype == np.float16
    assert back.labels.dtype == np.int64
    for name in ("class_names", "name", "licence", "source"):
        assert getattr(back, name) == getattr(bank, name)
    assert len(back) == 3


def test_the_same_bank_gives_the_same_bytes(tmp_path):
    for name in ("one.npz", "two.npz"):
        bank_of_three().save(tmp_path / name)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.npz", "two.npz"]


def test_a_bank_with_one_class_comes_back_with_one_class_name(tmp_path):
    bank_of_three(labels=np.zeros(3, dtype=np.int64), class_names=("cat",)).save(tmp_path / "cats.npz")
    assert FeatureBank.load(tmp_path / "cats.npz").class_names == ("cat",)


def test_more_than_256_classes_keep_their_labels(tmp_path):
    labels = np.array([0, 256, 299])
    bank_of_three(labels=labels, class_names=tuple(f"class {k}" for k in range(300))).save(tmp_path / "many.npz")
    np.testing.assert_array_equal(FeatureBank.load(tmp_path / "many.npz").labels, labels)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": np.zeros((3, 2), np.float32)}, "features must be float16, got float32"),
        ({"features": np.zeros(3, np.float16)}, r"features must have shape \(any, any\), got \(3,\)"),
        ({"features": np.zeros((0, 2), np.float16)}, "features must hold at least one image"),
        ({"features": np.array([[1, 2], [3, np.nan], [5, 6]], np.float16)}, r"finite, got nan at row 1 \(b\)"),
        ({"labels": np.array([0, 1])}, r"labels must have shape \(3\), got \(2,\)"),
        ({"labels": np.array([0.0, 1.0, 1.0])}, "labels must be whole numbers, got float64"),
        ({"labels": np.array([0, 2, 1])}, r"labels must lie in 0\.\.1, got 2 at row 1 \(b\)"),
        ({"ids": np.array(["a", "b"])}, r"ids must have shape \(3\), got \(2,\)"),
        ({"ids": np.array(["a", "b", "a"])}, "ids must name each image once, got 2 times a"),
        ({"ids": np.array([1, 2, 3])}, "ids must be text, got int64"),
        ({"groups": np.array([["x"], ["x"], ["y"]])}, r"groups must have shape \(3\)"),
        ({"parts": np.array(["train", "train", "dev"])}, "parts must be one of 'train', 'test', ''; got 'dev'"),
    ],
)
def test_a_bank_that_does_not_fit_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        bank_of_three(**changes)


@pytest.mark.parametrize("name", ["features", "labels", "ids", "groups", "parts", "class_names", "licence"])
def test_a_file_without_one_of_its_arrays_is_refused(tmp_path, name):
    path = saved_arrays(tmp_path / "pets.npz", **{name: None})
    with pytest.raises(ValueError, match=f"the feature bank lacks {name}; it holds format_version"):
        FeatureBank.load(path)


def test_a_file_of_another_format_is_refused(tmp_path):
    path = saved_arrays(tmp_path / "pets.npz", format_version=np.asarray(2))
    with pytest.raises(ValueError, match="the feature bank has format 2; this version reads 1"):
        FeatureBank.load(path)


def test_pickled_objects_are_never_read(tmp_path):
    path = saved_arrays(tmp_path / "pets.npz", ids=np.array(["a", "b", "c"], dtype=object))
    with pytest.raises(ValueError, match=r"not a readable \.npz file of plain arrays"):
        FeatureBank.load(path)


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    (tmp_path / "pets.npz").write_bytes(b"<html>")
    with pytest.raises(ValueError, match=r"pets\.npz is not a readable \.npz file"):
        FeatureBank.load(tmp_path / "pets.npz")


def test_an_unknown_bank_lists_the_known_ones():
    with pytest.raises(
        ValueError, match="name must be one of 'cifar10', 'ham10000', 'hate_speech', 'galaxy_zoo'; got 'mnist'"
    ):
        bank_path("mnist")


def test_a_missing_bank_names_the_command_that_makes_it(tmp_path, monkeypatch):
    monkeypatch.setattr(feature_bank, "FOLDER", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"python -m l2d_core pretrain features .*--dataset ham10000"):
        bank_path("ham10000")


def test_the_cifar10_bank_has_10000_training_and_all_test_images(shipped):
    bank = shipped["cifar10"]
    assert bank.features.shape == (20_000, 128)
    assert bank.class_names == cifar10.CLASS_NAMES == tuple(sorted(cifar10.CLASS_NAMES))
    assert (bank.class_names[0], bank.class_names[-1]) == ("airplane", "truck")
    for part in ("train", "test"):
        np.testing.assert_array_equal(np.bincount(bank.labels[bank.parts == part]), np.full(10, 1000))
    np.testing.assert_array_equal(bank.groups, bank.ids)
    for row in (0, 9_999, 19_999):
        assert bank.ids[row].startswith(f"{bank.parts[row]}/{bank.class_names[bank.labels[row]]}/")


def test_the_ham10000_bank_has_all_images_and_lesions(shipped):
    bank = shipped["ham10000"]
    assert bank.features.shape == (10_015, 128)
    assert bank.class_names == ham10000.CLASS_NAMES == ("akiec", "bcc", "bkl", "df", "mel", "nv", "vasc")
    # As counted in the publisher's table HAM10000_metadata.csv.
    np.testing.assert_array_equal(np.bincount(bank.labels), [327, 514, 1099, 115, 1113, 6705, 142])
    assert len(np.unique(bank.groups)) == 7_470
    assert set(bank.parts) == {""}
    assert bank.ids[0].startswith("ISIC_")
    assert bank.groups[0].startswith("HAM_")
    assert bank.licence == "CC BY-NC 4.0"


@pytest.mark.parametrize("name", BANKS)
def test_shipped_features_are_finite_and_of_size_one(shipped, name):
    values = shipped[name].features.astype(np.float64)
    assert np.isfinite(values).all()
    assert np.sqrt((values**2).mean()) == pytest.approx(1, abs=0.05)
    assert np.abs(values).max() < 20


def test_each_lesion_has_one_diagnosis(shipped):
    bank = shipped["ham10000"]
    assert len(np.unique(np.stack([np.unique(bank.groups, return_inverse=True)[1], bank.labels]), axis=1).T) == 7_470


@pytest.mark.parametrize("name", BANKS)
def test_the_card_gives_checksum_and_size_of_each_file(name):
    data = Path(bank_path(name)).read_bytes()
    row = re.search(rf"^\| `features/{name}\.npz` \|.*$", CARD, flags=re.MULTILINE)
    assert row is not None
    assert f"`{hashlib.sha256(data).hexdigest()}`" in row.group()
    assert f"{len(data):,} bytes" in row.group()


def test_all_files_together_stay_under_10_mb():
    assert sum(bank_path(name).stat().st_size for name in BANKS) < 10_000_000


@pytest.mark.parametrize("name", BANKS)
def test_the_card_tells_the_accuracy_that_a_linear_probe_has(shipped, name):
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    bank = shipped[name]
    train, test = probe_rows(bank)
    values = bank.features.astype(np.float32)
    with threadpool_limits(1):  # two threads that wait for a busy core take ten times as long
        probe = LogisticRegression(C=0.03, max_iter=1000).fit(values[train], bank.labels[train])
    told = re.search(rf"^\| {bank.name} \| ([\d,]+) \| ([\d,]+) \| ([\d.]+) % \|", CARD, flags=re.MULTILINE)
    assert told is not None
    sizes = [int(size.replace(",", "")) for size in told.groups()[:2]]
    assert sizes == [len(train), len(test)]
    assert 100 * probe.score(values[test], bank.labels[test]) == pytest.approx(float(told.group(3)), abs=0.3)


def probe_rows(bank):
    if bank.name == "CIFAR-10":
        return np.flatnonzero(bank.parts == "train"), np.flatnonzero(bank.parts == "test")
    split = split_by_group(bank.groups, bank.labels, (0.6, 0.2, 0.2), generator=numpy_generator(0, "split"))
    return split[0], split[2]
