"""The lab's data sets: the Gaussians against Bayes' rule and simulation, noise, and splits that keep groups whole."""

import numpy as np
import pytest
import torch
from scipy import stats

from l2d_core.datasets import LAB_DATASETS, digits, gaussians
from l2d_core.datasets.feature_bank import FeatureBank, bank_path
from l2d_core.datasets.image_features import load_splits
from l2d_core.experts.simulated import expert_correct_probability, per_class, sample_answers

NAMES = list(LAB_DATASETS)
PARTS = ("train", "validation", "test")
SPREADS = [0.2, 0.6, 1.5]


def loaded(name, seed=0, noise=None):
    dataset = LAB_DATASETS[name]
    return dataset.load(seed, dataset.default_noise if noise is None else noise)


def parts_of(splits):
    return [getattr(splits, part) for part in PARTS]


def inputs_by_id(splits):
    """All inputs of a data set in the order of their ids, whatever part they are in."""
    ids = np.concatenate([part.ids for part in parts_of(splits)])
    return torch.cat([part.inputs for part in parts_of(splits)]).numpy()[np.argsort(ids)]


# What the registry says of each data set.


def test_the_lab_offers_its_data_sets_in_this_order():
    assert NAMES == ["ham10000", "cifar10", "hate_speech", "galaxy_zoo", "digits", "gaussians"]


@pytest.mark.parametrize("name", NAMES)
def test_the_registry_tells_the_truth_about_what_it_loads(name):
    dataset, splits = LAB_DATASETS[name], loaded(name)
    for part in parts_of(splits):
        assert part.class_names == dataset.class_names
        assert part.inputs.dtype == torch.float32
        assert part.inputs.ndim == 2
        assert (part.answers == -1).all()
        assert set(part.labels.tolist()) == set(range(len(dataset.class_names)))
    assert set(dataset.class_titles) <= set(dataset.class_names)
    assert dataset.min_noise <= dataset.default_noise <= dataset.max_noise
    assert dataset.is_medical == (name == "ham10000")
    assert (dataset.class_probability is None) == (dataset.plane is None) == (name != "gaussians")


@pytest.mark.parametrize("name", NAMES)
def test_no_case_is_in_two_parts(name):
    ids = np.concatenate([part.ids for part in parts_of(loaded(name))])
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("seed", range(10))
def test_the_number_of_training_cases_is_about_what_the_registry_says(seed):
    for name in ("digits", "gaussians"):
        assert len(loaded(name, seed).train) == LAB_DATASETS[name].num_train
    assert len(loaded("ham10000", seed).train) == pytest.approx(LAB_DATASETS["ham10000"].num_train, rel=0.01)


@pytest.mark.parametrize("name", ["ham10000", "digits", "gaussians"])
def test_the_same_seed_gives_the_same_data_and_another_seed_another_split(name):
    one, again, other = loaded(name, 3), loaded(name, 3), loaded(name, 4)
    for mine, theirs in zip(parts_of(one), parts_of(again), strict=True):
        assert torch.equal(mine.inputs, theirs.inputs)
        assert torch.equal(mine.labels, theirs.labels)
        assert mine.ids.tolist() == theirs.ids.tolist()
    assert not torch.equal(one.test.inputs[:50], other.test.inputs[:50])


# Noise.


@pytest.mark.parametrize("name", ["ham10000", "digits"])
def test_noise_moves_the_inputs_by_as_much_as_it_says_and_nothing_else(name):
    clean, noisy, other_noise = loaded(name, 2, 0.0), loaded(name, 2, 0.5), loaded(name, 2, 1.5)
    for mine, theirs in zip(parts_of(clean), parts_of(noisy), strict=True):
        assert mine.ids.tolist() == theirs.ids.tolist()
        assert torch.equal(mine.labels, theirs.labels)
    before = inputs_by_id(clean)
    unit = before.std(axis=0) if name == "ham10000" else 1.0
    moved = (inputs_by_id(noisy) - before) / unit
    assert moved.mean() == pytest.approx(0, abs=0.01)
    assert moved.std() == pytest.approx(0.5, rel=0.01)
    assert np.abs(moved.std(axis=0) - 0.5).max() < 0.05  # on every feature, in its own unit
    np.testing.assert_allclose((inputs_by_id(other_noise) - before) / unit, 3 * moved, rtol=0, atol=1e-4)


