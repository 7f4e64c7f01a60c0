"""Settings given as options: over a file's, over the defaults, and named where they are wrong."""

from dataclasses import fields, replace

import pytest

from l2d_core.cli.run_options import RunOptions, make_config
from l2d_core.config import ExpertConfig, RunConfig


def test_without_options_the_config_is_the_default_one():
    assert make_config({}) == RunConfig()


def test_each_setting_of_a_run_has_an_option():
    settings = {field.name for field in fields(RunConfig)}
    expert = {"accuracy", "wrong", "classes", "expert_name"}  # a confusion matrix is for files
    assert set(RunOptions.__annotations__) == settings | expert


def test_options_count_more_than_the_file(tmp_path):
    stored = replace(RunConfig(), epochs=5, seed=3, model="wide_resnet", model_options={"depth": 16, "width": 2})
    (tmp_path / "config.json").write_text(stored.to_json(), encoding="utf-8")
    config = make_config({"epochs": 7, "model_options": ("width=1",)}, tmp_path / "config.json")
    assert config == replace(stored, epochs=7, model_options={"depth": 16, "width": 1})


def test_values_of_options_have_the_types_that_they_look_like():
    pairs = ("a=1", "b=0.5", "c=true", "d=text", "e=null", "f=x=y", "g=1e-3")
    expected = {"a": 1, "b": 0.5, "c": True, "d": "text", "e": "null", "f": "x=y", "g": 0.001}
    assert make_config({"model_options": pairs}).model_options == expected


def test_an_expert_of_another_kind_starts_afresh_and_one_of_the_same_kind_does_not():
    assert make_config({"expert": "right_on", "classes": (0, 2)}).expert == ExpertConfig("right_on", classes=(0, 2))
    assert make_config({"expert": "human", "expert_name": "me"}).expert == ExpertConfig("human", name="me")
    assert make_config({"wrong": "all"}).expert == replace(RunConfig().expert, wrong="all")
    assert make_config({"expert": "per_class", "accuracy": (0.5,)}).expert == ExpertConfig(accuracy=(0.5,))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"optimizer": "lion"}, "optimizer must be one of 'sgd'"),
        ({"model_options": ("depth",)}, "--model-options must be NAME=VALUE, got 'depth'"),
        ({"dataset_options": ("=3",)}, "--dataset-options must be NAME=VALUE, got '=3'"),
        ({"expert": "human"}, "expert.name must be given for kind 'human'"),
        ({"expert": "oracle"}, "expert.kind must be one of 'per_class'"),
        ({"classes": (1,)}, "expert.classes is no setting of kind 'per_class'"),
    ],
)
def test_a_bad_option_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        make_config(options)


def test_a_bad_file_is_named(tmp_path):
    (tmp_path / "run.json").write_text('{"epoch": 3}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"run\.json: config has the unknown fields 'epoch'"):
        make_config({}, tmp_path / "run.json")
    with pytest.raises(FileNotFoundError):
        make_config({}, tmp_path / "none.json")
