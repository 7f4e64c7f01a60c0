"""Models, splits and settings that do not fit together are refused, by name, before the first step."""

from dataclasses import replace

import pytest
from tiny_training import CONFIG, run, tiny_data, tiny_model, tiny_splits
from torch import nn

from l2d_core.config import ExpertConfig
from l2d_core.data import Splits
from l2d_core.models.head import Float32Linear
from l2d_core.surrogates import SURROGATES
from l2d_core.training.loop import train


def one_class_more(data):
    return replace(data, class_names=("left", "middle", "right", "none"))


WRONG = {
    "surrogate": (lambda: run(replace(CONFIG, surrogate_options={"alpha": 0.5})), "'one_vs_all' has no option 'alpha'"),
    "outputs": (lambda: run(model=nn.Sequential(nn.Flatten(), nn.Linear(192, 3))), "must give 4 logits per case"),
    "image size": (lambda: run(model=nn.Sequential(nn.Flatten(), nn.Linear(48, 4))), r"inputs of shape \(3, 8, 8\)"),
    "one case": (lambda: run(splits=tiny_splits(1)), "train must hold at least 2 cases, got 1"),
    "classes": (
        lambda: run(splits=Splits(tiny_data(), one_class_more(tiny_data()), tiny_data())),
        "train and validation must share class_names",
    ),
    "sizes": (
        lambda: run(splits=Splits(tiny_data(), tiny_data(size=9), tiny_data())),
        r"must have one shape, got \(3, 8, 8\) and \(3, 9, 9\)",
    ),
    "expert": (
        lambda: run(replace(CONFIG, redraw_answers=True, expert=ExpertConfig(accuracy=(0.5,) * 10))),
        "expert.accuracy must give 3 numbers",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_arguments_that_do_not_fit_together_are_named(name):
    call, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_the_surrogate_must_be_the_config_s():
    with pytest.raises(ValueError, match="surrogate must be the config's, 'one_vs_all', got 'softmax'"):
        train(tiny_model(), SURROGATES["softmax"], tiny_splits(), CONFIG, device="cpu")


def test_augmentation_is_for_images():
    def flat(data):
        return replace(data, inputs=data.inputs.flatten(1))

    splits = Splits(flat(tiny_data()), flat(tiny_data()), flat(tiny_data()))
    with pytest.raises(ValueError, match="augment must be 'none' for inputs that are no images"):
        run(model=Float32Linear(192, 4), splits=splits)
