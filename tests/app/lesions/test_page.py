"""Skin lesions: what is uploaded is scored once, in order, kept for its own session, and shown with its risks."""

import io
import json
import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from lab_page import texts
from lesion_page import (
    LESIONS,
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
    uploader,
    use_system,
    use_watched_system,
    verdicts,
    watch_csv,
    with_far_training_images,
    zipped,
)

from l2d_core.common.paths import PROGRAM
from l2d_core.images.archives import MAX_ARCHIVE_BYTES
from l2d_core.lesions.system import COMMANDS

NOTE = "Research demonstration, not for diagnosis"
COLUMNS = ["softmax_decides", "one_vs_all_decides", "odds_expert_risk", "proxy_expert_risk", "sigmoid_expert_risk"]


@pytest.fixture
def calls(monkeypatch):
    """The page with a system of tests; gives the size of each batch that its one-vs-all network saw."""
    return use_watched_system(monkeypatch)


@pytest.fixture
def csv(monkeypatch):
    """A function that gives the CSV as the last run offered it."""
    return watch_csv(monkeypatch)


def assert_sound(app):
    assert not app.exception, app.exception[0].value
    assert not app.error, app.error[0].value
    read = [text for text in [*texts(app), opened(app), json.dumps(rows(app))] if "<style>" not in text]
    broken = [text for text in read if re.search(r"\b(nan|inf|infinity|none)\b", text, re.I)]
    assert not [text for text in broken if "none is invented" not in text]


@pytest.mark.usefixtures("calls")
def test_the_empty_page_says_what_it_is_not_and_what_to_do():
    app = open_lesions()
    assert_sound(app)
    assert NOTE in app.warning[0].value
    assert "drawn example" in app.info[0].value
    assert rows(app) == []


def test_where_the_networks_are_not_shipped_the_page_says_how_to_make_them(monkeypatch):
    from app.lesions import systems

    monkeypatch.setattr(systems, "missing_commands", lambda: [COMMANDS["runs"], COMMANDS["lesions"]])
    app = open_lesions()
    assert not app.exception
    assert app.code[0].value == f"{COMMANDS['runs']}\n{COMMANDS['lesions']}"
    assert NOTE in app.warning[0].value
    assert not app.file_uploader


def test_an_upload_is_scored_and_shown_with_its_decisions_and_risks(calls):
    app = upload(open_lesions(), ("a.png", colour(200)))
    assert_sound(app)
    assert calls == [1]
    assert names(app) == ["a.png"]
    card = opened(app)
    for text in ("Softmax system", "One-vs-all system", "Expert, Softmax odds", "Expert, Softmax proxy", "Machine,"):
        assert text in card
    observed = r"of [\d,]+ such cases the (expert|machine) erred in \d+ %, interval \d+-\d+|no test case was scored"
    assert len(re.findall(observed, card)) == 5
    assert card.count('class="axis"') == 5
    assert "right in" not in card  # one polarity: risks only
    assert len(re.findall(r"<span>\d+ % · \d+ %</span>", card)) == 7  # the probability of each class
    assert NOTE in app.warning[0].value


def test_results_are_in_the_order_of_upload_and_failed_files_are_listed_with_the_reason(calls):
    files = [("z.png", colour(200)), ("broken.png", encode(picture())[:300]), ("empty.jpg", b""), ("a.png", colour(60))]
    app = upload(open_lesions(), *files)
    assert_sound(app)
    assert calls == [2]
    assert table(app)["file"].tolist() == ["z.png", "broken.png", "empty.jpg", "a.png"]
    assert table(app)["state"].tolist() == ["scored", "not read", "not read", "scored"]
    assert "cut short" in table(app)["remarks"][1]
    assert sorted(names(app)) == ["a.png", "broken.png", "empty.jpg", "z.png"]
    assert [row["badge"] for row in rows(app)][2:] == ["Not read", "Not read"]  # after all that could be read
    assert "Could not be read: " in opened(app, "broken.png")


