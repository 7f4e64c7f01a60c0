"""The table of runs that all pages share: read aside, with its progress, and never waited for longer than it takes."""

import threading

import pandas as pd
import pytest
from made_runs import write_run

from app.jobs import run_index as compare_index
from app.jobs import runs
from app.jobs.folder import Record, write_record
from app.jobs.run_index import RunIndex


@pytest.fixture
def reading(monkeypatch):
    """A reading that goes on until the test lets it end; its tables are numbered."""
    state = {"count": 0, "may_end": threading.Event()}

    def list_runs(on_progress=None):
        state["count"] += 1
        on_progress(1, 4)
        assert state["may_end"].wait(10)
        return pd.DataFrame({"key": [state["count"]]})

    monkeypatch.setattr(runs, "list_runs", list_runs)
    yield state
    state["may_end"].set()


def test_the_first_reading_tells_its_progress_and_goes_on_where_the_visitor_leaves(reading):
    index = RunIndex()

    def leave(done, total):
        if done:
            raise InterruptedError((done, total))

    with pytest.raises(InterruptedError, match="1, 4"):
        index.get(leave)
    reading["may_end"].set()
    assert index.get(lambda *_: None)["key"].tolist() == [1]
    assert reading["count"] == 1


def test_a_fresh_table_is_not_read_again_and_an_old_one_is(reading, monkeypatch):
    reading["may_end"].set()
    index = RunIndex()
    assert [index.get(lambda *_: None)["key"].item() for _ in range(3)] == [1, 1, 1]
    monkeypatch.setattr(compare_index, "FRESH_SECONDS", 0.0)
    assert index.get(lambda *_: None)["key"].item() == 2


def test_an_old_table_must_do_while_a_long_reading_lasts(reading, monkeypatch):
    monkeypatch.setattr(compare_index, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(compare_index, "PATIENCE_SECONDS", 0.1)
    reading["may_end"].set()
    index = RunIndex()
    index.get(lambda *_: None)
    reading["may_end"].clear()
    assert index.get(lambda *_: None)["key"].item() == 1


def test_a_renamed_training_has_its_new_name_in_what_pages_keep_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "ROOTS", {"here": (tmp_path,)})
    write_run(tmp_path / "0123456789abcdef")
    rows = []
    for name in ("old", "new"):
        write_record(tmp_path / "0123456789abcdef", Record(name))
        rows += runs.list_runs().to_dict("records")
    assert [runs.load_system(row).name for row in rows] == ["old", "new"]
    assert len({(row["key"], row["changed"]) for row in rows}) == 2  # by which pages keep it


def test_folders_that_cannot_be_read_are_an_error_without_their_path(monkeypatch):
    def fail(on_progress=None):  # noqa: ARG001
        raise PermissionError(13, "denied", "/secret/runs")

    monkeypatch.setattr(runs, "list_runs", fail)
    with pytest.raises(OSError, match="cannot be read") as caught:
        RunIndex().get(lambda *_: None)
    assert "secret" not in str(caught.value)
