"""Cases from the field that concern pages (E, and some of uploads); tests/core/field_cases.py lists all rows."""

import io
import tomllib
from html import unescape

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from field_cases import tried
from lab_page import open_digits, open_home
from lesion_page import (
    Open,
    click,
    colour,
    encode,
    made_system,
    names,
    open_lesions,
    opened,
    picture,
    rows,
    table,
    upload,
    upload_table,
    use_watched_system,
    watch_csv,
    zipped,
)
from PIL import Image
from train_page import FIRST, FakeBoard, labels, open_train, said

from app.jobs import board as jobs_board
from l2d_core.common.paths import PROGRAM
from l2d_core.images.archives import MAX_ARCHIVE_BYTES
from l2d_core.images.opening import MAX_FILE_BYTES

CONFIG = tomllib.loads((PROGRAM / ".streamlit" / "config.toml").read_text())


@pytest.fixture(autouse=True)
def calls(monkeypatch):
    """The page of lesions with a system of tests; gives the size of each batch that its one-vs-all network saw."""
    return use_watched_system(monkeypatch)


@pytest.fixture
def csv(monkeypatch):
    """A function that gives the CSV as the last run offered it."""
    text = watch_csv(monkeypatch)
    return lambda: pd.read_csv(io.BytesIO(text()))


@tried("A16", black=(np.zeros((450, 600, 3), np.uint8), "blank"), tiny=(picture(8, 8), "tiny"))
def test_an_odd_picture_has_a_badge_and_can_be_looked_at_all_the_same(given):
    pixels, badge = given
    app = upload(open_lesions(), ("odd.png", encode(pixels)))
    card = opened(app)
    assert badge in card
    assert card.count('class="axis"') == 5
    assert any("not for diagnosis" in warning.value for warning in app.warning)