def test_two_files_of_one_name_are_both_kept_and_the_same_content_is_scored_once(calls):
    app = upload(open_lesions(), ("x.png", colour(200)), ("x.png", colour(100)), ("y.png", colour(200)))
    assert calls == [2]
    assert table(app)["file"].tolist() == ["x.png", "x.png", "y.png"]
    assert table(app)["state"].tolist() == ["scored", "scored", "same picture as 1 (x.png)"]
    assert table(app)["one_vs_all_margin"][0] == table(app)["one_vs_all_margin"][2]
    assert "The same picture as 1 (x.png)" in opened(app, "y.png")
    assert sum(map(int, re.findall(r"\d+", verdicts(app)))) == 2  # pictures, not files


def test_a_control_that_is_moved_scores_nothing_anew(calls):
    app = upload(open_lesions(), *[(f"{n}.png", colour(10 * n)) for n in range(5)])
    assert calls == [5]
    app.slider(key="lesion_budget").set_value(40).run()
    app.radio(key="lesion_expert").set_value("sliders").run()
    app.session_state["ham10000_mel"] = 90
    app.run()
    app.radio(key="lesion_expert").set_value("mixer").run()
    assert_sound(app)
    assert calls == [5]


def test_a_zip_counts_as_what_is_in_it_and_keeps_names_in_any_script(calls, csv):
    members = [("läsion ü.png", colour(1)), ("皮膚/b c.PNG", colour(2)), ("__MACOSX/._x", b"x"), ("note.txt", b"hello")]
    app = upload(open_lesions(), ("many.zip", zipped(members)))
    assert calls == [2]
    expected = ["läsion ü.png", "皮膚/b c.PNG", "note.txt"]
    assert table(app)["file"].tolist() == expected
    assert pd.read_csv(io.BytesIO(csv()))["file"].tolist() == expected


def test_two_hundred_pictures_are_one_list_and_more_are_pages_of_it(calls, monkeypatch):
    from app.lesions import results

    app = upload(open_lesions(), ("many.zip", zipped([(f"{n:03}.png", colour(n)) for n in range(40)])))
    assert_sound(app)
    assert (sum(calls), max(calls)) == (40, 16)
    assert len(table(app)) == len(rows(app)) == 40
    assert results.PAGE >= 200
    monkeypatch.setattr(results, "PAGE", 25)
    app.run()
    first = names(app)
    app.get("pagination")[0].set_value(2).run()
    assert (len(first), len(names(app))) == (25, 15)
    assert not set(first) & set(names(app))


def test_the_list_is_in_the_order_that_is_chosen_and_the_steps_go_through_it(calls):  # noqa: ARG001
    app = upload(open_lesions(), *[(f"{n}.png", colour(40 * n, 250 - 40 * n)) for n in (3, 0, 5, 1)], ("x.png", b"no"))
    risks = table(app).set_index("file")
    kept = risks["one_vs_all_decides"] != "expert"
    own = risks["one_vs_all_machine_risk"].where(kept, risks["sigmoid_expert_risk"])
    assert names(app)[:-1] == own.dropna().sort_values(ascending=False).index.tolist()
    assert names(app)[-1] == "x.png"
    for order, expected in (
        ("upload", ["3.png", "0.png", "5.png", "1.png", "x.png"]),
        ("name", ["0.png", "1.png", "3.png", "5.png", "x.png"]),
        ("margin", [*risks["one_vs_all_margin"].dropna().sort_values(ascending=False).index, "x.png"]),
    ):
        app.selectbox(key="lesion_order").set_value(order).run()
        assert names(app) == expected
    assert f"<h2>{names(app)[0]}</h2>" in opened(app)
    app = click(app, "Next")
    assert f"<h2>{names(app)[1]}</h2>" in opened(app)
    app = click(click(app, "Next"), "Previous")
    assert f"<h2>{names(app)[1]}</h2>" in opened(app)