def test_noise_is_drawn_anew_for_each_seed():
    moved = [inputs_by_id(loaded("digits", seed, 0.5)) - inputs_by_id(loaded("digits", seed, 0.0)) for seed in (0, 1)]
    assert abs(np.corrcoef(moved[0].ravel(), moved[1].ravel())[0, 1]) < 0.02


def test_noisy_features_leave_the_shipped_ones_alone():
    before = loaded("ham10000", 0, 0.0).train.inputs.clone()
    loaded("ham10000", 0, 2.0)
    assert torch.equal(loaded("ham10000", 0, 0.0).train.inputs, before)


@pytest.mark.parametrize("noise", [-0.1, np.inf, np.nan])
def test_noise_out_of_range_is_refused(noise):
    for name in ("ham10000", "digits"):
        with pytest.raises(ValueError, match=f"noise must be at least 0 and finite, got {noise}"):
            loaded(name, 0, noise)


# Digits.


def test_digits_are_centred_pixels_and_each_class_has_its_share_in_each_part():
    splits = digits.load(0)
    pixels = inputs_by_id(splits)
    assert pixels.shape == (1797, 64)
    assert (pixels.min(), pixels.max()) == (-0.5, 0.5)
    assert set(np.unique(pixels * 16 + 8)) == set(range(17))
    counts = np.stack([np.bincount(part.labels) for part in parts_of(splits)])
    np.testing.assert_allclose(counts, np.outer(digits.FRACTIONS, counts.sum(axis=0)), rtol=0, atol=1)


# The feature banks.


@pytest.fixture(scope="module")
def lesion_of():
    """Image id -> lesion of HAM10000."""
    bank = FeatureBank.load(bank_path("ham10000"))
    return dict(zip(bank.ids.tolist(), bank.groups.tolist(), strict=True))


@pytest.mark.parametrize("seed", range(10))
def test_no_lesion_is_in_two_parts(seed, lesion_of):
    parts = [{lesion_of[name] for name in part.ids.tolist()} for part in parts_of(load_splits("ham10000", seed))]
    assert sum(len(part) for part in parts) == len(set.union(*parts)) == 7470


def test_ham10000_has_all_images_and_each_diagnosis_its_share_in_each_part(lesion_of):
    parts = parts_of(load_splits("ham10000", 0))
    counts = np.stack([np.bincount(part.labels) for part in parts])
    # As published: akiec, bcc, bkl, df, mel, nv, vasc.
    assert counts.sum(axis=0).tolist() == [327, 514, 1099, 115, 1113, 6705, 142]
    lesions = [
        [len({lesion_of[one] for one in np.asarray(part.ids)[part.labels.numpy() == label]}) for label in range(7)]
        for part in parts
    ]
    of_class = np.sum(lesions, axis=0)
    np.testing.assert_allclose(lesions, np.outer([0.6, 0.2, 0.2], of_class), rtol=0, atol=1)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_test_part_of_cifar10_is_the_published_one(seed):
    splits = load_splits("cifar10", seed)
    names = LAB_DATASETS["cifar10"].class_names
    for part, published in zip(parts_of(splits), ("train", "train", "test"), strict=True):
        folders = [image.split("/")[:2] for image in part.ids]
        assert {folder for folder, _ in folders} == {published}
        assert [names[label] for label in part.labels] == [name for _, name in folders]
    sizes = [np.bincount(part.labels).tolist() for part in parts_of(splits)]
    assert sizes == [[900] * 10, [100] * 10, [1000] * 10]
    assert len(splits.train) == LAB_DATASETS["cifar10"].num_train


def test_the_components_of_ham10000_are_fitted_on_the_training_part_of_seed_0():
    centre = [float(load_splits("ham10000", seed).train.inputs.mean(dim=0).abs().max()) for seed in (0, 1)]
    assert centre[0] < 1e-3  # principal components are centred where they are fitted
    assert centre[1] > 1e-2


# The Gaussians.


def slow_class_probability(points, spread):
    """Bayes' rule, a point and a class at a time."""
    rows = []
    for point in points:
        joint = [
            prior * stats.multivariate_normal(mean, spread**2).pdf(point)
            for prior, mean in zip(gaussians.PRIORS, gaussians.MEANS, strict=True)
        ]
        rows.append([part / sum(joint) for part in joint])
    return np.array(rows)