def files_of(count):
    return [
        (f"{number:04}.png", b"no" if number % 50 == 7 else colour(number % 250, number // 250))
        for number in range(count)
    ]


@tried("B11", by_zip=(1100, 22), by_folder=(250, 5))
def test_of_very_many_files_as_many_are_listed_as_came_in(given, tmp_path, calls, monkeypatch):
    (count, broken), files = given, files_of(given[0])
    if count == 1100:
        app = upload(open_lesions(), ("many.zip", zipped(files)))
    else:
        (tmp_path / "many").mkdir()
        for name, data in files:
            (tmp_path / "many" / name).write_bytes(data)
        monkeypatch.setenv("L2D_DATA_ROOT", str(tmp_path))
        monkeypatch.setattr(st, "expander", lambda *_args, **_options: Open())
        app = open_lesions()
        (most,) = (field for field in app.number_input if field.label.startswith("How many"))
        most.set_value(count)
        app = click(app, "Take these images")
    assert not app.exception
    summary = f"{count:,} files received: {count - broken:,} scored, {broken} not read."
    assert summary in [caption.value for caption in app.caption]
    assert table(app)["file"].tolist() == [name for name, _ in files]
    assert (table(app)["state"] == "not read").sum() == broken
    assert sum(calls) == count - broken
    assert len(rows(app)) == 200  # a page of them


@tried("B12", images="Images, or a zip of images")
def test_the_limit_that_is_shown_is_the_servers_and_the_programs(given):
    app = open_lesions()
    (field,) = (one for one in app.file_uploader if one.label == given)
    assert field.proto.max_upload_size_mb * 2**20 == CONFIG["server"]["maxUploadSize"] * 2**20 == MAX_ARCHIVE_BYTES
    assert any(f"{MAX_FILE_BYTES // 2**20} MB an image, 200 MB" in caption.value for caption in app.caption)
    assert CONFIG["server"]["enableXsrfProtection"] is True


@tried("B12", table="Optional: a table of age, sex and site")
def test_the_limit_of_a_table_is_that_of_its_reader(given):
    from l2d_core.datasets.delimited_text import MAX_BYTES

    (field,) = (one for one in open_lesions().file_uploader if one.label == given)
    assert field.proto.max_upload_size_mb * 2**20 == MAX_BYTES


@tried("B12", size="maxUploadSize", proxy="client_max_body_size", nodes="sticky", cookies="XSRF", refused="413")
def test_who_serves_it_reads_what_makes_uploads_fail_behind_a_proxy(given):
    assert given in (PROGRAM / "docs" / "serving.md").read_text()
    assert f"({CONFIG['server']['maxUploadSize']} MB" in (PROGRAM / "docs" / "serving.md").read_text()


@tried("B1", jpeg="JPEG", tiff="TIFF")
def test_a_picture_in_cmyk_gets_the_class_of_its_rgb(given, csv):
    rgb = Image.open(io.BytesIO(colour(180, size=(90, 120))))
    files = [
        (name, encode(image, kind)) for name, image, kind in (("a", rgb, "PNG"), ("b", rgb.convert("CMYK"), given))
    ]
    assert not upload(open_lesions(), *files).exception
    rows = csv()
    for surrogate in ("softmax", "one_vs_all"):
        assert rows[f"{surrogate}_class"][0] == rows[f"{surrogate}_class"][1]
        assert np.ptp(rows[f"{surrogate}_machine_risk"]) < 0.1
    assert "CMYK turned into RGB" in rows["remarks"][1]


@tried("B14", as_they_are=["läsion_ü.jpg", "皮膚病変.jpg", "a b.jpg", "膚" * 60 + ".jpg"])
def test_a_name_comes_back_in_the_csv_as_it_went_in(given, csv):
    app = upload(open_lesions(), *[(name, colour(9 + place)) for place, name in enumerate(given)])
    assert sorted(names(app)) == sorted(given)
    assert csv()["file"].tolist() == given


@tried("B15", as_written=["x.jpg", "x.jpg", "y.jpg"], one_name=["x.jpg", "x.jpg", "x.jpg"])
def test_two_files_of_one_name_are_kept_and_one_content_is_scored_once(given, calls, csv):
    first, second = colour(200), colour(90)
    app = upload(open_lesions(), *zip(given, (first, second, first), strict=True))
    assert table(app)["file"].tolist() == given
    assert sum(calls) == 2
    assert csv()["state"].tolist() == ["scored", "scored", f"same picture as 1 ({given[0]})"]
    assert "3 files received: 2 scored, 1 the same picture as another." in [caption.value for caption in app.caption]
    app.slider(key="lesion_budget").set_value(30).run()
    assert sum(calls) == 2


PEOPLE = {"80 years, male, back": "80,male,back", "40 years, female, face": "40,female,face"}


def ask_mixer(app, rows):
    """The page with this table, and the expert network as the expert."""
    app = upload_table(app, "\n".join(["image_id,age,sex,localization", *rows]))
    return app.radio(key="lesion_expert").set_value("mixer").run()


@tried("B15", two_people=("one.png", "two.png"), a_copy=("one.png", "one (1).png"))
def test_one_picture_of_two_people_is_answered_for_each_of_them(given, csv):
    first, second = PEOPLE.values()
    app = upload(open_lesions(), *[(name, colour(9)) for name in given])
    app = ask_mixer(app, [f"{given[0]},{first}", f"{given[1]},{second}"])
    assert not app.exception
    for name, person in zip(given, PEOPLE, strict=True):
        assert f"Given {person}, the MLP-Mixer" in opened(app, name)
    together = csv()
    assert together[["age", "sex", "localization"]].astype(str).agg(",".join, axis=1).tolist() == [first, second]
    for name, row, answer in zip(given, (first, second), together["expert_answer"], strict=True):
        ask_mixer(upload(open_lesions(), (name, colour(9))), [f"{name},{row}"])
        assert csv()["expert_answer"].tolist() == [answer]


@tried(
    "B18",
    numbered=("lesion (2).png", ["lesion (1)"], None),
    both_there=("lesion (2).png", ["lesion (1)", "lesion (2)"], 1),
    copied=("ISIC_1 (1).JPG", ["ISIC_2", "isic_1"], 1),
    copied_twice=("ISIC_1 (1).JPG", ["ISIC_1", "ISIC_1 (1)"], 1),
    in_the_table=("ISIC_1.jpg", ["ISIC_2", "ISIC_1 - Copy.jpg"], 1),
    which_copy=("lesion.png", ["lesion (1)", "lesion (2)"], None),
)
def test_a_row_is_matched_by_name_where_one_alone_fits(given, csv):
    name, ids, place = given
    app = ask_mixer(
        upload(open_lesions(), (name, colour(9))), [f"{one},{20 + n},male,back" for n, one in enumerate(ids)]
    )
    assert not app.exception
    assert not app.error
    ages = csv()["age"].dropna().tolist()
    assert ages == ([] if place is None else [20 + place])
    told = next(caption.value for caption in app.caption if "have no image here" in caption.value)
    assert f"{len(ages)} of 1 images by name are in it, {len(ids) - len(ages)} rows have no image here" in told


@tried("A3", zero=("0", "0 is taken as it is, but suspicious"), much=("200", "is not in 0..120"))
def test_an_age_that_cannot_be_is_said_on_the_card_and_in_the_table(given, csv):
    age, note = given
    app = ask_mixer(upload(open_lesions(), ("x.png", colour(9))), [f"x,{age},male,back"])
    assert not app.exception
    assert note in opened(app)
    assert note in csv()["remarks"][0]
    assert csv()["softmax_class"].notna().all()
    assert ("itself answers: " in opened(app)) == (age == "0")


@tried("A4", archive="lateral torso", empty="", spelled="BACK ")
def test_a_site_that_was_not_seen_in_training_is_said_to_be_so(given, csv):
    app = ask_mixer(upload(open_lesions(), ("x.png", colour(9))), [f"x,50,male,{given}"])
    assert not app.exception
    card = opened(app)
    unseen = "was not seen in training: treated as unknown"
    assert (unseen in card) == (unseen in str(csv()["remarks"][0])) == (given == "lateral torso")
    assert ("needs site, which the table gives in no way that it knows" in card) == (given == "lateral torso")
    assert ("needs site, which the table does not give" in card) == (given == "")
    assert ("Given 50 years, male, back, the MLP-Mixer" in card) == (given == "BACK ")


@tried("A11", columns=("dx_type", "dx", "lesion_id", "dataset"))
def test_of_a_table_the_expert_is_told_age_sex_and_site_alone(given, csv):
    plain = "image_id,age,sex,localization\nx,50,male,back"
    others = (
        f"{','.join(given)},{plain}".replace("\n", f"\n{value},{value},{value},{value},") for value in ("histo", "nv")
    )
    answers = []
    for text in (plain, *others):
        app = upload_table(upload(open_lesions(), ("x.png", colour(9))), text)
        app = app.radio(key="lesion_expert").set_value("mixer").run()
        assert not app.exception
        assert "Given 50 years, male, back, the MLP-Mixer" in opened(app)
        answers.append(csv()["expert_answer"][0])
        assert not set(given) & set(csv().columns)
    assert len(set(answers)) == 1


@tried("A17", photograph=(450, 600), square=(600, 600))
def test_the_card_says_at_which_size_the_model_sees_a_picture_and_that_nothing_is_cut_off(given):
    card = opened(upload(open_lesions(), ("x.png", colour(9, size=given))))
    height, width = made_system().image_size
    assert f"as the model sees it: all of it, as {width} x {height} pixels" in card
    assert f"{given[1]} x {given[0]} pixels" in card
    assert ("bars were added" in card) == (given[0] * width != given[1] * height)


@tried("B19", forty=40)
def test_of_uploads_only_small_views_and_numbers_are_kept_until_clear(given, monkeypatch):
    from app.kit import memory

    forgotten = []
    monkeypatch.setattr(memory, "forget_uploads", lambda ids: forgotten.extend(ids))
    noise = np.random.default_rng(0)
    files = [(f"{n}.png", encode(noise.integers(0, 256, (225, 300, 3)).astype(np.uint8))) for n in range(given)]
    app = upload(open_lesions(), *files)
    session = app.session_state["lesion-session"]
    kept = sum(
        len(case.view) + sum(part.nbytes for part in case.scores.logits.values()) for case in session.cases.values()
    )
    assert kept < 0.05 * sum(len(data) for _, data in files)
    app = click(app, "Clear")
    session = app.session_state["lesion-session"]
    assert (session.entries, session.cases, session.patients) == ([], {}, None)
    assert len(forgotten) == given


@tried("E1", home="home", with_networks="lesions")
def test_no_page_frightens_with_a_traceback_of_the_watcher(given, caplog):
    """Of the other pages the server of the browser tests says so at its end."""
    assert CONFIG["server"]["fileWatcherType"] == "none"
    app = open_home().switch_page(f"{given}/page.py").run()
    assert not app.exception
    assert not [text for text in caplog.messages if "Examining the path" in text or "Traceback" in text]


@pytest.fixture
def board(monkeypatch):
    made = FakeBoard()
    monkeypatch.setattr(jobs_board, "job_board", lambda: made)
    return made


@tried("E2", running="running", done="done", stopped="stopped")
def test_another_session_finds_the_run_with_its_epochs(given, board):
    board.have(state=given, epochs=2, name="of another tab")
    for _ in range(2):  # a new session each time, as after a reload
        app = open_train()
        assert not app.exception
        assert said(app, "of another tab")


@tried("E3", slider="train_epochs")
def test_a_click_elsewhere_leaves_the_job_alone_and_stop_reaches_it(given, board):
    link = board.have(state="running", epochs=1)
    app = open_train(link)
    app.number_input(key=given).set_value(7)
    app = app.run()
    assert board.asked == []
    assert board.views[FIRST].state == "running"
    assert labels(app).count("Stop") == 1
    click(app, "Stop")
    assert board.asked == [(FIRST, "stop")]


@tried("E4", other_expert="mixer", sliders="sliders")
def test_a_choice_of_one_session_changes_nothing_in_another(given):
    one, other = open_lesions(), open_lesions()
    for app in (one, other):
        upload(app, ("a.png", colour(120)))
    before = table(one)
    other.radio(key="lesion_expert").set_value(given).run()
    assert not table(other).drop(columns=["expert_answer"], errors="ignore").equals(before)
    assert table(one.run()).equals(before)
    assert one.radio(key="lesion_expert").value == "trained"


@tried("E5", budget=("lesion_budget", 20), threshold=("lesion_threshold", 10))
def test_moving_a_control_of_the_decision_sends_nothing_through_a_network(given, calls):
    app = upload(open_lesions(), ("a.png", colour(120)), ("b.png", colour(10)))
    before = list(calls)
    if given[0] == "lesion_threshold":
        app.segmented_control(key="lesion_rule").set_value("threshold").run()
    app.slider(key=given[0]).set_value(given[1]).run()
    assert not app.exception
    assert calls == before


@tried("E5", bins="bins")
def test_moving_the_bins_of_the_live_lab_trains_nothing(given, fits):
    app = open_digits()
    count = len(fits)
    app.slider(key=given).set_value(7).run()
    assert not app.exception
    assert len(fits) == count


TABLE = "image_id,age,sex,localization\none,80,male,back\ntwo,40,female,face\n"


@tried("B18", beside="in/notes.txt", above="table.csv", odd_name="in/HAM10000_metadata")
def test_the_table_beside_the_images_of_a_folder_is_found_by_its_content(given, tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    for number, name in enumerate(("one.png", "Two (1).PNG", "three.png")):
        (tmp_path / "in" / name).write_bytes(colour(number * 30))
    (tmp_path / "in" / "other.csv").write_text("image_id,age\nstranger,3\n")
    (tmp_path / "in" / "broken.csv").write_bytes(b"image_id,age\n\xff\xfe")
    (tmp_path / given).write_text(TABLE)
    monkeypatch.setenv("L2D_DATA_ROOT", str(tmp_path))
    monkeypatch.setattr(st, "expander", lambda *_args, **_options: Open())
    app = click(open_lesions(), "Take these images")
    app.radio(key="lesion_expert").set_value("mixer").run()
    assert not app.exception
    told = next(caption.value for caption in app.caption if "found beside the images" in caption.value)
    assert given in unescape(told)
    assert "2 of 3 images" in told
    answers = dict(zip(table(app)["file"], table(app)["expert_answer"], strict=True))
    assert answers == {"one.png": "df", "Two (1).PNG": "nv", "three.png": ""}
    app = click(app, "Clear")
    assert not [caption for caption in app.caption if "found beside" in caption.value]


@tried("B18", root_is_the_folder=".", link_out="in")
def test_no_table_outside_of_the_root_is_read(given, tmp_path):
    from app.lesions.folders import find_patients

    root = tmp_path / "root"
    (root / "in").mkdir(parents=True)
    (tmp_path / "table.csv").write_text(TABLE)
    if given == "in":
        (root / "in" / "table.csv").symlink_to(tmp_path / "table.csv")
    assert find_patients(root, given, [root / given / "one.png"]) is None