@pytest.mark.usefixtures("calls")
def test_a_row_says_who_errs_in_how_many_cases_and_where_the_other_system_disagrees():
    app = upload(open_lesions(), *[(f"{n}.png", colour(12 * n, 250 - 9 * n)) for n in range(20)])
    app.segmented_control(key="lesion_rule").set_value("threshold").run()
    app.slider(key="lesion_threshold").set_value(round(table(app)["one_vs_all_margin"].median())).run()
    numbers = table(app).set_index("file")
    assert numbers["softmax_decides"].ne(numbers["one_vs_all_decides"]).any()
    for row in rows(app):
        own = numbers.loc[row["detail"].split(" · ")[0]]
        expert, machine = (f"{own[name]:.0f} %" for name in ("sigmoid_expert_risk", "one_vs_all_machine_risk"))
        asks = own["one_vs_all_decides"] == "expert"
        words = ("expert", expert, "machine", machine) if asks else ("machine", machine, "expert", expert)
        assert row["badge"] == ("Ask" if asks else "Keep")
        kept = "; the rule keeps it" if not asks and own["one_vs_all_margin"] > 0 else ""
        assert row["sentence"] == f"The {words[0]} errs in about {words[1]}, the {words[2]} in {words[3]}{kept}."
        other = f"Softmax system would {'keep' if asks else 'ask'}"
        assert (other in row["notes"]) == (own["softmax_decides"] != own["one_vs_all_decides"])
    app.segmented_control(key="lesion_system").set_value("softmax").run()
    assert {row["detail"].split(" · ")[0] for row in rows(app) if row["badge"] == "Ask"} == set(
        numbers.index[numbers["softmax_decides"] == "expert"]
    )


@pytest.mark.usefixtures("calls")
def test_a_line_in_the_list_parts_the_asked_from_the_kept_and_moves_with_the_margin():
    app = upload(open_lesions(), *[(f"{n}.png", colour(20 * n, 250 - 20 * n)) for n in range(10)])
    app.selectbox(key="lesion_order").set_value("margin")
    app.segmented_control(key="lesion_rule").set_value("threshold").run()
    places = []
    for margin in (-30, 0, 30):
        app.slider(key="lesion_threshold").set_value(margin).run()
        shown = rows(app)
        asked = [row["kind"] for row in shown].count("ask")
        assert [row["kind"] for row in shown] == ["ask"] * asked + ["keep"] * (10 - asked)
        assert [place for place, row in enumerate(shown) if row["line"]] == ([asked] if asked < 10 else [])
        places.append(asked)
    assert places == sorted(places, reverse=True)
    assert places[0] > places[-1]


def test_a_file_that_is_taken_out_of_the_field_is_forgotten_and_the_others_stay():
    # The field's own identity of files is new with each set_value, so that this goes through the session.
    from app.lesions.intake import Source
    from app.lesions.scoring import score_batch
    from app.lesions.state import LesionSession

    session, system = LesionSession(), made_system()
    for name, data in (("a", colour(1)), ("b", colour(2)), ("c", colour(1))):
        session.add(Source(name, f"{name}.png", lambda data=data: data))
        session.add(Source(name, f"{name}.png", lambda data=data: data))
    score_batch(session, system)
    session.drop({"a"})
    assert [entry.name for entry in session.entries] == ["b.png", "c.png"]
    assert set(session.cases) == {entry.digest for entry in session.entries}
    session.drop({"b", "c"})
    assert (session.entries, session.cases, session.taken) == ([], {}, set())


def test_clear_forgets_everything_and_the_field_is_empty(monkeypatch, calls):
    from app.kit import memory

    removed = []
    monkeypatch.setattr(memory, "forget_uploads", lambda ids: removed.extend(ids))
    app = upload(open_lesions(), ("a.png", colour(200)))
    app = upload_table(app, "image_id,age,sex,localization\na,50,male,back\n")
    app = click(app, "Clear")
    assert_sound(app)
    assert rows(app) == []
    assert uploader(app).value in (None, [])
    session = app.session_state["lesion-session"]
    assert (session.entries, session.cases, session.patients, len(session.intake)) == ([], {}, None, 0)
    upload(app, ("a.png", colour(200)))
    assert calls == [1, 1]
    assert len(removed) == 2  # the image's and the table's bytes


