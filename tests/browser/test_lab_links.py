"""The live lab's address: it carries what was changed, restores it, and takes no harm from junk."""

from lab_window import DIGITS, QUICK, cards, change, open_lab, press, query, settle, slider, wait_for_run
from playwright.sync_api import expect

JUNK = {
    "data": "no such data",
    "ham10000_mel": "-5",
    "ham10000_nv": "4.5e400",
    "ham10000_head": "tree",
    "ham10000_noise": "nan",
    "ham10000_size": "zero",
    "wrong": "<b>x</b>",
    "bins": "many",
    "bin_kind": "zigzag",
    "alpha": "2",
    "seeds": "999",
    "seed": "-1",
    "random_labels": "maybe",
    "unknown": "'; --",
}


def test_the_address_carries_a_moved_slider_and_opening_it_anew_restores_all(page, context, server):
    open_lab(page, server, **QUICK)
    change(page, lambda: press(page, "3", "Home"))
    page.wait_for_url("**digits_3=0*")
    assert query(page) == {"data": "digits", "seeds": "1", "digits_epochs": "4", "digits_3": "0"}
    other = context.new_page()
    other.goto(page.url)
    settle(other)
    assert slider(other, "3").input_value() == "0"
    expect(other.get_by_role("combobox", name="Data set")).to_have_value(DIGITS)
    numbers = [tab.locator(".kpi .value").all_inner_texts() for tab in (page, other)]
    assert numbers[0] == numbers[1]
    other.close()


def test_junk_in_the_address_falls_back_to_what_the_page_opens_with(page, server):
    open_lab(page, server, **JUNK)
    opening = {"akiec": "39", "bcc": "45", "bkl": "37", "df": "6", "mel": "21", "nv": "95", "vasc": "48"}
    assert {name: slider(page, name).input_value() for name in opening} == opening
    assert len(cards(page)) == 5


def test_a_look_at_home_and_back_keeps_the_settings(page, server):
    open_lab(page, server, **QUICK)
    change(page, lambda: press(page, "3", "Home"))
    before = cards(page)
    page.get_by_role("link", name="Home").click()
    page.get_by_role("heading", name="Learning to defer").wait_for()
    assert query(page) == {}
    page.get_by_role("link", name="Live lab", exact=True).click()
    settle(page)
    assert slider(page, "3").input_value() == "0"
    expect(page.locator(".kpi")).to_have_count(5)
    assert cards(page) == before


def test_the_way_from_home_into_the_lab_takes_the_expert_along(page, server):
    page.goto(server)
    home = page.get_by_role("slider")
    home.focus()
    page.keyboard.press("End")
    wait_for_run(page)
    percent = home.input_value()
    page.get_by_role("button", name="Open the live lab").click()
    settle(page)
    expect(slider(page, "airplane")).to_have_value(percent)
    expect(slider(page, "truck")).to_have_value("20")
