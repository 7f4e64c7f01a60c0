"""The settings of the lab's heads: what they start from, and what is refused with its name."""

import math
from dataclasses import FrozenInstanceError, replace

import pytest

from l2d_core.config import HEADS, LEARNING_RATES, HeadConfig


def test_a_kind_of_head_brings_its_own_rate_unless_one_is_given():
    assert HEADS == ("linear", "mlp")
    for kind in HEADS:
        assert HeadConfig(kind=kind).rate == LEARNING_RATES[kind]
        assert HeadConfig(kind=kind, learning_rate=0.25).rate == 0.25
    assert LEARNING_RATES["linear"] > LEARNING_RATES["mlp"]


def test_equal_settings_are_one_key_and_cannot_be_changed():
    head = HeadConfig(kind="mlp", epochs=3)
    assert {head: "kept"}[HeadConfig(kind="mlp", epochs=3)] == "kept"
    assert replace(head, epochs=4) != head
    with pytest.raises(FrozenInstanceError):
        head.epochs = 4  # pyright: ignore[reportAttributeAccessIssue]


def test_the_smallest_settings_pass():
    HeadConfig(hidden_units=1, epochs=1, batch_size=1, learning_rate=1e-300, weight_decay=0.0)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"kind": "tree"}, "kind must be one of 'linear', 'mlp'; got 'tree'"),
        ({"hidden_units": 0}, "hidden_units must be at least 1, got 0"),
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"batch_size": -3}, "batch_size must be at least 1, got -3"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0 and finite, got 0"),
        ({"learning_rate": -1.0}, "learning_rate must be above 0 and finite, got -1"),
        ({"learning_rate": math.inf}, "learning_rate must be above 0 and finite, got inf"),
        ({"learning_rate": math.nan}, "learning_rate must be above 0 and finite, got nan"),
        ({"weight_decay": -0.1}, "weight_decay must be at least 0 and finite, got -0.1"),
        ({"weight_decay": math.nan}, "weight_decay must be at least 0 and finite, got nan"),
    ],
    ids=str,
)
def test_a_setting_out_of_range_is_named(setting, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        HeadConfig(**setting)
