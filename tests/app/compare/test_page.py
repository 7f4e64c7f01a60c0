"""The page "Compare": what it opens with, what an address may name, and runs that cannot be read."""

import json
import re
from dataclasses import replace

import pytest
from compare_page import (
    CONFIG,
    FIRST_TWO,
    address,
    assert_sound,
    cards,
    charts,
    chips,
    click,
    made_run,
    made_scores,
    make_roots,
    open_compare,
    run_table,
    said,
    tables_of,
    use_roots,
    write_run,
)


@pytest.fixture
def roots(monkeypatch, tmp_path):
    return make_roots(monkeypatch, tmp_path)


@pytest.mark.usefixtures("roots")
def test_without_a_choice_the_shipped_runs_on_cifar10_are_shown_and_the_address_stays_short():
    app = open_compare()
    assert_sound(app)
    assert chips(app) == ["cifar10-softmax", "cifar10-one_vs_all"]
    assert address(app) == []
    assert len(charts(app, "Reliability")) == len(charts(app, "Risk")) == 2
    assert len(charts(app, "System accuracy")) == len(charts(app, "Value")) == 1
    assert len(cards(app)) == 2


def test_without_any_run_it_says_what_to_do(monkeypatch, tmp_path):
    use_roots(monkeypatch, [tmp_path / "none"], [])
    app = open_compare()
    assert_sound(app)
    assert said(app, "There are no runs yet")
    assert said(app, "upload your own predictions")
    assert not charts(app)


@pytest.mark.usefixtures("roots")
def test_one_run_is_shown_with_a_hint_at_a_second():
    app = open_compare("here/third")
    assert_sound(app)
    assert chips(app) == ["third"]
    assert address(app) == ["here/third"]
    assert said(app, "Choose a second system")


@pytest.mark.usefixtures("roots")
def test_a_link_opens_what_it_names_in_its_order_and_junk_in_it_is_noted_and_dropped():
    junk = ["../../etc/passwd", "here/../../shipped/cifar10-softmax", "elsewhere/x", "here/gone", "<b>x</b>", ""]
    app = open_compare("here/third", *junk, "shipped/cifar10-softmax")
    assert chips(app) == ["third", "cifar10-softmax"]
    assert address(app) == ["here/third", "shipped/cifar10-softmax"]
    notes = [warning.value for warning in app.warning]
    assert any("names no run" in note for note in notes)
    assert any("not here any more" in note for note in notes)
    assert not any("passwd" in note or "<b>" in note for note in notes)
    assert not app.run().warning


def test_at_most_six_systems_are_compared(monkeypatch, tmp_path):
    keys = [f"here/run-{k}" for k in range(8)]
    for key in keys:
        made_run(tmp_path / key)
    use_roots(monkeypatch, [], [tmp_path / "here"])
    app = open_compare(*keys)
    assert len(chips(app)) == 6
    assert address(app) == keys[:6]
    assert any("first 6" in warning.value for warning in app.warning)
    assert not app.exception
    assert not app.error
    colors = set(re.findall(r"--look: (#\w+)", next(e.value for e in app.html if 'class="systems"' in e.value)))
    assert len(colors) == 6


def test_runs_that_are_gone_take_no_room_from_those_that_a_link_names_after_them(monkeypatch, tmp_path):
    made_run(tmp_path / "here" / "last")
    use_roots(monkeypatch, [], [tmp_path / "here"])
    app = open_compare(*(f"here/gone-{k}" for k in range(50)), "here/last")
    assert chips(app) == ["last"]
    (note,) = [warning.value for warning in app.warning]
    assert "50 of what was to be compared" in note


@pytest.mark.usefixtures("roots")
def test_the_cases_of_a_system_stay_those_of_that_system_when_another_is_taken_away():
    app = open_compare(*FIRST_TWO, "here/third")
    app.session_state["case_asked"] = "asked"
    app.selectbox(key="case_system").set_value("third").run()
    before = case_table(app)
    app = app.button(key=f"chip-{FIRST_TWO[0]}").click().run()
    assert app.selectbox(key="case_system").value == "third"
    assert case_table(app).equals(before)
    app = app.button(key="chip-here/third").click().run()
    assert_sound(app)
    assert app.selectbox(key="case_system").value == "cifar10-one_vs_all"
    assert len(case_table(app))


def case_table(app):
    """The chosen cases."""
    return next(frame.value for frame in app.dataframe if "gain" in frame.value)


@pytest.mark.usefixtures("roots")
def test_a_chip_takes_its_run_away_and_an_empty_page_offers_the_first_ones_again():
    app = open_compare(*FIRST_TWO)
    for _ in FIRST_TWO:
        app = next(button for button in app.button if (button.key or "").startswith("chip-")).click().run()
    assert not chips(app)
    assert not charts(app)
    assert address(app) == []
    app = click(app, "Show the shipped CIFAR-10 runs")
    assert chips(app) == ["cifar10-softmax", "cifar10-one_vs_all"]


