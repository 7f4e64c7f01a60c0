"""The page of skin lesions in AppTest, with a system that was made for tests: how to open it and read it."""

import io
import json
import zipfile
from concurrent.futures import Future
from html import unescape

import numpy as np
import streamlit as st
from lab_page import APP, open_home
from made_images import encode, picture
from made_lesion_system import made_system, with_far_training_images

LESIONS = "lesions/page.py"
PNG = "image/png"

__all__ = ["APP", "LESIONS", "PNG", "encode", "made_system", "picture", "with_far_training_images"]


def colour(red, green=120, blue=90, size=(30, 40)):
    """The bytes of a PNG in about one colour, with a gradient, so that it is not blank."""
    pixels = np.zeros((*size, 3)) + (red, green, blue) + np.linspace(0, 40, size[1])[None, :, None]
    return encode(np.clip(pixels, 0, 255).astype(np.uint8))


def zipped(members):
    """A zip of (name, bytes)."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members:
            archive.writestr(name, data)
    return stream.getvalue()


def use_system(monkeypatch, system):
    """Have the page find this system."""
    from app.lesions import systems

    future = Future()
    future.set_result(system)

    def found():
        return future

    found.clear = lambda: None
    monkeypatch.setattr(systems, "load_in_background", found)
    monkeypatch.setattr(systems, "missing_commands", list)
    systems._fitted.clear()
    systems.systems_for.clear()


def use_watched_system(monkeypatch):
    """Have the page find a system of tests; returns the list of the batches' sizes that its one-vs-all network sees."""
    seen = []
    use_system(monkeypatch, made_system(calls=seen))
    return seen


def watch_csv(monkeypatch):
    """A function that gives the text of the CSV as the last run offered it."""
    offered, button = {}, st.download_button

    def watched(label, data, *args, **options):
        offered[label] = data
        return button(label, data, *args, **options)

    monkeypatch.setattr(st, "download_button", watched)
    return lambda: offered["All files (CSV)"]()


class Open:
    """An expander that stands open; AppTest cannot open one."""

    open = True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def open_lesions():
    """A new session on the page."""
    return open_home().switch_page(LESIONS).run()


def uploader(app, place=0):
    return app.file_uploader[place]


def upload(app, *files):
    """Hold exactly these files, (name, bytes) each, in the upload field, and run."""
    uploader(app).set_value([(name, data, PNG) for name, data in files] or None)
    return app.run()


def upload_table(app, text, name="table.csv"):
    """Put a table into its field, and run."""
    uploader(app, 1).set_value((name, text.encode() if isinstance(text, str) else text, "text/csv"))
    return app.run()


def click(app, label):
    next(button for button in app.button if button.label == label).click()
    return app.run()


def rows(app):
    """The rows of the worklist, in order."""
    lists = app.get("bidi_component")
    return json.loads(lists[0].proto.json)["rows"] if lists else []


def names(app):
    """The file names in the worklist, in its order."""
    return [row["detail"].split(" · ")[0] for row in rows(app)]


def opened(app, name=None):
    """The HTML of the opened case; name: of a file to open first."""
    if name is not None:
        session = app.session_state["lesion-session"]
        session.opened = next(entry.id for entry in session.entries if entry.name == name)
        app.run()
    return next((unescape(one.value) for one in app.html if 'class="lesion"' in one.value), "")


def verdicts(app):
    """How many pictures are asked, kept and without a recommendation, in words, as the bar above the list says it."""
    return next(
        unescape(one.value).split('aria-label="')[1].split('"')[0] for one in app.html if "verdicts" in one.value
    )


def table(app):
    """The table of all files."""
    return app.dataframe[-1].value
