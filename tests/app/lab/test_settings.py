"""The live lab's other settings: each reaches the fit that it should, and those that change no fit start none."""

import random

import numpy as np
import pytest
from lab_page import TITLES, assert_sound, cards, charts, move, open_digits, open_lab, summary, tables_of, texts

from l2d_core.datasets import LAB_DATASETS
from l2d_core.lab import heads


def button(app, label):
    return next(button for button in app.button if button.label == label)


@pytest.fixture
def digits(fits):
    """The digits with one seed, and the fits that are made after it was opened."""
    app = open_digits()
    assert len(fits) == 1
    return app


@pytest.mark.parametrize(("dataset", "noise"), [("digits", 1.0), ("gaussians", 0.3), ("ham10000", 1.0)])
def test_noise_is_on_the_data_of_the_fit(dataset, noise, fits):
    app = open_lab(data=dataset, seeds=1, **{f"{dataset}_epochs": 1})
    app.slider(key=f"{dataset}_noise").set_value(noise).run()
    assert_sound(app)
    expected = LAB_DATASETS[dataset].load(0, noise)
    assert np.array_equal(fits[-1].test.inputs, expected.test.inputs)
    assert not np.array_equal(fits[0].test.inputs, fits[-1].test.inputs)


def test_random_labels_are_those_of_the_training_data_only(digits, fits):
    before = cards(digits)
    digits.toggle(key="random_labels").set_value(True).run()
    assert_sound(digits)
    assert [call.random_labels for call in fits] == [False, True]
    assert np.array_equal(fits[0].test.labels, fits[1].test.labels)
    assert float(summary(digits).loc["Machine alone", "One-vs-all"].split(" %")[0]) < 25
    assert cards(digits) != before


def test_a_part_of_the_training_cases_is_taken_and_the_test_cases_stay(digits, fits):
    for size in (100, 1000):
        digits.select_slider(key="digits_size").set_value(size).run()
        assert_sound(digits)
        assert len(fits[-1].train) == size
        assert list(fits[-1].test.ids) == list(fits[0].test.ids)
        assert set(fits[-1].train.ids) < set(fits[0].train.ids)
        assert any(f"Trained on {size:,} cases" in text for text in texts(digits))


def test_head_and_epochs(digits, fits):
    digits.radio(key="digits_head").set_value("linear").run()
    digits.slider(key="digits_epochs").set_value(3).run()
    assert_sound(digits)
    assert [(call.config.kind, call.config.epochs) for call in fits] == [("mlp", 4), ("linear", 4), ("linear", 3)]


def test_alpha_weighs_the_class_term_of_softmax_alone(digits, fits):
    before = summary(digits)
    digits.slider(key="alpha").set_value(0.0).run()
    assert_sound(digits)
    assert [call.options["softmax"] for call in fits] == [{"alpha": 1.0}, {"alpha": 0.0}]
    after = summary(digits)
    assert after["One-vs-all"].equals(before["One-vs-all"])
    assert not after["Softmax odds"].equals(before["Softmax odds"])


def test_asymmetric_softmax_comes_as_a_fourth_estimate_and_goes_again(digits, fits):
    before = cards(digits)
    digits.toggle(key="asymmetric").set_value(True).run()
    assert_sound(digits)
    assert fits[-1].surrogates == ("softmax", "one_vs_all", "asymmetric_softmax")
    assert len(charts(digits, "Reliability")) == 4
    assert {**cards(digits), **before} == cards(digits)
    assert {name for name, _ in set(cards(digits)) - set(before)} == {"Asymmetric softmax", "Asymmetric softmax system"}
    assert list(summary(digits)) == list(TITLES.values())
    digits.toggle(key="asymmetric").set_value(False).run()
    assert cards(digits) == before
    assert len(charts(digits)) == 3


