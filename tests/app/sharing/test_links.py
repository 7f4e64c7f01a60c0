"""Links: every setting in, the same settings out, and a word on whatever did not fit."""

import html
import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from compare_page import COMPARE
from lab_page import LAB, move, open_digits, open_home, open_lab, open_link, texts

from app.compare.links import LINKS as COMPARE_LINKS
from app.fits import shared
from app.kit.text import WORD_JOINER, plain
from app.lab import state as lab_state
from app.lab.links import LINKS as LAB_LINKS
from app.learn import state as learn_state
from app.lesions.links import LINKS as LESION_LINKS
from app.paper.links import LINKS as PAPER_LINKS
from app.sharing import carried, links, share, state, teaching
from app.sharing.teaching import TeacherSettings
from l2d_core.common.paths import PROGRAM
from l2d_core.datasets import LAB_DATASETS


def open_share(app):
    """Open the dialog from the header."""
    return app.button(key=share.OPEN).click().run()


def link_of(app):
    """The link in the dialog."""
    (link,) = [code.value for code in app.code if code.value.startswith("http")]
    return link


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), (False, "false"), (5, "5"), (5.0, "5"), (0.35, "0.35"), ("all", "all")]
)
def test_values_are_written_as_streamlit_writes_them(value, text):
    from streamlit.runtime.state.query_params import _coerce_value_for_query_url, parse_url_param

    assert links.write(value) == text
    kind = {bool: "bool_value", int: "double_value", float: "double_value", str: "string_value"}[type(value)]
    assert parse_url_param(text, kind) == value
    if isinstance(value, bool):
        assert _coerce_value_for_query_url(value, kind) == text


def test_an_address_keeps_its_page_and_carries_the_version_and_text_of_any_kind():
    found = links.address(
        "http://host:85/app/lab?old=1#x", [("data", "CIFAR-10: small & round"), ("run", "a"), ("run", "b")]
    )
    parts = urlsplit(found)
    assert (parts.netloc, parts.path) == ("host:85", "/app/lab")
    assert parse_qs(parts.query) == {"v": ["1"], "data": ["CIFAR-10: small & round"], "run": ["a", "b"]}


def noted(given, state, keys=None, reserved=frozenset()):
    return links.notes(given, state, keys or {"bins": None, "on": None, "kind": str.upper}, reserved)


STATE = {"bins": 15, "on": True, "kind": "wide"}


def test_a_link_that_fits_is_not_noted():
    assert noted({"v": "1", "bins": "15", "on": "TRUE", "kind": "WIDE"}, STATE) == []
    assert noted({"bins": "15.0"}, STATE) == []
    assert noted({"ask": "why?"}, STATE, reserved=frozenset({"ask"})) == []


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"bins": "400"}, "The link's bins = 400 cannot be used; it is 15 here"),
        ({"bins": "15.5"}, "bins = 15.5 cannot be used; it is 15 here"),
        ({"bins": "many"}, "bins = many"),
        ({"on": "maybe"}, "on = maybe"),
        ({"kind": "zigzag"}, "kind = zigzag"),
        ({"v": "2"}, "made by version 2 of this page, which is now at version 1"),
        ({"wrong": "1"}, "settings that this page does not know: wrong"),
        ({str(number): "1" for number in range(9)}, "and 4 more"),
    ],
)
def test_what_does_not_fit_is_named(given, word):
    (note,) = noted(given, STATE)
    assert word in note


def test_a_note_repeats_no_markup_and_no_long_text():
    (note,) = noted({"bins": "<img src=x>[a](javascript:b)`*" + "y" * 500}, STATE)
    assert not set("<>[]()`*") & set(note)
    assert len(note) < 150


def test_every_setting_of_every_data_set_is_in_the_link_of_the_lab():
    for name, dataset in LAB_DATASETS.items():
        app = open_lab(data=name, seeds=1, **{f"{name}_size": 100, f"{name}_epochs": 1})
        keys = lab_state.settings_keys(name)
        settings = links.settings_of({key: app.session_state[key] for key in keys if key in app.session_state}, keys)
        people = set() if dataset.people is None else {f"{name}_people"}
        assert set(keys) - set(settings) <= people  # who the person is counts only where people are asked
        widgets = [*app.slider, *app.select_slider, *app.toggle, *app.number_input, *app.radio]
        bound = {widget.key for widget in widgets if widget.key}
        assert bound <= set(keys) | {f"{name}_k"}


