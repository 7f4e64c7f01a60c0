"""The table of all runs: read once, read anew where a run has changed, and never stopped by a bad folder."""

import json
import os
import shutil
import time
from dataclasses import replace

import numpy as np
import pytest
from made_runs import CONFIG, add_made

from l2d_core.evaluation.accuracy import accuracies
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.experiment import run_experiment
from l2d_core.runs import index
from l2d_core.runs.folder import VALIDATION, open_run, read_scores
from l2d_core.runs.index import INDEX, differing_settings, index_runs
from l2d_core.surrogates import SURROGATES


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as monkeypatch:
        add_made(monkeypatch)
        run_experiment(replace(CONFIG, epochs=1), data_root="nowhere", device="cpu", folder=root / "a")
    return root


MEASURED = {f"ece_{name}" for name in SURROGATES[CONFIG.surrogate].estimators}


@pytest.fixture
def root(trained, tmp_path):
    copied = tmp_path / "runs"
    shutil.copytree(trained, copied)
    return copied


@pytest.fixture
def reads(monkeypatch):
    """The names of the folders that are read."""
    read = []
    row = index._row
    monkeypatch.setattr(index, "_row", lambda folder, mark: (read.append(folder.name), row(folder, mark))[1])
    return read


def test_a_run_is_told_with_its_settings_and_measures(root):
    table = index_runs(root)
    run = open_run(root / "a")
    row = table.iloc[0]
    assert (row["run"], row["state"], row["problem"], row["epochs_done"]) == ("a", "done", "", 1)
    assert row["settings"]["expert.kind"] == CONFIG.expert.kind
    expected = accuracies(run.test, defer_by_argmax(run.test.logits))
    assert row["measures"]["system_accuracy"] == expected["system"].value
    assert set(row["measures"]) == {"system_accuracy", "coverage", *MEASURED}
    assert (row["test_cases"], row["device"]) == (len(run.test), "cpu")
    assert abs(row["changed"] - time.time()) < 600


def test_what_has_not_changed_is_not_read_again(root, reads):
    first = index_runs(root)
    second = index_runs(root)
    assert reads == ["a"]
    assert first.to_dict("records") == second.to_dict("records")
    os.utime(root / "a" / "history.csv")
    index_runs(root)
    assert reads == ["a", "a"]


def test_runs_that_come_and_go_are_noticed(root, reads):
    index_runs(root)
    shutil.copytree(root / "a", root / "b")
    assert list(index_runs(root)["run"]) == ["a", "b"]
    assert reads == ["a", "b"]
    shutil.rmtree(root / "a")
    assert list(index_runs(root)["run"]) == ["b"]
    assert list(json.loads((root / INDEX).read_text())["runs"]) == ["b"]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("config.json", b"{", "config.json"),
        ("config.json", b'{"version": 99}', "version"),
        ("scores_test.npz", b"PK", "scores_test.npz"),
        ("environment.json", b'{"version": 0}', "version 0"),
        ("model.safetensors", None, "lacks model.safetensors"),
    ],
)
def test_a_bad_run_says_what_is_wrong_and_does_not_hide_the_others(root, file, content, message):
    shutil.copytree(root / "a", root / "bad")
    if content is None:
        (root / "bad" / file).unlink()
    else:
        (root / "bad" / file).write_bytes(content)
    table = index_runs(root).set_index("run")
    assert message in table.loc["bad", "problem"]
    assert table.loc["bad", "measures"] == {}
    assert table.loc["a", "problem"] == ""


def test_a_run_that_trains_is_told_with_its_epochs_and_without_measures(root):
    (root / "a" / "environment.json").unlink()
    row = index_runs(root).iloc[0]
    assert (row["state"], row["problem"], row["epochs_done"], row["measures"]) == ("running", "", 1, {})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"version": 0}',
        b'{"version": 2, "runs": []}',
        b'{"version": 2, "runs": {"a": 1}}',
        b'{"version": 2, "runs": {"a": {"mark": [], "row": {"evil": 1}}}}',
        b"[" * 100_000,
    ],
)
def test_an_index_that_is_not_ours_is_read_as_if_it_were_missing(root, content):
    (root / INDEX).write_bytes(content)
    assert index_runs(root).iloc[0]["state"] == "done"


def test_a_root_that_cannot_be_written_can_be_read(root, monkeypatch):
    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(index, "write_whole", full)
    assert list(index_runs(root)["run"]) == ["a"]
    assert not (root / INDEX).exists()


def test_no_folder_and_other_folders_give_no_rows(tmp_path):
    assert len(index_runs(tmp_path / "none")) == 0
    (tmp_path / "notes").mkdir()
    (tmp_path / "file").write_text("")
    assert list(index_runs(tmp_path).columns) == list(index.COLUMNS)
    assert len(index_runs(tmp_path)) == 0


def test_only_settings_that_differ_are_named(root):
    shutil.copytree(root / "a", root / "b")
    config = json.loads((root / "b" / "config.json").read_text())
    (root / "b" / "config.json").write_text(json.dumps(config | {"seed": 5}))
    assert differing_settings(index_runs(root)) == ["seed"]
    assert differing_settings(index_runs(root).iloc[:1]) == []


def test_reading_is_told_run_by_run(root):
    shutil.copytree(root / "a", root / "b")
    told = []
    index_runs(root, on_progress=lambda done, all_of_them: told.append((done, all_of_them)))
    assert told == [(1, 2), (2, 2)]


def test_a_thousand_runs_are_told_in_under_a_second_once_they_were_read(root):
    for name in range(1000):
        os.makedirs(root / f"r{name}")
        for file in ("config.json", "environment.json", "history.csv"):
            os.link(root / "a" / file, root / f"r{name}" / file)
    index_runs(root)
    start = time.process_time()
    assert len(index_runs(root)) == 1001
    assert time.process_time() - start < 1
    assert np.isfinite(index_runs(root)["changed"].astype(float)).all()


def test_a_run_without_validation_scores_is_told_as_any_other_and_its_test_scores_can_be_read(root):
    whole = index_runs(root).iloc[0]
    (root / "a" / VALIDATION).unlink()
    row = index_runs(root).iloc[0]
    assert (row["problem"], row["measures"], row["test_cases"]) == ("", whole["measures"], whole["test_cases"])
    test, validation = read_scores(root / "a")
    assert validation is None
    assert len(test) == row["test_cases"]
    with pytest.raises(ValueError, match=f"lacks {VALIDATION}"):
        open_run(root / "a")


def test_a_link_that_leads_to_itself_hides_no_run(root):
    (root / "loop").symlink_to(root / "loop")
    assert list(index_runs(root)["run"]) == ["a"]
