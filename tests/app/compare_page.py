"""The page "Compare" in AppTest, with folders of runs that were made for tests: how to open it, and read it."""

import io
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
from lab_page import assert_drawable, charts, open_home, tables_of, texts
from made_runs import CONFIG, some_scores, write_run

COMPARE = "compare/page.py"
FIRST_TWO = ["shipped/cifar10-softmax", "shipped/cifar10-one_vs_all"]
PLENTY = 400  # cases: with fewer, softmax odds and bins are too irregular to be distinguished

__all__ = ["COMPARE", "CONFIG", "assert_sound", "charts", "some_scores", "tables_of", "texts", "write_run"]


def made_run(folder, surrogate="one_vs_all", cases=PLENTY, seed=5, **change):
    """A run folder whose test scores know something."""
    write_run(folder, replace(CONFIG, surrogate=surrogate, **change))
    for name, offset in (("scores_validation.npz", 1), ("scores_test.npz", 0)):
        made_scores(cases, seed + offset, surrogate).save(folder / name)
    return folder


def made_scores(cases=PLENTY, seed=5, surrogate="one_vs_all"):
    """Scores in which machine and expert are right more often than not."""
    scores, generator = some_scores(cases, seed, surrogate), np.random.default_rng(seed)
    labels = np.random.default_rng(0).integers(0, 3, cases)
    logits = np.asarray(scores.logits).copy()
    logits[np.arange(cases), labels] += 1.5
    answers = np.where(generator.random(cases) < 0.6, labels, generator.integers(0, 3, cases))
    return replace(scores, logits=logits, labels=labels, answers=answers[:, None])


def assert_sound(app):
    """No error, no warning but that a recalibration does harm, and all numbers are numbers."""
    unforeseen = [one for one in app.warning if not one.value.startswith("Recalibration makes ")]
    problems = [*app.exception, *app.error, *unforeseen]
    assert not problems, problems[0].value
    assert not [text for text in texts(app) if re.search(r"\b(nan|inf)\b", text)]
    for chart in charts(app):
        for name, table in tables_of(chart).items():
            assert_drawable(table, f"{name} of {chart.proto.alt}")


def npz_of(scores, tmp_path):
    """The bytes of our own format."""
    scores.save(tmp_path / "scores.npz")
    return (tmp_path / "scores.npz").read_bytes()


def table_of(scores):
    """The scores as a table with columns that a guess finds."""
    columns = {"id": scores.ids, "label": scores.labels, "expert": scores.answers[:, 0]}
    columns |= {f"logit_{k}": scores.logits[:, k] for k in range(3)}
    return pd.DataFrame(columns | {"defer": scores.logits[:, 3]})


def csv_of(table):
    return table.to_csv(index=False).encode()


def parquet_of(table):
    stream = io.BytesIO()
    table.to_parquet(stream)
    return stream.getvalue()


def use_roots(monkeypatch, shipped=(), here=()):
    """Have the page find runs in these folders only."""
    from app.compare import board
    from app.jobs import runs
    from app.jobs.run_index import run_index

    monkeypatch.setattr(runs, "ROOTS", {"shipped": tuple(shipped), "here": tuple(here)})
    run_index.clear()
    board._compare_system.clear()
    board.comparison.clear()


def make_roots(monkeypatch, tmp_path):
    """A folder of shipped runs with the two that are shown first, and one of this machine's runs with a third."""
    shipped, here = tmp_path / "shipped", tmp_path / "here"
    made_run(shipped / "cifar10-softmax", "softmax")
    made_run(shipped / "cifar10-one_vs_all", seed=8)
    made_run(here / "third", seed=11, epochs=7)
    use_roots(monkeypatch, [shipped], [here])
    return shipped, here


def open_compare(*keys):
    """A new session on the page, by a link with these runs; with both panels open."""
    app = open_home().switch_page(COMPARE)
    app.session_state["all-runs"] = app.session_state["own-predictions"] = True
    if keys:
        app.query_params["run"] = list(keys)
    return app.run()


def upload(app, *files):
    """Bring (name, bytes) to the page."""
    field = app.file_uploader[0]
    return field.set_value([(name, data, "application/octet-stream") for name, data in files]).run()


def click(app, label):
    return next(button for button in app.button if button.label == label).click().run()


def choose(app, label, value):
    next(box for box in app.selectbox if box.label == label).select(value)


def say(app, surrogate, domain):
    """Confirm the form of a table that waits."""
    choose(app, "Trained with", surrogate)
    next(radio for radio in app.radio if radio.label == "The scores are").set_value(domain)
    return click(app, "Use these columns")


def open_beside_one(monkeypatch, tmp_path):
    """The page with one run of this machine."""
    made_run(tmp_path / "here" / "first", seed=3)
    use_roots(monkeypatch, [], [tmp_path / "here"])
    monkeypatch.delenv("L2D_DATA_ROOT", raising=False)
    return open_compare("here/first")


def chips(app):
    """The names of what is compared."""
    return [unescape(button.label) for button in app.button if (button.key or "").startswith("chip-")]


def address(app):
    found = app.query_params.get("run", [])
    return [found] if isinstance(found, str) else list(found)


def said(app, part):
    return any(part in unescape(text) for text in texts(app))


def cards(app):
    """A dict of measure -> text for each system."""
    html = next(element.value for element in app.html if 'class="systems"' in element.value)
    found = []
    for card in html.split('<div class="kpi"')[1:]:
        pairs = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", card)
        found.append({name: re.sub(r"<.*?>", "", value) for name, value in pairs})
    return found


def run_table(app):
    """The table of all runs."""
    return next(frame.value for frame in app.dataframe if {"run", "surrogate"} <= set(frame.value))