def test_opening_a_link_says_what_of_it_did_not_work():
    app = open_home()
    app.session_state[state._ARRIVAL] = {"nonsense": "1", "digits_epochs": "900"}
    app.switch_page("lab/page.py")
    app.session_state["data"], app.session_state["digits_epochs"], app.session_state["seeds"] = "digits", 4, 1
    app.run()
    notes = [note.value for note in app.info]
    assert any("does not know: nonsense" in note for note in notes)
    assert any("digits_epochs = 900 cannot be used" in note for note in notes)
    app.run()
    assert not app.info


def test_a_teachers_wishes_survive_a_link():
    groups = frozenset({"expert", "seeds"}), frozenset({"data"})
    for prediction in ((), ("number",), ("goes up", "stays & falls", "?")):
        wishes = TeacherSettings(*groups, "What happens at 0 %?", True, prediction)
        assert teaching.read(teaching.write(wishes)) == wishes
    assert teaching.write(TeacherSettings()) == {}
    assert not TeacherSettings()


def test_junk_in_a_teachers_link_is_left_out():
    found = teaching.read({"hide": "expert,rm -rf,,", "lock": "x", "ask": "a\n\x00 b " + "c" * 999, "veil": "maybe"})
    assert found.hidden == frozenset({"expert"})
    assert found.locked == frozenset()
    assert len(found.question) <= teaching.MAX_QUESTION
    assert not found.is_veiled


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"hide": "expert,rm -rf"}, "hide = expert,rm -rf cannot be used in full: it may name data_set, expert"),
        ({"lock": "<b>x"}, "lock = ?b?x cannot"),
        ({"lock": ""}, "lock"),
        ({"veil": "maybe"}, "veil = maybe cannot be used; results are shown at once"),
        ({"ask": "c" * 301}, "longer than 300"),
        ({"predict": "only one"}, "predict = only one cannot be used: it must be number, or 2 to 6 answers"),
        ({"predict": "a|" + "b" * 61}, "predict = a?bbb"),
    ],
)
def test_junk_in_a_teachers_link_is_named(given, word):
    (note,) = teaching.notes(given)
    assert word in note


def test_a_teachers_link_that_fits_is_not_noted():
    wishes = TeacherSettings(frozenset(teaching.GROUPS), frozenset({"data"}), "c" * teaching.MAX_QUESTION, True)
    assert teaching.notes(teaching.write(wishes)) == []
    assert teaching.notes({"veil": "false", "bins": "3"}) == []


def test_junk_in_a_teachers_link_is_noted_on_the_page_once():
    app = open_link(LAB, {"data": "digits", "digits_epochs": "4", "seeds": "1", "hide": "expert,zap", "veil": "maybe"})
    assert sorted(note.value.split(" = ")[0] for note in app.info) == ["The link's hide", "The link's veil"]
    app.run()
    assert not app.info


def taught(**wishes):
    app = open_home()
    app.session_state[state._ARRIVAL] = {}
    app.session_state[state._TEACHER] = TeacherSettings(**wishes)
    app.switch_page("lab/page.py")
    app.query_params["data"], app.query_params["digits_epochs"], app.query_params["seeds"] = "digits", "4", "1"
    return app.run()


def are_sliders_disabled(app):
    """Those of the classes."""
    return json.loads(app.get("bidi_component")[0].proto.json)["disabled"]


def test_locked_controls_cannot_be_moved_and_the_others_can():
    app = taught(locked=frozenset({"expert", "seeds"}))
    assert are_sliders_disabled(app)
    assert app.slider(key="seeds").disabled
    assert not app.slider(key="digits_epochs").disabled
    assert not app.selectbox(key="data").disabled


def test_every_group_can_be_locked_and_hidden():
    everything = frozenset(teaching.GROUPS)
    app = taught(locked=everything, hidden=everything)
    assert not app.exception
    on_the_stage = {"bins", "overlay"}
    widgets = [
        one for one in (*app.slider, *app.select_slider, *app.selectbox, *app.toggle) if one.key not in on_the_stage
    ]
    assert len(widgets) > 8
    assert all(widget.disabled for widget in widgets)
    assert are_sliders_disabled(app)


def test_the_question_is_shown_as_plain_text_and_the_settings_can_be_left():
    app = taught(question="Is **softmax** <b>right</b>?", locked=frozenset({"expert"}))
    assert [text.value for text in app.text] == ["Is **softmax** <b>right</b>?"]
    next(button for button in app.button if button.label == "All controls").click().run()
    assert not app.text
    assert not are_sliders_disabled(app)


