"""The settings of a run as options of a command: those that are given, over those of a file or the defaults."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

from l2d_core.common.json_fields import Option
from l2d_core.config import RunConfig


class RunOptions(TypedDict, total=False):
    """Settings of the run; those that are not given are as in --config, or else at `RunConfig`'s defaults."""

    dataset: str
    """cifar10, digits, ham10000, hate_speech, galaxy_zoo or voted_images."""
    dataset_options: tuple[str, ...]
    """NAME=VALUE of the data set, as noise=0.5."""
    split_seed: int
    """Decides the split."""
    model: str
    """small_resnet, wide_resnet, resnet34, resnet50, efficientnet_lite0 or, for hate_speech, text_cnn."""
    model_options: tuple[str, ...]
    """NAME=VALUE of the network, as depth=28 width=4."""
    surrogate: str
    """softmax, one_vs_all or asymmetric_softmax; or a method to compare with, which no page reads: score,
    compare_confidence, confidence, triage or triage_network."""
    surrogate_options: tuple[str, ...]
    """NAME=VALUE of the loss."""
    expert: str
    """per_class, right_on, confusion, human or learned."""
    accuracy: tuple[float, ...]
    """How often the expert is right: per_class takes a share for each class or one for all, right_on one."""
    wrong: str
    """Where a per_class expert guesses: others, or all classes, the right one too."""
    classes: tuple[int, ...]
    """The classes that a right_on expert knows, numbered from 0."""
    expert_name: str
    """Whose recorded answers a human expert gives, as random_label1, or one_voter; the folder of a learned expert."""
    epochs: int
    """Passes over the training cases, at most."""
    batch_size: int
    """Cases a step, at most."""
    optimizer: str
    """sgd (Nesterov), adamw or adam."""
    learning_rate: float
    """The peak of the schedule."""
    momentum: float
    """Of sgd, or beta 1 of the others."""
    weight_decay: float
    """On all weights."""
    schedule: str
    """cosine_warmup, one_cycle or constant."""
    warmup_epochs: int
    """Of cosine_warmup."""
    augment: str
    """none, flip, crop_flip or crop_flip_colour."""
    class_weights: str
    """Of the training cases: none, balanced or sqrt."""
    precision: str
    """bfloat16 or float32."""
    channels_last: bool
    """Images with the channels last in memory."""
    compile: bool
    """With torch.compile."""
    patience: int | None
    """Stop after so many epochs without a lower validation loss."""
    redraw_answers: bool
    """The expert answers anew in each epoch."""
    random_labels: bool
    """Labels of training and validation cases are drawn uniformly: the paper's random data."""
    reference: bool
    """As the paper's authors ran it."""
    seed: int
    """Decides first weights, batches, augmentation and the expert's answers."""


_EXPERT_FIELDS = {"accuracy": "accuracy", "wrong": "wrong", "classes": "classes", "expert_name": "name"}


def make_config(options: RunOptions, file: Path | None = None) -> RunConfig:
    """The config of a file, or the default one, with the options that are given in place of its settings.

    An expert of another kind starts without the settings of the one before.
    ValueError names the file or the option and what is wrong with it.
    """
    settings = json.loads((RunConfig() if file is None else RunConfig.load(file)).to_json())
    expert = settings["expert"]
    if options.get("expert", expert["kind"]) != expert["kind"]:
        expert = {"kind": options.get("expert")}
    given: dict[str, Any] = {name: value for name, value in options.items() if name != "expert"}
    for name in _EXPERT_FIELDS.keys() & given.keys():
        expert[_EXPERT_FIELDS[name]] = given.pop(name)
    for name in [name for name in given if name.endswith("_options")]:
        given[name] = settings[name] | _read_pairs(name, given[name])
    return RunConfig.from_json(json.dumps({**settings, **given, "expert": expert}))


def _read_pairs(name: str, pairs: Sequence[str]) -> dict[str, Option]:
    """NAME=VALUE texts as a dict; a value that is no number, true or false is text."""
    values: dict[str, Option] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise ValueError(f"--{name.replace('_', '-')} must be NAME=VALUE, got {pair!r}")
        values[key] = _read_value(value)
    return values


def _read_value(text: str) -> Option:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float) else text
