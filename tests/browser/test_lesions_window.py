"""Skin lesions in a real browser: real uploads, an image, a broken file and a zip; and nobody sees another's."""

import io
import re
import time
import urllib.request
import zipfile

import numpy as np
import pandas as pd
import pytest
from made_images import encode, picture
from playwright.sync_api import expect

DONE = """count => document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning' &&
    [...document.querySelectorAll('*')].flatMap(one => one.shadowRoot ?
      [...one.shadowRoot.querySelectorAll('[role=option]')] : []).length === count &&
    !document.querySelector('[data-stale=true]')"""
IN_VIEW = """row => {const one = row.getBoundingClientRect(), list = row.parentElement.getBoundingClientRect();
    return one.top >= list.top - 1 && one.bottom <= list.bottom + 1}"""
FITS = """() => document.scrollingElement.scrollWidth <= innerWidth &&
    [...document.querySelectorAll('.lesion *')].every(one => one.getBoundingClientRect().right <= innerWidth + 1)"""
PATIENCE_SECONDS = 60


def image(shift):
    return encode(picture() ^ shift, "JPEG")


def zipped(*names):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for number, name in enumerate(names):
            archive.writestr(name, image(number + 1))
    return stream.getvalue()


def file(name, data, kind="image/jpeg"):
    return {"name": name, "mimeType": kind, "buffer": data}


def open_page(page, server):
    page.goto(f"{server}/lesions")
    page.get_by_text("or try the drawn example").wait_for()
    return page


def upload(page, *files, rows):
    """Choose files as a visitor does, and wait until so many rows are in the list."""
    page.locator('input[type="file"]').first.set_input_files(list(files))
    page.wait_for_function(DONE, arg=rows)


def rows(page):
    return page.locator("[role=option]")


def names(page):
    return [text.split(" · ")[0] for text in page.locator("[role=option] .detail").all_inner_texts()]


def opened(page):
    return page.locator(".lesion h2").inner_text()


def test_an_image_a_broken_file_and_a_zip_are_each_shown_in_order_and_clear_forgets_them(page, lesion_server):
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    open_page(page, lesion_server)
    files = [file("läsion.JPG", image(0)), file("broken.jpg", image(0)[:300])]
    upload(page, *files, file("two.zip", zipped("a.jpg", "b.jpg"), "application/zip"), rows=4)
    assert sorted(names(page)) == ["a.jpg", "b.jpg", "broken.jpg", "läsion.JPG"]
    expect(page.locator("[role=option] img")).to_have_count(3)
    page.wait_for_function("document.querySelector('.lesion figure img')?.naturalWidth === 40")
    expect(page.locator(".lesion .axis")).to_have_count(5)
    rows(page).last.click()
    page.get_by_text("Could not be read: the file is cut short").wait_for()
    page.get_by_text("All numbers of all files").click()
    page.locator(".st-key-lesion-table").hover()
    assert not page.get_by_label(re.compile("^Download")).first.is_visible()  # it would lack the note
    with page.expect_download() as download:
        page.get_by_role("button", name="All files (CSV)").click()
    written = pd.read_csv(download.value.path())
    assert written["file"].tolist() == ["läsion.JPG", "broken.jpg", "a.jpg", "b.jpg"]
    assert set(written["note"]) == {"Research demonstration, not for diagnosis"}
    page.get_by_role("button", name="Clear").click()
    page.get_by_text("or try the drawn example").wait_for()
    expect(rows(page)).to_have_count(0)
    expect(page.get_by_text("läsion.JPG")).to_have_count(0)
    assert errors == []


def test_a_second_browser_sees_nothing_of_the_first(browser, lesion_server):
    contexts = [browser.new_context(viewport={"width": 1280, "height": 900}) for _ in range(2)]
    first, second = (open_page(context.new_page(), lesion_server) for context in contexts)
    upload(first, file("mine.jpg", image(0)), rows=1)
    second.reload()
    second.get_by_text("or try the drawn example").wait_for()
    assert rows(second).count() == 0
    upload(second, file("yours.jpg", image(9)), rows=1)
    assert (names(first), names(second)) == (["mine.jpg"], ["yours.jpg"])
    for context in contexts:
        context.close()


def test_a_file_that_is_taken_out_goes_and_the_others_stay(page, lesion_server):
    open_page(page, lesion_server)
    upload(page, file("a.jpg", image(0)), file("b.jpg", image(1)), rows=2)
    page.get_by_role("button", name="Remove a.jpg").click()
    page.wait_for_function(DONE, arg=1)
    assert names(page) == ["b.jpg"]
    upload(page, file("c.jpg", image(2)), rows=2)
    assert sorted(names(page)) == ["b.jpg", "c.jpg"]


def test_two_hundred_are_one_list_through_which_keys_step(page, lesion_server):
    open_page(page, lesion_server)
    upload(page, file("many.zip", zipped(*(f"{n:03}.jpg" for n in range(200))), "application/zip"), rows=200)
    order = names(page)
    assert opened(page) == order[0]
    page.keyboard.press("n")
    expect(page.locator(".lesion h2")).to_have_text(order[1])
    rows(page).nth(4).click()
    expect(page.locator(".lesion h2")).to_have_text(order[4])
    page.keyboard.press("ArrowDown")
    expect(page.locator(".lesion h2")).to_have_text(order[5])
    page.keyboard.press("p")
    expect(page.locator(".lesion h2")).to_have_text(order[4])
    expect(page.locator("[role=option][aria-selected=true] .detail")).to_contain_text(order[4])
    page.keyboard.press("End")  # the list has the focus still
    expect(page.locator(".lesion h2")).to_have_text(order[-1])
    assert page.locator("[role=option]").last.evaluate(IN_VIEW)


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (800, 1000), (390, 844)])
def test_neither_list_nor_case_is_wider_than_the_window(page, lesion_server, width, height):
    page.set_viewport_size({"width": width, "height": height})
    open_page(page, lesion_server)
    upload(page, file(f"{'long' * 15}.jpg", image(0)), rows=1)
    page.wait_for_function(FITS)


def wait_until_held(server, is_right):
    """Wait for a number of bytes; the server counts anew every few seconds only."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not is_right(held := held_bytes(server)):
        assert time.monotonic() < end, f"{held} bytes are held"
        time.sleep(0.2)


def held_bytes(server):
    """How many bytes of uploads the server holds, of all sessions, as it says itself."""
    with urllib.request.urlopen(f"{server}/_stcore/metrics", timeout=5) as answer:
        text = answer.read().decode()
    return sum(int(number) for number in re.findall(r'cache_type="UploadedFileManager",cache=""} ([0-9]+)', text))


@pytest.mark.parametrize("way", ["Clear", "the tab is closed"])
def test_the_bytes_that_the_server_holds_are_freed(context, lesion_server, way):
    data = encode(np.random.default_rng(0).integers(0, 256, (600, 800, 3), dtype=np.uint8))
    page = open_page(context.new_page(), lesion_server)
    upload(page, file("large.png", data, "image/png"), rows=1)
    wait_until_held(lesion_server, lambda held: held >= len(data))
    if way == "Clear":
        page.get_by_role("button", name="Clear").click()
        page.get_by_text("or try the drawn example").wait_for()
    else:
        page.close()
    wait_until_held(lesion_server, lambda held: held < len(data))
    page.close()
