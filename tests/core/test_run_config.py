"""Settings of a run: round trips through JSON, and messages that name the field and what it may be."""

import dataclasses
import json

import pytest
import torch

from l2d_core.config import AUGMENTATIONS, EXPERT_KINDS, OPTIMIZERS, PAPER_EXPERT, SCHEDULES, ExpertConfig, RunConfig
from l2d_core.experts.simulated import expert_confusion, per_class, right_on
from l2d_core.training import augment, optimizers

HALF = ((0.5, 0.5), (0.25, 0.75))
CONFIGS = {
    "default": RunConfig(),
    "options": RunConfig(
        model="wide_resnet",
        model_options={"depth": 16, "width": 2},
        surrogate="softmax",
        surrogate_options={"alpha": 0.5},
        dataset_options={"noise": 0.1, "name": "x", "all": True},
        patience=None,
    ),
    "right_on": RunConfig(expert=ExpertConfig("right_on", classes=(0, 3), accuracy=(0.7,)), reference=True),
    "confusion": RunConfig(expert=ExpertConfig("confusion", confusion=HALF), redraw_answers=True),
    "human": RunConfig(expert=ExpertConfig("human", name="random_label1"), schedule="cosine_warmup", warmup_epochs=5),
    "learned": RunConfig(expert=ExpertConfig("learned", name="pretrained/ham10000/expert")),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_config_comes_back_from_json_as_it_was(name):
    config = CONFIGS[name]
    assert RunConfig.from_json(config.to_json()) == config


def test_what_json_leaves_out_is_at_its_default():
    assert RunConfig.from_json('{"epochs": 3, "learning_rate": 1}') == RunConfig(epochs=3, learning_rate=1)
    assert RunConfig.from_json("{}") == RunConfig()


def test_a_config_cannot_be_changed_from_outside():
    options = {"depth": 16}
    config = RunConfig(model_options=options)
    options["depth"] = 40
    assert config.model_options == {"depth": 16}
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.epochs = 3


def test_the_default_expert_is_the_paper_s():
    expected = per_class([0.75] * 5 + [0.2] * 5)
    assert torch.equal(expert_confusion(RunConfig().expert, 10), expected)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("epochs", 0, "epochs must be at least 1, got 0"),
        ("epochs", 10**9, "epochs must be at most 100,000, got 1000000000"),
        ("epochs", 2.5, "config.epochs must be a whole number, got 2.5"),
        ("epochs", True, "epochs must be a whole number"),
        ("batch_size", 1, "batch_size must be at least 2, got 1"),
        ("seed", -1, "seed must be at least 0, got -1"),
        ("learning_rate", 0, "learning_rate must be above 0"),
        ("learning_rate", float("inf"), "learning_rate must be above 0 and finite, got inf"),
        ("learning_rate", float("nan"), "learning_rate must be above 0 and finite, got nan"),
        ("learning_rate", "0.1", "learning_rate must be a number"),
        ("momentum", 1.0, "momentum must be at least 0 and below 1, got 1.0"),
        ("weight_decay", -1e-4, "weight_decay must be at least 0 and finite"),
        ("optimizer", "lion", "optimizer must be one of 'sgd', 'adamw', 'adam'; got 'lion'"),
        ("schedule", "step", "schedule must be one of 'cosine_warmup', 'one_cycle', 'constant'; got 'step'"),
        ("augment", "mixup", "augment must be one of 'none', 'flip', 'crop_flip', 'crop_flip_colour'; got 'mixup'"),
        ("augment", None, "config.augment must be text, got None"),
        ("class_weights", "inverse", "class_weights must be one of 'none', 'balanced', 'sqrt'; got 'inverse'"),
        ("precision", "float16", "precision must be one of 'bfloat16', 'float32'; got 'float16'"),
        ("patience", 0, "patience must be at least 1, or None to never stop early, got 0"),
        ("compile", 1, "compile must be true or false, got 1"),
        ("model", 3, "model must be text, got 3"),
        ("model_options", [1], "model_options must be an object of names and values"),
        ("model_options", {"depth": [1]}, "config.model_options.depth must be a number, text, true or false"),
        ("warmup_epochs", 3, "warmup_epochs must be 0 with the schedule 'one_cycle', got 3"),
        ("expert", "human", "config.expert must be a JSON object, got 'human'"),
        ("lerning_rate", 0.1, "unknown fields 'lerning_rate'; known are dataset, .*learning_rate"),
        ("version", 2, "version 2, and this program reads version 1"),
    ],
)
def test_a_bad_value_in_json_is_named(field, value, message):
    with pytest.raises(ValueError, match=message):
        RunConfig.from_json(json.dumps({field: value}))


def test_a_warm_up_must_leave_epochs_to_come_down_in():
    with pytest.raises(ValueError, match="warmup_epochs must be below epochs, 5, got 5"):
        RunConfig(epochs=5, schedule="cosine_warmup", warmup_epochs=5)