def test_broken_runs_are_in_the_table_with_their_problem_without_paths_and_cannot_be_linked_to(roots):
    _, here = roots
    (made_run(here / "cut") / "scores_test.npz").write_bytes(b"PK\x03\x04 cut")
    (made_run(here / "old") / "config.json").write_text(json.dumps({"version": 0}))
    (made_run(here / "no-json") / "environment.json").write_text("[" * 100_000)
    write_run(here / "running", CONFIG, state="running")
    (here / "foreign").mkdir()
    (here / "foreign" / "notes.txt").write_text("not a run")
    app = open_compare("here/cut", "here/old", "here/no-json", "here/running", "here/third")
    assert not app.exception
    assert not app.error, app.error[0].value
    assert chips(app) == ["third"]
    table = run_table(app).set_index("run")
    assert "foreign" not in table.index
    for name, part in (("cut", "scores_test.npz"), ("old", "version"), ("no-json", "environment"), ("running", "end")):
        assert part in table.loc[name, "problem"], name
    assert not table["problem"].str.contains(str(here.parent), regex=False).any()


def test_runs_of_other_classes_are_not_compared_and_the_page_says_why(roots):
    _, here = roots
    folder = made_run(here / "other")
    for name in ("scores_validation.npz", "scores_test.npz"):
        replace(made_scores(), class_names=("x", "y", "z")).save(folder / name)
    app = open_compare("here/third", "here/other")
    assert not app.exception
    assert "same classes" in app.error[0].value
    assert chips(app) == ["third", "other"]  # so that one of them can be taken away


@pytest.mark.usefixtures("roots")
def test_price_and_budget_move_the_operating_point_everywhere_and_no_training():
    app = open_compare(*FIRST_TWO)
    free = cards(app)
    app.slider(key="price").set_value(0.05)
    app.slider(key="budget").set_value(10).run()
    assert_sound(app)
    dear = cards(app)
    for before, after in zip(free, dear, strict=True):
        assert before["ECE"] == after["ECE"]
        assert float(after["Coverage"].split()[0]) >= 90
        assert before["Value at this cost"] == before["System accuracy"]
    points = tables_of(charts(app, "Value")[0])["points"]
    assert (points["x"] == 0.1).all()
    deferred = [tables_of(chart)["bars"]["deferred"].sum() for chart in charts(app, "Risk")]
    assert all(0 < share <= 0.1 + 1e-9 for share in deferred)


@pytest.mark.usefixtures("roots")
def test_recalibration_shows_before_and_after_and_what_was_fitted():
    app = open_compare(*FIRST_TWO)
    old = [card["ECE"].split(" n =")[0] for card in cards(app)]
    for method in ("temperature", "platt", "isotonic"):
        app.session_state["recalibration"] = method
        app.run()
        assert_sound(app)
        assert all(f"(was {was})" in card["ECE"] for card, was in zip(cards(app), old, strict=True))
        warned = any(one.value.startswith("Recalibration makes cifar10-softmax worse") for one in app.warning)
        assert warned == (method == "temperature")
    assert said(app, "levels")


@pytest.mark.usefixtures("roots")
def test_the_softmax_estimate_can_be_chosen_where_there_is_a_softmax_system():
    app = open_compare(*FIRST_TWO)
    odds = cards(app)
    app.session_state["estimate"] = "proxy"
    app.run()
    assert_sound(app)
    assert cards(app)[0]["ECE"] != odds[0]["ECE"]
    assert cards(app)[1] == odds[1]
    assert cards(app)[0]["Coverage"] == odds[0]["Coverage"]
    app = open_compare("here/third")
    assert "estimate" not in [group.key for group in app.segmented_control]


def test_runs_on_lesions_carry_the_note_that_they_are_no_diagnosis(roots):
    _, here = roots
    made_run(here / "lesions", dataset="ham10000")
    assert said(open_compare("here/lesions"), "not for diagnosis")
    assert not said(open_compare("here/third"), "not for diagnosis")


def test_hostile_names_of_runs_are_shown_letter_by_letter(monkeypatch, tmp_path):
    name = "<img src=x onerror=alert(1)> **b** $x$"
    made_run(tmp_path / name)
    made_run(tmp_path / "plain", seed=9)
    use_roots(monkeypatch, [], [tmp_path])
    app = open_compare(f"here/{name}", "here/plain")
    assert_sound(app)
    assert name in chips(app)
    assert not [element for element in app.html if "<img" in element.value]
    assert not [element for element in app.markdown if "<img" in element.value or "**b**" in element.value]


@pytest.mark.usefixtures("roots")
@pytest.mark.parametrize("keys", [(), (*FIRST_TWO, "here/third")], ids=["as it opens", "by a link"])
def test_two_clicks_before_the_page_is_drawn_anew_take_two_away(keys):
    app = open_compare(*keys)
    before = chips(app)
    for key in FIRST_TWO:
        app.button(key=f"chip-{key}").click()
    app.run()
    assert not app.exception
    assert chips(app) == before[2:]
