"""Training from a page in real browsers: start, watch, reload, stop, resume; another browser; a server that dies."""

import re
import time

import pytest
from playwright.sync_api import expect
from train_server import TrainServer

PATIENCE_MS = 180_000  # a training is the last that a busy machine gives time to
PAGES = ("Home", "Learn", "Live lab", "Skin lesions", "Compare", "The paper", "About")


@pytest.fixture(scope="module")
def training(browser, tmp_path_factory):  # noqa: ARG001 (no server where there is no browser)
    server = TrainServer(tmp_path_factory.mktemp("training"))
    server.start()
    yield server
    server.kill()
    assert "Traceback" not in server.log.read_text(), server.log.read_text()


@pytest.fixture(scope="module")
def link(browser, training):
    """The link of a long training that was started on the page, as its owner has it; the page is closed."""
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.set_default_timeout(PATIENCE_MS)
    tab.goto(f"{training.address}/train")
    expect(tab.get_by_text("Nothing has been trained here yet")).to_be_visible(timeout=PATIENCE_MS)
    tab.get_by_role("button", name="Softmax", exact=True).click()
    expect(tab.get_by_role("button", name="Train", exact=True)).to_be_visible(timeout=PATIENCE_MS)
    tab.get_by_text("Training", exact=True).click()
    tab.get_by_role("spinbutton", name="Patience").fill("")  # never stops early
    tab.get_by_role("spinbutton", name="Epochs (maximum)").fill("100000")
    tab.get_by_role("button", name="Train", exact=True).click()  # the same click takes the number in
    card(tab).wait_for()
    expect(card(tab)).to_contain_text("starting")
    expect(card(tab)).to_contain_text("of 100,000", timeout=PATIENCE_MS)
    expect(tab.get_by_role("spinbutton", name="Patience")).to_have_value("")
    tab.wait_for_url("**job=*")
    button(tab, "Link").click()
    tab.get_by_text("Show the owner's link").click()
    address = tab.get_by_text(re.compile(r"job=[0-9a-f]{16}\.")).inner_text()
    assert "." not in tab.url.partition("job=")[2]
    tab.close()
    return address


@pytest.fixture
def owner(browser, link):
    """A browser of its own, in which the owner has opened the link."""
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.set_default_timeout(PATIENCE_MS)
    tab.goto(link)
    card(tab).wait_for()
    yield tab
    tab.close()


def card(tab):
    return tab.locator('[class*="st-key-job-"]')


def button(tab, name):
    return card(tab).get_by_role("button", name=re.compile(rf"{name}$"))


def epochs(tab):
    """How many epochs the chart's text tells of."""
    told = tab.locator(".for-screen-readers").filter(has_text="Loss per case").text_content() or ""
    return int(re.search(r"after epoch (\d+)", told)[1])


def wait_for_more(tab, before):
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while epochs(tab) <= before:
        assert time.monotonic() < deadline, f"no epoch after {before}"
        tab.wait_for_timeout(100)


def test_its_curves_grow_by_themselves_and_a_reload_finds_it_still_ones_own(owner):
    expect(card(owner)).to_contain_text("running", timeout=PATIENCE_MS)
    expect(owner.locator('[data-testid="stVegaLiteChart"] svg')).to_have_count(4, timeout=PATIENCE_MS)
    first = epochs(owner)
    wait_for_more(owner, first)
    owner.reload()
    expect(card(owner)).to_contain_text("running", timeout=PATIENCE_MS)
    wait_for_more(owner, first + 1)
    expect(button(owner, "Stop")).to_be_visible()


def test_another_browser_sees_it_in_the_list_but_cannot_stop_it(browser, owner, training):
    expect(card(owner)).to_contain_text("running", timeout=PATIENCE_MS)
    tab = browser.new_page()
    tab.goto(f"{training.address}/train")
    main = tab.get_by_test_id("stMainBlockContainer")
    main.get_by_role("button", name="Open", exact=True).click(timeout=PATIENCE_MS)
    expect(card(tab)).to_contain_text("Only its owner", timeout=PATIENCE_MS)
    expect(card(tab)).to_contain_text("running")
    for name in ("Stop", "Resume", "Delete"):
        expect(button(tab, name)).to_have_count(0)
    assert re.search(r"job=[0-9a-f]{16}$", tab.url)
    tab.close()


def test_its_secret_is_in_the_address_of_no_page_that_its_owner_walks_through(browser, owner, link):
    secret = link.partition("job=")[2].partition(".")[2]
    owner.wait_for_url(re.compile(r"job=[0-9a-f]{16}$"))
    addresses = []
    owner.on("framenavigated", lambda frame: addresses.append(frame.url))
    for name in PAGES:
        owner.get_by_role("link", name=name, exact=True).first.click()
        owner.wait_for_url(lambda url: "/train" not in url)  # with the training's id, perhaps, which is no secret
        owner.get_by_role("link", name="Train", exact=True).click()
        expect(button(owner, "Stop")).to_be_visible(timeout=PATIENCE_MS)
        owner.wait_for_url("**job=*")
        owner.go_back()
        addresses.append(owner.url)
    owner.reload()  # of another page, which watches no training
    owner.get_by_role("link", name="Train", exact=True).click()
    main = owner.get_by_test_id("stMainBlockContainer")
    main.get_by_role("button", name="Open", exact=True).click(timeout=PATIENCE_MS)
    expect(button(owner, "Stop")).to_be_visible(timeout=PATIENCE_MS)
    assert len(addresses) > 3 * len(PAGES)
    assert not [address for address in addresses if secret in address]
    other = browser.new_page()
    other.goto(owner.url)
    expect(card(other)).to_contain_text("Only its owner", timeout=PATIENCE_MS)
    other.close()


def test_it_is_stopped_on_another_page_it_is_remembered_and_it_goes_on(owner):
    expect(card(owner)).to_contain_text("running", timeout=PATIENCE_MS)
    button(owner, "Stop").click()
    expect(card(owner)).to_contain_text("stopped after epoch", timeout=PATIENCE_MS)
    stopped_at = epochs(owner)
    owner.get_by_role("link", name="Home").click()
    owner.get_by_role("heading", name="Learning to defer").wait_for()
    owner.get_by_role("link", name="Train", exact=True).click()
    button(owner, "Resume").click()
    expect(card(owner)).to_contain_text("running", timeout=PATIENCE_MS)
    wait_for_more(owner, stopped_at)


def test_after_the_server_was_killed_it_is_interrupted_and_goes_on_when_it_is_resumed(owner, training):
    expect(card(owner)).to_contain_text("running", timeout=PATIENCE_MS)
    address, before = owner.url, epochs(owner)
    assert not training.kill()
    training.start()
    owner.goto(address)
    expect(card(owner)).to_contain_text(re.compile(r"interrupted at epoch \d+"), timeout=PATIENCE_MS)
    interrupted_at = epochs(owner)
    assert interrupted_at >= before
    button(owner, "Resume").click()
    expect(card(owner)).to_contain_text("running", timeout=PATIENCE_MS)
    wait_for_more(owner, interrupted_at)
    button(owner, "Stop").click()
    expect(card(owner)).to_contain_text("stopped after epoch", timeout=PATIENCE_MS)