@pytest.mark.parametrize("spread", SPREADS)
def test_class_probability_is_bayes_rule(spread):
    points = np.random.default_rng(0).uniform(-2.5, 2.5, (60, 2))
    np.testing.assert_allclose(
        gaussians.class_probability(points, spread), slow_class_probability(points, spread), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("spread", SPREADS)
def test_class_probability_stays_a_distribution_far_from_every_class(spread):
    points = np.array([[0.0, 0.0], [1e3, 0.0], [-1e4, 1e4], [0.0, -1e6]])
    probability = gaussians.class_probability(points, spread)
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(probability[0], gaussians.PRIORS, rtol=1e-12)  # even distances: the shares
    assert probability.argmax(axis=1).tolist() == [0, 0, 1, 3]


def gap_in_errors(happened, probability, cells):
    """In each cell, how many standard errors the share that happened lies from the mean probability."""
    n = np.bincount(cells)
    difference = np.bincount(cells, happened - probability)
    error = np.sqrt(np.bincount(cells, probability * (1 - probability)))
    filled = (n > 200) & (error > 1)
    assert filled.sum() >= 5
    return difference[filled] / error[filled]


@pytest.fixture(scope="module", params=[0.4, 0.6, 1.5])
def simulated(request):
    """Many points with their classes, spread and the cell of the plane that each lies in."""
    points, labels = gaussians.sample(200_000, request.param, generator=np.random.default_rng(1))
    cells = np.clip(np.floor((points + 2.5) / 0.25), 0, 19).astype(int)
    return points, labels, request.param, cells[:, 0] * 20 + cells[:, 1]


def test_simulated_classes_come_true_as_often_as_class_probability_says(simulated):
    points, labels, spread, cells = simulated
    probability = gaussians.class_probability(points, spread)
    for label in range(4):
        assert np.abs(gap_in_errors(labels == label, probability[:, label], cells)).max() < 4.5


@pytest.mark.parametrize("wrong", ["others", "all"])
def test_a_simulated_expert_is_right_as_often_as_the_closed_form_says(simulated, wrong):
    points, labels, spread, cells = simulated
    confusion = per_class([0.9, 0.6, 0.2, 0.05], wrong=wrong)
    class_probability = torch.from_numpy(gaussians.class_probability(points, spread))
    truth = expert_correct_probability(confusion, class_probability).numpy()
    answers = sample_answers(confusion, torch.from_numpy(labels), generator=torch.Generator().manual_seed(2))
    assert np.abs(gap_in_errors(answers.numpy() == labels, truth, cells)).max() < 4.5


def test_points_scatter_round_their_class_by_the_spread_and_classes_come_by_their_shares(simulated):
    points, labels, spread, _ = simulated
    np.testing.assert_allclose(np.bincount(labels) / len(labels), [0.4, 0.3, 0.2, 0.1], rtol=0, atol=0.006)
    for label, mean in enumerate([(1, 0), (0, 1), (-1, 0), (0, -1)]):
        own = points[labels == label]
        np.testing.assert_allclose(own.mean(axis=0), mean, rtol=0, atol=5 * spread / len(own) ** 0.5)
        np.testing.assert_allclose(np.cov(own.T) / spread**2, np.eye(2), rtol=0, atol=0.05)


def test_the_parts_of_the_gaussians_are_separate_draws():
    splits = gaussians.load(0)
    assert [len(part) for part in parts_of(splits)] == [4000, 1000, 4000]
    for one, other in ((splits.train, splits.test), (splits.train, splits.validation)):
        n = min(len(one), len(other))
        assert abs(np.corrcoef(one.inputs[:n, 0], other.inputs[:n, 0])[0, 1]) < 0.15
        assert not set(map(tuple, one.inputs.tolist())) & set(map(tuple, other.inputs.tolist()))


@pytest.mark.parametrize("spread", [0.0, -1.0, np.inf, np.nan])
def test_a_spread_out_of_range_is_refused(spread):
    for call in (lambda: gaussians.load(0, spread), lambda: gaussians.class_probability(np.zeros((1, 2)), spread)):
        with pytest.raises(ValueError, match=f"spread must be above 0 and finite, got {spread}"):
            call()


def test_the_plane_is_a_square_grid_row_by_row_from_the_south():
    points = gaussians.plane(5)
    steps = [-2.5, -1.25, 0.0, 1.25, 2.5]
    assert points.tolist() == [[x, y] for y in steps for x in steps]
