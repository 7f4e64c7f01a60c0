"""Own predictions: what is taken, what has to be said of it, and what is refused with a message."""

import gc
import io
import json
import os
import tracemalloc
import zipfile
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from compare_page import (
    assert_sound,
    cards,
    charts,
    chips,
    choose,
    click,
    csv_of,
    made_scores,
    npz_of,
    open_beside_one,
    open_compare,
    parquet_of,
    said,
    say,
    table_of,
    upload,
    use_roots,
)
from streamlit.runtime.uploaded_file_manager import DeletedFile

from app.compare import mapping, upload_panel, uploads
from app.compare import state as compare_state
from app.compare.uploads import Uploads
from app.kit import memory
from l2d_core.comparison.mapped_tables import Columns

DATA_ROOT = os.environ.get("L2D_DATA_ROOT", "")
COLUMNS = Columns("label", ("expert",), ("logit_0", "logit_1", "logit_2"), ("defer",), "id")


@pytest.fixture
def app(monkeypatch, tmp_path):
    return open_beside_one(monkeypatch, tmp_path)


def say_logits(app, surrogate="one_vs_all"):
    return say(app, surrogate, "logits")


def test_our_own_file_is_compared_at_once_and_is_not_in_the_address(app, tmp_path):
    app = upload(app, ("mine.npz", npz_of(made_scores(seed=9), tmp_path)))
    assert_sound(app)
    assert chips(app) == ["first", "mine"]
    assert "upload" not in str(app.query_params)
    assert chips(app.run()) == ["first", "mine"]


def group_table_of(app):
    return next(unescape(one.value) for one in app.html if 'class="groups"' in one.value)


def test_other_columns_of_an_uploaded_table_become_groups_of_every_system(app):
    scores = made_scores(seed=9)
    rows = np.arange(len(scores))
    others = {"hospital <b>": np.where(rows % 4 == 0, "north", "south"), "note": [f"case {row}" for row in rows]}
    app.session_state["compare-groups"] = True
    app = say_logits(upload(app, ("mine.csv", csv_of(table_of(scores).assign(**others)))))
    assert_sound(app)
    by = app.segmented_control(key="compare-groups-by")
    assert [unescape(name) for name in by.options] == ["hospital <b>", "class"]
    assert "<" not in by.options[0]
    app = by.set_value("hospital <b>").run()
    found = group_table_of(app)
    assert "<th>north</th>\n<td>100</td>" in found
    assert "<th>south</th>\n<td>300</td>" in found
    app = app.segmented_control(key="compare-groups-of").set_value("mine").run()
    assert_sound(app)
    assert group_table_of(app) != found
    assert group_table_of(app).count("<th>north</th>") == 1
    app = click(app, "Forget")
    assert not app.exception
    assert "<th>left</th>" in group_table_of(app)  # that column went with its file


def test_without_such_columns_only_classes_are_grouped_and_it_is_said_what_to_bring(app):
    app.session_state["compare-groups"] = True
    app = app.run()
    assert_sound(app)
    assert app.segmented_control(key="compare-groups-by").options == ["class"]
    assert said(app, "such as age, sex or hospital")


def test_being_told_again_of_files_that_were_taken_changes_nothing(monkeypatch):
    state = {"own-files-0": [DeletedFile("gone")], "compare_chosen": ["here/first", "upload/1"]}
    before, brought = dict(state), Uploads()
    monkeypatch.setattr(upload_panel.st, "session_state", state)
    upload_panel._take_uploads(brought, ["here/first"])
    assert state == before
    assert brought == Uploads()


@pytest.mark.parametrize("write", [csv_of, parquet_of])
def test_a_table_waits_until_the_guess_is_confirmed_and_gives_the_same_numbers(app, tmp_path, write):
    scores = made_scores(seed=9)
    app = upload(app, ("mine.csv", write(table_of(scores))))
    assert_sound(app)
    assert chips(app) == ["first"]
    assert said(app, "is it right?")
    app = say_logits(app)
    assert_sound(app)
    assert chips(app) == ["first", "mine"]
    told = cards(app)[1]
    app = upload(app, ("ours.npz", npz_of(scores, tmp_path)))
    assert cards(app)[2] == told