@pytest.mark.usefixtures("calls")
def test_two_sessions_see_nothing_of_each_other():
    one, other = open_lesions(), open_lesions()
    upload(one, ("mine.png", colour(200)))
    other.run()
    assert rows(other) == []
    upload(other, ("yours.png", colour(100)))
    one.run()
    assert (names(one), names(other)) == (["mine.png"], ["yours.png"])


@pytest.mark.usefixtures("calls")
def test_results_are_still_there_after_a_look_at_another_page():
    app = upload(open_lesions(), ("a.png", colour(200)))
    app.switch_page("home/page.py").run()
    app.switch_page(LESIONS).run()
    assert names(app) == ["a.png"]


def test_the_session_keeps_small_views_and_numbers_but_no_files(calls):  # noqa: ARG001
    from l2d_core.images.opening import open_image

    large = colour(200, size=(900, 1200))
    app = upload(open_lesions(), ("large.png", large))
    (case,) = app.session_state["lesion-session"].cases.values()
    view = open_image(case.view, "view.jpg")
    assert max(view.pixels.shape[:2]) <= 200
    numbers = [*case.scores.logits.values(), case.scores.features, case.scores.distance, case.scores.expert_features]
    assert sum(array.nbytes for array in numbers) < 2_000
    assert all(array.base is None for array in numbers)  # no view of a batch, which would keep all of it


def test_the_drawn_example_is_marked_as_a_drawing(calls):
    app = click(open_lesions(), "Try a drawn example")
    assert_sound(app)
    assert calls == [1]
    assert "A drawing made by this page, no photograph" in opened(app)
    assert next(button for button in app.button if button.label == "Try a drawn example").disabled


def test_odd_pictures_are_warned_of_and_still_shown(monkeypatch):
    use_system(monkeypatch, with_far_training_images(made_system()))
    black, thin = np.zeros((60, 80, 3), np.uint8), colour(100, size=(20, 100))
    app = upload(open_lesions(), ("black.png", encode(black)), ("thin.png", thin))
    assert [row["badge"] for row in rows(app)] == ["No recommendation"] * 2
    assert set(table(app)["one_vs_all_decides"]) == {""}
    assert verdicts(app) == "No recommendation: 2"
    first, second = opened(app, "black.png"), opened(app, "thin.png")
    assert "blank" in first
    assert "Not like the training images" in first
    assert "odd aspect" in second
    assert "bars were added" in second
    assert 'class="axis"' in second


@pytest.mark.usefixtures("calls")
def test_the_budget_says_how_many_are_deferred_and_asks_first_where_the_margin_is_largest():
    app = upload(open_lesions(), *[(f"{n}.png", colour(20 * n, 250 - 20 * n)) for n in range(10)])
    app.segmented_control(key="lesion_rule").set_value("threshold").run()
    app.slider(key="lesion_threshold").set_value(-100).run()
    assert verdicts(app) == "Ask: 10"
    assert set(table(app)["softmax_decides"]) == {"expert"}
    app.slider(key="lesion_threshold").set_value(0).run()
    numbers = table(app)
    natural = numbers["one_vs_all_margin"] >= 0
    assert (numbers["one_vs_all_decides"] == "expert").tolist() == natural.tolist()
    app.segmented_control(key="lesion_rule").set_value("budget").run()
    app.slider(key="lesion_budget").set_value(10).run()
    asked = table(app)["one_vs_all_decides"] == "expert"
    assert asked.sum() == min(1, natural.sum())
    assert not asked.any() or numbers["one_vs_all_margin"].idxmax() == asked.idxmax()


def test_the_sliders_expert_changes_the_expert_and_not_the_pictures(calls):
    app = upload(open_lesions(), *[(f"{n}.png", colour(25 * n)) for n in range(6)])
    app.radio(key="lesion_expert").set_value("sliders").run()
    app.slider(key="lesion_budget").set_value(100).run()
    shares = []
    for percent in (0, 100):
        for name in ("akiec", "bcc", "bkl", "df", "mel", "nv", "vasc"):
            app.session_state[f"ham10000_{name}"] = percent
        app.run()
        assert_sound(app)
        shares.append((table(app)["one_vs_all_decides"] == "expert").mean())
    assert shares[0] == 0
    assert shares[1] > 0.5
    assert calls == [6]


