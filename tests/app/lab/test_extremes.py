"""The live lab at its ends: experts always or never right, few cases, much noise; and what it says of trouble."""

import pytest
from lab_page import assert_sound, cards, charts, open_digits, open_lab, set_experts, show, summary, tables_of, texts

from l2d_core.datasets import LAB_DATASETS, feature_bank, image_features
from l2d_core.lab import heads

NO_CASES = "n/a (n = 0)"


def uniform(percent, **settings):
    """The page of digits with an expert of one accuracy for all classes."""
    experts = {f"digits_{name}": percent for name in LAB_DATASETS["digits"].class_names}
    return open_lab(data="digits", **experts, **settings)


@pytest.mark.parametrize("dataset", LAB_DATASETS)
def test_few_cases_and_epochs_experts_who_are_never_or_always_right_and_any_noise_are_no_problem(dataset):
    known, noise = LAB_DATASETS[dataset], f"{dataset}_noise"
    small = {f"{dataset}_size": 100, f"{dataset}_epochs": 1}
    app = open_lab(data=dataset, seeds=2, asymmetric=True, **small, **{noise: known.min_noise})
    assert_sound(app)
    assert any(known.source in text for text in texts(app))
    for percent in (0, 100):
        assert_sound(set_experts(app, dataset, known.class_names, [percent] * len(known.class_names)))
        assert all(cell.startswith(f"{percent}.0") for cell in summary(app).loc["Expert alone"])
    assert_sound(app.slider(key=noise).set_value(known.max_noise).run())


@pytest.mark.parametrize("seeds", [1, 2])
def test_where_nothing_is_deferred_what_is_about_deferred_cases_is_not_available(seeds):
    app = uniform(0, seeds=seeds)
    table = summary(app)
    assert ("One-vs-all system", "% kept: never asks") in cards(app)
    assert all(cell.startswith("100.0") for cell in table.loc["Coverage"])
    for measure in ("Expert on deferred cases", "Estimates above 1, of deferred"):
        assert table.loc[measure].to_list() == [NO_CASES] * 3
    assert table.loc["Machine on kept cases"].to_list() == table.loc["System accuracy"].to_list()


@pytest.mark.parametrize("seeds", [1, 2])
def test_where_all_is_deferred_what_is_about_kept_cases_is_not_available_and_not_drawn(seeds):
    app = uniform(100, seeds=seeds)
    assert ("One-vs-all system", "% kept: always asks") in cards(app)
    column = summary(app)["One-vs-all"]
    assert column["Coverage"].startswith("0.0")
    assert column["Machine on kept cases"] == NO_CASES
    assert column["System accuracy"].startswith("100.0")
    show(app, "accuracy")
    points = tables_of(charts(app, "Machine on kept cases")[0])["points"]
    assert list(points["system"]) == ["Softmax system"]
    assert points["accuracy"].between(0, 1).all()


@pytest.fixture
def no_banks(no_fits, tmp_path, monkeypatch):  # noqa: ARG001
    """A checkout whose feature banks are missing."""
    image_features._whole.cache_clear()
    monkeypatch.setattr(feature_bank, "FOLDER", tmp_path)
    yield
    image_features._whole.cache_clear()


@pytest.mark.parametrize("dataset", ["ham10000", "cifar10"])
@pytest.mark.usefixtures("no_banks")
def test_a_missing_feature_bank_is_said_with_the_command_that_makes_it(dataset):
    app = open_lab(data=dataset, seeds=1)
    (message,) = (error.value for error in app.error)
    assert f"python -m l2d_core pretrain features --data-root DIR --dataset {dataset}" in message
    assert not app.exception
    assert not charts(app)
    assert_sound(app.selectbox(key="data").set_value("digits").run())
    assert len(charts(app)) == 3


@pytest.mark.usefixtures("no_fits")
def test_what_is_wrong_with_a_fit_is_said_and_the_next_one_is_tried(monkeypatch):
    def diverge(*_args, **_options):
        raise ValueError("training diverged: use a lower learning_rate")

    with monkeypatch.context() as broken:
        broken.setattr(heads, "fit", diverge)
        app = open_digits()
        assert [error.value for error in app.error] == ["training diverged: use a lower learning_rate"]
        assert not app.exception
        assert not charts(app)
    assert_sound(app.run())
    assert len(charts(app)) == 3


def test_a_system_that_never_asks_or_always_does_is_said_so_in_words():
    assert ("One-vs-all system", "% kept: never asks") in cards(uniform(0, seeds=1))
    assert ("One-vs-all system", "% kept: always asks") in cards(uniform(100, seeds=1))
    assert ("One-vs-all system", "% kept") in cards(uniform(60, seeds=1))


@pytest.mark.usefixtures("no_banks")
def test_what_is_shipped_needs_no_feature_bank_and_other_bins_of_it_do():
    app = open_lab()
    assert_sound(app)
    assert len(charts(app)) == 3
    app.slider(key="bins").set_value(10).run()
    assert ["pretrain features" in error.value for error in app.error] == [True]
    assert not app.exception
