"""Files made to do harm, dropped onto the page of skin lesions: each is named with the reason, and the page goes on."""

import re
from html import unescape

import numpy as np
import pytest
from hostile_images import IMAGES, NAMES, ZIPS
from hostile_tables import METADATA
from lesion_page import (
    click,
    colour,
    encode,
    made_system,
    open_lesions,
    rows,
    table,
    upload,
    upload_table,
    uploader,
    use_system,
    zipped,
)

from app.lesions import scoring
from app.lesions.intake import Source
from app.lesions.scoring import score_batch
from app.lesions.state import LesionSession

# Of a table that is refused after its last row only, seconds later, test_hostile_files.py says enough.
TABLES = [row for row in METADATA if row[0] != "rows.csv"]
GOOD = ("good.png", colour(200))


@pytest.fixture(autouse=True)
def _system(monkeypatch):
    use_system(monkeypatch, made_system())


def make(content):
    return content() if callable(content) else content


def assert_usable(app):
    """No exception, and the session takes a good picture as if nothing had been."""
    assert not app.exception, app.exception[0].value
    app = upload(click(app, "Clear"), GOOD)
    assert not app.exception
    assert table(app)["state"].tolist() == ["scored"]


def test_hostile_images_are_listed_with_the_reason_among_good_ones():
    app = upload(open_lesions(), GOOD, *((name, make(content)) for name, content, _ in IMAGES), GOOD)
    assert not app.exception
    listed = table(app)
    assert len(listed) == len(IMAGES) + 2
    for (name, _, message), (_, row) in zip(IMAGES, listed.iloc[1:-1].iterrows(), strict=True):
        assert row["file"] == name
        assert row["state"] == ("scored" if message is None else "not read"), name
        assert message is None or re.search(message, row["remarks"]), (name, row["remarks"])
    assert listed["state"].iloc[0] == "scored"
    assert listed["state"].iloc[-1] == "same picture as 1 (good.png)"
    assert_usable(app)


def test_hostile_zips_are_listed_with_the_reason_among_good_ones():
    app = upload(open_lesions(), GOOD, *((name, make(content)) for name, content, _ in ZIPS))
    assert not app.exception
    remarks = table(app)["remarks"].tolist()
    for name, _, message in ZIPS:
        assert any(re.search(message, remark) for remark in remarks), name
    assert table(app)["state"].tolist().count("not read") == len(app.dataframe[-1].value) - 1
    assert_usable(app)


def test_names_are_shown_safely():
    sent = [name for name in NAMES if not re.search(r"[\ud800-\udfff]", name)]  # no browser can send half a character
    app = upload(open_lesions(), *((name, colour(number)) for number, name in enumerate(sent)))
    assert not app.exception
    shown = table(app)["file"].tolist()
    assert table(app)["state"].tolist() == ["scored"] * len(sent)
    assert not [name for name in shown if re.search(r"[\x00-\x1f/\\\u200b\u202e]", name) or len(name) > 80]
    raw = [element.value for element in app.html if 'class="lesion"' in element.value]
    assert not [card for card in raw if "<img src=x" in card]
    assert len(rows(app)) == len(sent)
    assert_usable(app)


def test_hostile_tables_are_refused_with_the_reason_and_the_pictures_stay():
    app = upload(open_lesions(), GOOD)
    for name, content, message in TABLES:
        app = upload_table(app, make(content), name)
        assert not app.exception, name
        (error,) = app.error
        assert re.search(message, unescape(error.value)), (name, error.value)
        assert len(unescape(error.value)) < 2_000, name
        assert table(app)["state"].tolist() == ["scored"]
    app = upload_table(app, "image_id,age,sex,localization\ngood,50,male,back\n")
    assert not app.error
    assert any("1 of 1 images" in caption.value for caption in app.caption)
    uploader(app, 1).set_value(None)
    assert not app.run().exception


def zip_of(count, size, *, alike):
    """A zip of WebP images of one colour, which take a kilobyte whatever their size."""
    images = [
        encode(np.full((*size, 3), 0 if alike else number, np.uint8), "WEBP", lossless=True) for number in range(count)
    ]
    return zipped((f"{number}.webp", image) for number, image in enumerate(images))


@pytest.mark.parametrize(
    ("count", "size", "alike", "most"),
    [(200, (20, 20), True, 64), (200, (20, 20), False, 16), (8, (3000, 4000), False, 5), (8, (3000, 4000), True, 5)],
)
def test_a_zip_of_small_files_that_are_large_pictures_keeps_nobody_waiting(count, size, alike, most):
    session = LesionSession()
    session.add(Source("zip", "a.zip", lambda: zip_of(count, size, alike=alike)))
    score_batch(session, made_system())
    assert len(session.entries) == most
    assert len(session.intake) == count - most


def test_beyond_the_most_pixels_of_a_session_the_rest_is_left_out_and_said(monkeypatch):
    monkeypatch.setattr(scoring, "MAX_SESSION_PIXELS", 50_000)
    app = upload(open_lesions(), ("a.zip", zip_of(100, (40, 50), alike=False)))
    assert not app.exception
    assert len(table(app)) == 32  # the second turn passes the limit
    assert any("68 were left out. Press Clear" in warning.value for warning in app.warning)
    assert_usable(app)