ROWS = ("old;80,0;Male;back", "YOUNG.jpg;40;female;face", "half;;male;back", "no;1;m;ear")
TABLE = "\ufeffImage_ID;Age;Sex;Localization\n" + "\n".join(ROWS)


def test_the_mixer_answers_where_age_sex_and_site_are_known_and_else_its_answer_is_not_invented(calls, csv):
    files = [("old (1).PNG", colour(1)), ("young.png", colour(2)), ("half.png", colour(3)), ("stranger.png", colour(4))]
    app = upload_table(upload(open_lesions(), *files), TABLE)
    assert "the MLP-Mixer itself answers" not in opened(app, "old (1).PNG")
    app.radio(key="lesion_expert").set_value("mixer").run()
    assert_sound(app)
    old, young, half, stranger = (opened(app, name) for name, _ in files)
    assert "Given 80 years, male, back, the MLP-Mixer itself answers: df: dermatofibroma" in old
    assert "Given 40 years, female, face, the MLP-Mixer itself answers: nv: melanocytic nevus" in young
    assert "own answer needs age, which the table does not give: none is invented" in half
    assert "own answer needs age, sex and site, which" in stranger
    matched = next(text.value for text in app.caption if "table" in text.value and "rows" in text.value)
    assert "4 rows" in matched
    assert "3 of 4 images" in matched
    assert "1 rows have no image here" in matched
    assert "stranger" in matched
    assert pd.read_csv(io.BytesIO(csv()))["expert_answer"].fillna("").tolist() == ["df", "nv", "", ""]
    assert calls == [4]


@pytest.mark.usefixtures("calls")
def test_the_same_picture_under_two_names_in_one_zip_is_answered_for_each_person():
    both = zipped([("old.png", colour(1)), ("young.png", colour(1))])
    app = upload_table(upload(open_lesions(), ("both.zip", both)), TABLE)
    app.radio(key="lesion_expert").set_value("mixer").run()
    assert table(app)["expert_answer"].tolist() == ["df", "nv"]


@pytest.mark.usefixtures("calls")
def test_a_table_that_cannot_be_read_says_which_column_was_looked_for():
    app = upload_table(open_lesions(), "name,age\nx,5\n")
    assert "lacks the column image_id" in unescape(app.error[0].value)
    app = upload_table(app, TABLE)
    assert not app.error


@pytest.mark.usefixtures("calls")
def test_the_csv_holds_every_file_says_what_it_is_and_has_no_formulas(csv):
    bad = '=HYPERLINK("x").png'
    app = upload(open_lesions(), (bad, colour(1)), ("-2+3.png", b"no"), ("ü.png", colour(2)))
    assert_sound(app)
    assert csv().startswith(b"\xef\xbb\xbf")
    written = pd.read_csv(io.BytesIO(csv()))
    assert written.columns[0] == "note"
    assert set(written["note"]) == {NOTE}
    assert written["file"].tolist() == [f"'{bad}", "'-2+3.png", "ü.png"]
    assert written["state"].tolist() == ["scored", "not read", "scored"]
    assert written["verdict"].isin(["Ask", "Keep"]).tolist() == [True, False, True]
    assert written["why"].str.contains("errs in about").fillna(False).tolist() == [True, False, True]
    assert written["remarks"][1]
    assert written[COLUMNS].notna().all(axis=1).tolist() == [True, False, True]
    assert written["sigmoid_expert_risk"].dropna().between(0, 1).all()


@pytest.mark.usefixtures("calls")
def test_a_name_is_text_and_never_markup():
    app = upload(open_lesions(), ("<img src=x onerror=alert(1)>.png", colour(1)), ("<script>.png", b"no"))
    raw = next(element.value for element in app.html if 'class="lesion"' in element.value)
    assert "<img src=x" not in raw
    assert "&lt;img src=x" in raw