def test_results_wait_for_a_click_and_wait_again_when_a_setting_changes():
    app = taught(is_veiled=True)
    assert not app.get("vega_lite_chart")
    show = next(button for button in app.button if button.label == "Show the results")
    show.click().run()
    assert app.get("vega_lite_chart")
    move(app, digits_3=0)
    assert not app.get("vega_lite_chart")
    assert not app.exception


def test_a_prediction_is_asked_for_before_the_results_and_shown_beside_them():
    answers = ("**rises** <b>", "falls")
    app = taught(prediction=answers)
    assert not app.get("vega_lite_chart")
    assert not set("*<>") & set("".join(app.radio(key=state.ENTERED).options))
    submit(app)
    assert not app.get("vega_lite_chart")
    assert any("Enter what you expect first" in caption.value for caption in app.caption)
    submit(app.radio(key=state.ENTERED).set_value(answers[0]))
    assert app.get("vega_lite_chart")
    assert f"You expected: **{plain(answers[0])}**" in [note.value for note in app.info]
    move(app, digits_3=0)
    assert not app.get("vega_lite_chart")


def test_a_number_can_be_asked_for():
    app = taught(prediction=(teaching.NUMBER,))
    submit(app.number_input(key=state.ENTERED).set_value(12.5))
    assert "You expected: **12.5**" in [html.unescape(note.value) for note in app.info]


def submit(place):
    app = getattr(place, "root", place)
    return next(button for button in app.button if button.label == "Show the results").click().run()


def test_a_teacher_makes_a_link_that_asks_for_a_prediction():
    app = open_digits()
    app.session_state["share_predict"], app.session_state["share_answers"] = "choice", "rises\n\nfalls\nfalls"
    open_share(app)
    assert parse_qs(urlsplit(link_of(app)).query)["predict"] == ["rises|falls"]


def test_without_a_teacher_nothing_is_hidden_locked_or_asked():
    app = open_digits()
    assert not any("teacher" in text.lower() for text in texts(app))
    assert not are_sliders_disabled(app)


def test_the_qr_code_is_a_drawing_without_any_script():
    code = share.qr_code("http://host/lab?v=1&data=" + "x" * 600)
    assert code.startswith("<svg")
    assert "script" not in code


@pytest.mark.parametrize(
    ("page", "given"),
    [("about/page.py", {"q": "y" * 6000}), ("about/page.py", {"x": "問" * 400})],
)
def test_a_link_too_long_for_a_qr_code_is_shown_without_one_and_says_why(page, given):
    app = open_home().switch_page(page)
    for key, text in given.items():
        app.query_params[key] = text
    open_share(app)
    assert not app.exception
    assert any("?v=1&" in code.value for code in app.code)
    assert any("too many for a QR code" in caption.value for caption in app.caption)


def test_citations_have_the_version_and_the_paper():
    import l2d_core

    assert f"version = {{{l2d_core.__version__}}}" in share.CITATION % l2d_core.__version__
    assert f"version: {l2d_core.__version__}" in (PROGRAM / "CITATION.cff").read_text(encoding="utf-8")


def test_the_link_of_a_page_with_trainings_gives_away_no_owners_secret():
    app = open_home().switch_page("about/page.py")
    app.query_params["job"] = "20261128-000000.secret"
    app.query_params["run"] = ["shipped/a", "shipped/b"]
    open_share(app)
    address = link_of(app)
    assert "secret" not in address
    assert address.endswith("?v=1&run=shipped%2Fa&run=shipped%2Fb")


def test_what_no_setting_can_be_is_taken_out_of_the_address_before_it_is_read():
    given = {
        "seed": "1e999",
        "noise": "nan",
        "a": "-inf",
        "bin_kind": "",
        "data": "CIFAR-10",
        "bins": "15",
        "x": "infinite",
    }
    assert links.unusable(given) == ["seed", "noise", "a", "bin_kind"]


@pytest.mark.parametrize("junk", [{"seed": "1e999"}, {"bin_kind": ""}, {"seed": "", "data": ""}])
def test_an_address_with_such_values_opens_the_lab(junk):
    app = open_link(LAB, {"data": LAB_DATASETS["digits"].title, "digits_epochs": "4"} | junk)
    assert not app.exception
    assert app.title[0].value == "Live lab"


LEARN = "learn/page.py"


