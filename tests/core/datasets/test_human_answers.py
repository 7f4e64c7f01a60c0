"""What people said of CIFAR-10: found by id, drawn from counts, and refused where files do not fit the images."""

import numpy as np
import pytest
from made_cifar10 import labels_of, shrink, trap, write_batches, write_folder, write_people

from l2d_core.common.paths import DATA_ROOT
from l2d_core.common.seeds import numpy_generator
from l2d_core.datasets import cifar10
from l2d_core.datasets.human_answers import answer_distribution, ask, recorded_answers


@pytest.fixture(autouse=True)
def _small(monkeypatch, request):
    if "data" not in request.keywords:
        shrink(monkeypatch)


@pytest.fixture
def people(tmp_path):
    return write_people(tmp_path)


def ids_of(part):
    """The id of each case in the published order."""
    seen = dict.fromkeys(range(10), 0)
    ids = []
    for label in labels_of(part).tolist():
        ids.append(f"{part}/{cifar10.CLASS_NAMES[label]}/{seen[label]:04}")
        seen[label] += 1
    return np.array(ids)


def answers(root, ids, annotator="random_label1", seed=0):
    return recorded_answers(root, ids, annotator, generator=numpy_generator(seed, "test"))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_annotator_is_wrong_where_the_file_says_so(people, number):
    labels = labels_of("train")
    wrong = np.flatnonzero(answers(people, ids_of("train"), f"random_label{number}") != labels)
    assert wrong.tolist() == [number - 1]


def test_answers_follow_the_ids_in_any_order_and_number(people):
    order = np.random.default_rng(0).permutation(100)[:37]
    np.testing.assert_array_equal(answers(people, ids_of("train")[order]), answers(people, ids_of("train"))[order])
    plain = [image_id.replace("/000", "/") for image_id in ids_of("train")]  # an image folder's 7.png
    np.testing.assert_array_equal(answers(people, plain), answers(people, ids_of("train")))


def test_the_answer_on_a_test_image_does_not_depend_on_the_other_ids(people):
    ids = ids_of("test")
    both = answers(people, np.append(ids_of("train"), ids))
    np.testing.assert_array_equal(both[-50:], answers(people, ids))
    np.testing.assert_array_equal(answers(people, ids[7:9]), answers(people, ids)[7:9])


def test_test_answers_are_drawn_as_often_as_people_gave_them(people):
    labels = labels_of("test")
    drawn = np.stack([answers(people, ids_of("test"), seed=seed) for seed in range(60)])
    share = (drawn == labels).mean()
    assert share == pytest.approx(0.8, abs=3 * np.sqrt(0.8 * 0.2 / drawn.size))
    assert ((drawn == labels) | (drawn == (labels + 1) % 10)).all()  # nobody said anything else
    assert (drawn[0] != drawn[1]).any()


def test_the_distribution_is_the_shares_of_the_answers(people):
    labels = labels_of("test")
    shares = answer_distribution(people, ids_of("test"))
    rows = np.arange(50)
    np.testing.assert_array_equal(shares[rows, labels], np.full(50, 0.8))
    np.testing.assert_array_equal(shares[rows, (labels + 1) % 10], np.full(50, 0.2))
    assert shares.sum() == pytest.approx(50)


def test_the_distribution_of_a_training_image_is_refused(people):
    with pytest.raises(ValueError, match=r"ids must be of test images, .*, got train/.* at row 1"):
        answer_distribution(people, [ids_of("test")[0], ids_of("train")[0]])


def test_a_system_is_trained_on_some_people_and_tested_on_others(people):
    write_folder(people)
    splits = ask(cifar10.load(people), people, "random_label2", generator=numpy_generator(0, "test"))
    assert splits.train.expert_names == splits.validation.expert_names == ("random_label2 of CIFAR-10N",)
    assert splits.test.expert_names == ("an answer of CIFAR-10H",)
    asked = [
        (data.ids[row], int(data.answers[row, 0]))
        for data in (splits.train, splits.validation)
        for row in np.flatnonzero(~data.expert_correct[:, 0].numpy())
    ]
    assert asked == [(ids_of("train")[1], (labels_of("train")[1] + 1) % 10)]
    assert 0.5 < splits.test.expert_correct.double().mean() < 1


def test_test_labels_may_come_from_the_published_batches(people):
    expected = answer_distribution(people, ids_of("test"))
    (people / "cifar10h" / "test_labels.npy").unlink()
    with pytest.raises(FileNotFoundError, match=r"no file .*test_labels\.npy: .* from CIFAR-10 itself in .*batches-py"):
        answer_distribution(people, ids_of("test"))
    write_batches(people)
    np.testing.assert_array_equal(answer_distribution(people, ids_of("test")), expected)