def test_a_table_with_quoted_names_is_no_json(app):
    data = csv_of(table_of(made_scores())).replace(b"id,label", b'"id","label"')
    assert_sound(say_logits(upload(app, ("quoted.csv", data))))


def test_neither_the_loss_nor_logits_or_probabilities_are_taken_silently(app):
    app = click(upload(app, ("mine.csv", csv_of(table_of(made_scores())))), "Use these columns")
    assert chips(app) == ["first"]
    assert "the program does not guess" in app.error[0].value
    choose(app, "Trained with", "softmax")
    app = click(app, "Use these columns")
    assert chips(app) == ["first"]
    assert "the program does not guess" in app.error[0].value


def test_logits_that_are_said_to_be_probabilities_are_refused_by_row(app):
    app = say(upload(app, ("mine.csv", csv_of(table_of(made_scores())))), "softmax", "probabilities")
    assert chips(app) == ["first"]
    assert not app.exception
    assert "row" in app.error[0].value
    assert "0" in app.error[0].value


def test_columns_that_are_not_read_are_named_and_long_texts_are_cut_in_the_preview(app):
    table = table_of(made_scores())
    table["embedding"] = [[0.1, 0.2]] * len(table)
    table["![a](http://x.y)"] = [b"x"] * len(table)
    table["notes"] = "x" * 150_000
    app = upload(app, ("mine.parquet", parquet_of(table)))
    assert said(app, "embedding (list<element: double>)")
    assert not [one for one in app.caption if "![a]" in one.value]
    preview = next(frame.value for frame in app.dataframe if "notes" in frame.value)
    assert preview["notes"].str.len().max() <= 200
    assert_sound(say_logits(app))


def test_a_plain_classifier_gets_an_expert_by_sliders(app):
    scores = made_scores()
    table = table_of(scores).drop(columns=["expert", "defer"])
    app = upload(app, ("plain.csv", csv_of(table)))
    assert said(app, "This looks like a plain classifier")
    app.slider(key="upload/1-accuracy-0").set_value(100)
    app.radio(key="upload/1-domain").set_value("logits")
    app = click(app, "Use these columns")
    assert chips(app) == ["first", "plain"]
    assert said(app, "the expert is simulated")


def test_answers_that_say_whether_the_expert_was_right_can_be_declared_as_such(app):
    scores = made_scores()
    table = table_of(scores).assign(expert=scores.expert_correct[:, 0])
    app = say_logits(upload(app, ("flags.csv", csv_of(table))))
    assert "whether the expert was right" in app.error[0].value
    app.radio(key="upload/1-answers_are").set_value("correct")
    app = say_logits(app)
    assert chips(app) == ["first", "flags"]
    assert said(app, "which class a wrong expert named is not known")


def test_an_upload_of_other_classes_can_be_shown_alone(app, tmp_path):
    other = replace(made_scores(), class_names=("cat", "dog", "horse"))
    app = upload(app, ("other.npz", npz_of(other, tmp_path)))
    assert "must have the same classes" in app.error[0].value
    app = click(app, "Show only other")
    assert_sound(app)
    assert chips(app) == ["other"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("mine.jsonl", b'{"a": 1}\n{"a": 2}\n', "is JSON lines: convert it"),
        ("mine.json", b'[{"a": 1}, {"a": 2}]', "a list of records in JSON: convert it"),
        ("mine.npz", b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
        ("mine.csv", b"\x1f\x8b\x08\x00", "is gzip: unpack it"),
    ],
)
def test_another_kind_of_file_is_named_on_the_page_as_on_the_command_line(app, name, data, message):
    assert message in unescape(upload(app, (name, data)).error[0].value)


def test_a_wrong_row_is_named(app):
    table = table_of(made_scores())
    table.loc[17, "logit_1"] = np.nan
    app = say_logits(upload(app, ("mine.csv", csv_of(table))))
    assert "logit_1" in app.error[0].value.replace("&#95;", "_")
    assert "17" in app.error[0].value


def test_the_two_files_of_the_authors_wait_for_each_other_and_for_the_loss(app):
    rows = [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8]]
    app = upload(app, ("run_confs.json", json.dumps(rows).encode()))
    assert said(app, "needs the other")
    assert chips(app) == ["first"]
    app = upload(app, ("run_acc.json", json.dumps(json.dumps([1, 0, 1, 1])).encode()))
    app = click(app, "Use it")
    assert "does not guess" in app.error[0].value
    choose(app, "Trained with", "softmax")
    app = click(app, "Use it")
    assert chips(app) == ["first", "run"]
    assert "without first" in app.error[0].value  # they have no labels, and runs have


