"""Addresses that a browser tells before it has heard of the new one, and quick clicks: nothing done is undone."""

import pytest
from compare_page import FIRST_TWO, chips, make_roots, open_compare
from train_page import FIRST, SECOND, FakeBoard, click, open_train, said

from app.compare import mapping, upload_panel
from app.compare.uploads import Uploads
from app.jobs import board as jobs_board
from app.kit import address
from app.train import start as train_start

ALL = [*FIRST_TWO, "here/third"]


@pytest.fixture
def board(monkeypatch):
    made = FakeBoard()
    monkeypatch.setattr(jobs_board, "job_board", lambda: made)
    return made


@pytest.fixture
def compared(monkeypatch, tmp_path):
    make_roots(monkeypatch, tmp_path)
    return open_compare(*ALL)


def take_away(app, key):
    return app.button(key=f"chip-{key}").click().run()


def tell(app, **old):
    """Run the page as the browser asks for it whose address is an old one."""
    for name, values in old.items():
        app.query_params[name] = values
    return app.run()


def test_what_was_taken_away_stays_away_where_the_next_action_still_tells_the_old_address(compared):
    app = tell(take_away(compared, ALL[0]), run=ALL)
    assert not app.exception
    assert len(chips(app)) == 2
    assert app.query_params["run"] == ALL[1:]


@pytest.mark.usefixtures("compared")
def test_the_same_after_two_actions_whichever_of_the_old_addresses_is_told():
    for old in (ALL, ALL[1:]):
        app = tell(take_away(take_away(open_compare(*ALL), ALL[0]), ALL[1]), run=old)
        assert chips(app) == ["third"]
        assert app.query_params["run"] == "here/third"


def test_later_an_old_address_is_the_browsers_back(compared, monkeypatch):
    app = take_away(compared, ALL[0])
    monkeypatch.setattr(address, "SETTLE_SECONDS", 0.0)
    assert len(chips(tell(app, run=ALL))) == 3


def test_another_address_counts_at_once(compared):
    assert chips(tell(take_away(compared, ALL[0]), run=["here/third"])) == ["third"]


def test_the_base_that_was_chosen_stays_chosen(compared):
    app = compared.selectbox(key="compare_base").set_value("here/third").run()
    app = app.selectbox(key="compare_base").set_value(ALL[1]).run()
    app = tell(app, base="here/third")
    assert app.selectbox(key="compare_base").value == ALL[1]
    assert app.query_params["base"] == ALL[1]


def test_a_card_that_was_closed_stays_closed_while_the_page_polls(board):
    link = board.have(FIRST, "running", epochs=2, name="one of many")
    app = click(open_train(link), "Close")
    assert "job" not in app.query_params
    app = tell(app, job=[str(link)])
    assert "Close" not in [button.label for button in app.button]
    assert "job" not in app.query_params


def test_a_training_that_is_opened_stays_open(board):
    first, second = board.have(FIRST, "done", epochs=2), board.have(SECOND, "done", epochs=2)
    app = open_train(first)
    app = app.button(key=f"open-{SECOND}").click().run()
    app = tell(app, job=[str(first)])
    assert str(app.query_params["job"]).startswith(second.id) or second.id in str(app.query_params["job"])


def test_two_clicks_on_train_start_one_training_and_show_it(board):
    app = open_train()
    start = next(button for button in app.button if button.key == "train_go")
    systems = 2 if "2 systems" in start.label else 1
    for _ in range(2):
        app = app.button(key="train_go").click().run()
        assert not app.exception
    assert len(board.views) == systems
    assert said(app, "starting") or len(app.query_params["job"]) == systems


def test_a_second_training_like_the_first_is_started_a_moment_later(board, monkeypatch):
    app = open_train()
    app = app.button(key="train_go").click().run()
    count = len(board.views)
    monkeypatch.setattr(train_start, "DOUBLE_CLICK_SECONDS", 0.0)
    app.button(key="train_go").click().run()
    assert len(board.views) == 2 * count


def test_a_second_click_on_what_the_first_one_took_or_forgot_does_nothing():
    brought = Uploads()
    mapping._confirm(brought, "upload/1", [])
    upload_panel._forget(brought, "upload/1", ["upload/1"])
    upload_panel._set_role(brought, "upload/1", [])
    with pytest.raises(ValueError, match="was forgotten a moment ago"):
        brought.set_validation("upload/1", "upload/2")
