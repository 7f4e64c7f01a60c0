"""The system for skin lesions: what its networks see, its bank, heads that are refitted, and the expert network."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from made_images import picture
from made_lesion_system import EXPERT_SIZE, IMAGE_SIZE, NUM_CLASSES, NUM_FEATURES, made_bank, made_system
from made_lesions import IGNORE_SIZE, write_lesions
from PIL import Image

from l2d_core.cli.commands import main
from l2d_core.common.paths import DATA_ROOT
from l2d_core.config import RunConfig
from l2d_core.data import Scores
from l2d_core.datasets.ham10000 import CLASS_NAMES, list_images
from l2d_core.datasets.ham10000.features import AgeScale, feature_names
from l2d_core.datasets.ham10000.split import split_rows
from l2d_core.datasets.image_files import read_image
from l2d_core.experts.simulated import per_class
from l2d_core.experts.stored_answers import PARTS
from l2d_core.lab import heads
from l2d_core.lesions import detector_training
from l2d_core.lesions import system as lesions
from l2d_core.lesions.bank import LesionBank, make_lesion_bank, weights_digest
from l2d_core.lesions.expert_network import LearnedExpert, _encode
from l2d_core.lesions.networks import compile_network, to_input
from l2d_core.models.backbones import lite0_classifier
from l2d_core.models.mixer_expert import MixerExpert
from l2d_core.models.weights import Network, encode_weights
from l2d_core.runs.folder import begin_run, save_progress, save_results

SHAPE = (3, 32, 40)
ACCURACY = [0.9, 0.1, 0.5, 0.5, 0.5, 0.8, 0.3]


def inputs(count, size, seed=0):
    return torch.rand(count, 3, *size, generator=torch.Generator().manual_seed(seed)) * 2 - 1


def patients(*rows):
    return pd.DataFrame(rows, columns=["age", "sex", "localization"], dtype=object)


@pytest.fixture(scope="module")
def network():
    """A real network of random weights, and the same compiled."""
    torch.manual_seed(0)
    model = lite0_classifier(NUM_CLASSES + 1, SHAPE).eval()
    return model, compile_network(model, SHAPE[1:])


def test_the_compiled_network_gives_features_and_the_logits_of_its_last_layer(network):
    model, compiled = network
    images = inputs(5, SHAPE[1:])
    features, early, logits = compiled.score(images)
    with torch.inference_mode():
        expected = model[0](images).numpy()
        stages = model[0].blocks[:3](model[0].bn1(model[0].conv_stem(images)))
    np.testing.assert_allclose(early[:, :40], stages.mean(dim=(2, 3)).numpy(), atol=1e-4)
    np.testing.assert_allclose(early[:, 40:], stages.flatten(2).std(dim=2).numpy(), atol=1e-4)
    with torch.inference_mode():
        from_features = model[-1](torch.from_numpy(features)).numpy()
    assert features.shape == (5, 1280)
    np.testing.assert_allclose(features, expected, atol=1e-4 * np.abs(expected).max())
    np.testing.assert_allclose(logits, from_features, atol=1e-5)


def test_the_size_of_a_batch_changes_rounding_only(network):
    _, compiled = network
    images = inputs(19, SHAPE[1:])
    features, _, logits = compiled.score(images)
    alone = [compiled.score(images[row : row + 1]) for row in (0, 15, 16, 18)]
    for row, (one, _, own) in zip((0, 15, 16, 18), alone, strict=True):
        np.testing.assert_allclose(one[0], features[row], atol=1e-4 * np.abs(features).max())
        np.testing.assert_allclose(own[0], logits[row], atol=1e-4 * np.abs(logits).max())


def test_a_network_of_other_parts_is_refused():
    with pytest.raises(ValueError, match="got Linear"):
        compile_network(torch.nn.Linear(2, 2), (8, 8))


def test_an_upload_becomes_the_very_input_that_the_training_images_became(tmp_path):
    Image.fromarray(picture(45, 60)).save(tmp_path / "a.png")
    assert torch.equal(to_input(picture(45, 60), (30, 40)), read_image(tmp_path / "a.png", (30, 40)))


def test_the_nearest_test_cases_are_found_in_standard_deviations_of_each_component():
    bank = made_bank(np.random.default_rng(0))
    test, train = (bank.features[bank.parts == part].astype(np.float64) for part in ("test", "train"))
    case = test[7].astype(np.float32) + 0.01
    twin = sorted(range(len(test)), key=lambda row: (((test[row] - case) / train.std(axis=0)) ** 2).sum())
    assert bank.nearest(case, 5).tolist() == twin[:5]
    assert bank.nearest(case, 1).tolist() == [7]


def test_a_bank_comes_back_from_its_file_as_it_was(tmp_path):
    bank = made_bank(np.random.default_rng(0))
    bank.save(tmp_path / "bank.npz")
    loaded = LesionBank.load(tmp_path / "bank.npz")
    for name in ("features", "labels", "ids", "parts", "mean", "components"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(bank, name))
    assert (loaded.class_names, loaded.scale, loaded.weights) == (bank.class_names, bank.scale, bank.weights)


def test_a_bank_that_is_damaged_is_refused_by_its_name(tmp_path):
    (tmp_path / "bank.npz").write_bytes(b"PK no")
    with pytest.raises(ValueError, match=r"bank\.npz is not a readable"):
        LesionBank.load(tmp_path / "bank.npz")
    np.savez(tmp_path / "bank.npz", features=np.zeros((1, 1)))
    with pytest.raises(ValueError, match=r"bank\.npz lacks format_version, labels"):
        LesionBank.load(tmp_path / "bank.npz")
    with pytest.raises(ValueError, match="parts must each be one of train, validation, test, and all be there"):
        replace(made_bank(np.random.default_rng(0)), parts=np.full(150, "train"))


@pytest.mark.filterwarnings(IGNORE_SIZE)
def test_a_bank_holds_every_image_with_its_part_and_projects_new_ones_as_its_own(tmp_path, network):
    root, done = write_lesions(tmp_path), []
    bank = make_lesion_bank(root, network[1], "abc", num_components=5, on_progress=lambda *at: done.append(at))
    table = list_images(root)
    rows = split_rows(table, 0)
    assert bank.ids.tolist() == table["id"].tolist()
    assert bank.labels.tolist() == table["label"].tolist()
    for part, members in zip(PARTS, rows, strict=True):
        assert np.flatnonzero(bank.parts == part).tolist() == members.tolist()
    assert done[-1] == (70, 70)
    images = torch.stack([read_image(path, SHAPE[1:]) for path in table["path"]])
    projected = bank.project(network[1].score(images)[0])
    np.testing.assert_allclose(projected, bank.features.astype(np.float32), atol=0.01)
    assert bank.weights == "abc"


def test_the_scores_of_images_are_what_each_network_gives():
    system = made_system()
    images = inputs(20, IMAGE_SIZE)
    scores = lesions.score_images(system, images, inputs(20, EXPERT_SIZE))
    for name, network in system.networks.items():
        np.testing.assert_array_equal(scores.logits[name], network.score(images)[2])
    raw = system.networks["one_vs_all"].score(images)[0]
    np.testing.assert_allclose(scores.features, raw[:, :NUM_FEATURES] / 0.5, atol=2e-3)
    assert scores.distance.shape == (20,)
    np.testing.assert_allclose(scores.expert_features, inputs(20, EXPERT_SIZE).mean(dim=(2, 3)).numpy(), atol=1e-6)


def test_refitted_heads_give_new_features_the_logits_that_the_fit_gives_them():
    system = made_system()
    systems = lesions.refit(system, per_class(ACCURACY))
    train, test = system.bank.part("validation"), system.bank.part("test")
    direct = heads.fit(train, test, per_class(ACCURACY), seeds=(0,), config=lesions.HEAD)
    scores = lesions.LesionScores({}, test.inputs.numpy(), np.zeros(len(test)), np.zeros((len(test), 3)))
    assert list(systems.reference.scores) == list(lesions.RUNS)
    for name, logits in systems.logits(scores).items():
        np.testing.assert_array_equal(systems.reference.scores[name].logits, direct.scores[name][0].logits)
        np.testing.assert_allclose(logits, direct.scores[name][0].logits, atol=1e-4)


def test_a_better_expert_is_deferred_to_more():
    system = made_system()
    shares = []
    for accuracy in (0.0, 1.0):
        systems = lesions.refit(system, per_class([accuracy] * NUM_CLASSES))
        one = systems.reference.scores["one_vs_all"].logits
        shares.append((one[:, -1] >= one[:, :-1].max(axis=1)).mean())
    assert shares[0] == 0
    assert shares[1] > 0.9


def test_the_learned_experts_heads_learn_from_its_stored_answers():
    system = made_system()
    systems = lesions.systems_for_mixer(system)
    test = system.bank.parts == "test"
    for scores in systems.reference.scores.values():
        assert scores.answers[:, 0].tolist() == system.answers.answers[test].tolist()
        assert scores.ids.tolist() == system.bank.ids[test].tolist()


def test_answers_to_images_that_the_expert_was_trained_on_are_refused():
    system = made_system()
    trained = replace(system.answers, parts=np.full(len(system.bank.ids), "train"))
    with pytest.raises(ValueError, match="trained on images of the bank's validation or test part"):
        lesions.systems_for_mixer(replace(system, answers=trained))


def test_images_without_an_answer_of_the_expert_are_named():
    system = made_system()
    some = replace(system.answers, **{n: getattr(system.answers, n)[:-1] for n in ("answers", "ids", "parts")})
    with pytest.raises(ValueError, match="no answer to 1 images of the bank, as ISIC_0000149"):
        lesions.systems_for_mixer(replace(system, answers=some))


def test_the_systems_as_trained_decide_by_their_own_logits():
    system = made_system()
    systems = lesions.systems_as_trained(system)
    scores = lesions.score_images(system, inputs(3, IMAGE_SIZE), inputs(3, EXPERT_SIZE))
    assert systems.logits(scores) is scores.logits
    assert systems.reference.scores == system.tests


def test_the_expert_answers_as_its_network_does_from_what_was_kept():
    system = made_system()
    images = inputs(2, EXPERT_SIZE)
    scores = lesions.score_images(system, inputs(2, IMAGE_SIZE), images)
    table = patients(("80", "male", "back"), ("40", "female", "face"))
    assert lesions.ask_expert(system, scores.expert_features, table).tolist() == [3, 5]


@pytest.mark.parametrize("row", [("unknown", "male", "back"), ("50", "unknown", "back"), ("50", "male", "unknown")])
def test_no_answer_is_invented_where_something_of_the_patient_is_unknown(row):
    system = made_system()
    with pytest.raises(ValueError, match="must be known for the expert to answer, got 'unknown' at row 1"):
        lesions.ask_expert(system, np.zeros((2, 3), dtype=np.float32), patients(("50", "male", "back"), row))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, network):
    """A whole system as it is shipped, its weights random and its scores drawn."""
    root = tmp_path_factory.mktemp("system")
    generator = np.random.default_rng(0)
    described = Network("efficientnet_lite0", SHAPE, CLASS_NAMES, ("expert",))
    for surrogate, name in lesions.RUNS.items():
        begin_run(root / name, RunConfig(dataset="ham10000", model="efficientnet_lite0", surrogate=surrogate))
        save_progress(root / name, [], {"wall_seconds": 1.0}, "done")
        scores = Scores.from_arrays(
            generator.normal(size=(12, NUM_CLASSES + 1)),
            generator.integers(0, NUM_CLASSES, 12),
            generator.integers(0, NUM_CLASSES, 12),
            surrogate=surrogate,
            class_names=CLASS_NAMES,
        )
        save_results(root / name, scores, scores, encode_weights(network[0], described))
    (root / "ham10000/expert").mkdir()
    mixer = MixerExpert(NUM_CLASSES, EXPERT_SIZE, len(feature_names())).eval()
    expert = LearnedExpert(mixer, EXPERT_SIZE, AgeScale(50.0, 10.0), reference=False)
    (root / "ham10000/expert" / "model.safetensors").write_bytes(_encode(expert))
    made_system().answers.save(root / "ham10000/expert" / "answers.npz")
    return root


@pytest.mark.filterwarnings(IGNORE_SIZE)
def test_the_command_makes_what_the_folder_lacks_and_the_system_loads(tmp_path, folder, capsys, monkeypatch):
    monkeypatch.setattr(detector_training, "NUM_STRANGERS", 3)
    assert lesions.missing_commands(folder) == [lesions.COMMANDS["lesions"]]
    with pytest.raises(FileNotFoundError, match="pretrain lesions --data-root DIR"):
        lesions.load_system(folder)
    assert main(["pretrain", "lesions", "--data-root", str(write_lesions(tmp_path)), "--out", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "ham10000_tuned.npz: 70 x" in printed
    assert "drawn lesions  3" in printed
    assert lesions.missing_commands(folder) == []
    system = lesions.load_system(folder)
    assert system.image_size == SHAPE[1:]
    assert system.class_names == CLASS_NAMES
    assert system.bank.weights == weights_digest(folder / lesions.RUNS["one_vs_all"] / "model.safetensors")
    scores = lesions.score_images(system, inputs(2, SHAPE[1:]), inputs(2, EXPERT_SIZE))
    table = patients(("80", "male", "back"), ("40", "female", "face"))
    expected = system.expert.answer(inputs(2, EXPERT_SIZE), table)
    assert lesions.ask_expert(system, scores.expert_features, table).tolist() == expected.tolist()
    replace(system.bank, weights="others").save(folder / lesions.BANK)
    with pytest.raises(ValueError, match=r"tuned\.npz is of other weights than ham10000/ham10000-one_vs_all; make"):
        lesions.load_system(folder)
    system.bank.save(folder / lesions.BANK)
    replace(system.detector, weights="others").save(folder / lesions.DETECTOR)
    with pytest.raises(ValueError, match=r"detector\.safetensors is of other weights"):
        lesions.load_system(folder)
    (folder / lesions.BANK).unlink()


@pytest.mark.data
@pytest.mark.skipif(not (DATA_ROOT / "ham10000").is_dir(), reason="L2D_DATA_ROOT holds no ham10000")
@pytest.mark.skipif(bool(lesions.missing_commands()), reason="the networks for skin lesions are not shipped here")
def test_the_shipped_system_scores_images_as_its_runs_did():
    system = lesions.load_system()
    table = list_images(DATA_ROOT).set_index("id")
    rows = np.arange(0, len(system.gallery.cases), 50)
    ids = system.tests["one_vs_all"].ids[rows]
    pixels = [np.asarray(Image.open(path).convert("RGB")) for path in table.loc[ids, "path"]]
    images, small = (torch.stack([to_input(one, size) for one in pixels]) for size in sizes_of(system))
    scores = lesions.score_images(system, images, small)
    for name, run in system.tests.items():
        assert np.abs(scores.logits[name] - run.logits[rows]).max() < 0.05  # other kernels round otherwise
        assert (scores.logits[name].argmax(axis=1) == run.logits[rows].argmax(axis=1)).all()
    row_of = {name: row for row, name in enumerate(system.bank.ids)}
    known = system.bank.features[[row_of[name] for name in ids]].astype(np.float32)
    assert np.abs(scores.features - known).max() < 0.05
    told = ~(table.loc[ids, list(lesions.NEEDED)] == "unknown").any(axis=1).to_numpy()
    answers = lesions.ask_expert(system, scores.expert_features[told], table.loc[ids[told]])
    stored = dict(zip(system.answers.ids, system.answers.answers, strict=True))
    assert (answers == [stored[name] for name in ids[told]]).mean() >= 0.95


def sizes_of(system):
    return system.image_size, system.expert.image_size


def test_an_empty_folder_lacks_everything_in_the_order_to_make_it(tmp_path):
    assert lesions.missing_commands(tmp_path) == list(lesions.COMMANDS.values())
