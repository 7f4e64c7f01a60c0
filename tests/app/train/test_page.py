"""The page "Train" in AppTest, for every state that a training can be in."""

from dataclasses import fields, replace
from html import unescape
from unittest.mock import Mock

import pandas as pd
import pytest
import streamlit as st
from lab_page import charts, open_home, spoken, tables_of, texts
from small_jobs import SHORT
from train_page import FIRST, SECOND, TOKEN, TRAIN, FakeBoard, address, assert_sound, click, labels, open_train, said

from app.jobs import board as jobs_board
from app.jobs.board import JobBoard, JobStatus, Link
from app.jobs.menu import DATASETS, QUICK
from app.jobs.trainer import Trainer
from app.kit.text import WORD_JOINER
from app.train import charts as train_charts
from app.train import state as job_session
from l2d_core.evaluation.epoch_report import EpochReport
from l2d_core.runs.folder import read_history, save_progress
from l2d_core.runs.log import Progress


@pytest.fixture(autouse=True)
def board(monkeypatch):
    made = FakeBoard()
    monkeypatch.setattr(jobs_board, "job_board", lambda: made)
    return made


def test_the_fake_board_has_what_the_page_may_ask_of_a_real_one():
    wanted = {name for name in vars(JobBoard) if not name.startswith("_")} - {"close"}
    assert wanted == {name for name in vars(FakeBoard) if not name.startswith("_")} - {"have"}


def test_with_nothing_trained_yet_a_button_fills_in_a_run_of_seconds(board):
    app = open_train()
    assert_sound(app)
    assert said(app, "Nothing has been trained here yet")
    app.number_input(key="train_epochs").set_value(99)
    app = click(app, "Fill in a quick run on handwritten digits")
    assert app.number_input(key="train_epochs").value == DATASETS["digits"].starts[QUICK].epochs
    assert not board.views


def test_train_starts_one_job_per_system_puts_their_ids_into_the_address_and_shows_them_at_once(board):
    app = open_train()
    app.text_input(key="train_name").set_value("night")
    app = click(app, "Train 2 systems")
    assert_sound(app)
    assert [view.config.surrogate for view in board.views.values()] == ["softmax", "one_vs_all"]
    assert [view.name for view in board.views.values()] == ["night, Softmax", "night, One-vs-all"]
    assert address(app) == list(board.views)
    assert said(app, "starting")
    assert labels(app).count("Stop") == 2
    home = app.switch_page("home/page.py").run()
    assert labels(home.switch_page(TRAIN).run()).count("Stop") == 2


@pytest.mark.parametrize(
    ("state", "fields", "words", "buttons"),
    [
        ("starting", {}, "Starting and reading its data", {"Stop"}),
        ("queued", {"place": 2}, "number 2 in the queue", {"Stop"}),
        (
            "running",
            {"progress": Progress(45, 60, 1069.0, 75.0)},
            "Epoch 9 of 12: 100 %, 1,069 images/s, 1:15 left",
            {"Stop"},
        ),
        ("running", {"elsewhere": True}, "running on another server", set()),
        ("stopping", {}, "Saving the best network so far, after epoch 8", set()),
        ("stopped", {}, "stopped after epoch 8", {"Resume", "Yes, delete it"}),
        ("interrupted", {}, "interrupted at epoch 8", {"Resume", "Yes, delete it"}),
        ("failed", {"message": "no room"}, "failed", {"Resume", "Yes, delete it"}),
        ("done", {"wall_seconds": 61.0}, "8 of 12 epochs in 1:01, since the loss stopped falling", {"Yes, delete it"}),
        ("failed", {"message": "<b>![](http://x)"}, "&#60;b&#62;&#33;", {"Resume", "Yes, delete it"}),
        ("broken", {"config": None, "history": pd.DataFrame()}, "cannot be read", {"Yes, delete it"}),
    ],
)
def test_each_state_says_how_it_is_and_offers_its_owner_what_can_be_done(board, state, fields, words, buttons):
    app = open_train(board.have(state=state, **{"epochs": 8} | fields))
    assert not app.exception
    assert any(words in text for text in [*texts(app), *(bar.proto.text for bar in app.get("progress"))])
    assert {"Stop", "Resume", "Yes, delete it"} & set(labels(app)) == buttons
    assert [unescape(error.value).replace(WORD_JOINER, "") for error in app.error] == (
        [fields["message"]] if state == "failed" else []
    )
    assert app.markdown[2].value.count("&#42;run&#42;") == 1  # a name is shown letter by letter


def test_the_curves_are_those_of_the_epochs_that_are_done(board):
    app = open_train(board.have(epochs=7), board.have(SECOND, "done", epochs=3))
    assert_sound(app)
    assert len(charts(app)) == 4
    assert spoken(app, "Loss per case, One-vs-all (nats). my *run*: 0.286 after epoch 7; my *run*: 0.667 after epoch 3")
    assert spoken(app, "System accuracy. my *run*: 90.0 %")
    assert [list(tables_of(chart)["ends"]["epoch"]) for chart in charts(app)] == [[1, 12]] * 4
    assert not charts(open_train(board.have(epochs=0)))


