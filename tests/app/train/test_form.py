"""The settings of a new training in AppTest: what goes together, what is offered, and what it will take."""

from dataclasses import replace
from unittest.mock import Mock

import pytest
from small_jobs import SHORT
from train_page import FIRST, FakeBoard, address, click, labels, open_train, said

from app.fits.workers import WorkerLost
from app.jobs import board as jobs_board
from app.jobs import menu as train_menu
from app.jobs.menu import DATASETS
from app.train import estimate, start
from app.train.estimate import Estimate, measure
from l2d_core.config import MAX_EPOCHS, ExpertConfig
from l2d_core.reproductions.request import Request


@pytest.fixture(autouse=True)
def board(monkeypatch):
    made = FakeBoard()
    monkeypatch.setattr(jobs_board, "job_board", lambda: made)
    return made


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("train_learning_rate", 0.0, "learning_rate must be above 0 and finite, got 0"),
        ("train_warmup_epochs", 3, "warmup_epochs must be 0 with the schedule 'one_cycle', got 3"),
        ("train_batch_size", 1, "batch_size must be at least 2, got 1"),
        ("train_momentum", 1.0, "momentum must be at least 0 and below 1"),
    ],
)
def test_settings_that_do_not_go_together_are_named_and_cannot_be_trained(key, value, message):
    app = open_train()
    app = app.number_input(key=key).set_value(value).run()
    assert not app.exception
    assert [warning.value for warning in app.warning if message in warning.value]
    assert not [label for label in labels(app) if label.startswith("Train")]


def test_no_more_epochs_can_be_asked_for_than_a_run_may_have():
    assert open_train().number_input(key="train_epochs").max == MAX_EPOCHS


def test_a_data_set_that_is_not_there_says_how_to_get_it(monkeypatch):
    from app.train import form

    form._missing.clear()
    monkeypatch.setattr(form, "DATA_ROOT", train_menu.PROGRAM / "nowhere")
    app = open_train()
    app = app.selectbox(key="train_dataset").set_value("cifar10").run()
    form._missing.clear()
    assert "CIFAR-10: small photographs (not on this server)" in app.selectbox(key="train_dataset").options
    assert app.warning[0].value.startswith("CIFAR-10: small photographs is not on this server.")
    assert "Three ways to get it" in app.warning[0].value


@pytest.mark.parametrize("dataset", list(DATASETS))
def test_all_settings_to_start_from_are_offered_and_copied_as_they_are(board, monkeypatch, dataset):
    monkeypatch.setattr("app.train.form._missing", lambda _name: "")
    for config in DATASETS[dataset].starts.values():
        link = board.have(state="done", config=config)
        app = click(open_train(link), "Copy settings")
        assert not app.exception
        app = click(app, "Train")
        assert list(board.views.values())[-1].config == config
        board.views.clear()


def test_peoples_answers_can_be_the_expert_and_the_papers_settings_say_that_they_cannot_answer_anew(board, monkeypatch):
    monkeypatch.setattr("app.train.form._missing", lambda _name: "")
    people = ExpertConfig("human", name="random_label2")
    config = replace(next(iter(DATASETS["cifar10"].starts.values())), expert=people)
    app = click(open_train(board.have(state="done", config=config)), "Copy settings")
    assert address(click(app, "Train"))
    assert list(board.views.values())[-1].config.expert == people
    app = app.toggle(key="train_reference").set_value(True).run()
    assert "reference need a simulated expert, got one of kind 'human'" in app.warning[0].value


def test_an_experts_sliders_are_those_of_the_live_lab(board):
    app = open_train()
    app.session_state["digits_3"] = 5
    app = click(app, "Train 2 systems")
    assert board.views[FIRST].config.expert.accuracy == (0.75, 0.75, 0.75, 0.05, 0.75, *[0.2] * 5)


def test_an_estimate_is_that_of_the_settings_as_they_are(monkeypatch):
    trial = Mock()
    trial.run.return_value = Estimate(600.0, 1_250_000_000, 1069.0, 1, "cpu")
    monkeypatch.setattr(start, "_estimator", lambda: trial)
    app = click(open_train(), "Estimate time and memory")
    assert said(app, "About **10 min** per system")
    assert said(app, "**1.2 GB** of memory each")
    app = app.number_input(key="train_epochs").set_value(99).run()
    assert not said(app, "About **10 min**")


@pytest.mark.parametrize(
    ("problem", "words"),
    [(WorkerLost(), "perhaps for lack of memory"), (ValueError("no such option"), "no such option")],
)
def test_a_trial_that_fails_says_why(monkeypatch, problem, words):
    trial = Mock()
    trial.run.side_effect = problem
    monkeypatch.setattr(start, "_estimator", lambda: trial)
    app = click(open_train(), "Estimate time and memory")
    assert words in app.warning[0].value
    trial.close.assert_called_once()


def test_a_trial_times_steps_of_the_very_training(monkeypatch):
    monkeypatch.setattr("os.nice", lambda _more: 0)
    monkeypatch.setattr(estimate, "MAX_SECONDS", 60.0)
    shares, menu = [], DATASETS["digits"]
    arguments = (menu.image_shape, menu.sizes, menu.lab.class_names, menu.bytes_a_number, 1)
    found = measure(SHORT.to_json(), *arguments, on_progress=lambda share: shares.append(share) or True)
    assert shares == sorted(shares)
    assert len(shares) > 1
    twice = measure(replace(SHORT, epochs=2000).to_json(), *arguments, on_progress=lambda _share: True)
    assert 0 < found.seconds < twice.seconds
    assert found.bytes > 1_000_000
    assert found.images_per_second > 0
    with pytest.raises(TimeoutError):
        measure(SHORT.to_json(), *arguments, on_progress=lambda _share: False)


def test_the_papers_preset_trains_as_reproductions_at_the_scale_of_the_paper_do(tmp_path):
    preset = DATASETS["cifar10"].starts["The paper's: for a GPU"]
    wanted = Request((0, 1, 2), "paper", folder=tmp_path).network
    assert replace(preset, precision=wanted.precision) == wanted
