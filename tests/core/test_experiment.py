"""An experiment from settings to a run: complete, seeded, and gone on with wherever it was stopped."""

import signal
import subprocess
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from dask_processes import DIGITS, process, wait_until
from killed_runs import epochs_done
from made_cifar10 import shrink, write_folder, write_people
from made_runs import CONFIG, add_made, load_made

from l2d_core import experiment
from l2d_core.common.seeds import torch_generator
from l2d_core.config import ExpertConfig
from l2d_core.experiment import NothingTrained, copy_in_eight_bits, run_experiment
from l2d_core.experts.simulated import expert_confusion, sample_answers
from l2d_core.models import weights
from l2d_core.models.prediction import predict
from l2d_core.runs.cases import load_splits
from l2d_core.runs.folder import open_run, read_environment, verify_run
from l2d_core.training.loop import TrainingDiverged


@pytest.fixture(autouse=True)
def _made(monkeypatch):
    add_made(monkeypatch)


def run(folder, config=CONFIG, **arguments):
    return run_experiment(config, data_root="nowhere", device="cpu", folder=folder, **arguments)


def same_scores(one, other):
    return all(
        np.array_equal(getattr(one, part).logits, getattr(other, part).logits)
        and np.array_equal(getattr(one, part).answers, getattr(other, part).answers)
        for part in ("validation", "test")
    )


def test_a_run_has_all_of_its_files_and_fits_together(tmp_path):
    made = run(tmp_path / "run")
    assert sorted(path.name for path in made.folder.iterdir()) == [
        "checkpoint",
        "config.json",
        "environment.json",
        "history.csv",
        "model.safetensors",
        "scores_test.npz",
        "scores_validation.npz",
    ]
    again = verify_run(made.folder)
    assert again.is_done
    assert again.config == CONFIG
    assert list(again.history["epoch"]) == [1, 2, 3]
    assert again.environment["threads"] == torch.get_num_threads()
    assert again.environment["packages"]["torch"] == torch.__version__.split("+")[0]
    assert again.environment["wall_seconds"] > 0


def test_scores_are_those_of_the_stored_weights(tmp_path):
    made = run(tmp_path / "run")
    inputs = load_splits(CONFIG, "nowhere").test.inputs
    logits = predict(made.load_model(), inputs, batch_size=16, device="cpu").numpy()
    np.testing.assert_allclose(made.test.logits, logits, atol=1e-4)


def test_a_copy_in_eight_bits_is_a_whole_run_with_the_scores_of_its_own_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "LARGE", 16)
    made = run(tmp_path / "run")
    copied = copy_in_eight_bits(made.folder, tmp_path / "copy", data_root="nowhere", device="cpu")
    assert verify_run(copied.folder).is_done
    assert not (copied.folder / "checkpoint").exists()
    logits = predict(copied.load_model(), load_splits(CONFIG, "nowhere").test.inputs, batch_size=16, device="cpu")
    np.testing.assert_allclose(copied.test.logits, logits.numpy(), atol=1e-4)
    assert np.array_equal(copied.test.answers, made.test.answers)
    assert 0 < np.abs(copied.test.logits - made.test.logits).max() < 0.1
    assert open_run(made.folder).test.logits.tobytes() == made.test.logits.tobytes()


def test_the_best_epoch_is_the_one_that_is_kept(tmp_path):
    made = run(tmp_path / "run", replace(CONFIG, learning_rate=0.1, epochs=4, schedule="constant"))
    scores = made.validation
    gap = torch.nn.functional.softplus(torch.from_numpy(scores.logits).double())
    labels, right = torch.from_numpy(scores.labels), torch.from_numpy(scores.expert_correct[:, 0])
    # One-vs-all's loss by hand: -log sigmoid(g_y) - sum of log sigmoid(-g_k) over k != y; the deferral score joins
    # as positive where the expert is right, and as negative where it is wrong.
    logits = torch.from_numpy(scores.logits).double()
    loss = (
        gap[:, :3].sum(1) - logits[torch.arange(20), labels] + torch.where(right, gap[:, 3] - logits[:, 3], gap[:, 3])
    )
    best = made.history["validation_loss"].min()
    assert float(loss.mean()) == pytest.approx(best, rel=0.02)  # the weights were rounded since