def test_one_whose_table_of_epochs_is_still_empty_stands_beside_one_that_has_some(board, tmp_path):
    save_progress(tmp_path, [], {"wall_seconds": 0.0}, "running")
    app = open_train(board.have(epochs=2), board.have(SECOND, history=read_history(tmp_path)))
    assert_sound(app)
    assert len(charts(app)) == 4


def test_the_browser_is_told_of_what_was_started_in_the_same_run(board, monkeypatch):
    storage = Mock(return_value={})
    monkeypatch.setattr(st.components.v2, "component", lambda *_, **__: storage)
    click(open_train(), "Train 2 systems")
    assert storage.call_args.kwargs["data"]["tokens"] == dict.fromkeys(board.views, TOKEN)  # a reload may come next


def test_a_link_that_was_copied_with_a_full_stop_leaves_no_token_in_the_address(board):
    app = open_train(f" {board.have(epochs=2)}.")
    assert address(app) == [FIRST]
    assert "Stop" in labels(app)


def test_a_training_of_very_many_epochs_does_not_press_its_curve_to_the_side():
    ends = {
        ("running", 3, 9): 9,
        ("running", 3, 5000): 10,
        ("running", 40, 5000): 80,
        ("done", 40, 5000): 40,
        ("stopped", 1, 5000): 2,
    }
    for (state, done, planned), end in ends.items():
        history = pd.DataFrame({"epoch": range(1, done + 1)})
        view = JobStatus(FIRST, "x", state, config=replace(SHORT, epochs=planned), history=history)
        assert train_charts._last_epoch(view) == end


def test_an_epoch_without_anyone_asked_has_no_share_and_says_so(board):
    link = board.have(epochs=2)
    history = board.views[FIRST].history.assign(system_accuracy=float("nan"))
    board.views[FIRST] = replace(board.views[FIRST], history=history)
    app = open_train(link)
    assert not app.exception
    assert spoken(app, "System accuracy. my *run*: no value")
    assert said(app, "system accuracy -")


def test_buttons_do_what_they_say_to_their_own_job(board):
    app = open_train(board.have(epochs=2), board.have(SECOND, "interrupted", epochs=1))
    click(app, "Stop")
    app.text_input(key=f"name-{SECOND}").set_value("better")
    next(b for b in app.button if b.key == f"Save the name-{SECOND}").click().run()
    next(b for b in app.button if b.key == f"Resume-{SECOND}").click().run()
    next(b for b in app.button if b.key == f"Yes, delete it-{FIRST}").click().run()
    assert board.asked == [(FIRST, "stop"), (SECOND, "rename", "better"), (SECOND, "resume"), (FIRST, "delete")]
    assert address(app) == [SECOND]
    assert not app.exception


def test_who_does_not_hold_the_link_can_look_but_not_stop(board):
    board.have(epochs=2)
    app = click(open_train(), "Open")
    assert address(app) == [FIRST]
    assert len(charts(app)) == 4
    assert {"Stop", "Resume", "Yes, delete it", "Save the name"}.isdisjoint(labels(app))
    assert said(app, "Only its owner can stop or change it")
    assert not said(app, TOKEN)
    wrong = open_train(Link(FIRST, "w" * 32))
    assert "Stop" not in labels(wrong)


def test_a_job_that_was_opened_by_its_own_link_stays_ones_own(board):
    app = open_train(board.have(epochs=2))
    app = click(click(app, "Close"), "Open")
    assert "Stop" in labels(app)
    assert address(app) == [FIRST]


@pytest.mark.parametrize("page", ["home/page.py", "lab/page.py", "about/page.py"])
def test_an_owners_link_to_any_page_makes_the_training_ones_own_and_its_secret_leaves_the_address(board, page):
    app = open_home().switch_page(page)
    app.query_params["job"] = str(board.have(epochs=2))
    app.run()
    assert address(app) == [FIRST]
    assert "Stop" in labels(app.switch_page(TRAIN).run())


def test_a_link_that_owns_is_shown_only_when_it_is_asked_for_and_says_so(board):
    app = open_train(board.have(epochs=2))
    assert not said(app, TOKEN)
    app.toggle(key=f"owner-{FIRST}").set_value(True).run()
    assert said(app, f"{FIRST}.{TOKEN}")
    assert "Whoever has this link can stop, resume, rename and delete" in app.warning[0].value


@pytest.mark.parametrize("text", ["no link", "../../etc", "", "0" * 16 + ".x", "<script>"])
def test_what_is_no_link_is_said_and_dropped_from_the_address(board, text):
    board.have()
    app = open_train(text)
    assert app.warning[0].value.startswith("The address does not contain a complete link")
    assert "job" not in app.query_params