def test_a_link_from_the_lesson_holds_the_settings_of_all_steps_and_none_of_them_is_noted_as_unknown():
    everything = {learn_state.key_of(name): "5" for name in learn_state.SETTINGS} | {
        "learn_n": "500",
        "learn_slip": "0",
    }
    everything |= {"learn_first": "60", "learn_first_half": "50", "learn_boldness": "1.5"}
    for step in ("1", "7"):
        app = open_link(LEARN, {"v": "1", "step": step} | everything)
        assert not app.info, app.info[0].value
        assert app.header[0].value.startswith(f"{step}. ")
    assert any("learn_zzz" in note.value for note in open_link(LEARN, {"step": "3", "learn_zzz": "1"}).info)


def test_a_setting_of_a_step_that_is_not_shown_yet_is_noted_when_it_is():
    app = open_link(LEARN, {"step": "2", "learn_draw": "2.7", "v": "9"})
    assert ["version 9" in note.value for note in app.info] == [True]
    app.session_state["step"] = "3"
    app.run()
    assert [note.value for note in app.info] == ["The link's learn_draw = 2.7 cannot be used; it is 2 here."]
    app.run()
    assert not app.info


def test_what_waits_for_a_step_is_forgotten_on_another_page():
    app = open_link(LEARN, {"step": "1", "learn_draw": "2.7"})
    app.switch_page(COMPARE).run()
    assert not any("learn_draw" in note.value for note in app.info)


def test_a_link_leaves_out_what_stands_at_its_default():
    app = open_share(open_link(LEARN, {"step": "1", "learn_asked": "25"}))
    assert parse_qs(urlsplit(link_of(app)).query) == {"v": ["1"], "step": ["1"], "learn_asked": ["25"]}
    app = open_share(open_link(LEARN, {"step": "1"}))
    assert parse_qs(urlsplit(link_of(app)).query) == {"v": ["1"], "step": ["1"]}


def test_names_stand_in_an_address_for_titles_and_both_are_read():
    titles = {"data": {"a": "First: one", "b": "Second"}}
    assert carried.shorten([("data", "First: one"), ("data", "b"), ("x", "Second")], titles) == [
        ("data", "a"),
        ("data", "b"),
        ("x", "Second"),
    ]
    given = {"data": ["a", "Second", "zap"], "x": ["a"]}
    assert carried.lengthen(given, titles) == {"data": ["First: one", "Second", "zap"]}
    assert carried.lengthen({"data": ["First: one"]}, titles) == {}


@pytest.mark.parametrize("page", [LAB_LINKS, LESION_LINKS, COMPARE_LINKS, PAPER_LINKS])
def test_no_choice_is_called_by_anothers_title(page):
    for key, choices in page.titles().items():
        assert len(set(choices.values())) == len(choices), key
        assert all(choices.get(title, title) == title for title in choices.values()), key


def test_every_choice_of_the_lab_is_read_by_its_name_and_by_its_title():
    for dataset in LAB_DATASETS:
        settings = lab_state.settings(dataset)
        for key in LAB_LINKS.titles().keys() & settings.keys():
            for name, title in LAB_LINKS.titles()[key].items():
                assert settings[key].read(name) == settings[key].read(title) == name


@pytest.mark.parametrize("wrong", ["all", "Any class, evenly (may be right by luck)"])
def test_a_link_by_name_and_an_old_one_by_title_open_the_same_and_the_new_link_has_names(wrong):
    data = LAB_DATASETS["digits"].title if wrong != "all" else "digits"
    app = open_link(LAB, {"data": data, "wrong": wrong, "digits_epochs": "4", "seeds": "1"})
    assert not app.info
    assert (app.session_state["data"], app.session_state["wrong"]) == ("digits", "all")
    open_share(app)
    asked = parse_qs(urlsplit(link_of(app)).query)
    assert (asked["data"], asked["wrong"]) == (["digits"], ["all"])


def test_a_choice_of_several_is_linked_by_their_names():
    app = open_link("paper/page.py", {"result": "budgets", "paper_methods": ["triage", "Softmax"]})
    assert app.session_state["paper_methods"] == ["triage", "softmax"]
    open_share(app)
    asked = parse_qs(urlsplit(link_of(app)).query)
    assert asked == {"v": ["1"], "result": ["budgets"], "paper_methods": ["triage", "softmax"]}