def test_the_expert_answers_once_from_the_seed_of_the_run(tmp_path):
    made = run(tmp_path / "run", replace(CONFIG, epochs=1))
    labels = load_made(None, 0).test.labels
    drawn = sample_answers(expert_confusion(CONFIG.expert, 3), labels, generator=torch_generator(0, "answers on test"))
    np.testing.assert_array_equal(made.test.answers[:, 0], drawn.numpy())
    first, again, other = (load_splits(replace(CONFIG, seed=seed), "").train for seed in (0, 0, 1))
    assert torch.equal(first.answers, again.answers)
    assert torch.equal(first.inputs, other.inputs)
    assert not torch.equal(first.answers, other.answers)


def test_a_run_that_is_stopped_and_gone_on_with_is_the_same_as_one_that_was_not(tmp_path):
    whole = run(tmp_path / "whole")
    stopped = run(tmp_path / "run", on_epoch=lambda report: report.epoch < 2)
    assert not stopped.is_done
    assert len(stopped.history) == 2
    assert len(stopped.test) == 12
    seconds = stopped.environment["wall_seconds"]
    done = run(tmp_path / "run")
    assert done.is_done
    assert same_scores(done, whole)
    timeless = [column for column in done.history if column not in ("seconds", "images_per_second")]
    assert done.history[timeless].equals(whole.history[timeless])
    assert done.environment["wall_seconds"] > seconds


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), TrainingDiverged("the loss is nan")])
def test_an_interrupt_or_a_divergence_keeps_the_best_so_far_and_is_passed_on(tmp_path, problem):
    def interrupt(done, total):
        if done == total - 1:
            raise problem

    with pytest.raises(type(problem)):
        run(tmp_path / "run", on_step=interrupt)
    kept = verify_run(tmp_path / "run")
    assert not kept.is_done
    assert len(kept.history) == 2
    assert same_scores(run(tmp_path / "run"), run(tmp_path / "whole"))


