"""The page "Train" in AppTest: a board that trains nothing, how a test opens the page, and reads what it shows."""

import re
from dataclasses import asdict, replace

import pandas as pd
from lab_page import assert_drawable, charts, open_home, tables_of, texts
from small_jobs import SHORT

from app.jobs.board import JobStatus, Link, NoSuchJob, NotYours
from l2d_core.evaluation.epoch_report import EpochReport

TRAIN = "train/page.py"
TOKEN = "t" * 32
FIRST, SECOND = "0" * 15 + "1", "0" * 15 + "2"


class FakeBoard:
    """Jobs that are as a test says; what is asked of it is noted."""

    def __init__(self):
        self.views, self.asked = {}, []

    def have(self, job_id=FIRST, state="running", epochs=0, **fields):
        rows = [asdict(EpochReport(n, 3 / n, 2 / n, 0.9, 0.5, 0.1, 0.1, 1000.0, 1.0)) for n in range(1, epochs + 1)]
        fields = {"config": replace(SHORT, epochs=12), "history": pd.DataFrame(rows)} | fields
        self.views[job_id] = JobStatus(job_id, fields.pop("name", "my *run*"), state, float(len(self.views)), **fields)
        return Link(job_id, TOKEN)

    def start(self, name, config, session):
        assert session
        if self.asked[-1:] == ["full"]:
            raise ValueError("64 trainings are waiting or running")
        return self.have(f"{len(self.views) + 1:016}", "starting", name=name, config=config)

    def look(self, job_id):
        if job_id not in self.views:
            raise NoSuchJob("there is no such job here")
        return self.views[job_id]

    def owns(self, link):
        return link.id in self.views and link.token == TOKEN

    def list(self):
        return list(reversed(self.views.values()))

    def log(self, job_id):
        return f"log of {job_id}"

    def _ask(self, link, *what):
        if not self.owns(link):
            raise NotYours("this job belongs to whoever holds its link")
        self.asked.append((link.id, *what))

    def stop(self, link):
        self._ask(link, "stop")
        self.views[link.id] = replace(self.views[link.id], state="stopped")

    def resume(self, link, session):
        assert session
        self._ask(link, "resume")

    def rename(self, link, name):
        self._ask(link, "rename", name)

    def delete(self, link):
        self._ask(link, "delete")
        del self.views[link.id]


def open_train(*links):
    """A new session on the page, by a link with these."""
    app = open_home().switch_page(TRAIN)
    if links:
        app.query_params["job"] = [str(link) for link in links]
    return app.run()


def assert_sound(app):
    """No error, no warning, and all numbers are numbers."""
    assert not [*app.exception, *app.error, *app.warning]
    assert not [text for text in texts(app) if re.search(r"\b(nan|inf)\b", text)]
    for chart in charts(app):
        for name, table in tables_of(chart).items():
            assert_drawable(table, name)


def labels(app):
    return [button.label for button in app.button]


def click(app, label):
    return next(button for button in app.button if button.label == label).click().run()


def address(app):
    links = app.query_params["job"]
    return [links] if isinstance(links, str) else links


def said(app, part):
    return any(part in text for text in texts(app))
