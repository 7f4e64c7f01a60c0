"""The lesson: eight steps, each with one picture that moves, a question, and an answer with numbers of this moment."""

import json
import re

import pytest
from lab_page import open_home
from vega_lite import assert_valid

from app.kit.numbers import percent
from app.learn import handout, machine, make_photographs, state
from app.learn import numbers as learn_numbers
from l2d_core.datasets import cifar10
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.runs.folder import open_run

LEARN = "learn/page.py"
STEPS = [str(number) for number in range(1, 9)]


def open_step(number, **settings):
    app = open_home().switch_page(LEARN)
    app.session_state["step"] = number
    for key, value in settings.items():
        app.session_state[key] = value
    return app.run()


def words(app):
    return "\n".join(part.value for part in [*app.markdown, *app.caption])


def answer(app, number, place=0):
    """Commit to a choice."""
    choice = app.radio(key=state.choice_key(number))
    choice.set_value(choice.options[place]).run()
    return app.button(key=f"commit-{number}").click().run()


def test_a_step_that_the_browser_has_taken_back_is_the_first():
    app = open_step("3")
    app.session_state["step"] = None
    assert not app.run().exception
    assert app.session_state["step"] == state.WARM_UP


@pytest.mark.parametrize("number", STEPS)
def test_each_step_is_short_has_valid_pictures_with_texts_and_hides_its_answer_until_the_reader_commits_to_one(number):
    app = open_step(number)
    assert not app.exception
    assert not app.error
    assert app.header[0].value.startswith(f"{number}. ")
    pictures = app.get("vega_lite_chart")
    texts = picture_texts(app)
    assert 1 <= len(pictures) == len(texts) <= 3
    assert all(re.search(r"\d", text) for text in texts)
    for picture in pictures:
        assert_valid(json.loads(picture.proto.spec))
    before = words(app)
    assert "Think first." in before
    assert app.button(key=f"commit-{number}").click().run().radio(key=state.choice_key(number)).value is None
    assert words(app) == before
    answer(app, number)
    assert len(words(app)) > len(before) * 1.1
    assert app.radio(key=state.choice_key(number)).disabled
    assert "1 of 8 questions answered" in words(app)
    assert not app.exception
    assert "nan" not in words(app).lower().split()
    assert "n/a" not in words(app)
    first = max((part.value for part in app.markdown[1:3]), key=len)
    assert len(first.split()) < 90


def test_the_answer_says_whether_the_choice_was_right_and_stays_on_the_way_to_another_step_and_back():
    app = answer(open_step("5"), "5", place=1)
    assert "Not quite: “50 %.” is right." in words(app)
    app.button(key="next").click().run()
    app.button(key="back").click().run()
    assert "Not quite" in words(app)
    assert app.radio(key=state.choice_key("5")).value == "100 %."
    assert "**Right.**" in words(answer(open_step("5"), "5"))


DEFAULTS = {
    "1": lambda: learn_numbers.team(learn_numbers.shipped(learn_numbers.PHOTOS), state.SETTINGS["asked"] / 100),
    "4": lambda: learn_numbers.odds_after(state.SETTINGS["right"] / 100, state.SETTINGS["slip"]),
    "7": lambda: learn_numbers.grouped(state.SETTINGS["groups"]).decomposition,
}


def test_the_defaults_show_the_effect_of_their_step():
    gain = DEFAULTS["1"]()
    assert gain.system.value - gain.machine.value > 0.01
    sigmoid = learn_numbers.sigmoid_after(state.SETTINGS["right"] / 100, state.SETTINGS["slip"])
    assert DEFAULTS["4"]() > 1.1 > 0.95 > sigmoid
    assert DEFAULTS["7"]().discrimination > 0.04


MOVES = [
    ("1", "learn_asked", 20),
    ("2", "learn_vehicles", 30),
    ("3", "learn_boldness", 2.5),
    ("4", "learn_right", 40),
    ("5", "learn_proxy", 20),
    ("6", "learn_first_half", 95),
    ("7", "learn_groups", 6),
    ("8", "learn_risk", 20),
]


def picture_texts(app):
    return [part.value for part in app.html if part.value.startswith('<p class="for-screen-readers">')]


@pytest.mark.parametrize(("number", "key", "value"), MOVES, ids=STEPS)
def test_moving_a_slider_moves_the_picture_and_its_ends_are_drawn(number, key, value):
    app = open_step(number)
    before, slider = picture_texts(app), app.slider(key=key)
    for place in (value, slider.min, slider.max):
        app.slider(key=key).set_value(place).run()
        assert not app.exception
        assert not app.error
        assert place != value or picture_texts(app) != before


def test_the_first_step_shows_who_is_right_how_often():
    app = open_step("1", learn_asked=10)
    team = learn_numbers.team(learn_numbers.shipped(learn_numbers.PHOTOS), 0.1)
    assert f"Together they are right in **{percent(team.system.value)}**" in words(app)


def test_the_fourth_answer_is_the_papers_example():
    told = words(answer(open_step("4"), "4", place=1))
    assert "[0.25, 0.25, 0.50]" in told
    assert "110.5 %" in told


