"""The experts to start from: the paper's, as accuracies per class."""

import numpy as np
import pytest
import torch

from l2d_core.experts.simulated import DERMATOLOGIST_RECALL, PRESETS, check_confusion, per_class, right_on

TEN = [f"class {k}" for k in range(10)]
LESIONS = ["nv", "mel", "akiec", "vasc", "df", "bkl", "bcc"]


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("class_names", [["a", "b"], ["a", "b", "c"], LESIONS, TEN], ids=len)
def test_every_preset_that_fits_gives_an_accuracy_in_0_to_1_for_each_class(name, class_names):
    preset = PRESETS[name]
    if not preset.fits(class_names):
        assert preset.only_for
        return
    for k in range(len(class_names) + 1):
        accuracy = preset.accuracy(class_names, k)
        assert (accuracy.shape, accuracy.dtype) == ((len(class_names),), np.float64)
        check_confusion(per_class(accuracy, wrong=preset.wrong))
    assert preset.title
    assert "Look at" in preset.look_at


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("half", [0.75] * 5 + [0.2] * 5),
        ("useful", [1.0] * 7 + [0.1] * 3),
        ("random", [0.1] * 10),
        ("first_k", [0.7] * 4 + [0.1] * 6),
        ("logged", [0.73] * 6 + [0.1] * 4),
        ("sure_of_k", [1.0] * 4 + [0.1] * 6),
        ("specialist", [1.0] + [0.0] * 9),
        ("always_right", [1.0] * 10),
    ],
)
def test_presets_are_the_papers_experts_on_ten_classes(name, expected):
    assert PRESETS[name].accuracy(TEN, 4).tolist() == pytest.approx(expected)


def test_presets_agree_with_the_named_experts():
    def confusion(name):
        return per_class(PRESETS[name].accuracy(TEN, 3), wrong=PRESETS[name].wrong)

    torch.testing.assert_close(confusion("useful"), right_on(range(7), 10))
    torch.testing.assert_close(confusion("random"), right_on((), 10))
    torch.testing.assert_close(confusion("first_k"), right_on(range(3), 10, 0.7))
    torch.testing.assert_close(confusion("logged"), per_class([0.7] * 6 + [0.0] * 4, wrong="all"))
    torch.testing.assert_close(confusion("always_right"), torch.eye(10, dtype=torch.float64))


def test_only_the_preset_that_says_so_depends_on_k():
    for name, preset in PRESETS.items():
        same = np.array_equal(preset.accuracy(LESIONS, 2), preset.accuracy(LESIONS, 5))
        assert same != preset.takes_k, name
    with pytest.raises(ValueError, match=r"k must lie in 0\.\.7 for 7 classes, got 8"):
        PRESETS["first_k"].accuracy(LESIONS, 8)


def test_the_dermatologist_is_keyed_by_class_name_not_by_place():
    dermatologist = PRESETS["dermatologist"]
    accuracy = dict(zip(LESIONS, dermatologist.accuracy(LESIONS, 0).tolist(), strict=True))
    assert accuracy == DERMATOLOGIST_RECALL
    assert accuracy["nv"] == 0.95
    assert accuracy["df"] == 0.06


@pytest.mark.parametrize("class_names", [TEN, LESIONS[:6], [*LESIONS, "scc"], ["NV", *LESIONS[1:]]])
def test_the_dermatologist_is_offered_only_for_the_seven_lesions(class_names):
    assert PRESETS["dermatologist"].fits(LESIONS)
    assert not PRESETS["dermatologist"].fits(class_names)
