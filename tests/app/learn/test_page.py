"""The lesson: eight steps, each with one picture that moves, a question, and an answer with numbers of this moment."""

import json
import re

import altair as alt
import pytest
from lab_page import open_home

from app.kit.numbers import percent
from app.learn import handout, state
from app.learn import numbers as learn_numbers

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


def answer(app, number):
    return app.toggle(key=f"answer-{number}").set_value(True).run()


def test_a_step_that_the_browser_has_taken_back_is_the_first():
    app = open_step("3")
    app.session_state["step"] = None
    assert not app.run().exception
    assert app.session_state["step"] == "1"


@pytest.mark.parametrize("number", STEPS)
def test_each_step_has_a_picture_with_a_text_and_hides_its_answer_until_it_is_asked_for(number):
    app = open_step(number)
    assert not app.exception
    assert not app.error
    assert app.header[0].value.startswith(f"{number}. ")
    pictures = app.get("vega_lite_chart")
    texts = picture_texts(app)
    assert 1 <= len(pictures) == len(texts) <= 3
    assert all(re.search(r"\d", text) for text in texts)
    before = words(app)
    assert "Think first." in before
    told = words(answer(app, number)).replace(before, "")
    assert len(told) > len(before) * 0.1
    assert not app.exception


@pytest.mark.parametrize("number", STEPS)
def test_each_step_is_short_and_shows_no_missing_number(number):
    app = answer(open_step(number), number)
    text = words(app)
    assert "nan" not in text.lower().split()
    assert "n/a" not in text
    first = max((part.value for part in app.markdown[1:3]), key=len)
    assert len(first.split()) < 85


MOVES = [
    ("1", "learn_asked", 10),
    ("2", "learn_vehicles", 30),
    ("3", "learn_boldness", 2.5),
    ("4", "learn_right", 40),
    ("5", "learn_proxy", 20),
    ("6", "learn_first_half", 95),
    ("7", "learn_groups", 6),
    ("8", "learn_risk", 20),
]


@pytest.mark.parametrize("number", STEPS)
def test_every_picture_is_valid_vega_lite(number):
    for picture in open_step(number).get("vega_lite_chart"):
        spec = json.loads(picture.proto.spec)
        del spec["config"]  # holds a setting of Vega that the schema of Vega-Lite does not know
        alt.LayerChart.from_dict(spec, validate=True)


def picture_texts(app):
    return [part.value for part in app.html if part.value.startswith('<p class="for-screen-readers">')]


@pytest.mark.parametrize(("number", "key", "value"), MOVES, ids=STEPS)
def test_moving_a_slider_moves_the_picture(number, key, value):
    app = open_step(number)
    before = picture_texts(app)
    app.slider(key=key).set_value(value).run()
    assert not app.exception
    assert picture_texts(app) != before


@pytest.mark.parametrize(("number", "key"), [(number, key) for number, key, _ in MOVES])
def test_the_ends_of_each_slider_are_drawn(number, key):
    app = open_step(number)
    slider = app.slider(key=key)
    for end in (slider.min, slider.max):
        app.slider(key=key).set_value(end).run()
        assert not app.exception
        assert not app.error


def test_the_first_step_shows_who_is_right_how_often():
    app = open_step("1", learn_asked=10)
    team = learn_numbers.team(learn_numbers.shipped(learn_numbers.PHOTOS), 0.1)
    assert f"both together, now, in **{percent(team.system.value)}** of n = 10,000" in words(app)


def test_the_fourth_answer_is_the_papers_example():
    told = words(answer(open_step("4"), "4"))
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
    assert "No lesion passes at this limit." in words(app)


def test_next_and_back_turn_the_pages_and_the_last_leads_to_the_lab():
    app = open_step("1")
    assert [button.label for button in app.button] == ["Next", "Make a handout"]
    app.button[0].click().run()
    assert app.header[0].value.startswith("2. ")
    app.button[0].click().run()
    assert app.header[0].value.startswith("1. ")
    last = open_step("8")
    assert [button.label for button in last.button] == ["Back", "Make a handout"]
    assert [link.proto.page for link in last.get("page_link")] == ["lab"]


def test_runs_that_cannot_be_read_are_said_and_the_other_steps_stay(monkeypatch, tmp_path):
    monkeypatch.setattr(learn_numbers, "PHOTOS", tmp_path / "gone")
    app = open_step("1")
    assert "This step cannot be shown: there is no folder" in app.error[0].value
    assert not app.exception
    app.button[0].click().run()
    assert not app.error


def test_the_glossary_has_a_formula_for_each_estimator():
    text = words(open_step("1"))
    for word in ("Odds", "Proxy", "One-vs-all", "ECE", "Brier score"):
        assert re.search(rf"\*\*{word}\.\*\* .*\$.*\$", text)


def test_a_setting_stays_while_another_step_is_read():
    app = open_step("1")
    app.slider(key="learn_asked").set_value(25).run()
    app.button[0].click().run()
    app.button[0].click().run()
    assert app.slider(key="learn_asked").value == 25


def test_the_handout_is_one_file_with_every_step_the_readers_settings_and_the_answers():
    app = open_step("1", learn_asked=30)
    app.button[-1].click().run()
    assert not app.exception
    html = app.session_state[state._HANDOUT]
    assert [int(number) for number in re.findall(r"<h2>(\d)\. ", html)] == list(range(1, 9))
    assert html.count("<figure>") == html.count("<svg") == 11
    assert "Handed to the expert: 30 %" in html
    assert "Draw number: 0" in html
    assert "Triangles: share that the machine alone gets right" in html
    assert "Thick tick" in html
    assert "110.5 %" in html
    assert "not for diagnosis" in html
    assert not re.search(r"<script|https?://(?!www\.w3\.org)", html)
    assert app.header[0].value.startswith("1. ")
    assert app.slider(key="learn_asked").value == 30


def test_markdown_in_the_handout_is_escaped_first():
    assert handout.plain_html("**a** <b> *c*") == "<b>a</b> &lt;b&gt; <i>c</i>"
