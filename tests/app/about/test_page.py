"""About: what it says is read where it is kept, and says so when the server keeps it otherwise."""

from html import unescape

import pytest
import streamlit as st
from lab_page import APP, open_home

import l2d_core
from app.about import facts
from app.jobs.run_index import run_index
from app.kit import glossary
from app.sharing import share
from l2d_core.datasets import LAB_DATASETS, cifar10, ham10000

ABOUT = "about/page.py"


@pytest.fixture(autouse=True)
def _new_index():
    run_index.clear()


def open_about():
    return open_home().switch_page(ABOUT).run()


def words(app):
    return "\n".join(part.value for part in [*app.markdown, *app.caption])


def test_the_page_is_sound_and_has_one_title_with_parts_below_it():
    app = open_about()
    assert not app.exception
    assert not app.error
    assert [title.value for title in app.title] == ["About"]
    assert len(app.header) == 7
    assert not app.subheader


def test_it_is_the_last_page_in_the_navigation():
    pages = [line for line in (APP / "Home.py").read_text(encoding="utf-8").splitlines() if "st.Page(" in line]
    assert ABOUT in pages[-1]


def test_it_is_said_that_nothing_here_is_a_diagnosis():
    assert "not for diagnosis" in words(open_about())


def test_every_data_set_is_named_with_the_licence_that_the_library_knows():
    text = words(open_about())
    for dataset in LAB_DATASETS.values():
        assert dataset.title in text
    assert f"Licence: {ham10000.LICENCE}." in text
    assert f"Licence: {cifar10.LICENCE}." in text


def test_a_published_data_set_that_the_page_does_not_know_would_show_its_own_source():
    known = {one.title: one.source for one in facts.data_sets()}
    assert known[LAB_DATASETS["digits"].title] == LAB_DATASETS["digits"].source


def test_every_word_of_the_glossary_is_there_once():
    text = words(open_about())
    for word, _, formula in glossary.WORDS:
        assert text.count(f"**{word}.**") == 1
        assert formula in text


def test_the_shipped_networks_are_those_of_the_index_with_their_numbers():
    table = open_about().table[0].value
    assert [unescape(name) for name in table["network"]] == [run.name for run in runs()]
    assert table["system accuracy"].tolist() == [f"{100 * run.system_accuracy:.1f} %" for run in runs()]
    assert table["n"].tolist() == [f"{run.test_cases:,}" for run in runs()]


def runs():
    found = facts.shipped_runs()
    assert len(found) >= 5
    return found


@pytest.mark.usefixtures("open_expanders")
def test_the_cards_are_shown_below_the_headings_of_the_page(monkeypatch):
    monkeypatch.setattr(facts, "cards", lambda: "# Top\n\n## Card\n\n    # no heading")
    text = words(open_about())
    assert "### Top\n\n#### Card\n\n    # no heading" in text


def test_what_is_shipped_can_be_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(facts, "CARDS", tmp_path / "gone")
    app = open_about()
    assert "cannot be read" in app.error[0].value
    assert str(tmp_path) not in app.error[0].value
    assert [header.value for header in app.header][-1] == "How to cite"


def test_versions_are_those_that_are_installed():
    assert f"l2d-core {l2d_core.__version__}" in words(open_about())
    assert f"streamlit {st.__version__}" in words(open_about())


@pytest.mark.parametrize(("is_on", "word"), [(False, "statistics are off"), (True, "are switched on")])
def test_telemetry_is_told_as_the_server_is_set(monkeypatch, is_on, word):
    option = st.get_option
    monkeypatch.setattr(st, "get_option", lambda key: is_on if key == "browser.gatherUsageStats" else option(key))
    assert word in words(open_about())


def test_how_long_a_closed_tab_is_kept_is_told_as_the_server_is_set(monkeypatch):
    option = st.get_option
    monkeypatch.setattr(st, "get_option", lambda key: 77 if key == "server.disconnectedSessionTTL" else option(key))
    assert "for 77 seconds" in " ".join(words(open_about()).split())


def test_the_citation_is_that_of_every_page():
    assert (share.CITATION % l2d_core.__version__).strip() in [code.value for code in open_about().code]