@pytest.mark.parametrize("text", [TABLE, "name,age\nx,5\n"], ids=["read", "refused"])
@pytest.mark.usefixtures("calls")
def test_the_name_of_a_table_or_picture_makes_no_browser_fetch_an_address(text):
    hostile = "![x](www.a.org)<img src=x>"
    app = upload_table(upload(open_lesions(), (f"{hostile}.png", colour(1))), text, f"{hostile}.csv")
    shown = [part.value for part in [*app.caption, *app.error, *app.markdown]]
    assert any("a.org" in one for one in shown)
    assert not [one for one in shown if "](" in one or "<img" in one or "www." in one]


def test_a_folder_of_the_server_is_offered_only_where_it_is_named(monkeypatch, tmp_path, calls):
    monkeypatch.delenv("L2D_DATA_ROOT", raising=False)
    assert not open_lesions().expander
    root = tmp_path / "root"
    (root / "in").mkdir(parents=True)
    (root / "in" / "a.png").write_bytes(colour(5))
    monkeypatch.setenv("L2D_DATA_ROOT", str(root))
    monkeypatch.setattr(st, "expander", lambda *_args, **_options: Open())
    app = open_lesions()
    (folder,) = (box for box in app.selectbox if box.label == "Folder")
    assert folder.options == ["in (1 images)"]
    app = click(app, "Take these images")
    assert_sound(app)
    assert names(app) == ["a.png"]
    assert calls == [1]
    app = click(app, "Take these images")
    assert calls == [1]
    assert len(table(app)) == 1


def test_no_link_leads_out_of_the_servers_folder(tmp_path):
    from app.lesions.folders import list_folders, list_images

    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "in", outside):
        folder.mkdir(parents=True)
    (outside / "secret.png").write_bytes(colour(1))
    (root / "in" / "own.png").write_bytes(colour(2))
    (root / "in" / "text.txt").write_text("no")
    (root / "in" / "linked.png").symlink_to(outside / "secret.png")
    (root / "in" / "inside.png").symlink_to(root / "in" / "own.png")
    (root / "away").symlink_to(outside)
    assert [folder.name for folder in list_folders(root)] == ["in"]
    assert [path.name for path in list_images(root, "in")] == ["inside.png", "own.png"]
    for name in ("away", "../outside", str(outside), "in/../../outside"):
        with pytest.raises(ValueError, match="one of those that are listed"):
            list_images(root, name)


def test_the_servers_upload_limit_is_that_of_a_zip_and_stands_on_the_page(calls):  # noqa: ARG001
    import tomllib

    server = tomllib.loads((PROGRAM / ".streamlit" / "config.toml").read_text())["server"]
    assert server["maxUploadSize"] * 2**20 == MAX_ARCHIVE_BYTES
    assert server["enableXsrfProtection"] is True
    app = open_lesions()
    assert any("20 MB an image, 200 MB and 5,000 files a zip" in caption.value for caption in app.caption)


@pytest.mark.usefixtures("calls")
def test_an_upload_is_received_in_memory_however_large_it_may_be():
    from starlette.formparsers import MultiPartParser

    open_lesions()
    assert MultiPartParser.spool_max_size > MAX_ARCHIVE_BYTES


def test_beyond_the_most_pictures_of_a_session_the_rest_is_left_out_and_said(monkeypatch, calls):  # noqa: ARG001
    from app.lesions import scoring

    monkeypatch.setattr(scoring, "MAX_ENTRIES", 3)
    app = upload(open_lesions(), *[(f"{n}.png", colour(n)) for n in range(5)])
    assert len(table(app)) == 3
    assert any("2 were left out" in warning.value for warning in app.warning)


@pytest.mark.usefixtures("calls")
def test_the_rule_is_kept_while_another_page_is_looked_at():
    app = upload(open_lesions(), ("a.png", colour(9)))
    app.slider(key="lesion_budget").set_value(95).run()
    app = app.switch_page("home/page.py").run().switch_page(LESIONS).run()
    assert_sound(app)
    assert app.slider(key="lesion_budget").value == 95


def choose_view(app, view):
    app.segmented_control(key="lesion_view").set_value(view)
    return app.run()


