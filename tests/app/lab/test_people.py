"""People as the expert of the live lab: chosen, missing, and what is then trained and shown."""

from dataclasses import replace

import numpy as np
import pytest
from lab_page import assert_sound, charts, open_lab, show, tables_of

from l2d_core.datasets import LAB_DATASETS
from l2d_core.datasets.lab_dataset import Crowd

SIZE = {"data": "cifar10", "seeds": 2, "cifar10_size": 300, "cifar10_epochs": 2}


@pytest.fixture
def crowd(monkeypatch):
    """Two made people: one is always right, one always says the first class; in the test a fair coin decides."""
    asked = []

    def answers(_root, ids, name, generator):
        asked.append((name, len(ids)))
        truth = np.array([LAB_DATASETS["cifar10"].class_names.index(case.split("/")[1]) for case in ids])
        is_test = np.array([case.startswith("test") for case in ids])
        said = truth if name == "sage" else np.zeros_like(truth)
        return np.where(is_test & (generator.random(len(ids)) < 0.5), (truth + 1) % 10, np.where(is_test, truth, said))

    made = Crowd(
        names={"sage": "a sage", "stubborn": "a stubborn one"},
        missing=lambda _root: "",
        answers=answers,
        right=lambda _root, ids, _labels: np.full(len(ids), 0.5),
        source="made for this test",
    )
    monkeypatch.setitem(LAB_DATASETS, "cifar10", replace(LAB_DATASETS["cifar10"], people=made))
    return asked


@pytest.fixture(autouse=True)
def _nothing_remembered():
    from app.lab import people_panel

    people_panel._missing.clear()
    people_panel._accuracy_table.clear()


def test_the_answers_of_the_chosen_person_train_and_the_truth_is_known_by_image(crowd, fits):
    app = open_lab(**SIZE, cifar10_expert="people", cifar10_people="stubborn")
    assert_sound(app)
    assert fits[-1].confusion is None
    assert {name for name, _ in crowd} == {"stubborn"}
    assert not app.get("bidi_component")
    show(app, "risk")
    assert len(tables_of(charts(app, "Histogram of risk")[0])["true"]) > 0
    app.selectbox(key="cifar10_people").set_value("sage").run()
    assert_sound(app)
    assert crowd[-1][0] == "sage"


@pytest.mark.usefixtures("crowd")
def test_back_to_the_simulated_expert_the_sliders_stand_where_they_stood(fits):
    app = open_lab(**SIZE, cifar10_cat=33)
    for kind in ("people", "simulated"):
        app.segmented_control(key="cifar10_expert").set_value(kind).run()
    assert_sound(app)
    assert app.session_state["cifar10_cat"] == 33
    assert [call.confusion is None for call in fits] == [False, True]  # and then the first fit again
    assert fits[0].confusion[3, 3].item() == pytest.approx(0.33)


@pytest.mark.usefixtures("crowd")
def test_random_labels_are_off_while_people_answer(fits):
    app = open_lab(**SIZE, random_labels=True, cifar10_expert="people")
    assert_sound(app)
    assert app.toggle(key="random_labels").disabled
    assert fits[-1].random_labels is False


@pytest.mark.usefixtures("crowd", "open_expanders")
def test_how_often_people_are_right_is_shown_with_n():
    app = open_lab(**SIZE, cifar10_expert="people", cifar10_people="sage")
    table = next(frame.value for frame in app.dataframe if "training" in frame.value)
    assert table.loc["all", "training"] == 100
    assert table.loc["all", "test"] == 50
    assert table.loc["all", "n "] == 10_000


def test_where_their_answers_are_missing_the_page_says_which_and_trains_with_the_sliders(fits, monkeypatch, tmp_path):
    from app.lab import people_panel

    monkeypatch.setattr(people_panel, "DATA_ROOT", tmp_path)
    app = open_lab(**SIZE, cifar10_expert="people")
    assert not app.exception
    [note] = [info.value for info in app.info]
    assert "CIFAR-10_human.pt" in note
    assert "github.com/UCSC-REAL" in note
    assert "L2D_DATA_ROOT" in note
    assert fits[-1].confusion is not None


def test_only_data_with_recorded_answers_offer_people():
    app = open_lab(data="digits", seeds=1, digits_epochs=1)
    assert not [group for group in app.segmented_control if group.label == "Who is the expert?"]
