"""Links made before: the settings and the teacher's wishes that each opens the live lab with stay the same."""

from dataclasses import replace

import pytest
from lab_page import LAB, open_link

from app.fits.settings import LabSettings
from app.lab import first
from app.sharing import state
from app.sharing.teaching import TeacherSettings
from l2d_core.config import HeadConfig

HALF = (0.75,) * 5 + (0.2,) * 5
LESIONS = LabSettings(
    dataset="ham10000",
    accuracy=(0.39, 0.45, 0.37, 0.06, 0.21, 0.95, 0.48),
    wrong="others",
    noise=0.0,
    random_labels=False,
    train_size=None,
    head=HeadConfig(),
    alpha=1.0,
    num_seeds=8,
    seed=0,
    with_asymmetric=False,
)
DIGITS = {
    "v": "1",
    "data": "digits",
    "digits_3": "0",
    "digits_9": "100",
    "wrong": "all",
    "digits_noise": "0.55",
    "digits_size": "300",
    "digits_epochs": "4",
    "seeds": "2",
    "seed": "7",
    "bins": "10",
    "bin_kind": "equal_mass",
}
CIFAR10_BY_TITLES = {
    "v": "1",
    "data": "CIFAR-10: small photographs",
    "cifar10_expert": "Simulated",
    "cifar10_airplane": "33",
    "cifar10_truck": "5",
    "wrong": "Any class, evenly (may be right by luck)",
    "cifar10_noise": "0.1",
    "cifar10_size": "all",
    "random_labels": "true",
    "cifar10_head": "Small MLP (one hidden layer)",
    "cifar10_epochs": "9",
    "alpha": "0.35",
    "asymmetric": "true",
    "seeds": "3",
    "seed": "123",
}
PEOPLE_BY_TITLES = {
    "v": "1",
    "data": "Galaxy Zoo: galaxies",
    "galaxy_zoo_expert": "People",
    "galaxy_zoo_people": "one of the volunteers, drawn for each seed and galaxy",
    "galaxy_zoo_epochs": "2",
}
GAUSSIANS = {
    "v": "1",
    "data": "gaussians",
    "gaussians_east": "10",
    "gaussians_noise": "0.4",
    "gaussians_head": "linear",
    "random_labels": "true",
    "alpha": "0",
}
LESIONS_FOR_A_CLASS = {
    "v": "1",
    "data": "ham10000",
    "ham10000_mel": "7",
    "ham10000_size": "1000",
    "seeds": "4",
    "hide": "expert,data",
    "lock": "seeds,head",
    "ask": "What happens at 0 %?",
    "veil": "true",
}
OPENED = {
    "nothing": (
        {},
        replace(LESIONS, dataset="cifar10", accuracy=HALF),
    ),
    "a setting of the data set that came first": (
        {"ham10000_mel": "30", "seeds": "2"},
        replace(LESIONS, accuracy=(*LESIONS.accuracy[:4], 0.3, *LESIONS.accuracy[5:]), num_seeds=2),
    ),
    "digits": (
        DIGITS,
        LabSettings(
            dataset="digits",
            accuracy=(0.75, 0.75, 0.75, 0.0, 0.75, 0.2, 0.2, 0.2, 0.2, 1.0),
            wrong="all",
            noise=0.55,
            random_labels=False,
            train_size=300,
            head=HeadConfig(kind="mlp", epochs=4, batch_size=64),
            alpha=1.0,
            num_seeds=2,
            seed=7,
            with_asymmetric=False,
        ),
    ),
    "CIFAR-10 by titles": (
        CIFAR10_BY_TITLES,
        LabSettings(
            dataset="cifar10",
            accuracy=(0.33, *HALF[1:9], 0.05),
            wrong="all",
            noise=0.1,
            random_labels=True,
            train_size=None,
            head=HeadConfig(kind="mlp", epochs=9),
            alpha=0.35,
            num_seeds=3,
            seed=123,
            with_asymmetric=True,
        ),
    ),
    "people by titles": (
        PEOPLE_BY_TITLES,
        replace(
            LESIONS,
            dataset="galaxy_zoo",
            accuracy=(),
            wrong="",
            head=HeadConfig(epochs=2, batch_size=32, learning_rate=0.01),
            people="one_voter",
        ),
    ),
    "gaussians": (
        GAUSSIANS,
        replace(
            LESIONS,
            dataset="gaussians",
            accuracy=(0.1, 0.75, 0.2, 0.2),
            noise=0.4,
            random_labels=True,
            head=HeadConfig(batch_size=256),
            alpha=0.0,
        ),
    ),
    "lesions for a class": (
        LESIONS_FOR_A_CLASS,
        replace(LESIONS, accuracy=(0.39, 0.45, 0.37, 0.06, 0.07, 0.95, 0.48), train_size=1000, num_seeds=4),
    ),
}


@pytest.fixture
def asked_for(monkeypatch):
    """The settings of which the lab wants a result, in order; it gets none."""
    settings = []

    def refuse(wanted, _binning):
        settings.append(wanted)
        raise ValueError("nothing is shown here")

    monkeypatch.setattr(first, "result", refuse)
    return settings


@pytest.mark.parametrize(("given", "expected"), OPENED.values(), ids=OPENED)
def test_a_link_made_before_opens_the_lab_with_the_same_settings(asked_for, given, expected):
    app = open_link(LAB, given)
    assert not app.info
    assert asked_for[-1] == expected


@pytest.mark.usefixtures("asked_for")
def test_a_teachers_link_made_before_opens_with_the_same_wishes():
    wishes = TeacherSettings(frozenset({"data", "expert"}), frozenset({"head", "seeds"}), "What happens at 0 %?", True)
    assert open_link(LAB, LESIONS_FOR_A_CLASS).session_state[state._TEACHER] == wishes
    assert open_link(LAB, DIGITS).session_state[state._TEACHER] == TeacherSettings()