@pytest.mark.parametrize(
    ("expert", "message"),
    [
        ({"kind": "oracle"}, "expert.kind must be one of 'per_class', 'right_on', 'confusion', 'human', 'learned'"),
        ({"kind": ["human"]}, "expert.kind must be text"),
        ({"accuracy": []}, "expert.accuracy must be given"),
        ({"accuracy": [0.5, 1.5]}, "expert.accuracy must lie in 0..1, got 1.5 at row 1"),
        ({"accuracy": 0.5}, "expert.accuracy must be a list, got 0.5"),
        ({"accuracy": [0.5], "wrong": "none"}, "expert.wrong must be one of 'others', 'all'"),
        ({"accuracy": [0.5], "name": "me"}, "expert.name is no setting of kind 'per_class'; it has accuracy, wrong"),
        ({"kind": "right_on", "classes": [-1]}, "expert.classes must lie in 0..1e\\+09, got -1 at row 0"),
        ({"kind": "right_on", "accuracy": [0.1, 0.2]}, "expert.accuracy must be one number"),
        ({"kind": "confusion"}, "expert.confusion must be given"),
        ({"kind": "confusion", "confusion": [[0.5, "a"]]}, r"expert.confusion\[0\]\[1\] must be a number, got 'a'"),
        ({"kind": "confusion", "confusion": [0.5]}, r"expert.confusion\[0\] must be a list, got 0.5"),
        ({"kind": "human"}, "expert.name must be given for kind 'human'"),
        ({"skill": 3}, "expert has the unknown fields 'skill'; known are kind, accuracy"),
    ],
)
def test_a_bad_expert_in_json_is_named(expert, message):
    with pytest.raises(ValueError, match=message):
        RunConfig.from_json(json.dumps({"expert": expert}))


@pytest.mark.parametrize("kind", ["human", "learned"])
def test_an_expert_whose_answers_are_stored_does_not_answer_anew(kind):
    for setting in ("redraw_answers", "reference"):
        with pytest.raises(ValueError, match=f"need a simulated expert, got one of kind '{kind}'"):
            RunConfig(expert=ExpertConfig(kind, name="x"), **{setting: True})


@pytest.mark.parametrize("text", ["", "[1]", "null", '{"epochs": 3', "[" * 100_000])
def test_what_is_no_json_object_is_refused(text):
    with pytest.raises(ValueError, match="config"):
        RunConfig.from_json(text)


def test_a_bad_file_is_named(tmp_path):
    path = tmp_path / "mine.json"
    path.write_bytes(b'{"epochs": 0}')
    with pytest.raises(ValueError, match=r"mine.json: epochs must be"):
        RunConfig.load(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"mine.json: "):
        RunConfig.load(path)
    path.write_text(RunConfig(epochs=7).to_json())
    assert RunConfig.load(path).epochs == 7


def test_kinds_of_expert_give_the_matrices_that_they_are_named_after():
    assert torch.equal(
        expert_confusion(ExpertConfig(accuracy=(0.7,), wrong="all"), 4), per_class([0.7] * 4, wrong="all")
    )
    assert torch.equal(expert_confusion(ExpertConfig("right_on", classes=(1, 2)), 4), right_on((1, 2), 4))
    assert torch.equal(
        expert_confusion(ExpertConfig("right_on", classes=(1,), accuracy=(0.7,)), 4), right_on((1,), 4, 0.7)
    )
    given = expert_confusion(ExpertConfig("confusion", confusion=HALF), 2)
    assert given.tolist() == [list(row) for row in HALF]


@pytest.mark.parametrize(
    ("expert", "message"),
    [
        (
            ExpertConfig(accuracy=(0.5,) * 3),
            "expert.accuracy must give 10 numbers, one per class, or",
        ),
        (ExpertConfig("confusion", confusion=HALF), "expert.confusion must be 10 rows of 10, got 2 rows of 2"),
        (ExpertConfig("right_on", classes=(10,)), "classes must lie in 0..9, got 10"),
        (ExpertConfig("human", name="x"), "expert must be simulated"),
    ],
)
def test_an_expert_that_does_not_fit_the_classes_is_named(expert, message):
    with pytest.raises(ValueError, match=message):
        expert_confusion(expert, 10)


def test_a_matrix_whose_rows_do_not_sum_to_1_is_refused():
    with pytest.raises(ValueError, match="confusion must sum to 1 in each row"):
        expert_confusion(ExpertConfig("confusion", confusion=((0.5, 0.4), (0.0, 1.0))), 2)


def test_each_name_that_a_config_allows_is_known_where_it_is_used():
    for name in AUGMENTATIONS:
        augment.draw_moves(name, 1, generator=torch.Generator())
    for name in SCHEDULES:
        optimizers.learning_rate_at(RunConfig(schedule=name), 0, 5)
    for name in OPTIMIZERS:
        optimizers.make_optimizer(RunConfig(optimizer=name), [torch.nn.Parameter(torch.zeros(1))])
    assert PAPER_EXPERT.is_simulated
    assert set(EXPERT_KINDS) == {config.expert.kind for config in CONFIGS.values()}