@pytest.mark.data
@pytest.mark.skipif(not DATA_ROOT, reason="needs L2D_DATA_ROOT")
def test_the_authors_logs_have_the_ece_of_their_paper_on_the_page(monkeypatch):
    folder = Path(DATA_ROOT) / "ova_l2d_hatespeech_logs"
    if not folder.is_dir():
        pytest.skip("the authors' logs are not there")
    use_roots(monkeypatch, [folder], [])
    app = upload(open_compare(), *[(path.name, path.read_bytes()) for path in sorted(folder.glob("*.json"))])
    boxes = [box for box in app.selectbox if box.label == "Trained with"]
    for box, name in zip(boxes, ("one_vs_all", "softmax"), strict=True):
        box.select(name)
    app = click(click(app, "Use it"), "Use it")
    app.slider(key="compare_bins").set_value(20).run()
    assert not app.exception
    assert not app.error
    assert chips(app) == ["ova", "softmax"]
    assert [card["ECE"].split(" %")[0] for card in cards(app)] == ["0.77", "6.96"]
    assert said(app, "come without labels")
    assert not charts(app, "System accuracy")


HOSTILE = {
    "nothing.csv": b"",
    "one.csv": b"x",
    "binary.csv": bytes(range(256)) * 50,
    "twice.csv": b"a,a\n1,2\n",
    "cut.npz": b"PK\x03\x04 not a zip",
    "cut.parquet": b"PAR1 cut short PAR1",
    "deep_confs.json": b"[" * 200_000,
    "other.json": b"[1, 2]",
    "nul\x00/../../etc/passwd.csv": b"\x00\x01\x02",
}


def test_hostile_files_get_a_message_and_never_a_traceback(app):
    for name, data in HOSTILE.items():
        app = upload(app, (name, data))
        assert not app.exception, name
        assert chips(app) == ["first"], name
        assert not [one for one in app.error if "Traceback" in one.value or "../" in one.value], name
        if not app.error:
            assert said(app, "do not say what they are"), name
            app = click(app, "Forget")


def test_pickles_in_a_file_are_refused(app):
    stream = io.BytesIO()
    np.savez(stream, logits=np.array([{"a": 1}], dtype=object))
    app = upload(app, ("evil.npz", stream.getvalue()))
    assert "evil.npz" in app.error[0].value
    assert not app.exception


def test_a_file_that_unpacks_to_more_than_is_allowed_is_refused_before_it_is_unpacked(monkeypatch):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("logits.npy", bytes(5_000_000))
    monkeypatch.setattr(uploads, "MAX_UNPACKED_BYTES", 1_000_000)
    with pytest.raises(ValueError, match=r"bomb\.npz: .*unpacks to 5,000,000 bytes"):
        Uploads().add(stream.getvalue(), "bomb.npz")


def test_limits_are_kept_by_the_uploads_themselves(monkeypatch):
    monkeypatch.setattr(uploads, "MAX_FILE_BYTES", 100)
    with pytest.raises(ValueError, match="must have at most"):
        Uploads().add(bytes(101), "large.csv")
    monkeypatch.undo()
    monkeypatch.setattr(uploads, "MAX_FILES", 1)
    brought = Uploads()
    brought.add(csv_of(table_of(made_scores())), "a.csv")
    with pytest.raises(ValueError, match="at most 1 files"):
        brought.add(csv_of(table_of(made_scores())), "b.csv")


def test_more_cases_than_a_comparison_bears_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(uploads, "MAX_CASES", 100)
    made = made_scores()
    files = {"a.csv": csv_of(table_of(made)), "a.parquet": parquet_of(table_of(made)), "a.npz": npz_of(made, tmp_path)}
    for name, data in files.items():
        got = "more at line 102" if name == "a.csv" else f"{len(made):,}"  # which reads no further
        with pytest.raises(ValueError, match=f"{name}.* must have at most 100 rows, got {got}"):
            Uploads().add(data, name)