@pytest.mark.parametrize(
    ("bad_id", "message"),
    [
        ("train/cat/kitten", "ids must be part, class and number .* got train/cat/kitten at row 1"),
        ("train/kitten/0001", "got train/kitten/0001 at row 1"),
        ("validation/cat/0001", "got validation/cat/0001"),
        ("train/cat/0010", r"numbers of train images in ids must lie in 0..9, got 10 at row 1 \(train/cat/0010\)"),
        ("train/cat/-1", "got train/cat/-1"),
    ],
)
def test_an_id_that_is_no_image_of_cifar10_is_named(people, bad_id, message):
    with pytest.raises(ValueError, match=message):
        answers(people, ["train/cat/0000", bad_id])


def test_an_unknown_annotator_lists_the_known_ones(people):
    with pytest.raises(ValueError, match=r"annotator must be one of 'random_label1', .*; got 'me'"):
        answers(people, ids_of("train"), "me")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("clean_label", np.roll(labels_of("train"), 1), "clean_label in .* in their published order; it differs"),
        ("clean_label", labels_of("train")[:-1], "clean_label in .* must be 100 labels"),
        ("clean_label", labels_of("train") - 1, "in their published order; it differs"),
        (
            "random_label1",
            np.roll(labels_of("train"), 7),
            "random_label1 in .* agree with the true classes in .*% only",
        ),
        ("random_label1", labels_of("train") + 1, "must lie in 0..9, got 10"),
        ("random_label1", labels_of("train")[:-1], r"must have shape \(100\), got \(99,\)"),
        ("random_label1", ["cat"] * 100, "lacks random_label1; it holds clean_label, "),
    ],
)
def test_a_training_file_that_does_not_fit_is_refused(tmp_path, name, value, message):
    with pytest.raises(ValueError, match=message):
        answers(write_people(tmp_path, **{name: value}), ids_of("train"))


COUNTS = np.eye(10, dtype=np.int64)[labels_of("test")] * 50


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("counts", np.roll(COUNTS, 3, axis=0), "the counts in .* agree with the true classes in .*% only"),
        ("counts", COUNTS[:-1], r"must have shape \(50, 10\), got \(49, 10\)"),
        ("counts", COUNTS / 50, "is no .npy file of whole numbers"),
        ("counts", -COUNTS, "must lie in 0..inf, got -50"),
        (
            "counts",
            COUNTS * (np.arange(50) != 4)[:, None],
            "summed over each image, must lie in 1..inf, got 0 at row 4",
        ),
        ("test_labels", np.roll(labels_of("test"), 1), "test_labels.npy must be the labels of the test images"),
    ],
)
def test_test_files_that_do_not_fit_are_refused(tmp_path, name, value, message):
    with pytest.raises(ValueError, match=message):
        answers(write_people(tmp_path, **{name: value}), ids_of("test"))


@pytest.mark.parametrize("name", ["cifar10n/CIFAR-10_human.pt", "cifar10h/cifar10h-counts.npy"])
def test_a_missing_or_empty_file_is_named_with_its_source(people, name):
    ids = ids_of("train" if "10n" in name else "test")
    (people / name).write_bytes(b"")
    with pytest.raises(ValueError, match=f"{name}.* download it again"):
        answers(people, ids)
    (people / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"no file .*{name} .*github.com/.*CC BY-NC"):
        answers(people, ids)


def test_a_training_file_that_would_run_code_runs_none(people):
    mark = people / "was_here"
    (people / "cifar10n" / "CIFAR-10_human.pt").write_bytes(trap(mark))
    with pytest.raises(ValueError, match="is not admitted"):
        answers(people, ids_of("train"))
    assert not mark.exists()


@pytest.mark.data
@pytest.mark.skipif(not (DATA_ROOT / "cifar10n").is_dir(), reason="L2D_DATA_ROOT holds no cifar10n")
def test_people_are_right_as_often_as_published_also_on_the_images_of_the_lab():
    from l2d_core.datasets.feature_bank import FeatureBank, bank_path

    everything = [f"train/{name}/{number:04}" for name in cifar10.CLASS_NAMES for number in range(5000)]
    labels = np.repeat(np.arange(10), 5000)
    right = [(answers(DATA_ROOT, everything, f"random_label{number}") == labels).mean() for number in (1, 2, 3)]
    np.testing.assert_allclose(right, [0.8277, 0.8188, 0.8236], atol=1e-4)  # Wei and others 2022: 17.23, 18.12, 17.64 %
    bank = FeatureBank.load(bank_path("cifar10"))
    is_right = answers(DATA_ROOT, bank.ids) == bank.labels
    assert is_right[bank.parts == "train"].mean() == pytest.approx(0.8277, abs=0.012)
    assert is_right[bank.parts == "test"].mean() == pytest.approx(0.952, abs=0.007)
    tests = bank.parts == "test"
    shares = answer_distribution(DATA_ROOT, bank.ids[tests])[np.arange(10_000), bank.labels[tests]]
    assert shares.mean() == pytest.approx(0.9523, abs=1e-4)
