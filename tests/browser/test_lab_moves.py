"""Moving the live lab's controls in a real browser: numbers, charts and address follow."""

import re

from lab_window import (
    GAUSSIANS,
    QUICK,
    cards,
    change,
    chart,
    open_lab,
    press,
    query,
    set_bins,
    settle,
    slider,
    spoken,
)
from playwright.sync_api import expect

ODDS = "Reliability diagram of Softmax odds"
HELD_MS = 1000
# The name of the element that has the focus, within a component too.
FOCUSED = """() => { let one = document.activeElement; while (one?.shadowRoot) one = one.shadowRoot.activeElement
    return one?.getAttribute('aria-label') }"""


class LateServer:
    """A line on which what the server says can be held back for a while, in order."""

    def __init__(self, page):
        self._held, self._is_held = [], False
        page.route_web_socket("**", self._connect)

    def _connect(self, tab):
        tab.connect_to_server().on_message(lambda message: self._pass_on(tab, message))

    def _pass_on(self, tab, message):
        if self._is_held:
            self._held.append((tab, message))
        else:
            tab.send(message)

    def hold(self):
        self._is_held = True

    def let_go(self):
        self._is_held = False
        for tab, message in self._held:
            tab.send(message)


def numbers(page):
    """The key numbers without their differences from the reference."""
    return page.locator(".kpi .value").all_inner_texts()


def test_moving_a_slider_changes_the_key_numbers_and_what_a_screen_reader_is_told(page, server):
    open_lab(page, server, **QUICK)
    assert chart(page, ODDS).count() == 1
    before, told = cards(page), spoken(page, ODDS)
    change(page, lambda: press(page, "3", "Home"))
    assert slider(page, "3").get_attribute("aria-valuetext") == "0 %"
    assert len(cards(page)) == len(before) == 5
    assert all(new != old for new, old in zip(cards(page), before, strict=True))
    ece = cards(page)[0].split("\n")[1]
    assert f"ECE {ece} % (n = " in spoken(page, ODDS)
    assert spoken(page, ODDS) != told
    press(page, "3", "ArrowRight")
    assert slider(page, "3").get_attribute("aria-valuetext") == "1 %"


def test_choosing_a_preset_moves_the_sliders_and_moving_one_makes_it_an_own_setting(page, server):
    open_lab(page, server, **QUICK)
    expert = page.get_by_role("button", name=re.compile("^Expert: "))

    def choose():
        expert.click()
        page.get_by_role("menuitem", name="Always right", exact=True).click()

    change(page, choose)
    assert [slider(page, str(digit)).input_value() for digit in range(10)] == ["100"] * 10
    change(page, lambda: press(page, "3", "Home"))
    expect(expert).to_have_text(re.compile("Expert: own setting"))
    for _ in range(2):
        change(page, lambda: page.get_by_role("button", name="Undo").click())
    assert [slider(page, str(digit)).input_value() for digit in range(10)] == ["75"] * 5 + ["20"] * 5


def test_many_quick_moves_end_in_what_the_last_one_asks_for(page, context, server):
    open_lab(page, server, **QUICK)
    press(page, "3", *["ArrowRight"] * 10)
    page.wait_for_url("**digits_3=85*")
    settle(page)
    other = context.new_page()
    open_lab(other, server, **query(page))
    assert slider(other, "3").input_value() == "85"
    assert numbers(page) == numbers(other)
    other.close()


def test_a_move_made_before_the_last_ones_result_has_arrived_is_not_undone(page, server):
    late = LateServer(page)
    open_lab(page, server, **QUICK)
    late.hold()
    press(page, "3", "ArrowRight")
    page.wait_for_timeout(HELD_MS)
    press(page, "3", "ArrowRight")
    page.wait_for_timeout(HELD_MS)
    late.let_go()
    expect(page.get_by_role("button", name=re.compile("^Expert: "))).to_have_text(re.compile("Expert: own setting"))
    settle(page)
    assert slider(page, "3").input_value() == "77"
    assert query(page)["digits_3"] == "77"


def test_bins_move_the_calibration_error_alone(page, server):
    open_lab(page, server, **QUICK)
    before = cards(page)
    trained = page.get_by_text("Trained on").inner_text()
    change(page, lambda: set_bins(page, "Home"))
    assert cards(page)[0] != before[0]
    assert cards(page)[3:] == before[3:]
    assert page.get_by_text("Trained on").inner_text().partition("Trained")[2] == trained.partition("Trained")[2]


def test_the_page_can_be_left_while_it_trains(page, server):
    page.goto(f"{server}/lab?data=CIFAR-10%3A+small+photographs&seeds=16&cifar10_epochs=60")
    page.get_by_text("Training 16 seeds").wait_for()
    page.get_by_role("link", name="Home").click()
    page.get_by_role("heading", name="Learning to defer").wait_for()


def test_results_follow_a_slider_while_it_is_dragged_and_back_undoes_the_whole_move(page, server):
    open_lab(page, server, **QUICK)
    page.evaluate(
        """() => { window.seen = new Set(); new MutationObserver(() =>
            window.seen.add([...document.querySelectorAll('.kpi .value')].map(one => one.innerText).join())
        ).observe(document.body, {subtree: true, childList: true, characterData: true}) }"""
    )
    first, entries = numbers(page), page.evaluate("history.length")
    box = slider(page, "3").bounding_box()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    share = 0.7
    while page.evaluate("window.seen.size") < 4:  # those that come while the mouse is still down
        share = 0.1 if share > 0.9 else share + 0.02
        page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        page.wait_for_timeout(30)
    assert page.evaluate("history.length") == entries
    change(page, page.mouse.up)
    assert page.evaluate("history.length") == entries + 1
    change(page, page.go_back)
    assert numbers(page) == first
    assert slider(page, "3").input_value() == "75"


def test_back_goes_through_ten_moves_one_by_one(page, server):
    open_lab(page, server, **QUICK)
    for percent in range(76, 86):
        change(page, lambda: press(page, "3", "ArrowRight"))
        page.wait_for_url(f"**digits_3={percent}*")
    for percent in [*range(84, 75, -1), 75]:
        page.go_back()
        expect(slider(page, "3")).to_have_value(str(percent))
        settle(page)


def test_a_keyboard_alone_reaches_and_moves_a_class_slider(page, server):
    open_lab(page, server, **QUICK)
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate(FOCUSED) == "0":
            break
    assert page.evaluate(FOCUSED) == "0"
    change(page, lambda: page.keyboard.press("End"))
    assert slider(page, "0").input_value() == "100"


def test_no_mark_of_a_chart_has_a_place_that_is_no_number(page, server):
    experts = {f"gaussians_{name}": 100 for name in ("east", "north", "west", "south")}
    open_lab(page, server, data=GAUSSIANS, seeds=1, **experts)
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    marks = "[data-testid=stMain] svg *"
    broken = f"[...document.querySelectorAll('{marks}')].filter(mark => /NaN|Infinity/.test(mark.outerHTML)).length"
    assert page.evaluate(f"document.querySelectorAll('{marks}').length") > 500
    assert page.evaluate(broken) == 0
