"""The lesson, links and a teacher's link in a real browser, by keyboard alone where a reader has no mouse."""

import re
from urllib.parse import urlencode

from lab_window import QUICK, change, open_lab, press, query, settle, slider, wait_for_run
from playwright.sync_api import expect


def open_page(page, server, path, **settings):
    page.goto(f"{server}/{path}?{urlencode(settings)}")
    page.get_by_role("heading", level=1).wait_for()
    wait_for_run(page)


def picture_text(page):
    return page.locator(".for-screen-readers").first.text_content()


def test_a_step_and_what_was_moved_come_back_by_the_address(page, context, server):
    open_page(page, server, "learn", step=5)
    before = picture_text(page)
    press(page, "The expert is right in", "Home")
    page.wait_for_function("before => document.querySelector('.for-screen-readers').textContent !== before", arg=before)
    page.wait_for_url("**learn_proxy=0*")
    other = context.new_page()
    other.goto(page.url)
    slider(other, "The expert is right in").wait_for()  # its code may come later than the page
    expect(slider(other, "The expert is right in")).to_have_value("0")
    wait_for_run(other)
    assert picture_text(other) == picture_text(page)
    other.close()


def test_a_step_that_does_not_exist_opens_the_warm_up(page, server):
    open_page(page, server, "learn", step="ninety")
    expect(page.get_by_role("heading", name=re.compile("^Warm-up"))).to_be_visible()
    expect(page.get_by_test_id("stAlert").filter(has_text="step = ninety cannot be used")).to_be_visible()


def tab_to(page, target, most=60):
    """Press Tab until this element has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if target.evaluate("element => element === element.getRootNode().activeElement"):
            return
    raise AssertionError(f"{target} was not reached by Tab")


def test_the_lesson_is_read_and_answered_by_keyboard_alone(page, server):
    open_page(page, server, "learn", step=1)
    tab_to(page, slider(page, "Share deferred to the expert"))
    before = picture_text(page)
    page.keyboard.press("End")
    page.wait_for_function("before => document.querySelector('.for-screen-readers').textContent !== before", arg=before)
    assert picture_text(page).startswith("With 40 % deferred")
    tab_to(page, page.get_by_role("radio", name=re.compile("^It cannot")))
    page.keyboard.press("ArrowDown")
    tab_to(page, page.get_by_role("button", name="Commit to this answer"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("Of the photographs that the machine gets wrong")).to_be_visible()
    tab_to(page, page.get_by_role("button", name="Next"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=re.compile("^2. "))).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()


def test_back_leads_through_the_steps_of_the_lesson_and_to_it_from_another_page(page, server):
    open_page(page, server, "learn", step=4)
    for step, title in ((5, "5. "), (6, "6. ")):
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_role("heading", name=re.compile(f"^{title}"))).to_be_visible()
        page.wait_for_url(re.compile(rf"step={step}"))
        wait_for_run(page)
    for title in ("5. ", "4. "):
        page.go_back()
        expect(page.get_by_role("heading", name=re.compile(f"^{title}"))).to_be_visible()
        wait_for_run(page)
    page.go_forward()
    expect(page.get_by_role("heading", name=re.compile("^5. "))).to_be_visible()
    page.get_by_role("link", name="Home").click()
    page.get_by_role("heading", name="Learning to defer").wait_for()
    page.go_back()
    expect(page.get_by_role("heading", name=re.compile("^5. "))).to_be_visible()
    assert page.get_by_text("encountered an error").count() == 0


def test_a_full_link_is_one_entry_of_the_history_and_back_never_fails(page, server):
    page.goto("about:blank")
    before = page.evaluate("history.length")
    open_page(page, server, "compare", v=1, price="0.05", budget=100, compare_bins=15, compare_bin_kind="equal_width")
    assert page.evaluate("history.length") == before + 1
    page.get_by_role("link", name="The paper").click()
    page.get_by_role("heading", name="The paper", exact=True).wait_for()
    page.go_back()
    expect(slider(page, "Cost of asking")).to_have_value("0.05")
    page.goto(f"{server}/paper?v=1&result=k&scale=quick")
    page.get_by_role("heading", level=2).first.wait_for()
    page.get_by_role("button", name="Table 1: calibration error").click()
    page.wait_for_url("**result=Table*")
    page.go_back()
    expect(page.get_by_role("combobox", name="Result")).to_have_value("Accuracy against the number of known classes")
    assert page.get_by_text("encountered an error").count() == 0


def test_the_live_lab_is_worked_by_tab_arrows_and_enter(page, server):
    open_lab(page, server, **QUICK)
    tab_to(page, slider(page, "3"))
    change(page, lambda: page.keyboard.press("ArrowLeft"))
    page.wait_for_url("**digits_3=74*")
    change(page, lambda: page.keyboard.press("Home"))
    page.wait_for_url("**digits_3=0*")
    tab_to(page, page.get_by_role("button", name="Undo"))
    change(page, lambda: page.keyboard.press("Enter"))
    expect(slider(page, "3")).to_have_value("74")


def test_the_shared_link_restores_the_lab_with_what_the_teacher_asked_for(page, context, server):
    page.goto(f"{server}/lab?{urlencode(QUICK | {'digits_3': 40, 'seed': 5})}")
    settle(page)
    page.get_by_role("button", name="Share").click()
    page.get_by_text("For a class", exact=True).click()
    page.get_by_role("textbox", name="A question to the students").fill("What happens at 0 %?")
    page.keyboard.press("Control+Enter")
    page.get_by_text("Results only after a click").click()
    code = page.get_by_test_id("stCode").first
    expect(code).to_contain_text("veil=1")
    expect(code).to_contain_text("ask=What+happens")
    link = code.inner_text().replace("\n", "")
    assert "digits_3=40" in link
    assert "seed=5" in link
    assert "v=1" in link
    expect(page.get_by_role("img", name="QR code of the link")).to_be_visible()
    student = context.new_page()
    student.goto(link)
    expect(student.get_by_text("What happens at 0 %?")).to_be_visible()
    expect(slider(student, "3")).to_have_value("40")
    assert student.locator(".kpi").count() == 0
    student.get_by_role("button", name="Show the results").click()
    settle(student)
    assert student.locator(".kpi").count() == 5
    student.close()


def test_what_a_teacher_hides_is_neither_seen_nor_reached(page, server):
    page.goto(f"{server}/lab?{urlencode(QUICK | {'hide': 'expert,head', 'lock': 'seeds', 'digits_3': 40})}")
    settle(page)
    expect(slider(page, "3")).to_be_hidden()
    page.locator("summary").filter(has_text="Seeds").click()
    expect(slider(page, "Seeds")).to_be_disabled()
    assert query(page)["digits_3"] == "40"
    page.get_by_role("button", name="All controls").click()
    expect(slider(page, "3")).to_be_visible()
    expect(slider(page, "3")).to_have_value("40")