@pytest.mark.usefixtures("calls")
def test_groups_are_shown_without_an_upload_raw_and_with_the_same_mix():
    app = choose_view(open_lesions(), "groups")
    assert_sound(app)
    raw = next(one.value for one in app.html if 'class="groups"' in one.value)
    assert all(group in raw for group in ("<th>all</th>", "<th>45-59</th>", "<th>75 and over</th>", "<th>unknown</th>"))
    assert "ECE (by chance)" in raw
    app.toggle(key="lesion_mix").set_value(True).run()
    same = next(one.value for one in app.html if 'class="groups"' in one.value)
    assert "ECE (by chance)" not in same  # it is of the raw cases only
    first = [re.findall(r"<td>(.*?)</td>", text.split("<th>all</th>")[1])[:4] for text in (raw, same)]
    assert first[0] == first[1]  # the mix of all cases is theirs already
    app.segmented_control(key="lesion_groups").set_value("diagnosis").run()
    assert_sound(app)
    assert "mel: melanoma" in next(unescape(one.value) for one in app.html if 'class="groups"' in one.value)


@pytest.mark.usefixtures("calls")
def test_the_weight_of_rare_classes_moves_the_numbers_of_the_test_cases_and_the_verdicts_of_uploads():
    app = upload(open_lesions(), *[(f"{n}.png", colour(20 * n, 250 - 20 * n)) for n in range(10)])
    before = table(app)
    app.slider(key="lesion_tau").set_value(1.5).run()
    after = table(app)
    assert (after["one_vs_all_machine_risk"] >= before["one_vs_all_machine_risk"] - 1e-9).all()
    assert (after["one_vs_all_margin"] >= before["one_vs_all_margin"] - 1e-9).all()
    assert (after["sigmoid_expert_risk"] == before["sigmoid_expert_risk"]).all()
    assert (after["one_vs_all_class"] != before["one_vs_all_class"]).any()
    app = choose_view(app, "cost")
    assert_sound(app)
    assert "Machine: melanomas found" in next(one.value for one in app.html if 'class="kpis"' in one.value)


def test_a_lasso_takes_the_test_cases_in_it_and_no_uploads():
    from app.lesions.map_panel import selected

    points = [{"customdata": [7]}, {"customdata": [3]}, {"x": 1.0}, {"customdata": [7]}]
    assert selected({"selection": {"points": points}}) == [3, 7]
    assert selected({"selection": {"points": []}}) == []
    assert selected(None) == []


@pytest.mark.usefixtures("calls")
def test_the_map_shows_the_test_cases_and_the_uploads():
    app = choose_view(upload(open_lesions(), ("a.png", colour(9)), ("<i>b.png", colour(90))), "map")
    assert_sound(app)
    for coloured in ("right", "risk"):
        app.segmented_control(key="lesion_colour").set_value(coloured).run()
        assert_sound(app)
    traces = json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
    assert [trace["name"] for trace in traces] == ["predicted risk", "your images"]
    assert traces[-1]["text"] == ["a.png", "&lt;i&gt;b.png"]


@pytest.mark.usefixtures("calls")
def test_the_evidence_of_a_case_is_test_cases_with_pictures_and_on_request_what_moves_its_scores():
    app = upload(open_lesions(), ("a.png", colour(9)))
    near = next(one.value for one in app.html if 'class="neighbours"' in one.value)
    assert near.count("<figure>") == 6
    assert "CC BY-NC 4.0" in " ".join(caption.value for caption in app.caption)
    assert "Malignant or likely to become so" in opened(app)
    app = click(app, "What in the picture moves the scores?")
    assert_sound(app)
    assert any("Each cell was blurred in turn" in caption.value for caption in app.caption)


@pytest.mark.usefixtures("calls")
def test_an_expert_by_sliders_says_how_many_decisions_are_those_with_the_trained_networks():
    app = upload(open_lesions(), ("a.png", colour(9)))
    assert not any("of the decisions on test cases" in caption.value for caption in app.caption)
    app.radio(key="lesion_expert").set_value("sliders").run()
    assert any("of the decisions on test cases" in caption.value for caption in app.caption)
