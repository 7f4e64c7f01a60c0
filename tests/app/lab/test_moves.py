"""Moves in the live lab: undo, redo, the browser's Back, the state before in grey, a pinned reference, and dragging."""

import pytest
from lab_page import LAB, cards, charts, differences, message, move, open_digits, show, tables_of

from app.kit import class_sliders
from app.lab import state

ODDS = ("Softmax odds", "% ECE")


@pytest.fixture(autouse=True)
def _browsers_learn_of_an_address_at_once(monkeypatch):
    monkeypatch.setattr(state, "SETTLE_SECONDS", 0.0)


def button(app, label):
    return next(button for button in app.button if button.label == label)


def gain(first, second):
    """The difference of two key numbers, which are rounded to a tenth each."""
    return pytest.approx(float(second[ODDS]) - float(first[ODDS]), abs=0.11)


def go_back(app, address):
    """What a browser does on Back: the same widgets, and an earlier address."""
    app.query_params.clear()
    for key, text in address.items():
        app.query_params[key] = text
    return app.run()


def test_undo_and_redo_go_through_the_moves_and_a_new_move_ends_redoing():
    app = open_digits()
    assert button(app, "Undo").disabled
    assert button(app, "Redo").disabled
    seen = [cards(app)]
    for percent in (40, 0):
        seen.append(cards(move(app, digits_3=percent)))
    button(app, "Undo").click().run()
    assert (app.session_state["digits_3"], cards(app)) == (40, seen[1])
    button(app, "Undo").click().run()
    assert (app.session_state["digits_3"], cards(app)) == (75, seen[0])
    button(app, "Redo").click().run()
    assert app.session_state["digits_3"] == 40
    move(app, digits_4=1)
    assert button(app, "Redo").disabled
    button(app, "Undo").click().run()
    assert (app.session_state["digits_3"], app.session_state["digits_4"]) == (40, 75)


def test_back_goes_one_move_back_each_time_and_every_address_opens_what_it_says():
    app = open_digits()
    addresses = [dict(app.query_params)]
    for percent in (60, 40, 20):
        addresses.append(dict(move(app, digits_3=percent).query_params))
    assert [address.get("digits_3") for address in addresses] == [None, "60", "40", "20"]
    for address, percent in zip(reversed(addresses[:-1]), (40, 60, 75), strict=True):
        go_back(app, address)
        assert not app.exception
        assert app.session_state["digits_3"] == percent
        assert dict(app.query_params) == address  # or it would be an entry of the history, and Forward would be lost
    go_back(app, addresses[-1])
    assert app.session_state["digits_3"] == 20


def test_a_move_that_comes_with_an_old_address_is_not_taken_for_back():
    app = open_digits()
    first = dict(app.query_params)
    move(app, digits_3=60)
    app.session_state["digits_3"] = 50
    go_back(app, first)
    assert app.session_state["digits_3"] == 50
    assert app.query_params["digits_3"] == "50"


def test_settings_are_kept_while_another_page_is_looked_at():
    app = open_digits()
    move(app, digits_3=33)
    app.selectbox(key="wrong").set_value("all").run()
    before = cards(app)
    app.query_params.clear()
    app.switch_page("learn/page.py").run()
    app.query_params.clear()
    app.switch_page(LAB).run()
    assert (app.session_state["digits_3"], app.session_state["wrong"], cards(app)) == (33, "all", before)


def test_numbers_and_charts_are_compared_with_the_state_before_the_last_move():
    app = open_digits()
    first = cards(app)
    assert set(differences(app).values()) == {""}
    move(app, digits_3=0)
    second = cards(app)
    assert float(differences(app)[ODDS]) == gain(first, second)
    drawn = tables_of(charts(app, "Reliability diagram of Softmax odds")[0])
    assert 0 < len(drawn["before"]) <= 15
    app.run()  # the same settings again
    assert float(differences(app)[ODDS]) == gain(first, second)


def test_a_pinned_state_stays_the_reference_and_is_named():
    app = open_digits()
    first = cards(app)
    button(app, "Pin").click().run()
    for percent in (50, 0):
        move(app, digits_3=percent)
    assert float(differences(app)[ODDS]) == gain(first, cards(app))
    (said,) = (caption.value for caption in app.caption if caption.value.startswith("Grey: pinned."))
    assert "Handwritten digits" in said
    assert "first half" in said
    button(app, "Unpin").click().run()
    assert any("before the last move" in caption.value for caption in app.caption)


def test_while_one_drags_few_seeds_are_trained_no_move_is_made_and_the_state_before_stays(fits):
    app = open_digits(seeds=4)
    first, address = cards(app), dict(app.query_params)
    app.session_state[state._DRAGGING] = True
    for percent in (50, 25):
        move(app, digits_3=percent)
        assert len(fits[-1].seeds) == 2
        assert dict(app.query_params) == address
        assert any("2 of 4 seeds" in caption.value for caption in app.caption)
    app.session_state[state._DRAGGING] = False
    app.run()
    assert len(fits[-1].seeds) == 4
    assert float(differences(app)[ODDS]) == gain(first, cards(app))
    assert app.query_params["digits_3"] == "25"
    button(app, "Undo").click().run()
    assert cards(app) == first


def test_each_view_says_what_it_shows_in_one_sentence_with_the_numbers_of_the_page():
    app = open_digits()
    assert cards(app)["One-vs-all", "% ECE"] in message(app)
    assert f"{cards(app)['Softmax odds', '% above 1']} %" in message(show(app, "above"))
    assert "a risk below 5 %" in message(show(app, "risk"))
    assert f"{cards(app)['One-vs-all system', '% right']} %" in message(show(app, "accuracy"))


@pytest.mark.parametrize(
    "given",
    [
        None,
        7,
        {},
        {"values": None},
        {"values": {"a": 101}},
        {"values": {"a": -1}},
        {"values": {"a": float("nan")}},
        {"values": {"a": True}},
        {"values": {"a": "50"}},
        {"values": {"b": 50}},
    ],
)
def test_what_no_slider_can_send_is_not_taken(given, monkeypatch):
    taken = []
    monkeypatch.setattr(class_sliders.st, "session_state", {"sliders": {"move": given}})
    class_sliders._take("sliders", {"": 100, "a": 100}, lambda values, done: taken.append((values, done)))
    assert taken == []


def test_what_a_slider_sends_is_taken_by_class(monkeypatch):
    taken = []
    sent = {"values": {"a": 50, "c": 3}, "seq": 4, "done": False}
    monkeypatch.setattr(class_sliders.st, "session_state", {"sliders": {"move": sent}})
    class_sliders._take("sliders", {"": 100, "a": 100}, lambda values, done: taken.append((values, done)))
    assert taken == [({"a": 50}, False)]