def test_files_that_take_too_much_memory_together_are_refused_until_some_are_removed(monkeypatch, tmp_path):
    brought, made = Uploads(), made_scores()
    monkeypatch.setattr(uploads, "MAX_HELD_BYTES", 3 * made.logits.nbytes)
    key = brought.add(npz_of(made, tmp_path), "a.npz")
    with pytest.raises(ValueError, match=r"b was not taken: with it, your files would take .* MB of memory"):
        brought.add(npz_of(made, tmp_path), "b.npz")
    brought.remove(key)
    assert brought.add(npz_of(made, tmp_path), "b.npz")


def test_the_index_of_an_npz_is_counted_before_it_is_read():
    entry = b"PK\x01\x02" + bytes(24) + b"\x01\x00" + bytes(16) + b"a"
    index = entry * 100_000
    end = b"PK\x05\x06" + bytes(8) + len(index).to_bytes(4, "little") + bytes(6)
    tracemalloc.start()
    with pytest.raises(ValueError, match="it holds 100,000 arrays, allowed are 1,000"):
        Uploads().add(b"PK\x03\x04" + index + end, "many.npz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * len(index)


def test_validation_predictions_let_an_upload_be_recalibrated(app, tmp_path):
    files = [(f"{name}.npz", npz_of(made_scores(seed=seed), tmp_path)) for name, seed in (("test", 9), ("held", 10))]
    app = upload(app, *files)
    assert chips(app) == ["first", "test", "held"]
    app.session_state["recalibration"] = "temperature"
    assert said(app.run(), "no validation scores")
    box = [one for one in app.selectbox if one.label == "These are"][1]
    box.select("upload/1").run()
    assert_sound(app)
    assert chips(app) == ["first", "test"]
    assert not said(app, "no validation scores")
    assert "(was" in cards(app)[1]["ECE"]


def test_validation_predictions_of_another_loss_are_refused(app, tmp_path):
    files = [("a.npz", npz_of(made_scores(), tmp_path)), ("b.npz", npz_of(made_scores(surrogate="softmax"), tmp_path))]
    app = upload(app, *files)
    [one for one in app.selectbox if one.label == "These are"][1].select("upload/1").run()
    assert "one surrogate" in app.error[0].value
    assert chips(app) == ["first", "a", "b"]


def test_what_is_forgotten_is_gone_from_the_page(app, tmp_path):
    app = upload(app, ("mine.npz", npz_of(made_scores(seed=9), tmp_path)))
    app = click(app, "Forget")
    assert "mine was removed" in app.warning[0].value
    assert chips(app) == ["first"]
    assert_sound(app.run())
    assert not said(app, "mine")


def test_files_on_the_server_are_offered_only_inside_the_folder_of_data(monkeypatch, tmp_path, app):
    data, secret = tmp_path / "data", tmp_path / "secret.csv"
    (data / "mine").mkdir(parents=True)
    secret.write_bytes(csv_of(table_of(made_scores())))
    (data / "mine" / "p.csv").write_bytes(secret.read_bytes())
    (data / "link.csv").symlink_to(secret)
    assert not [box for box in app.selectbox if box.label.startswith("Or a file")]
    with pytest.raises(ValueError, match="listed"):
        uploads.read_server_files(data, "../secret.csv")
    with pytest.raises(ValueError, match="leads out"):
        uploads.read_server_files(data, "link.csv")
    monkeypatch.setenv("L2D_DATA_ROOT", str(data))
    app.run()
    choose(app, "Or a file in the data folder of this server", "mine/p.csv")
    app = say_logits(click(app.run(), "Add"))
    assert_sound(app)
    assert chips(app) == ["first", "p"]


def test_memory_is_given_back_when_a_waiting_file_is_forgotten_and_when_the_tab_is_closed(monkeypatch):
    calls, state = [], {}
    monkeypatch.setattr(memory, "give_back", lambda: calls.append(1))
    monkeypatch.setattr(compare_state.st, "session_state", state)
    brought = compare_state.uploads()
    assert compare_state.uploads() is brought
    key = brought.add(csv_of(table_of(made_scores())), "a.csv")
    mapping._forget(brought, key)
    assert (brought.waiting, calls) == ({}, [1])
    del brought
    state.clear()
    gc.collect()
    assert calls == [1, 1]