def test_the_eighth_step_says_that_it_is_no_diagnosis_and_survives_a_limit_that_nobody_passes(monkeypatch):
    none = learn_numbers.Understated(0, None, None, None, None)
    strict = learn_numbers.understated(0.02)
    monkeypatch.setattr(
        learn_numbers, "understated", lambda most: strict if most == 0.02 else {"softmax": none, "one_vs_all": none}
    )
    app = open_step("8")
    assert not app.exception
    assert "not for diagnosis" in words(app)
    assert "No lesion is accepted at this limit." in words(app)


def test_next_and_back_turn_the_pages_and_the_last_leads_to_the_lab():
    app = open_step(state.WARM_UP)
    assert [button.label for button in app.button] == ["Check my answers", "Next", "Share"]
    app.button(key="next").click().run()
    assert app.header[0].value.startswith("1. ")
    app.button(key="back").click().run()
    assert app.header[0].value.startswith("Warm-up")
    last = open_step("8")
    assert "Next" not in [button.label for button in last.button]
    assert [link.proto.page for link in last.get("page_link")] == ["lab"]


def open_warm_up(answers):
    app = open_step(state.WARM_UP)
    for place, one in enumerate(answers):
        app.selectbox(key=state.photograph_key(place)).set_value(one)
    return press(app, "Check my answers")


def press(app, label):
    return next(button for button in app.button if button.label == label).click().run()


def test_the_warm_up_shows_no_solution_before_every_photograph_has_an_answer():
    app = open_warm_up([machine.ASK] * 9)
    assert not app.table
    assert "Choose an answer for every photograph first." in words(app)
    assert len(app.image) == 10


@pytest.mark.parametrize("asks", [True, False])
def test_the_warm_up_scores_the_reader_beside_both_systems_and_can_be_tried_again(asks):
    found = machine.photographs()
    app = open_warm_up([machine.ASK if asks else one.label for one in found])
    scores = app.table[0].value
    reader = sum(one.expert == one.label for one in found) if asks else 10
    systems = [sum(one.is_right(one.systems[name]) for one in found) for name in machine.FOLDERS]
    assert scores["right"].tolist() == [f"{number} of 10" for number in (reader, *systems)]
    assert scores["asked"].tolist()[0] == (10 if asks else 0)
    app = press(app, "Try again")
    assert not app.table
    assert app.selectbox(key=state.photograph_key(0)).value is None


def test_the_photographs_are_those_that_the_script_draws_and_have_their_source():
    about = json.loads(machine.IDS.read_text(encoding="utf-8"))
    assert about["ids"] == make_photographs.draw_ids()
    assert about["licence"] == cifar10.LICENCE
    test = open_run(learn_numbers.PHOTOS).test
    for one, name in zip(machine.photographs(), about["ids"], strict=True):
        row = int((test.ids == name).nonzero()[0][0])
        assert (one.label, one.expert) == tuple(test.class_names[k] for k in (test.labels[row], test.answers[row, 0]))
        own = {machine.ASK} if defer_by_argmax(test.logits)[row] else {test.class_names[test.logits[row, :10].argmax()]}
        assert {one.systems["one_vs_all"]} == own


def test_runs_that_cannot_be_read_are_said_and_the_other_steps_stay(monkeypatch, tmp_path):
    monkeypatch.setattr(learn_numbers, "PHOTOS", tmp_path / "gone")
    app = open_step("1")
    assert "This step cannot be shown: there is no folder" in app.error[0].value
    assert not app.exception
    app.button(key="next").click().run()
    assert not app.error


def test_the_glossary_has_a_formula_for_each_estimator():
    text = words(open_step("1"))
    for word in ("Softmax odds", "Softmax proxy", "One-vs-all", "Calibration and ECE", "Brier score"):
        assert re.search(rf"\*\*{word}\.\*\* .*\$.*\$", text)


def test_a_setting_stays_while_another_step_is_read():
    app = open_step("1")
    app.slider(key="learn_asked").set_value(25).run()
    app.button(key="next").click().run()
    app.button(key="back").click().run()
    assert app.slider(key="learn_asked").value == 25


def test_the_handout_has_every_step_with_the_readers_settings_and_one_of_two_files_has_the_answers():
    app = press(open_step("1", learn_asked=30), "Make a handout")
    assert not app.exception
    for_students, html = app.session_state[state._HANDOUTS]
    for file in (for_students, html):
        assert [int(number) for number in re.findall(r"<h2>(\d)\. ", file)] == list(range(1, 9))
        assert file.count("<figure>") == file.count("<svg") == 11
        assert "Share deferred to the expert: 30 %" in file
        assert "Seed: 0" in file
        assert "Triangles: accuracy of the machine alone" in file
        assert "<li>The expert is right on many of the cases that the machine gets wrong.</li>" in file
        assert "not for diagnosis" in file
        assert not re.search(r"<script|https?://(?!www\.w3\.org)", file)
    assert (html.count("<b>Answer: "), for_students.count("<b>Answer: ")) == (8, 0)
    assert "Errors do not cancel either" in html
    assert "Errors do not cancel either" not in for_students
    assert app.header[0].value.startswith("1. ")
    assert app.slider(key="learn_asked").value == 30


def test_markdown_in_the_handout_is_escaped_first():
    assert handout.plain_html("**a** <b> *c*") == "<b>a</b> &lt;b&gt; <i>c</i>"