def test_sigterm_ends_a_training_from_the_command_line_with_its_best_weights_and_scores(tmp_path):
    folder, settings = tmp_path / "run", tmp_path / "settings.json"
    settings.write_text(replace(DIGITS, epochs=1000).to_json())
    command = ["-m", "l2d_core", "train", "--config", settings, "--device", "cpu", "--out", folder]
    with process(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as training:
        wait_until(lambda: folder.exists() and epochs_done(folder), "an epoch", seconds=200)
        training.send_signal(signal.SIGTERM)
        time.sleep(0.05)
        training.send_signal(signal.SIGTERM)  # schedulers may send it again while the scores are made
        output, errors = training.communicate(timeout=60)
    assert (training.returncode, errors) == (143, "terminated\n")
    assert "holds the best model so far and its scores; the same command resumes the training" in output
    kept = verify_run(folder)
    assert kept.environment["state"] == "stopped"
    assert 1 <= len(kept.history) < 1000


def test_training_stopped_in_its_first_epoch_has_nothing_to_keep_and_can_begin_again(tmp_path):
    with pytest.raises(NothingTrained, match="was stopped in its first epoch: start it again to train"):
        run(tmp_path / "run", on_step=lambda done, total: False)
    with pytest.raises(ValueError, match="has not ended, 0 of 3 epochs"):
        open_run(tmp_path / "run")
    assert run(tmp_path / "run").is_done


def test_history_and_state_are_there_while_it_runs(tmp_path):
    seen = []

    def look(report):
        seen.append((read_environment(tmp_path / "run")["state"], report.epoch))
        with pytest.raises(ValueError, match=f"has not ended, {report.epoch} of 3"):
            open_run(tmp_path / "run")

    run(tmp_path / "run", on_epoch=look)
    assert seen == [("running", 1), ("running", 2), ("running", 3)]


def test_a_run_that_is_done_is_given_as_it_is(tmp_path, monkeypatch):
    first = run(tmp_path / "run")
    monkeypatch.setattr(experiment, "load_splits", lambda *_: pytest.fail("it must not load data again"))
    again = run(tmp_path / "run")
    assert same_scores(first, again)
    assert again.environment == first.environment


def test_patience_that_runs_out_ends_a_run(tmp_path):
    config = replace(CONFIG, learning_rate=1e-30, weight_decay=0.0, epochs=50, patience=1, reference=False)
    made = run(tmp_path / "run", config)
    assert made.is_done
    assert len(made.history) < 50


def test_other_settings_in_the_same_folder_are_refused_and_nothing_is_lost(tmp_path):
    first = run(tmp_path / "run")
    with pytest.raises(ValueError, match=r"holds a run with other settings: seed \(0 there, 5 now\)"):
        run(tmp_path / "run", replace(CONFIG, seed=5))
    assert same_scores(open_run(tmp_path / "run"), first)


def test_a_damaged_checkpoint_is_named_and_the_scores_so_far_stay(tmp_path):
    run(tmp_path / "run", on_epoch=lambda report: False)
    (tmp_path / "run" / "checkpoint" / "training.pt").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"training\.pt cannot be read .* delete it to train from the start"):
        run(tmp_path / "run")
    assert len(open_run(tmp_path / "run").history) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"surrogate": "hinge"}, "surrogate must be one of 'softmax', "),
        ({"model": "lenet"}, "model must be one of 'small_resnet', "),
        ({"dataset": "mnist"}, "dataset must be one of 'cifar10', "),
        ({"dataset_options": {"colour": 1}}, "dataset 'made' has no option 'colour'; it has num_train"),
        ({"model_options": {"depth": 3}}, "model 'small_resnet' has no option 'depth'; it has none"),
        ({"surrogate_options": {"beta": 1.0}}, "surrogate 'one_vs_all' has no option 'beta'"),
        ({"expert": ExpertConfig(accuracy=(0.5, 0.5))}, "expert.accuracy must give 3 numbers"),
        ({"expert": ExpertConfig("human", name="me")}, "for an expert of kind 'human', must be one of 'cifar10'"),
        ({"dataset": "cifar10"}, "expert.accuracy must give 10 numbers"),  # before any data are looked for
        ({"dataset": "cifar10", "expert": ExpertConfig(accuracy=(0.5,))}, "there is no CIFAR-10 in nowhere"),
    ],
)
def test_settings_that_do_not_do_are_named(tmp_path, change, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        run(tmp_path / "run", replace(CONFIG, **change))
    if "surrogate_options" not in change:
        assert not (tmp_path / "run").exists()


def test_a_device_that_is_not_there_is_refused(tmp_path):
    for device in ("tpu", "cpu:x", "cuda:99"):
        with pytest.raises(ValueError, match=f"device must be auto, or one that is here: .*cpu; got '{device}'"):
            run_experiment(CONFIG, data_root="", device=device, folder=tmp_path / "run")


def test_reference_runs_are_scored_by_batch_statistics(tmp_path):
    made = run(tmp_path / "run", replace(CONFIG, reference=True, epochs=1))
    inputs = load_splits(CONFIG, "").test.inputs
    model = made.load_model()
    for batch_statistics, is_near in ((True, True), (False, False)):
        logits = predict(model, inputs, batch_size=16, device="cpu", batch_statistics=batch_statistics).numpy()
        assert np.allclose(made.test.logits, logits, atol=1e-3) == is_near
    assert made.history["reference"].all()


def test_digits_are_images_and_take_noise():
    config = replace(CONFIG, dataset="digits", expert=ExpertConfig(accuracy=(0.5,)))
    splits, noisy = load_splits(config, ""), load_splits(replace(config, dataset_options={"noise": 1.0}), "")
    assert splits.train.inputs.shape[1:] == (1, 8, 8)
    assert noisy.train.inputs.std() > 2 * splits.train.inputs.std()


def test_a_system_is_trained_on_people(tmp_path, monkeypatch):
    shrink(monkeypatch)
    write_people(write_folder(tmp_path))
    config = replace(CONFIG, dataset="cifar10", expert=ExpertConfig("human", name="random_label3"), epochs=1)
    made = run_experiment(config, data_root=tmp_path, device="cpu", folder=tmp_path / "run")
    assert made.validation.expert_names == ("random_label3 of CIFAR-10N",)
    assert made.test.expert_names == ("an answer of CIFAR-10H",)
    assert 0.5 < made.test.expert_correct.mean() < 1