def test_a_job_that_is_gone_is_said_and_can_be_put_away():
    app = open_train(Link(FIRST, TOKEN))
    assert [warning.value for warning in app.warning] == ["There is no such job here."]
    app = click(app, "Close")
    assert not app.warning


def test_what_cannot_be_done_is_told_in_its_own_words(board, monkeypatch):
    monkeypatch.setattr(board, "_ask", Mock(side_effect=OSError("the disk is full")))
    app = open_train(board.have(epochs=2))
    assert [error.value for error in click(app, "Stop").error] == ["the disk is full"]
    board.asked.append("full")
    assert click(open_train(), "Train 2 systems").error[0].value.startswith("64 trainings")


def test_many_jobs_are_shown_ten_a_page(board):
    for number in range(1, 25):
        board.have(f"{number:016}", "done", name=f"run {number}")
    app = open_train()
    assert labels(app).count("Open") == 10
    app = click(click(app, "Older"), "Older")
    assert labels(app).count("Open") == 4
    assert said(app, "Page 3 of 3, 24 trainings")


EPOCHS = ",".join(column.name for column in fields(EpochReport)) + "\n"


@pytest.mark.parametrize(
    "changes",
    [
        {"job.json": '{"version": 1, "name": "' + "n" * 3_000_000 + '", "created": 1e400}'},
        {"job.json": '{"version": 1, "name": [], "ended": 7, "created": NaN}'},
        {"config.json": SHORT.to_json().replace("digits", "d" * 3_000_000).replace("one_vs_all", "s" * 1_000_000)},
        {"config.json": SHORT.to_json().replace('"epochs": 2', f'"epochs": 1{"0" * 400}')},
        {"history.csv": EPOCHS + "1,nan,inf,-inf,1e308,,1,1,1,1\n"},
        {"history.csv": EPOCHS + "1,1,nan,1,1,1,1,1,1,1\n"},
        {
            "config.json": SHORT.to_json().replace('"epochs": 2', '"epochs": 9000'),
            "history.csv": EPOCHS
            + "".join(",".join([str(n), *["1e300"] * (len(fields(EpochReport)) - 1)]) + "\n" for n in range(1, 9001)),
        },
        {"environment.json": '{"version": 1, "state": "done", "wall_seconds": 1e300, "split": "' + "s" * 10**6 + '"}'},
    ],
    ids=lambda changes: "+".join(changes),
)
def test_a_folder_that_was_edited_by_hand_neither_breaks_its_page_nor_fills_the_browser(tmp_path, monkeypatch, changes):
    monkeypatch.setattr(Trainer, "add", lambda *_: None)
    real = JobBoard(tmp_path, data_root=tmp_path)
    monkeypatch.setattr(jobs_board, "job_board", lambda: real)
    link = real.start("mine", SHORT)
    for file, content in changes.items():
        (tmp_path / link.id / file).write_text(content)
    app = open_train(link)
    assert not app.exception
    assert sum(map(len, texts(app))) < 50_000
    assert all(len(table) <= 2 * 501 for chart in charts(app) for table in tables_of(chart).values())


def test_a_log_is_a_click_away(board, monkeypatch):
    monkeypatch.setattr(st, "expander", lambda *arguments, **_: AlreadyOpen(*arguments))
    app = open_train(board.have(state="failed", message="no room"))
    assert [code.value for code in app.code][-1] == f"log of {FIRST}"


class AlreadyOpen:
    """An expander that a visitor has opened; AppTest cannot open one."""

    open = True

    def __init__(self, _label, **_):
        self._container = st.container()

    def __enter__(self):
        return self._container.__enter__()

    def __exit__(self, *problem):
        return self._container.__exit__(*problem)


def test_no_more_than_six_jobs_are_watched_by_one_link(board):
    links = [board.have(f"{number:016}", "done") for number in range(1, 9)]
    assert len(address(open_train(*links))) == job_session.MAX_WATCHED


def test_where_training_is_switched_off_the_page_says_so_and_offers_none(monkeypatch):
    monkeypatch.setenv("L2D_TRAINING", "off")
    app = open_train()
    assert_sound(app)
    assert said(app, "Training is switched off on this server")
    assert not [label for label in labels(app) if label.startswith(("Train", "Fill in", "Resume"))]
    assert not app.sidebar.children


def test_a_server_that_offers_no_training_takes_none(monkeypatch, tmp_path):
    monkeypatch.setenv("L2D_TRAINING", "off")
    real = JobBoard(tmp_path, data_root=tmp_path)
    with pytest.raises(ValueError, match="training is switched off on this server"):
        real.start("one", DATASETS["digits"].starts[QUICK])
    assert not list(tmp_path.iterdir())