def test_the_settings_of_the_lesson_are_those_of_its_steps():
    drawn = set()
    for number in range(1, 9):
        app = open_link(LEARN, {"step": str(number)})
        widgets = [*app.slider, *app.select_slider, *app.number_input]
        drawn |= {widget.key for widget in widgets}
    assert drawn == {learn_state.key_of(name) for name in learn_state.SETTINGS}


def test_a_link_of_compare_carries_runs_and_every_setting_and_junk_in_one_is_noted():
    given = {"run": ["shipped/cifar10-one_vs_all"], "price": "0.07", "compare_bin_kind": "Equal mass"}
    app = open_link(COMPARE, given | {"recalibration": "Platt"})
    assert not app.info[1:]  # but for that of no chosen cases
    open_share(app)
    address = link_of(app)
    asked = parse_qs(urlsplit(address).query)
    assert asked == {
        "v": ["1"],
        "run": ["shipped/cifar10-one_vs_all"],
        "price": ["0.07"],
        "compare_bin_kind": ["equal_mass"],
        "recalibration": ["platt"],
    }
    noted = [note.value for note in open_link(COMPARE, {"price": "9", "compare_bins": "many", "zap": "1"}).info]
    for part in ("price = 9", "compare_bins = many", "does not know: zap"):
        assert any(part in note for note in noted), part


def test_a_run_that_is_named_by_nothing_takes_no_other_run_out_of_the_address():
    app = open_link(COMPARE, {"run": ["shipped/cifar10-one_vs_all", ""]})
    assert app.query_params["run"] in ("shipped/cifar10-one_vs_all", ["shipped/cifar10-one_vs_all"])
    assert any("names no run" in warning.value for warning in app.warning)


def test_a_page_with_nothing_to_show_can_be_shared_all_the_same(monkeypatch):
    assert open_link(COMPARE, {"run": ["here/gone"]}).button(key=share.OPEN)

    def broken(*_, **__):
        raise ValueError("broken")

    monkeypatch.setattr(shared.fit_board(), "get", broken)
    app = open_link(LAB, {"seeds": "2"})
    assert app.error[0].value == "broken"
    assert app.button(key=share.OPEN)


@pytest.mark.parametrize(
    "text", ["https://a.example/x", "HTTP://a.example", "www.a.example", "me@a.example", ":material/x:"]
)
def test_markdown_makes_no_link_or_icon_of_what_an_address_holds(text):
    """Such a text is only recognised with these marks side by side."""
    for shown in (links.short(text), html.unescape(plain(text))):
        assert not re.search(r"https?://|www\.|\w@\w|:material/", shown, re.IGNORECASE)
        readable = shown.replace(WORD_JOINER, "")
        assert readable.replace("?", "@") == text  # `short` shows an @ as ?


def test_the_base_of_differences_is_not_asked_for_again_once_it_was_read():
    run = ["shipped/cifar10-softmax", "shipped/cifar10-one_vs_all"]
    app = open_link(COMPARE, {"run": run, "base": run[0]})
    assert not [note.value for note in app.info if "base" in note.value]
    app.session_state["base"] = run[1]
    app.run()
    assert not [note.value for note in app.info if "base" in note.value]
    assert not app.exception


@pytest.mark.parametrize(
    ("page", "given", "word"),
    [
        ("paper/page.py", {"result": "zz"}, "result = "),
        ("paper/page.py", {"scale": "zz", "result": "figure1"}, "scale = "),
        ("paper/page.py", {"result": "budgets", "paper_methods": ["zz"]}, "paper_methods = "),
        ("paper/page.py", {"foo": "1"}, "does not know: "),
        ("lesions/page.py", {"lesion_expert": "zz"}, "lesion_expert = "),
        ("lesions/page.py", {"lesion_budgets": "7"}, "does not know: "),
    ],
)
def test_junk_in_a_link_to_a_page_of_choices_is_noted(page, given, word):
    app = open_link(page, given)
    assert not app.exception
    assert any(word in note.value for note in app.info)


@pytest.mark.parametrize(
    ("page", "given"),
    [
        ("paper/page.py", {"result": "budgets", "scale": "cpu", "paper_methods": ["triage", "softmax"]}),
        ("lesions/page.py", {"lesion_expert": "mixer", "lesion_rule": "threshold", "lesion_threshold": "5"}),
        ("lesions/page.py", {"lesion_expert": "sliders", "ham10000_mel": "7", "wrong": "all"}),
    ],
)
def test_a_good_link_to_them_is_not(page, given):
    app = open_link(page, given)
    assert not app.exception
    assert not any("link" in note.value.lower() for note in app.info)
