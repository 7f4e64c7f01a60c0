"""The live lab's expert: presets, sliders, reset, what a wrong answer looks like, and the matrix."""

import pytest
from lab_page import LAB, assert_sound, cards, move, open_digits, open_lab, open_link, percents, set_experts, summary

from app.kit import expert_panel
from l2d_core.datasets import LAB_DATASETS
from l2d_core.experts.simulated import PRESETS, per_class

DIGITS = LAB_DATASETS["digits"].class_names


def stated(dataset, preset, k=5):
    """The accuracies of a preset in whole percents, as sliders have them."""
    names = LAB_DATASETS[dataset].class_names
    return [round(100 * value) for value in PRESETS[preset].accuracy(names, min(k, len(names))).tolist()]


def preset_of(app, dataset="digits"):
    """The menu of presets."""
    return app.menu_button(key=f"{dataset}_preset")


def current(app, dataset="digits"):
    """What the menu says that the sliders stand at: the name of a preset, or None for an own setting."""
    label = preset_of(app, dataset).label
    return next((name for name, preset in PRESETS.items() if label == f"Expert: {preset.title}"), None)


@pytest.mark.parametrize("dataset", ["digits", "ham10000"])
def test_each_preset_that_fits_the_classes_sets_the_sliders_and_trains_with_them(dataset, fits):
    names = LAB_DATASETS[dataset].class_names
    app = open_lab(
        data=dataset, seeds=1, **{f"{dataset}_size": 100, f"{dataset}_epochs": 1, f"{dataset}_{names[0]}": 33}
    )
    assert preset_of(app, dataset).label == "Expert: own setting"
    offered = [name for name, preset in PRESETS.items() if preset.fits(names)]
    assert preset_of(app, dataset).options == [PRESETS[name].title for name in offered]
    for preset in offered:
        preset_of(app, dataset).click(preset).run()
        assert percents(app, dataset, names) == stated(dataset, preset)
        assert current(app, dataset) == preset
        expected = per_class([p / 100 for p in stated(dataset, preset)]).tolist()
        assert expected in [call.confusion.tolist() for call in fits]  # two presets may be the same expert
        assert_sound(app)


@pytest.mark.parametrize(("dataset", "first"), [("ham10000", "dermatologist"), ("digits", "half")])
def test_the_page_opens_with_the_dermatologist_where_the_classes_are_hers_and_else_with_the_papers_expert(
    dataset, first
):
    app = open_lab(data=dataset, seeds=1, **{f"{dataset}_epochs": 1})
    assert current(app, dataset) == first
    assert percents(app, dataset, LAB_DATASETS[dataset].class_names) == stated(dataset, first)


@pytest.mark.parametrize(
    ("preset", "k"), [(name, 5) for name, preset in PRESETS.items() if preset.fits(DIGITS)] + [("first_k", 3)]
)
def test_a_link_to_a_preset_names_it_as_soon_as_it_opens(preset, k):
    link = {f"digits_{name}": str(percent) for name, percent in zip(DIGITS, stated("digits", preset, k), strict=True)}
    link |= {"data": LAB_DATASETS["digits"].title, "seeds": "1", "digits_epochs": "1"}
    app = open_link(LAB, link | {"wrong": expert_panel.WRONG_TITLES[PRESETS[preset].wrong]})
    assert percents(app, "digits", DIGITS) == stated("digits", preset, k)
    assert current(app) == preset
    assert PRESETS[preset].look_at in preset_of(app).help


def test_moving_a_slider_makes_it_an_own_setting_and_moving_it_back_the_preset_again():
    app = open_digits()
    move(app, digits_3=74)
    assert current(app) is None
    move(app, digits_3=75)
    assert current(app) == "half"


def test_the_expert_of_one_data_set_is_still_there_after_a_look_at_another():
    app = open_digits()
    move(app, digits_3=74)
    app.selectbox(key="data").set_value("gaussians").run()
    assert current(app, "gaussians") == "half"
    app.selectbox(key="data").set_value("digits").run()
    assert app.session_state["digits_3"] == 74


def test_a_wrong_answer_may_be_right_by_luck_if_so_chosen(fits):
    app = open_digits()
    before = summary(app)
    app.selectbox(key="wrong").set_value("all").run()
    assert_sound(app)
    assert [call.confusion[0, 0].item() for call in fits] == pytest.approx([0.75, 0.775])
    assert summary(app).loc["Expert alone"].to_list() != before.loc["Expert alone"].to_list()


@pytest.mark.parametrize("wrong", ["others", "all"])
@pytest.mark.usefixtures("open_expanders")
def test_the_matrix_is_shown_in_percent(wrong):
    app = open_digits(wrong=wrong)
    (matrix,) = (frame.value for frame in app.dataframe if list(frame.value) == list(DIGITS))
    accuracy = [percent / 100 for percent in stated("digits", "half")]
    assert list(matrix.index) == list(DIGITS)
    assert matrix.to_numpy() == pytest.approx(100 * per_class(accuracy, wrong=wrong).numpy())
    assert matrix.sum(axis=1).to_list() == pytest.approx([100] * 10)


def test_a_better_expert_makes_the_system_better():
    app = open_lab(data="digits", seeds=4)
    system = []
    for percent in (10, 60, 100):
        set_experts(app, "digits", DIGITS, [percent] * 10)
        assert percent != 60 or ("One-vs-all system", "% kept") in cards(app)  # it asks in some cases
        system.append(float(cards(app)["One-vs-all system", "% right"]))
    assert system == sorted(system)
    assert system[-1] > 99