@pytest.mark.parametrize("dataset", ["digits", "gaussians"])
def test_one_seed_has_no_interval(dataset):
    app = open_lab(data=dataset, seeds=1, **{f"{dataset}_epochs": 1})
    assert_sound(app)
    assert not summary(app).map(lambda cell: "±" in cell).any(axis=None)
    assert any("1 seed" in text and "1 seeds" not in text for text in texts(app))


@pytest.mark.parametrize("dataset", ["digits", "gaussians"])
def test_sixteen_seeds_have_an_interval_each(dataset, fits):
    app = open_lab(data=dataset, seeds=16, **{f"{dataset}_epochs": 1})
    assert_sound(app)
    assert list(fits[-1].seeds) == list(range(16))
    assert summary(app).loc["ECE"].str.contains("±").all()
    assert any("16 seeds" in text for text in texts(app))


def test_shuffle_takes_another_seed(digits, fits, monkeypatch):
    monkeypatch.setattr(random.SystemRandom, "randrange", lambda _self, _stop: 4321)
    before = cards(digits)
    button(digits, "Shuffle").click().run()
    assert_sound(digits)
    assert digits.number_input(key="seed").value == 4321
    assert list(fits[-1].seeds) == [4321]
    assert list(fits[-1].test.ids) != list(fits[0].test.ids)
    assert cards(digits) != before


@pytest.mark.parametrize("seed", [7, 2**31 - 1])
def test_every_seed_that_can_be_chosen_works(seed, fits):
    app = open_digits(seeds=2)
    app.number_input(key="seed").set_value(seed).run()
    assert_sound(app)
    assert list(fits[-1].seeds) == [seed, seed + 1]


def test_bins_and_their_kind_train_nothing(digits, fits):
    before = cards(digits)
    for bins, kind in ((5, "equal_width"), (50, "equal_width"), (50, "equal_mass"), (15, "equal_mass")):
        digits.slider(key="bins").set_value(bins)
        digits.segmented_control(key="bin_kind").set_value(kind)
        digits.run()
        assert_sound(digits)
        drawn = tables_of(charts(digits, "Reliability diagram of One-vs-all")[0])["bins"]
        assert (len(drawn) == bins) if kind == "equal_width" else (len(drawn) <= bins)
        assert cards(digits) != before
    digits.slider(key="bins").set_value(15)
    digits.segmented_control(key="bin_kind").set_value("equal_width")
    digits.run()
    assert cards(digits) == before
    assert len(fits) == 1


def test_going_back_to_an_earlier_setting_trains_nothing(digits, fits):
    before = cards(digits)
    move(digits, digits_3=10)
    assert len(fits) == 2
    move(digits, digits_3=75)
    assert len(fits) == 2
    assert cards(digits) == before


def test_two_sessions_share_a_fit_and_do_not_influence_each_other(fits):
    first, second = (open_digits() for _ in range(2))
    before = cards(first)
    assert cards(second) == before
    assert len(fits) == 1
    second.session_state["digits_0"] = 0
    second.selectbox(key="wrong").set_value("all")
    second.slider(key="bins").set_value(5)
    second.run()
    assert cards(second) != before
    assert first.run().session_state["digits_0"] == 75
    assert (first.selectbox(key="wrong").value, first.slider(key="bins").value) == ("others", 15)
    assert cards(first) == before
    assert len(fits) == 2


def test_while_it_trains_the_page_says_how_far_it_is(digits, monkeypatch):
    from streamlit.delta_generator import DeltaGenerator

    said, fit = [], heads.fit

    def slow(*args, on_progress, **options):
        for share in (0.25, 0.5):
            while not any(f"{share:.0%}" in text for _, text in said):
                assert on_progress(share) is not False
        return fit(*args, on_progress=on_progress, **options)

    monkeypatch.setattr(heads, "fit", slow)
    monkeypatch.setattr(DeltaGenerator, "progress", lambda _self, share, text: said.append((share, text)))
    digits.slider(key="seeds").set_value(3).run()
    assert_sound(digits)
    assert all(text == f"Training 3 seeds: {share:.0%}" for share, text in said)
    assert {0.25, 0.5} <= {share for share, _ in said}
